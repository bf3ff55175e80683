//go:build !purego

// XChaCha12, and Poly1305 over NH: the parts of Adiantum whose work grows with the
// data, with AVX2.
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

// Indices of VPSHUFB that rotate each word left by 16 and by 8 bits.
DATA rotate16<>+0x00(SB)/8, $0x0504070601000302
DATA rotate16<>+0x08(SB)/8, $0x0d0c0f0e09080b0a
DATA rotate16<>+0x10(SB)/8, $0x0504070601000302
DATA rotate16<>+0x18(SB)/8, $0x0d0c0f0e09080b0a
GLOBL rotate16<>(SB), RODATA|NOPTR, $32
DATA rotate8<>+0x00(SB)/8, $0x0605040702010003
DATA rotate8<>+0x08(SB)/8, $0x0e0d0c0f0a09080b
DATA rotate8<>+0x10(SB)/8, $0x0605040702010003
DATA rotate8<>+0x18(SB)/8, $0x0e0d0c0f0a09080b
GLOBL rotate8<>(SB), RODATA|NOPTR, $32

// The block counter of the first block, and the end of the nonce.
DATA chachaLastRow<>+0x00(SB)/8, $0
DATA chachaLastRow<>+0x08(SB)/8, $1
GLOBL chachaLastRow<>(SB), RODATA|NOPTR, $16

// The block counters of eight blocks, before the number of the first is added.
DATA eightCounters<>+0x00(SB)/8, $0x0000000100000000
DATA eightCounters<>+0x08(SB)/8, $0x0000000300000002
DATA eightCounters<>+0x10(SB)/8, $0x0000000500000004
DATA eightCounters<>+0x18(SB)/8, $0x0000000700000006
GLOBL eightCounters<>(SB), RODATA|NOPTR, $32

// ROUND is a round on the columns of one state, whose rows are A, B, C and D. T is
// clobbered.
#define ROUND(A, B, C, D, T) \
	VPADDD  B, A, A              \
	VPXOR   A, D, D              \
	VPSHUFB rotate16<>(SB), D, D \
	VPADDD  D, C, C              \
	VPXOR   C, B, B              \
	VPSLLD  $12, B, T            \
	VPSRLD  $20, B, B            \
	VPXOR   T, B, B              \
	VPADDD  B, A, A              \
	VPXOR   A, D, D              \
	VPSHUFB rotate8<>(SB), D, D  \
	VPADDD  D, C, C              \
	VPXOR   C, B, B              \
	VPSLLD  $7, B, T             \
	VPSRLD  $25, B, B            \
	VPXOR   T, B, B

// COPY copies N bytes from FROM to TO. It clobbers these registers, T and X0, and
// takes the names of its labels.
#define COPY(FROM, TO, N, T, WIDE, TAIL, NARROW, DONE) \
	JMP     TAIL         \
WIDE: \
	VMOVDQU (FROM), X0   \
	VMOVDQU X0, (TO)     \
	ADDQ    $16, FROM    \
	ADDQ    $16, TO      \
	SUBQ    $16, N       \
TAIL: \
	CMPQ    N, $16       \
	JAE     WIDE         \
	TESTQ   N, N         \
	JZ      DONE         \
NARROW: \
	MOVB    (FROM), T    \
	MOVB    T, (TO)      \
	INCQ    FROM         \
	INCQ    TO           \
	DECQ    N            \
	JNZ     NARROW       \
DONE:

