//go:build !purego

// XChaCha12, and Poly1305 over NH: the parts of Adiantum whose work grows with the
// data, with AVX-512.
//
// ChaCha is from "ChaCha, a variant of Salsa20" (Bernstein, 2008) and RFC 8439;
// XChaCha from draft-irtf-cfrg-xchacha; NH, the 12 rounds and the 64-bit block
// counter from "Adiantum: length-preserving encryption for entry-level processors"
// (Crowley and Biggers, 2018). The instructions are from the Intel 64 and IA-32
// Architectures Software Developer's Manual, volume 2.

#include "textflag.h"
#include "poly1305_amd64.h"

// "expand 32-byte k"
DATA chachaConstants<>+0x00(SB)/8, $0x3320646e61707865
DATA chachaConstants<>+0x08(SB)/8, $0x6b20657479622d32
GLOBL chachaConstants<>(SB), RODATA|NOPTR, $16

// The block counters of sixteen blocks, before the number of the first is added.
DATA sixteenCounters<>+0x00(SB)/8, $0x0000000100000000
DATA sixteenCounters<>+0x08(SB)/8, $0x0000000300000002
DATA sixteenCounters<>+0x10(SB)/8, $0x0000000500000004
DATA sixteenCounters<>+0x18(SB)/8, $0x0000000700000006
DATA sixteenCounters<>+0x20(SB)/8, $0x0000000900000008
DATA sixteenCounters<>+0x28(SB)/8, $0x0000000b0000000a
DATA sixteenCounters<>+0x30(SB)/8, $0x0000000d0000000c
DATA sixteenCounters<>+0x38(SB)/8, $0x0000000f0000000e
GLOBL sixteenCounters<>(SB), RODATA|NOPTR, $64

// ROUND is a round on the columns of one state, whose rows are A, B, C and D.
#define ROUND(A, B, C, D) \
	VPADDD B, A, A   \
	VPXORD A, D, D   \
	VPROLD $16, D, D \
	VPADDD D, C, C   \
	VPXORD C, B, B   \
	VPROLD $12, B, B \
	VPADDD B, A, A   \
	VPXORD A, D, D   \
	VPROLD $8, D, D  \
	VPADDD D, C, C   \
	VPXORD C, B, B   \
	VPROLD $7, B, B

// STEP is a quarter of a quarter round, of four side by side: A += B, D ^= A, and
// D is rotated left by some bits.
#define STEP(A0, B0, D0, A1, B1, D1, A2, B2, D2, A3, B3, D3, BITS) \
	VPADDD B0, A0, A0     \
	VPADDD B1, A1, A1     \
	VPADDD B2, A2, A2     \
	VPADDD B3, A3, A3     \
	VPXORD A0, D0, D0     \
	VPXORD A1, D1, D1     \
	VPXORD A2, D2, D2     \
	VPXORD A3, D3, D3     \
	VPROLD $BITS, D0, D0  \
	VPROLD $BITS, D1, D1  \
	VPROLD $BITS, D2, D2  \
	VPROLD $BITS, D3, D3

// QUARTERS is four quarter rounds side by side.
#define QUARTERS(A0, B0, C0, D0, A1, B1, C1, D1, A2, B2, C2, D2, A3, B3, C3, D3) \
	STEP(A0, B0, D0, A1, B1, D1, A2, B2, D2, A3, B3, D3, 16) \
	STEP(C0, D0, B0, C1, D1, B1, C2, D2, B2, C3, D3, B3, 12) \
	STEP(A0, B0, D0, A1, B1, D1, A2, B2, D2, A3, B3, D3, 8)  \
	STEP(C0, D0, B0, C1, D1, B1, C2, D2, B2, C3, D3, B3, 7)

// WORD sets REG to word I of the initial state, for all blocks.
#define WORD(I, REG) VPBROADCASTD 4*I(R12), REG

// ADD_WORD adds word I of the initial state to REG.
#define ADD_WORD(I, REG) VPADDD.BCST 4*I(R12), REG, REG

// FOUR_WORDS transposes A, B, C and D, which have consecutive words of all blocks:
// a lane then has the four words of one block. The lanes of A come to have blocks
// 0, 4, 8 and 12, those of B blocks 1, 5, 9 and 13, and so on. T0 to T3 are
// clobbered.
#define FOUR_WORDS(A, B, C, D, T0, T1, T2, T3) \
	VPUNPCKLDQ  B, A, T0   \
	VPUNPCKHDQ  B, A, T1   \
	VPUNPCKLDQ  D, C, T2   \
	VPUNPCKHDQ  D, C, T3   \
	VPUNPCKLQDQ T2, T0, A  \
	VPUNPCKHQDQ T2, T0, B  \
	VPUNPCKLQDQ T3, T1, C  \
	VPUNPCKHQDQ T3, T1, D

