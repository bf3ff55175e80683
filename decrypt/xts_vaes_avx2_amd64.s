//go:build !purego

#include "go_asm.h"
#include "textflag.h"

// AES-XTS with the AES instructions on YMM registers, 16 blocks at a time: eight
// registers are what two instructions a cycle need to be kept busy. The tweaks are
// on the stack. Those of the next 16 are computed between the rounds, so that at no
// time the other units wait for those that do AES, or these for the others.
//
// Sources: FIPS 197 and IEEE 1619; the instructions from the Intel 64 and IA-32
// Architectures Software Developer's Manual, volume 2.

// x^128 is x^7 + x^2 + x + 1.
DATA xtsPoly256<>+0x00(SB)/8, $0x87
DATA xtsPoly256<>+0x08(SB)/8, $0
DATA xtsPoly256<>+0x10(SB)/8, $0x87
DATA xtsPoly256<>+0x18(SB)/8, $0
GLOBL xtsPoly256<>(SB), RODATA|NOPTR, $32

// By how many bits the first tweak is shifted to become those of blocks 0 and 1,
DATA xtsLeft256<>+0x00(SB)/8, $0
DATA xtsLeft256<>+0x08(SB)/8, $0
DATA xtsLeft256<>+0x10(SB)/8, $1
DATA xtsLeft256<>+0x18(SB)/8, $1
GLOBL xtsLeft256<>(SB), RODATA|NOPTR, $32

// and by how many the other way for the bits that are shifted out.
DATA xtsRight256<>+0x00(SB)/8, $64
DATA xtsRight256<>+0x08(SB)/8, $64
DATA xtsRight256<>+0x10(SB)/8, $63
DATA xtsRight256<>+0x18(SB)/8, $63
GLOBL xtsRight256<>(SB), RODATA|NOPTR, $32

// CARRY adds to the tweaks T, halves of which have been shifted to the left, what
// was shifted out: Y9 has it, for each half. The lower half's goes to the upper
// half; the upper half's comes back in as a multiple of x^128, which is in Y11.
#define CARRY(T) \
	VPCLMULQDQ $0x01, Y11, Y9, Y10; \
	VPSLLDQ    $8, Y9, Y9;          \
	VPXOR      Y9, T, T;            \
	VPXOR      Y10, T, T

// MULBITS sets T to the tweaks FROM multiplied by x^n. m is 64-n.
#define MULBITS(n, m, FROM, T) \
	VPSRLQ $m, FROM, Y9; \
	VPSLLQ $n, FROM, T;  \
	CARRY(T)

// MULBYTES sets T to the tweaks FROM multiplied by x^(8*n). m is 16-n. T may be
// FROM.
#define MULBYTES(n, m, FROM, T) \
	VPSRLDQ    $m, FROM, Y10;        \
	VPCLMULQDQ $0x00, Y11, Y10, Y10; \
	VPSLLDQ    $n, FROM, T;          \
	VPXOR      Y10, T, T

// LOAD begins the two blocks i of 16 in X.
#define LOAD(i, X) \
	VPXOR (i*32)(SI), Y8, X; \
	VPXOR (i*32)(R13), X, X

// TWEAKS makes from the tweaks of the two blocks i of 16 those of the blocks 16
// further.
#define TWEAKS(i) \
	VMOVDQA (i*32)(R13), Y9; \
	MULBYTES(2, 14, Y9, Y9); \
	VMOVDQA Y9, (i*32)(R14)

// STORE ends the two blocks i of 16.
#define STORE(i, X) \
	VPXOR   (i*32)(R13), X, X; \
	VMOVDQU X, (i*32)(DI)

// ROUND16 is round i of 16 blocks.
#define ROUND16(AESOP, i) \
	VBROADCASTI128 (i*16)(R9), Y8; \
	AESOP          Y8, Y0, Y0;     \
	AESOP          Y8, Y1, Y1;     \
	AESOP          Y8, Y2, Y2;     \
	AESOP          Y8, Y3, Y3;     \
	AESOP          Y8, Y4, Y4;     \
	AESOP          Y8, Y5, Y5;     \
	AESOP          Y8, Y6, Y6;     \
	AESOP          Y8, Y7, Y7

// ROUND2 is round i of two blocks, ROUNDT that of a tweak.
#define ROUND2(AESOP, i) \
	VBROADCASTI128 (i*16)(R9), Y8; \
	AESOP          Y8, Y0, Y0

#define ROUNDT(AESOP, i) \
	AESOP (i*16)(AX), X12, X12