// HALF is one half of four quarter rounds side by side, which rotates D with ROTATED
// and B by LEFT bits, or RIGHT to the right. C3, word 11 of the states, is in memory,
// for there has to be a register for rotating: Y11.
#define HALF(ROTATED, LEFT, RIGHT, A0, B0, C0, D0, A1, B1, C1, D1, A2, B2, C2, D2, A3, B3, D3) \
	VPADDD  B0, A0, A0        \
	VPADDD  B1, A1, A1        \
	VPADDD  B2, A2, A2        \
	VPADDD  B3, A3, A3        \
	VPXOR   A0, D0, D0        \
	VPXOR   A1, D1, D1        \
	VPXOR   A2, D2, D2        \
	VPXOR   A3, D3, D3        \
	VPSHUFB ROTATED, D0, D0   \
	VPSHUFB ROTATED, D1, D1   \
	VPSHUFB ROTATED, D2, D2   \
	VPSHUFB ROTATED, D3, D3   \
	VPADDD  D0, C0, C0        \
	VPADDD  D1, C1, C1        \
	VPADDD  D2, C2, C2        \
	VPADDD  608(R10), D3, Y11 \
	VPXOR   C0, B0, B0        \
	VPXOR   C1, B1, B1        \
	VPXOR   C2, B2, B2        \
	VPXOR   Y11, B3, B3       \
	VMOVDQA Y11, 608(R10)     \
	VPSLLD  $LEFT, B0, Y11    \
	VPSRLD  $RIGHT, B0, B0    \
	VPXOR   Y11, B0, B0       \
	VPSLLD  $LEFT, B1, Y11    \
	VPSRLD  $RIGHT, B1, B1    \
	VPXOR   Y11, B1, B1       \
	VPSLLD  $LEFT, B2, Y11    \
	VPSRLD  $RIGHT, B2, B2    \
	VPXOR   Y11, B2, B2       \
	VPSLLD  $LEFT, B3, Y11    \
	VPSRLD  $RIGHT, B3, B3    \
	VPXOR   Y11, B3, B3

// QUARTERS is four quarter rounds side by side.
#define QUARTERS(A0, B0, C0, D0, A1, B1, C1, D1, A2, B2, C2, D2, A3, B3, D3) \
	HALF(rotate16<>(SB), 12, 20, A0, B0, C0, D0, A1, B1, C1, D1, A2, B2, C2, D2, A3, B3, D3) \
	HALF(rotate8<>(SB), 7, 25, A0, B0, C0, D0, A1, B1, C1, D1, A2, B2, C2, D2, A3, B3, D3)

// WORD sets REG to word I of the initial state, for all blocks.
#define WORD(I, REG) VPBROADCASTD 4*I(R12), REG

// ADD_INITIAL adds word I of the initial state to REG. Y8 is clobbered.
#define ADD_INITIAL(I, REG) \
	WORD(I, Y8)         \
	VPADDD Y8, REG, REG

// LOAD_FINAL sets REG to word I, of 8 to 15, of the final states, which is in memory
// before the addition of the initial one. Y8 is clobbered.
#define LOAD_FINAL(I, REG) \
	WORD(I, Y8)                           \
	VPADDD 512+32*(I-8)(R10), Y8, REG

// XOR_PAIR xors the low lanes of LO and HI into the 32 bytes of data at OFF, and the
// high ones into those four blocks later. T is clobbered.
#define XOR_PAIR(LO, HI, OFF, T) \
	VPERM2I128 $0x20, HI, LO, T      \
	VPXOR      OFF(R9), T, T         \
	VMOVDQU    T, OFF(R8)            \
	VPERM2I128 $0x31, HI, LO, T      \
	VPXOR      OFF+256(R9), T, T     \
	VMOVDQU    T, OFF+256(R8)

// XOR_HALVES xors Y0 to Y7, which have eight consecutive words of each of eight
// blocks, into the data; in the first block they belong at OFF. Transposed in two
// steps, words 0 and 1, 2 and 3, and so on become neighbours, then 0 to 3 and 4
// to 7; each step leaves blocks i and i+4 in the two lanes of a register.
// Y8 to Y15 are clobbered.
#define XOR_HALVES(OFF) \
	VPUNPCKLDQ  Y1, Y0, Y8          \
	VPUNPCKHDQ  Y1, Y0, Y9          \
	VPUNPCKLDQ  Y3, Y2, Y10         \
	VPUNPCKHDQ  Y3, Y2, Y11         \
	VPUNPCKLDQ  Y5, Y4, Y12         \
	VPUNPCKHDQ  Y5, Y4, Y13         \
	VPUNPCKLDQ  Y7, Y6, Y14         \
	VPUNPCKHDQ  Y7, Y6, Y15         \
	VPUNPCKLQDQ Y10, Y8, Y0         \
	VPUNPCKHQDQ Y10, Y8, Y1         \
	VPUNPCKLQDQ Y11, Y9, Y2         \
	VPUNPCKHQDQ Y11, Y9, Y3         \
	VPUNPCKLQDQ Y14, Y12, Y4        \
	VPUNPCKHQDQ Y14, Y12, Y5        \
	VPUNPCKLQDQ Y15, Y13, Y6        \
	VPUNPCKHQDQ Y15, Y13, Y7        \
	XOR_PAIR(Y0, Y4, OFF, Y8)       \
	XOR_PAIR(Y1, Y5, OFF+64, Y9)    \
	XOR_PAIR(Y2, Y6, OFF+128, Y10)  \
	XOR_PAIR(Y3, Y7, OFF+192, Y11)

