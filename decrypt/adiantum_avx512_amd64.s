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

// The block counter of the first block, and the end of the nonce.
DATA chachaLastRow<>+0x00(SB)/8, $0
DATA chachaLastRow<>+0x08(SB)/8, $1
GLOBL chachaLastRow<>(SB), RODATA|NOPTR, $16

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

// What two times four blocks with one in a lane have to be added to their last rows.
DATA fourCounters<>+0x00(SB)/8, $0
DATA fourCounters<>+0x08(SB)/8, $0
DATA fourCounters<>+0x10(SB)/8, $1
DATA fourCounters<>+0x18(SB)/8, $0
DATA fourCounters<>+0x20(SB)/8, $2
DATA fourCounters<>+0x28(SB)/8, $0
DATA fourCounters<>+0x30(SB)/8, $3
DATA fourCounters<>+0x38(SB)/8, $0
DATA fourCounters<>+0x40(SB)/8, $4
DATA fourCounters<>+0x48(SB)/8, $0
DATA fourCounters<>+0x50(SB)/8, $5
DATA fourCounters<>+0x58(SB)/8, $0
DATA fourCounters<>+0x60(SB)/8, $6
DATA fourCounters<>+0x68(SB)/8, $0
DATA fourCounters<>+0x70(SB)/8, $7
DATA fourCounters<>+0x78(SB)/8, $0
GLOBL fourCounters<>(SB), RODATA|NOPTR, $128

// ROUND is a round on the columns of states whose rows are A, B, C and D.
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

// TO_DIAGONALS turns the rows A, C and D so that the diagonals become columns.
// TO_COLUMNS undoes it. Row B stays: it is the last one to be ready.
#define TO_DIAGONALS(A, C, D) \
	VPSHUFD $0x93, A, A \
	VPSHUFD $0x39, C, C \
	VPSHUFD $0x4E, D, D
#define TO_COLUMNS(A, C, D) \
	VPSHUFD $0x39, A, A \
	VPSHUFD $0x93, C, C \
	VPSHUFD $0x4E, D, D

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
	VMOVDQU32 A, 64*I(R10)       \
	VMOVDQU32 B, 64*(I+4)(R10)   \
	VMOVDQU32 C, 64*(I+8)(R10)   \
	VMOVDQU32 D, 64*(I+12)(R10)

// func hchacha12AVX512(state *xchacha.State, key *xchacha.Key, lo, hi uint64)
//
// X0 to X3 are the rows of the state, AX the double rounds left.
TEXT ·hchacha12AVX512(SB), NOSPLIT, $0-32
	MOVQ    state+0(FP), DI
	MOVQ    key+8(FP), SI
	VMOVDQU chachaConstants<>(SB), X0
	VMOVDQU (SI), X1
	VMOVDQU 16(SI), X2
	VMOVQ   lo+16(FP), X3
	VPINSRQ $1, hi+24(FP), X3, X3
	MOVQ    $6, AX

rounds:
	ROUND(X0, X1, X2, X3)
	TO_DIAGONALS(X0, X2, X3)
	ROUND(X0, X1, X2, X3)
	TO_COLUMNS(X0, X2, X3)
	DECQ    AX
	JNZ     rounds

	VMOVDQU chachaConstants<>(SB), X4
	VMOVDQU chachaLastRow<>(SB), X5
	VMOVDQU X4, (DI)
	VMOVDQU X0, 16(DI)
	VMOVDQU X3, 32(DI)
	VMOVDQU X5, 48(DI)
	VZEROUPPER
	RET

// SUBKEYS stores two subkeys, the rows of which are in A and B, to the states at OFF and
// four states later.
#define SUBKEYS(OFF, A, B) \
	VEXTRACTI32X4 $0, A, OFF+16(R8)  \
	VEXTRACTI32X4 $0, B, OFF+32(R8)  \
	VEXTRACTI32X4 $1, A, OFF+272(R8) \
	VEXTRACTI32X4 $1, B, OFF+288(R8)