// FIRST4 are the four rounds that only AES-256 has, LAST10 the others.
#define FIRST4(ROUND, AESOP) \
	ROUND(AESOP, 1); \
	ROUND(AESOP, 2); \
	ROUND(AESOP, 3); \
	ROUND(AESOP, 4)

#define LAST10(ROUND, AESOP, AESLAST) \
	ROUND(AESOP, 5);  \
	ROUND(AESOP, 6);  \
	ROUND(AESOP, 7);  \
	ROUND(AESOP, 8);  \
	ROUND(AESOP, 9);  \
	ROUND(AESOP, 10); \
	ROUND(AESOP, 11); \
	ROUND(AESOP, 12); \
	ROUND(AESOP, 13); \
	ROUND(AESLAST, 14)

// LAST10TWEAKS are the last ten rounds of 16 blocks, with the tweaks of the
// next 16.
#define LAST10TWEAKS(AESOP, AESLAST) \
	ROUND16(AESOP, 5);  \
	TWEAKS(0);          \
	ROUND16(AESOP, 6);  \
	TWEAKS(1);          \
	ROUND16(AESOP, 7);  \
	TWEAKS(2);          \
	ROUND16(AESOP, 8);  \
	TWEAKS(3);          \
	ROUND16(AESOP, 9);  \
	TWEAKS(4);          \
	ROUND16(AESOP, 10); \
	TWEAKS(5);          \
	ROUND16(AESOP, 11); \
	TWEAKS(6);          \
	ROUND16(AESOP, 12); \
	TWEAKS(7);          \
	ROUND16(AESOP, 13); \
	ROUND16(AESLAST, 14)

// func xtsVAESAVX2(k *xtsKeys, dst, src *byte, n, unitSize int, ivs *byte, decrypt bool)
//
//	AX   round keys of the tweak key
//	BX   bytes in a whole data unit
//	CX   offset of the first round key: 0 for AES-256, 64 for AES-128
//	DX   bytes after the present data unit
//	DI   dst
//	SI   src
//	R8   whether to decrypt
//	R9   round keys of the data key
//	R10  IV of the next data unit
//	R11  bytes left of the present data unit
//	R12  bytes in the next data unit
//	R13  tweaks of the present 16 blocks: on the stack, aligned to 32
//	R14  tweaks of the next 16
//	R15  tweaks of the next two blocks among them
//	Y0-7 blocks
//	Y8   a round key, twice
//	Y9   tweaks, or bits shifted out of them
//	Y10  the same, or a multiple of x^128
//	Y11  xtsPoly256
//	X12  tweak of the next data unit's first block
//	Y13  tweaks
//	Y14  tweaks
TEXT ·xtsVAESAVX2(SB), NOSPLIT, $544-49
	MOVQ    k+0(FP), AX
	MOVQ    dst+8(FP), DI
	MOVQ    src+16(FP), SI
	MOVQ    n+24(FP), DX
	MOVQ    unitSize+32(FP), BX
	MOVQ    ivs+40(FP), R10
	MOVBLZX decrypt+48(FP), R8
	MOVQ    xtsKeys_first(AX), CX
	LEAQ    xtsKeys_enc(AX), R9
	LEAQ    xtsKeys_dec(AX), R11
	TESTQ   R8, R8
	CMOVQNE R11, R9
	LEAQ    xtsKeys_tweak(AX), AX
	LEAQ    tweaks-544+31(SP), R13
	ANDQ    $~31, R13
	LEAQ    256(R13), R14
	VMOVDQU xtsPoly256<>(SB), Y11

	// Before the first data unit there is one of no bytes, so that its tweak
	// too is encrypted while the one before it is in flight.
	XORL    R11, R11
	MOVQ    BX, R12
	CMPQ    DX, BX
	CMOVQLT DX, R12

unit:
	VINSERTI128 $1, X12, Y12, Y13
	TESTQ       R12, R12
	JZ          tweaks
	VMOVDQU     (R10), X12
	ADDQ        $16, R10
	VPXOR       (AX)(CX*1), X12, X12
	TESTQ       CX, CX
	JNZ         shortTweak
	FIRST4(ROUNDT, VAESENC)

shortTweak:
	LAST10(ROUNDT, VAESENC, VAESENCLAST)