// func hchacha12AVX2(state *xchacha.State, key *xchacha.Key, lo, hi uint64)
//
// X0 to X3 are the rows of the state, AX the double rounds left.
TEXT ·hchacha12AVX2(SB), NOSPLIT, $0-32
	MOVQ    state+0(FP), DI
	MOVQ    key+8(FP), SI
	VMOVDQU chachaConstants<>(SB), X0
	VMOVDQU (SI), X1
	VMOVDQU 16(SI), X2
	VMOVQ   lo+16(FP), X3
	VPINSRQ $1, hi+24(FP), X3, X3
	MOVQ    $6, AX

rounds:
	// Instead of B the three other rows are turned for the diagonals: they are
	// ready before B is.
	ROUND(X0, X1, X2, X3, X4)
	VPSHUFD $0x93, X0, X0
	VPSHUFD $0x4E, X3, X3
	VPSHUFD $0x39, X2, X2
	ROUND(X0, X1, X2, X3, X4)
	VPSHUFD $0x39, X0, X0
	VPSHUFD $0x4E, X3, X3
	VPSHUFD $0x93, X2, X2
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

// func chacha12AVX2(dst, src *byte, n int, state *xchacha.State)
//
// DI dst, SI src, CX bytes left, R12 state, AX double rounds left. R8 and R9 are
// where the eight blocks at hand are written to and read from: DI and SI, or the
// buffer if less than eight blocks are left. BX, DX and R11 are for copying. R10 is
// the frame, aligned:
//
//	  0  buffer of eight blocks
//	512  words 8 to 15 of eight blocks, where only word 11 is used during rounds
//
// A register has the same word of eight blocks: Y0 to Y10 words 0 to 10, Y12 to
// Y15 words 12 to 15.
TEXT ·chacha12AVX2(SB), 0, $800-32
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ state+24(FP), R12
	LEAQ 31(SP), R10
	ANDQ $~31, R10

eight:
	MOVQ DI, R8
	MOVQ SI, R9
	CMPQ CX, $512
	JAE  begin
	MOVQ R10, BX
	MOVQ CX, DX
	COPY(SI, BX, DX, R11, srcWide, srcTail, srcNarrow, srcDone)
	MOVQ R10, R8
	MOVQ R10, R9

begin:
	WORD(11, Y11)
	VMOVDQA Y11, 608(R10)
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
	WORD(12, Y12)
	VPADDD  eightCounters<>(SB), Y12, Y12
	WORD(13, Y13)
	WORD(14, Y14)
	WORD(15, Y15)
	MOVQ    $6, AX

rounds:
	QUARTERS(Y0, Y4, Y8, Y12, Y1, Y5, Y9, Y13, Y2, Y6, Y10, Y14, Y3, Y7, Y15)
	QUARTERS(Y0, Y5, Y10, Y15, Y2, Y7, Y8, Y13, Y3, Y4, Y9, Y14, Y1, Y6, Y12)
	DECQ    AX
	JNZ     rounds

	VMOVDQA Y8, 512(R10)
	VMOVDQA Y9, 544(R10)
	VMOVDQA Y10, 576(R10)
	VPADDD  eightCounters<>(SB), Y12, Y12
	VMOVDQA Y12, 640(R10)
	VMOVDQA Y13, 672(R10)
	VMOVDQA Y14, 704(R10)
	VMOVDQA Y15, 736(R10)
	ADD_INITIAL(0, Y0)
	ADD_INITIAL(1, Y1)
	ADD_INITIAL(2, Y2)
	ADD_INITIAL(3, Y3)
	ADD_INITIAL(4, Y4)
	ADD_INITIAL(5, Y5)
	ADD_INITIAL(6, Y6)
	ADD_INITIAL(7, Y7)
	XOR_HALVES(0)
	LOAD_FINAL(8, Y0)
	LOAD_FINAL(9, Y1)
	LOAD_FINAL(10, Y2)
	LOAD_FINAL(11, Y3)
	LOAD_FINAL(12, Y4)
	LOAD_FINAL(13, Y5)
	LOAD_FINAL(14, Y6)
	LOAD_FINAL(15, Y7)
	XOR_HALVES(32)

	CMPQ CX, $512
	JB   last
	ADDL $8, 48(R12)
	ADDQ $512, DI
	ADDQ $512, SI
	SUBQ $512, CX
	JNZ  eight
	JMP  dstDone