// FOUR_LANES transposes lanes: A, B, C and D have words 0 to 3, 4 to 7, 8 to 11
// and 12 to 15 of four blocks, and come to have a block each. T0 to T3 are
// clobbered.
#define FOUR_LANES(A, B, C, D, T0, T1, T2, T3) \
	VSHUFI32X4 $0x44, B, A, T0   \
	VSHUFI32X4 $0xEE, B, A, T1   \
	VSHUFI32X4 $0x44, D, C, T2   \
	VSHUFI32X4 $0xEE, D, C, T3   \
	VSHUFI32X4 $0x88, T2, T0, A  \
	VSHUFI32X4 $0xDD, T2, T0, B  \
	VSHUFI32X4 $0x88, T3, T1, C  \
	VSHUFI32X4 $0xDD, T3, T1, D

// XOR_FOUR xors four blocks, of which A is block I and the others follow at
// distances of four, into the data.
#define XOR_FOUR(I, A, B, C, D) \
	VPXORD    64*I(SI), A, A       \
	VPXORD    64*(I+4)(SI), B, B   \
	VPXORD    64*(I+8)(SI), C, C   \
	VPXORD    64*(I+12)(SI), D, D  \
	VMOVDQU32 A, 64*I(DI)          \
	VMOVDQU32 B, 64*(I+4)(DI)      \
	VMOVDQU32 C, 64*(I+8)(DI)      \
	VMOVDQU32 D, 64*(I+12)(DI)

// SAVE_FOUR stores them to the buffer instead.
#define SAVE_FOUR(I, A, B, C, D) \
	VMOVDQU32 A, 64*I(SP)       \
	VMOVDQU32 B, 64*(I+4)(SP)   \
	VMOVDQU32 C, 64*(I+8)(SP)   \
	VMOVDQU32 D, 64*(I+12)(SP)

// SAVE_TWO stores words at OFF of block I, which is in the low lanes of A and B, and
// of the block four later, which is in the high ones, to the buffer. T is
// clobbered.
#define SAVE_TWO(I, OFF, A, B, T) \
	VSHUFI32X4 $0, B, A, T              \
	VMOVDQU32  T, 64*I+OFF(SP)          \
	VSHUFI32X4 $3, B, A, T              \
	VMOVDQU32  T, 64*(I+4)+OFF(SP)

// func hchacha12AVX512(state *[16]uint32, key *xchacha.Key, nonce *[24]byte)
//
// X0 to X3 are the rows of the state, AX the double rounds left.
TEXT ·hchacha12AVX512(SB), NOSPLIT, $0-24
	MOVQ    state+0(FP), DI
	MOVQ    key+8(FP), SI
	MOVQ    nonce+16(FP), DX
	VMOVDQU chachaConstants<>(SB), X0
	VMOVDQU (SI), X1
	VMOVDQU 16(SI), X2
	VMOVDQU (DX), X3
	MOVQ    $6, AX

rounds:
	// Instead of B the three other rows are turned for the diagonals: they are
	// ready before B is.
	ROUND(X0, X1, X2, X3)
	VPSHUFD $0x93, X0, X0
	VPSHUFD $0x4E, X3, X3
	VPSHUFD $0x39, X2, X2
	ROUND(X0, X1, X2, X3)
	VPSHUFD $0x39, X0, X0
	VPSHUFD $0x4E, X3, X3
	VPSHUFD $0x93, X2, X2
	DECQ    AX
	JNZ     rounds

	VMOVDQU chachaConstants<>(SB), X4
	VMOVQ   16(DX), X5
	VPSLLDQ $8, X5, X5 // after the block counter, 0
	VMOVDQU X4, (DI)
	VMOVDQU X0, 16(DI)
	VMOVDQU X3, 32(DI)
	VMOVDQU X5, 48(DI)
	VZEROUPPER
	RET

// func chacha12AVX512(dst, src *byte, n int, state *[16]uint32)
//
// DI dst, SI src, CX bytes left, R12 state, AX double rounds left. A register has the
// same word of sixteen blocks, or of eight if that is enough: registers 0 to 15
// words 0 to 15. 16 to 19 are for transposing. AX, BX and K1 are for the bytes of the
// last blocks, which go through the buffer of sixteen blocks in the frame.
TEXT ·chacha12AVX512(SB), 0, $1024-32
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ state+24(FP), R12
	CMPQ CX, $512
	JBE  eight