// func hchacha12EightAVX512(states *[8]xchacha.State, key *xchacha.Key, cms *[8]block)
//
// R8 states, SI key, DX cms, AX double rounds left. Y0 to Y15 have words 0 to 15 of the
// eight states, Y16 to Y19 are for transposing.
TEXT ·hchacha12EightAVX512(SB), NOSPLIT, $0-24
	MOVQ states+0(FP), R8
	MOVQ key+8(FP), SI
	MOVQ cms+16(FP), DX

	// The last rows are the blocks. Lanes have blocks i and i+4, which transposing
	// leaves there.
	VMOVDQU      0(DX), X12
	VMOVDQU      16(DX), X13
	VMOVDQU      32(DX), X14
	VMOVDQU      48(DX), X15
	VINSERTI128  $1, 64(DX), Y12, Y12
	VINSERTI128  $1, 80(DX), Y13, Y13
	VINSERTI128  $1, 96(DX), Y14, Y14
	VINSERTI128  $1, 112(DX), Y15, Y15
	FOUR_WORDS(Y12, Y13, Y14, Y15, Y16, Y17, Y18, Y19)
	VPBROADCASTD chachaConstants<>+0(SB), Y0
	VPBROADCASTD chachaConstants<>+4(SB), Y1
	VPBROADCASTD chachaConstants<>+8(SB), Y2
	VPBROADCASTD chachaConstants<>+12(SB), Y3
	VPBROADCASTD 0(SI), Y4
	VPBROADCASTD 4(SI), Y5
	VPBROADCASTD 8(SI), Y6
	VPBROADCASTD 12(SI), Y7
	VPBROADCASTD 16(SI), Y8
	VPBROADCASTD 20(SI), Y9
	VPBROADCASTD 24(SI), Y10
	VPBROADCASTD 28(SI), Y11
	MOVQ         $6, AX

rounds:
	QUARTERS(Y0, Y4, Y8, Y12, Y1, Y5, Y9, Y13, Y2, Y6, Y10, Y14, Y3, Y7, Y11, Y15)
	QUARTERS(Y0, Y5, Y10, Y15, Y1, Y6, Y11, Y12, Y2, Y7, Y8, Y13, Y3, Y4, Y9, Y14)
	DECQ AX
	JNZ  rounds

	FOUR_WORDS(Y0, Y1, Y2, Y3, Y16, Y17, Y18, Y19)
	FOUR_WORDS(Y12, Y13, Y14, Y15, Y16, Y17, Y18, Y19)
	SUBKEYS(0, Y0, Y12)
	SUBKEYS(64, Y1, Y13)
	SUBKEYS(128, Y2, Y14)
	SUBKEYS(192, Y3, Y15)

	VMOVDQU chachaConstants<>(SB), X0
	VMOVDQU chachaLastRow<>(SB), X1
	MOVQ    $8, AX

rows:
	VMOVDQU X0, (R8)
	VMOVDQU X1, 48(R8)
	ADDQ    $64, R8
	DECQ    AX
	JNZ     rows
	VZEROUPPER
	RET

// func chacha12AVX512(dst, src *byte, n int, state *xchacha.State)
//
// DI dst, SI src, CX bytes left, R12 state, AX double rounds left. Z0 to Z15 have
// words 0 to 15 of sixteen blocks, or Z0 to Z3 and Z4 to Z7 the rows of two times
// four blocks. Z16 to Z19 are for transposing, Z16 to Z21 the initial rows. R10 is a
// buffer of sixteen blocks, aligned in the frame, through which the last blocks go;
// AX and K1 are for the bytes of the last one.
TEXT ·chacha12AVX512(SB), 0, $1088-32
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ state+24(FP), R12
	LEAQ 63(SP), R10
	ANDQ $~63, R10
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

	// Of up to eight blocks the rows stay rows: a lane has one block's, which takes
	// turning them for the diagonals but hardly any transposing.