last:
	COPY(R10, DI, CX, R11, dstWide, dstTail, dstNarrow, dstDone)
	VZEROUPPER
	RET

// func hchacha12EightAVX2(states *[8]xchacha.State, key *xchacha.Key, cms *[8]block)
//
// R8 and R9 states, SI key, DX cms, AX double rounds left, R10 the frame, aligned, where
// word 11 is at 608. The other words are in registers as in chacha12AVX2.
TEXT ·hchacha12EightAVX2(SB), 0, $672-24
	MOVQ states+0(FP), R8
	MOVQ key+8(FP), SI
	MOVQ cms+16(FP), DX
	LEAQ 31(SP), R10
	ANDQ $~31, R10

	// The last rows are the blocks. Lanes have blocks i and i+4, as with XOR_HALVES.
	VMOVDQU      0(DX), X0
	VMOVDQU      16(DX), X1
	VMOVDQU      32(DX), X2
	VMOVDQU      48(DX), X3
	VINSERTI128  $1, 64(DX), Y0, Y0
	VINSERTI128  $1, 80(DX), Y1, Y1
	VINSERTI128  $1, 96(DX), Y2, Y2
	VINSERTI128  $1, 112(DX), Y3, Y3
	VPUNPCKLDQ   Y1, Y0, Y4
	VPUNPCKHDQ   Y1, Y0, Y5
	VPUNPCKLDQ   Y3, Y2, Y6
	VPUNPCKHDQ   Y3, Y2, Y7
	VPUNPCKLQDQ  Y6, Y4, Y12
	VPUNPCKHQDQ  Y6, Y4, Y13
	VPUNPCKLQDQ  Y7, Y5, Y14
	VPUNPCKHQDQ  Y7, Y5, Y15
	VPBROADCASTD 28(SI), Y11
	VMOVDQA      Y11, 608(R10)
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
	MOVQ         $6, AX

rounds:
	QUARTERS(Y0, Y4, Y8, Y12, Y1, Y5, Y9, Y13, Y2, Y6, Y10, Y14, Y3, Y7, Y15)
	QUARTERS(Y0, Y5, Y10, Y15, Y2, Y7, Y8, Y13, Y3, Y4, Y9, Y14, Y1, Y6, Y12)
	DECQ AX
	JNZ  rounds

	// The first and last rows, xored into zeros.
	VMOVDQA Y12, Y4
	VMOVDQA Y13, Y5
	VMOVDQA Y14, Y6
	VMOVDQA Y15, Y7
	MOVQ    R8, R9
	XOR_HALVES(16)

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

// PASS adds the products of one pass to SUM: words M of the message with those of
// the key at OFF. T0 and T1 are clobbered. A register has two groups of words, or
// in its lower lane one.
#define PASS(M, OFF, SUM, T0, T1, T1WIDE) \
	VPADDD   OFF(R8), M, T0     \
	VPSRLQ   $32, T0, T1        \
	VPMULUDQ T0, T1, T1         \
	VPADDQ   T1WIDE, SUM, SUM

// TWO_GROUPS is all passes over the words at OFF, put in the order of the key's.
#define TWO_GROUPS(OFF) \
	VPSHUFD $0xD8, OFF(R9), Y4        \
	PASS(Y4, OFF, Y0, Y5, Y6, Y6)     \
	PASS(Y4, OFF+16, Y1, Y7, Y8, Y8)  \
	PASS(Y4, OFF+32, Y2, Y9, Y10, Y10) \
	PASS(Y4, OFF+48, Y3, Y11, Y12, Y12)

// CHUNK is all passes over the next four groups of words.
#define CHUNK \
	TWO_GROUPS(0)  \
	TWO_GROUPS(32) \
	ADDQ $64, R9   \
	ADDQ $64, R8

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