sixteen:
	WORD(0, Z0)
	WORD(1, Z1)
	WORD(2, Z2)
	WORD(3, Z3)
	WORD(4, Z4)
	WORD(5, Z5)
	WORD(6, Z6)
	WORD(7, Z7)
	WORD(8, Z8)
	WORD(9, Z9)
	WORD(10, Z10)
	WORD(11, Z11)
	WORD(12, Z12)
	VPADDD sixteenCounters<>(SB), Z12, Z12
	WORD(13, Z13)
	WORD(14, Z14)
	WORD(15, Z15)
	MOVQ   $6, AX

sixteenRounds:
	QUARTERS(Z0, Z4, Z8, Z12, Z1, Z5, Z9, Z13, Z2, Z6, Z10, Z14, Z3, Z7, Z11, Z15)
	QUARTERS(Z0, Z5, Z10, Z15, Z1, Z6, Z11, Z12, Z2, Z7, Z8, Z13, Z3, Z4, Z9, Z14)
	DECQ AX
	JNZ  sixteenRounds

	VPADDD sixteenCounters<>(SB), Z12, Z12
	ADD_WORD(0, Z0)
	ADD_WORD(1, Z1)
	ADD_WORD(2, Z2)
	ADD_WORD(3, Z3)
	ADD_WORD(4, Z4)
	ADD_WORD(5, Z5)
	ADD_WORD(6, Z6)
	ADD_WORD(7, Z7)
	ADD_WORD(8, Z8)
	ADD_WORD(9, Z9)
	ADD_WORD(10, Z10)
	ADD_WORD(11, Z11)
	ADD_WORD(12, Z12)
	ADD_WORD(13, Z13)
	ADD_WORD(14, Z14)
	ADD_WORD(15, Z15)
	FOUR_WORDS(Z0, Z1, Z2, Z3, Z16, Z17, Z18, Z19)
	FOUR_WORDS(Z4, Z5, Z6, Z7, Z16, Z17, Z18, Z19)
	FOUR_WORDS(Z8, Z9, Z10, Z11, Z16, Z17, Z18, Z19)
	FOUR_WORDS(Z12, Z13, Z14, Z15, Z16, Z17, Z18, Z19)
	FOUR_LANES(Z0, Z4, Z8, Z12, Z16, Z17, Z18, Z19)
	FOUR_LANES(Z1, Z5, Z9, Z13, Z16, Z17, Z18, Z19)
	FOUR_LANES(Z2, Z6, Z10, Z14, Z16, Z17, Z18, Z19)
	FOUR_LANES(Z3, Z7, Z11, Z15, Z16, Z17, Z18, Z19)
	CMPQ CX, $1024
	JB   saveSixteen
	XOR_FOUR(0, Z0, Z4, Z8, Z12)
	XOR_FOUR(1, Z1, Z5, Z9, Z13)
	XOR_FOUR(2, Z2, Z6, Z10, Z14)
	XOR_FOUR(3, Z3, Z7, Z11, Z15)
	ADDL $16, 48(R12)
	ADDQ $1024, DI
	ADDQ $1024, SI
	SUBQ $1024, CX
	JZ   done
	CMPQ CX, $512
	JA   sixteen

eight:
	WORD(0, Y0)
	WORD(1, Y1)
	WORD(2, Y2)
	WORD(3, Y3)
	WORD(4, Y4)
	WORD(5, Y5)
	WORD(6, Y6)
	WORD(7, Y7)
	WORD(8, Y8)
	WORD(9, Y9)
	WORD(10, Y10)
	WORD(11, Y11)
	WORD(12, Y12)
	VPADDD sixteenCounters<>(SB), Y12, Y12
	WORD(13, Y13)
	WORD(14, Y14)
	WORD(15, Y15)
	MOVQ   $6, AX