eight:
	VBROADCASTI32X4 (R12), Z16
	VBROADCASTI32X4 16(R12), Z17
	VBROADCASTI32X4 32(R12), Z18
	VBROADCASTI32X4 48(R12), Z19
	VPADDD          fourCounters<>(SB), Z19, Z20
	VPADDD          fourCounters<>+64(SB), Z19, Z21
	VMOVDQA32       Z16, Z0
	VMOVDQA32       Z17, Z1
	VMOVDQA32       Z18, Z2
	VMOVDQA32       Z20, Z3
	VMOVDQA32       Z16, Z4
	VMOVDQA32       Z17, Z5
	VMOVDQA32       Z18, Z6
	VMOVDQA32       Z21, Z7
	MOVQ            $6, AX

eightRounds:
	ROUND(Z0, Z1, Z2, Z3)
	ROUND(Z4, Z5, Z6, Z7)
	TO_DIAGONALS(Z0, Z2, Z3)
	TO_DIAGONALS(Z4, Z6, Z7)
	ROUND(Z0, Z1, Z2, Z3)
	ROUND(Z4, Z5, Z6, Z7)
	TO_COLUMNS(Z0, Z2, Z3)
	TO_COLUMNS(Z4, Z6, Z7)
	DECQ AX
	JNZ  eightRounds

	VPADDD Z16, Z0, Z0
	VPADDD Z17, Z1, Z1
	VPADDD Z18, Z2, Z2
	VPADDD Z20, Z3, Z3
	VPADDD Z16, Z4, Z4
	VPADDD Z17, Z5, Z5
	VPADDD Z18, Z6, Z6
	VPADDD Z21, Z7, Z7
	FOUR_LANES(Z0, Z1, Z2, Z3, Z16, Z17, Z18, Z19)
	FOUR_LANES(Z4, Z5, Z6, Z7, Z16, Z17, Z18, Z19)
	VMOVDQU32 Z0, (R10)
	VMOVDQU32 Z1, 64(R10)
	VMOVDQU32 Z2, 128(R10)
	VMOVDQU32 Z3, 192(R10)
	VMOVDQU32 Z4, 256(R10)
	VMOVDQU32 Z5, 320(R10)
	VMOVDQU32 Z6, 384(R10)
	VMOVDQU32 Z7, 448(R10)
	JMP       xorBuffer

saveSixteen:
	SAVE_FOUR(0, Z0, Z4, Z8, Z12)
	SAVE_FOUR(1, Z1, Z5, Z9, Z13)
	SAVE_FOUR(2, Z2, Z6, Z10, Z14)
	SAVE_FOUR(3, Z3, Z7, Z11, Z15)

xorBuffer:
	SUBQ $64, CX
	JB   rest

wholeBlock:
	VMOVDQU32 (R10), Z0
	VPXORD    (SI), Z0, Z0
	VMOVDQU32 Z0, (DI)
	ADDQ      $64, R10
	ADDQ      $64, SI
	ADDQ      $64, DI
	SUBQ      $64, CX
	JAE       wholeBlock

rest:
	ADDQ       $64, CX
	JZ         done
	MOVQ       $-1, AX
	SHLQ       CX, AX
	NOTQ       AX
	KMOVQ      AX, K1
	VMOVDQU8.Z (SI), K1, Z0
	VPXORD     (R10), Z0, Z0
	VMOVDQU8   Z0, K1, (DI)

done:
	VZEROUPPER
	RET

// XOR_EIGHT xors eight blocks into the data, of the last one the bytes that K1 has. T is
// clobbered.
#define XOR_EIGHT(B0, B1, B2, B3, B4, B5, B6, B7, T) \
	VPXORD     (SI), B0, B0    \
	VPXORD     64(SI), B1, B1  \
	VPXORD     128(SI), B2, B2 \
	VPXORD     192(SI), B3, B3 \
	VPXORD     256(SI), B4, B4 \
	VPXORD     320(SI), B5, B5 \
	VPXORD     384(SI), B6, B6 \
	VMOVDQU8.Z 448(SI), K1, T  \
	VPXORD     T, B7, B7       \
	VMOVDQU32  B0, (DI)        \
	VMOVDQU32  B1, 64(DI)      \
	VMOVDQU32  B2, 128(DI)     \
	VMOVDQU32  B3, 192(DI)     \
	VMOVDQU32  B4, 256(DI)     \
	VMOVDQU32  B5, 320(DI)     \
	VMOVDQU32  B6, 384(DI)     \
	VMOVDQU8   B7, K1, 448(DI)