tweaks:
	TESTQ R11, R11
	JZ    next

	// The tweaks of blocks 0 and 1, and from them those of 2 and 3 and so on.
	VPSRLVQ xtsRight256<>(SB), Y13, Y9
	VPSLLVQ xtsLeft256<>(SB), Y13, Y13
	CARRY(Y13)
	VMOVDQA Y13, 0(R14)
	MULBITS(2, 62, Y13, Y14)
	VMOVDQA Y14, 32(R14)
	MULBITS(4, 60, Y13, Y14)
	VMOVDQA Y14, 64(R14)
	MULBITS(6, 58, Y13, Y14)
	VMOVDQA Y14, 96(R14)
	MULBYTES(1, 15, Y13, Y14)
	VMOVDQA Y14, 128(R14)
	MULBITS(10, 54, Y13, Y14)
	VMOVDQA Y14, 160(R14)
	MULBITS(12, 52, Y13, Y14)
	VMOVDQA Y14, 192(R14)
	MULBITS(14, 50, Y13, Y14)
	VMOVDQA Y14, 224(R14)

	SUBQ $256, R11
	JLT  rest

blocks16:
	XCHGQ          R13, R14
	VBROADCASTI128 (R9)(CX*1), Y8
	LOAD(0, Y0)
	LOAD(1, Y1)
	LOAD(2, Y2)
	LOAD(3, Y3)
	LOAD(4, Y4)
	LOAD(5, Y5)
	LOAD(6, Y6)
	LOAD(7, Y7)
	ADDQ           $256, SI
	TESTQ          R8, R8
	JNZ            decrypt16
	TESTQ          CX, CX
	JNZ            shortEncrypt16
	FIRST4(ROUND16, VAESENC)

shortEncrypt16:
	LAST10TWEAKS(VAESENC, VAESENCLAST)
	JMP store16

decrypt16:
	TESTQ CX, CX
	JNZ   shortDecrypt16
	FIRST4(ROUND16, VAESDEC)

shortDecrypt16:
	LAST10TWEAKS(VAESDEC, VAESDECLAST)

store16:
	STORE(0, Y0)
	STORE(1, Y1)
	STORE(2, Y2)
	STORE(3, Y3)
	STORE(4, Y4)
	STORE(5, Y5)
	STORE(6, Y6)
	STORE(7, Y7)
	ADDQ $256, DI
	SUBQ $256, R11
	JGE  blocks16

rest:
	ADDQ $256, R11
	JZ   next
	MOVQ R14, R15

	// Two blocks at a time, of which the last two may be one.
blocks2:
	CMPQ    R11, $32
	JLT     load1
	VMOVDQU (SI), Y0
	JMP     loaded

load1:
	VMOVDQU (SI), X0

loaded:
	VBROADCASTI128 (R9)(CX*1), Y8
	VPXOR          Y8, Y0, Y0
	VPXOR          (R15), Y0, Y0
	TESTQ          R8, R8
	JNZ            decrypt2
	TESTQ          CX, CX
	JNZ            shortEncrypt2
	FIRST4(ROUND2, VAESENC)

shortEncrypt2:
	LAST10(ROUND2, VAESENC, VAESENCLAST)
	JMP store2

decrypt2:
	TESTQ CX, CX
	JNZ   shortDecrypt2
	FIRST4(ROUND2, VAESDEC)

shortDecrypt2:
	LAST10(ROUND2, VAESDEC, VAESDECLAST)

store2:
	VPXOR   (R15), Y0, Y0
	CMPQ    R11, $32
	JLT     store1
	VMOVDQU Y0, (DI)
	ADDQ    $32, SI
	ADDQ    $32, DI
	ADDQ    $32, R15
	SUBQ    $32, R11
	JNZ     blocks2
	JMP     next

store1:
	VMOVDQU X0, (DI)
	ADDQ    $16, SI
	ADDQ    $16, DI

next:
	MOVQ    R12, R11
	SUBQ    R12, DX
	MOVQ    BX, R12
	CMPQ    DX, BX
	CMOVQLT DX, R12
	TESTQ   R11, R11
	JNZ     unit

	// The stack is not to keep tweaks.
	VPXOR   Y0, Y0, Y0
	VMOVDQA Y0, 0(R13)
	VMOVDQA Y0, 0(R14)
	VMOVDQA Y0, 32(R13)
	VMOVDQA Y0, 32(R14)
	VMOVDQA Y0, 64(R13)
	VMOVDQA Y0, 64(R14)
	VMOVDQA Y0, 96(R13)
	VMOVDQA Y0, 96(R14)
	VMOVDQA Y0, 128(R13)
	VMOVDQA Y0, 128(R14)
	VMOVDQA Y0, 160(R13)
	VMOVDQA Y0, 160(R14)
	VMOVDQA Y0, 192(R13)
	VMOVDQA Y0, 192(R14)
	VMOVDQA Y0, 224(R13)
	VMOVDQA Y0, 224(R14)
	VZEROUPPER
	RET