eightRounds:
	QUARTERS(Y0, Y4, Y8, Y12, Y1, Y5, Y9, Y13, Y2, Y6, Y10, Y14, Y3, Y7, Y11, Y15)
	QUARTERS(Y0, Y5, Y10, Y15, Y1, Y6, Y11, Y12, Y2, Y7, Y8, Y13, Y3, Y4, Y9, Y14)
	DECQ AX
	JNZ  eightRounds

	VPADDD sixteenCounters<>(SB), Y12, Y12
	ADD_WORD(0, Y0)
	ADD_WORD(1, Y1)
	ADD_WORD(2, Y2)
	ADD_WORD(3, Y3)
	ADD_WORD(4, Y4)
	ADD_WORD(5, Y5)
	ADD_WORD(6, Y6)
	ADD_WORD(7, Y7)
	ADD_WORD(8, Y8)
	ADD_WORD(9, Y9)
	ADD_WORD(10, Y10)
	ADD_WORD(11, Y11)
	ADD_WORD(12, Y12)
	ADD_WORD(13, Y13)
	ADD_WORD(14, Y14)
	ADD_WORD(15, Y15)
	FOUR_WORDS(Y0, Y1, Y2, Y3, Y16, Y17, Y18, Y19)
	FOUR_WORDS(Y4, Y5, Y6, Y7, Y16, Y17, Y18, Y19)
	FOUR_WORDS(Y8, Y9, Y10, Y11, Y16, Y17, Y18, Y19)
	FOUR_WORDS(Y12, Y13, Y14, Y15, Y16, Y17, Y18, Y19)
	SAVE_TWO(0, 0, Y0, Y4, Y16)
	SAVE_TWO(1, 0, Y1, Y5, Y17)
	SAVE_TWO(2, 0, Y2, Y6, Y18)
	SAVE_TWO(3, 0, Y3, Y7, Y19)
	SAVE_TWO(0, 32, Y8, Y12, Y16)
	SAVE_TWO(1, 32, Y9, Y13, Y17)
	SAVE_TWO(2, 32, Y10, Y14, Y18)
	SAVE_TWO(3, 32, Y11, Y15, Y19)
	JMP  xorBuffer

saveSixteen:
	SAVE_FOUR(0, Z0, Z4, Z8, Z12)
	SAVE_FOUR(1, Z1, Z5, Z9, Z13)
	SAVE_FOUR(2, Z2, Z6, Z10, Z14)
	SAVE_FOUR(3, Z3, Z7, Z11, Z15)

xorBuffer:
	MOVQ SP, BX
	SUBQ $32, CX
	JB   rest

halfBlock: // as it was stored, or loading it would have to wait for the stores
	VMOVDQU32 (BX), Y0
	VPXORD    (SI), Y0, Y0
	VMOVDQU32 Y0, (DI)
	ADDQ      $32, BX
	ADDQ      $32, SI
	ADDQ      $32, DI
	SUBQ      $32, CX
	JAE       halfBlock

rest:
	ADDQ       $32, CX
	JZ         done
	MOVL       $-1, AX
	SHLL       CX, AX
	NOTL       AX
	KMOVD      AX, K1 // the bytes that are left
	VMOVDQU8.Z (SI), K1, Y0
	VPXORD     (BX), Y0, Y0
	VMOVDQU8   Y0, K1, (DI)

done:
	VZEROUPPER
	RET

// PASS adds the products of one pass to SUM: words of the message in Z4 with those
// of the key at OFF. T0 and T1 are clobbered.
#define PASS(OFF, SUM, T0, T1) \
	VPADDD   OFF(R8), Z4, T0  \
	VPSRLQ   $32, T0, T1      \
	VPMULUDQ T0, T1, T1       \
	VPADDQ   T1, SUM, SUM

// PASS_MASKED adds only the products that K2 has.
#define PASS_MASKED(OFF, SUM, T0, T1) \
	VPADDD     OFF(R8), Z4, T0  \
	VPSRLQ     $32, T0, T1      \
	VPMULUDQ.Z T0, T1, K2, T1   \
	VPADDQ     T1, SUM, SUM

// CHUNK is all passes over the next four groups of words, which are put in the
// order of the key's.
#define CHUNK \
	VPSHUFD $0xD8, (R9), Z4  \
	PASS(0, Z0, Z5, Z6)      \
	PASS(16, Z1, Z7, Z8)     \
	PASS(32, Z2, Z9, Z10)    \
	PASS(48, Z3, Z11, Z12)   \
	ADDQ    $64, R9          \
	ADDQ    $64, R8

// UNTIL_CHUNK repeats BODY, which moves R9 to the next chunk of 64 bytes, up to N
// bytes of them and at most until the last whole one. AX is clobbered.
#define UNTIL_CHUNK(N, BODY, LOOP, TEST) \
	LEAQ    N(R9), AX      \
	CMPQ    AX, 32(SP)     \
	CMOVQHI 32(SP), AX     \
	JMP     TEST           \
LOOP: \
	BODY                   \
TEST: \
	CMPQ    R9, AX         \
	JB      LOOP