// WORD_OF_EACH sets REG to word I of the two initial states, for eight blocks each.
#define WORD_OF_EACH(I, REG) \
	VPBROADCASTD 4*I(R12), REG        \
	VPBROADCASTD 64+4*I(R12), K2, REG

// func chacha12TwoAVX512(dst, src *byte, n, distance int, states *[2]xchacha.State)
//
// DI dst, SI src, CX n, DX distance, R12 states, AX double rounds left. Z0 to Z15 have
// words 0 to 15 of eight blocks for the first state and of eight for the second, which K2
// has. Z16 to Z24 are initial words 4 to 12, Z25 to Z28 for transposing. AX, K1 and Z25 are
// for the bytes of the last block.
TEXT ·chacha12TwoAVX512(SB), NOSPLIT, $0-40
	MOVQ  dst+0(FP), DI
	MOVQ  src+8(FP), SI
	MOVQ  n+16(FP), CX
	MOVQ  distance+24(FP), DX
	MOVQ  states+32(FP), R12
	MOVL  $0xFF00, AX
	KMOVD AX, K2

	WORD(0, Z0)
	WORD(1, Z1)
	WORD(2, Z2)
	WORD(3, Z3)
	WORD_OF_EACH(4, Z16)
	WORD_OF_EACH(5, Z17)
	WORD_OF_EACH(6, Z18)
	WORD_OF_EACH(7, Z19)
	WORD_OF_EACH(8, Z20)
	WORD_OF_EACH(9, Z21)
	WORD_OF_EACH(10, Z22)
	WORD_OF_EACH(11, Z23)
	VBROADCASTI64X4 sixteenCounters<>(SB), Z24
	VMOVDQA32 Z16, Z4
	VMOVDQA32 Z17, Z5
	VMOVDQA32 Z18, Z6
	VMOVDQA32 Z19, Z7
	VMOVDQA32 Z20, Z8
	VMOVDQA32 Z21, Z9
	VMOVDQA32 Z22, Z10
	VMOVDQA32 Z23, Z11
	VMOVDQA32 Z24, Z12
	WORD(13, Z13)
	WORD(14, Z14)
	WORD(15, Z15)
	MOVQ $6, AX

rounds:
	QUARTERS(Z0, Z4, Z8, Z12, Z1, Z5, Z9, Z13, Z2, Z6, Z10, Z14, Z3, Z7, Z11, Z15)
	QUARTERS(Z0, Z5, Z10, Z15, Z1, Z6, Z11, Z12, Z2, Z7, Z8, Z13, Z3, Z4, Z9, Z14)
	DECQ AX
	JNZ  rounds

	ADD_WORD(0, Z0)
	ADD_WORD(1, Z1)
	ADD_WORD(2, Z2)
	ADD_WORD(3, Z3)
	VPADDD Z16, Z4, Z4
	VPADDD Z17, Z5, Z5
	VPADDD Z18, Z6, Z6
	VPADDD Z19, Z7, Z7
	VPADDD Z20, Z8, Z8
	VPADDD Z21, Z9, Z9
	VPADDD Z22, Z10, Z10
	VPADDD Z23, Z11, Z11
	VPADDD Z24, Z12, Z12
	ADD_WORD(13, Z13)
	ADD_WORD(14, Z14)
	ADD_WORD(15, Z15)
	FOUR_WORDS(Z0, Z1, Z2, Z3, Z25, Z26, Z27, Z28)
	FOUR_WORDS(Z4, Z5, Z6, Z7, Z25, Z26, Z27, Z28)
	FOUR_WORDS(Z8, Z9, Z10, Z11, Z25, Z26, Z27, Z28)
	FOUR_WORDS(Z12, Z13, Z14, Z15, Z25, Z26, Z27, Z28)
	FOUR_LANES(Z0, Z4, Z8, Z12, Z25, Z26, Z27, Z28)
	FOUR_LANES(Z1, Z5, Z9, Z13, Z25, Z26, Z27, Z28)
	FOUR_LANES(Z2, Z6, Z10, Z14, Z25, Z26, Z27, Z28)
	FOUR_LANES(Z3, Z7, Z11, Z15, Z25, Z26, Z27, Z28)
	SUBQ  $512, CX
	NEGQ  CX // bytes that are missing in the last block
	MOVQ  $-1, AX
	SHRQ  CX, AX
	KMOVQ AX, K1
	XOR_EIGHT(Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z25)
	ADDQ  DX, DI
	ADDQ  DX, SI
	XOR_EIGHT(Z8, Z9, Z10, Z11, Z12, Z13, Z14, Z15, Z25)
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
// bytes of them and at most until END, that of the last whole one. AX is clobbered.
#define UNTIL_CHUNK(N, END, BODY, LOOP, TEST) \
	LEAQ    N(R9), AX    \
	CMPQ    AX, END      \
	CMOVQHI END, AX      \
	JMP     TEST         \