// func nhPoly1305AVX2(states *poly1305.State, keys *adiantumHashKeys, messages *byte, n, distance, count int)
//
// DI keys, R9 message, CX bytes left, BX bytes after the last whole chunk of the
// piece, R8 NH key of the next groups. Y0 to Y3 are the sums of the four passes, each
// in four parts; Y4 to Y12 are for them. R10, R11 and R12 are the state of Poly1305;
// AX, DX, R13, SI, R14 and R15 are for it, AX for the end of a loop, and AX and DX for
// copying the last granule if it is not whole.
//
// The frame has
//
//	 0  hash value of a piece
//	32  end of the whole chunks of the piece at hand
//	40  what the piece before was: 0 none, 1 of this message, 2 the last of one
//	48  last granule
//	64  state of the next message to end
//	72  message at hand
//	80  messages left
TEXT ·nhPoly1305AVX2(SB), 0, $88-48
	MOVQ states+0(FP), AX
	MOVQ AX, 64(SP)
	MOVQ keys+8(FP), DI
	MOVQ messages+16(FP), R9
	MOVQ R9, 72(SP)
	MOVQ n+24(FP), CX
	MOVQ count+40(FP), AX
	MOVQ AX, 80(SP)
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
	VPXOR   Y0, Y0, Y0
	VPXOR   Y1, Y1, Y1
	VPXOR   Y2, Y2, Y2
	VPXOR   Y3, Y3, Y3
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
	MOVQ 64(SP), AX
	MOVQ R10, 0(AX)
	MOVQ R11, 8(AX)
	MOVQ R12, 16(AX)
	ADDQ $24, 64(SP)
	XORQ R10, R10
	XORQ R11, R11
	XORQ R12, R12

whole:
	UNTIL_CHUNK(1024, 32(SP), CHUNK, wholeLoop, wholeTest)
	CMPQ  BX, $32
	JB    lessThan32
	TWO_GROUPS(0)
	ADDQ  $32, R9
	ADDQ  $32, R8
	SUBQ  $32, BX

lessThan32:
	CMPQ  BX, $16
	JAE   oneGroup
	TESTQ BX, BX
	JZ    sum

	// Pad the rest with zeros.
	VPXOR   X4, X4, X4
	VMOVDQU X4, 48(SP)
	XORQ    AX, AX

pad:
	MOVB (R9)(AX*1), DX
	MOVB DX, 48(SP)(AX*1)
	INCQ AX
	CMPQ AX, BX
	JB   pad
	LEAQ 48(SP), R9
	MOVQ $16, BX

oneGroup:
	VPSHUFD $0xD8, (R9), X4
	PASS(X4, 0, Y0, X5, X6, Y6)
	PASS(X4, 16, Y1, X7, X8, Y8)
	PASS(X4, 32, Y2, X9, X10, Y10)
	PASS(X4, 48, Y3, X11, X12, Y12)
	ADDQ    $16, R9
	ADDQ    $16, R8
	SUBQ    $16, BX
	JMP     lessThan32

sum:
	VPUNPCKLQDQ Y1, Y0, Y4
	VPUNPCKHQDQ Y1, Y0, Y5
	VPADDQ      Y5, Y4, Y4 // passes 0 and 1, in two parts
	VPUNPCKLQDQ Y3, Y2, Y6
	VPUNPCKHQDQ Y3, Y2, Y7
	VPADDQ      Y7, Y6, Y6 // passes 2 and 3
	VPERM2I128  $0x20, Y6, Y4, Y5
	VPERM2I128  $0x31, Y6, Y4, Y7
	VPADDQ      Y7, Y5, Y5
	VMOVDQU     Y5, (SP)
	MOVQ        $1, 40(SP)
	TESTQ       CX, CX
	JNZ         piece
	MOVQ        $2, 40(SP)
	MOVQ        72(SP), R9
	ADDQ        distance+32(FP), R9
	MOVQ        R9, 72(SP)
	MOVQ        n+24(FP), CX
	DECQ        80(SP)
	JNZ         piece

	POLY1305_BLOCK(0(SP), 8(SP), 0(DI), 8(DI), R10, R11, R12, R13, SI, R14, R15)
	POLY1305_BLOCK(16(SP), 24(SP), 0(DI), 8(DI), R10, R11, R12, R13, SI, R14, R15)
	MOVQ 64(SP), AX
	MOVQ R10, 0(AX)
	MOVQ R11, 8(AX)
	MOVQ R12, 16(AX)
	VZEROUPPER
	RET