// func nhPoly1305AVX512(state *poly1305.State, key *simdHashKey, message *byte, n int)
//
// DI key, R9 message, CX bytes left, BX bytes after the last whole chunk of the
// piece, R8 NH key of the next groups. Z0 to Z3 are the sums of the four passes, each
// in eight parts; Z4 to Z12, K1 and K2 are for them. R10, R11 and R12 are the state
// of Poly1305; AX, DX, R13, SI, R14 and R15 are for it, AX for the end of a loop, and
// AX and CX for the masks.
//
// The frame has the hash value of a piece, the end of the whole chunks of the piece
// at hand, and whether there has been a piece before.
TEXT ·nhPoly1305AVX512(SB), 0, $48-32
	MOVQ state+0(FP), AX
	MOVQ key+8(FP), DI
	MOVQ message+16(FP), R9
	MOVQ n+24(FP), CX
	MOVQ 0(AX), R10
	MOVQ 8(AX), R11
	MOVQ 16(AX), R12
	MOVQ $0, 40(SP)

piece:
	MOVQ    $1024, BX
	CMPQ    CX, BX
	CMOVQLT CX, BX
	SUBQ    BX, CX
	LEAQ    16(DI), R8
	VPXORD  Z0, Z0, Z0
	VPXORD  Z1, Z1, Z1
	VPXORD  Z2, Z2, Z2
	VPXORD  Z3, Z3, Z3
	MOVQ    BX, AX
	ANDQ    $63, BX
	SUBQ    BX, AX
	ADDQ    R9, AX
	MOVQ    AX, 32(SP)

	// The hash value of the piece before is taken in on the way: its products wait
	// for each other, and meanwhile there is work.
	CMPQ 40(SP), $0
	JEQ  whole
	UNTIL_CHUNK(256, CHUNK, firstLoop, firstTest)
	POLY1305_BLOCK(0(SP), 8(SP), 0(DI), 8(DI), R10, R11, R12, R13, SI, R14, R15)
	UNTIL_CHUNK(256, CHUNK, secondLoop, secondTest)
	POLY1305_BLOCK(16(SP), 24(SP), 0(DI), 8(DI), R10, R11, R12, R13, SI, R14, R15)

whole:
	UNTIL_CHUNK(1024, CHUNK, wholeLoop, wholeTest)
	TESTQ BX, BX
	JZ    sum

	// K1 has the bytes that are left, K2 the halves of the groups that they begin.
	XCHGQ      BX, CX
	MOVQ       $-1, AX
	SHLQ       CX, AX
	NOTQ       AX
	KMOVQ      AX, K1
	ADDQ       $15, CX
	SHRQ       $4, CX
	ADDQ       CX, CX
	MOVQ       $-1, AX
	SHLQ       CX, AX
	NOTQ       AX
	KMOVQ      AX, K2
	MOVQ       BX, CX
	VMOVDQU8.Z (R9), K1, Z4
	VPSHUFD    $0xD8, Z4, Z4
	PASS_MASKED(0, Z0, Z5, Z6)
	PASS_MASKED(16, Z1, Z7, Z8)
	PASS_MASKED(32, Z2, Z9, Z10)
	PASS_MASKED(48, Z3, Z11, Z12)

sum:
	VPUNPCKLQDQ Z1, Z0, Z4
	VPUNPCKHQDQ Z1, Z0, Z5
	VPADDQ      Z5, Z4, Z4 // passes 0 and 1, in four parts
	VPUNPCKLQDQ Z3, Z2, Z6
	VPUNPCKHQDQ Z3, Z2, Z7
	VPADDQ      Z7, Z6, Z6 // passes 2 and 3
	VSHUFI32X4  $0x88, Z6, Z4, Z5
	VSHUFI32X4  $0xDD, Z6, Z4, Z7
	VPADDQ      Z7, Z5, Z5 // the former in lanes 0 and 1, the latter in 2 and 3
	VEXTRACTI64X4 $1, Z5, Y6
	VPERM2I128  $0x20, Y6, Y5, Y4
	VPERM2I128  $0x31, Y6, Y5, Y5
	VPADDQ      Y4, Y5, Y5
	VMOVDQU     Y5, (SP)
	MOVQ        $1, 40(SP)
	TESTQ       CX, CX
	JNZ         piece

	POLY1305_BLOCK(0(SP), 8(SP), 0(DI), 8(DI), R10, R11, R12, R13, SI, R14, R15)
	POLY1305_BLOCK(16(SP), 24(SP), 0(DI), 8(DI), R10, R11, R12, R13, SI, R14, R15)
	MOVQ state+0(FP), AX
	MOVQ R10, 0(AX)
	MOVQ R11, 8(AX)
	MOVQ R12, 16(AX)
	VZEROUPPER
	RET