LOOP: \
	BODY                 \
TEST: \
	CMPQ    R9, AX       \
	JB      LOOP

// func nhPoly1305AVX512(states *poly1305.State, keys *adiantumHashKeys, messages *byte, n, distance, count int)
//
// DI keys, R9 message, CX bytes left, BX bytes after the last whole chunk of the
// piece, R8 NH key of the next groups. Z0 to Z3 are the sums of the four passes, each
// in eight parts; Z4 to Z12, K1 and K2 are for them. R10, R11 and R12 are the state
// of Poly1305; AX, DX, R13, SI, R14 and R15 are for it, AX for the end of a loop, and
// AX and CX for the masks.
//
// The frame has
//
//	 0  hash value of a piece
//	32  end of the whole chunks of the piece at hand
//	40  what the piece before was: 0 none, 1 of this message, 2 the last of one
//	48  state of the next message to end
//	56  message at hand
//	64  messages left
TEXT ·nhPoly1305AVX512(SB), 0, $72-48
	MOVQ states+0(FP), AX
	MOVQ AX, 48(SP)
	MOVQ keys+8(FP), DI
	MOVQ messages+16(FP), R9
	MOVQ R9, 56(SP)
	MOVQ n+24(FP), CX
	MOVQ count+40(FP), AX
	MOVQ AX, 64(SP)
	MOVQ $0, 40(SP)
	XORQ R10, R10
	XORQ R11, R11
	XORQ R12, R12

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
	UNTIL_CHUNK(256, 32(SP), CHUNK, firstLoop, firstTest)
	POLY1305_BLOCK(0(SP), 8(SP), 0(DI), 8(DI), R10, R11, R12, R13, SI, R14, R15)
	UNTIL_CHUNK(256, 32(SP), CHUNK, secondLoop, secondTest)
	POLY1305_BLOCK(16(SP), 24(SP), 0(DI), 8(DI), R10, R11, R12, R13, SI, R14, R15)
	CMPQ 40(SP), $2
	JNE  whole
	MOVQ 48(SP), AX
	MOVQ R10, 0(AX)
	MOVQ R11, 8(AX)
	MOVQ R12, 16(AX)
	ADDQ $24, 48(SP)
	XORQ R10, R10
	XORQ R11, R11
	XORQ R12, R12

whole:
	UNTIL_CHUNK(1024, 32(SP), CHUNK, wholeLoop, wholeTest)
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
	MOVQ        $2, 40(SP)
	MOVQ        56(SP), R9
	ADDQ        distance+32(FP), R9
	MOVQ        R9, 56(SP)
	MOVQ        n+24(FP), CX
	DECQ        64(SP)
	JNZ         piece

	POLY1305_BLOCK(0(SP), 8(SP), 0(DI), 8(DI), R10, R11, R12, R13, SI, R14, R15)
	POLY1305_BLOCK(16(SP), 24(SP), 0(DI), 8(DI), R10, R11, R12, R13, SI, R14, R15)
	MOVQ 48(SP), AX
	MOVQ R10, 0(AX)
	MOVQ R11, 8(AX)
	MOVQ R12, 16(AX)
	VZEROUPPER
	RET
