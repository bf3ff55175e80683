//go:build !purego

#include "go_asm.h"
#include "textflag.h"

// AES-XTS with the AES instructions on XMM registers in their VEX encoding, eight
// blocks at a time. As in xtsAESNI, the tweaks of the next eight are computed
// between the rounds.
//
// Sources: FIPS 197 and IEEE 1619; the instructions from the Intel 64 and IA-32
// Architectures Software Developer's Manual, volume 2.

// Carries of a tweak's halves: 0x87 is x^7 + x^2 + x + 1, which is x^128.
DATA xtsPoly<>+0(SB)/8, $0x87
DATA xtsPoly<>+8(SB)/8, $1
GLOBL xtsPoly<>(SB), RODATA|NOPTR, $16

// TWEAK saves the tweak X8 as that of block i of the next eight and multiplies it
// by x.
#define TWEAK(i) \
	VMOVDQA X8, (i*16)(R14); \
	VPSHUFD $0x13, X8, X9;   \
	VPSRAD  $31, X9, X9;     \
	VPAND   X10, X9, X9;     \
	VPADDQ  X8, X8, X8;      \
	VPXOR   X9, X8, X8

// LOAD begins block i of eight in X: it adds the first round key and the tweak.
#define LOAD(i, X) \
	VPXOR (i*16)(SI), X11, X; \
	VPXOR (i*16)(R13), X, X

// STORE ends block i of eight.
#define STORE(i, X) \
	VPXOR   (i*16)(R13), X, X; \
	VMOVDQU X, (i*16)(DI)

// ROUND8 is round i of eight blocks.
#define ROUND8(AESOP, i) \
	VMOVDQU (i*16)(R9), X11; \
	AESOP   X11, X0, X0;     \
	AESOP   X11, X1, X1;     \
	AESOP   X11, X2, X2;     \
	AESOP   X11, X3, X3;     \
	AESOP   X11, X4, X4;     \
	AESOP   X11, X5, X5;     \
	AESOP   X11, X6, X6;     \
	AESOP   X11, X7, X7

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

// LAST10TWEAKS are the last ten rounds of eight blocks, with the tweaks of the
// next eight.
#define LAST10TWEAKS(AESOP, AESLAST) \
	ROUND8(AESOP, 5);  \
	TWEAK(0);          \
	ROUND8(AESOP, 6);  \
	TWEAK(1);          \
	ROUND8(AESOP, 7);  \
	TWEAK(2);          \
	ROUND8(AESOP, 8);  \
	TWEAK(3);          \
	ROUND8(AESOP, 9);  \
	TWEAK(4);          \
	ROUND8(AESOP, 10); \
	TWEAK(5);          \
	ROUND8(AESOP, 11); \
	TWEAK(6);          \
	ROUND8(AESOP, 12); \
	TWEAK(7);          \
	ROUND8(AESOP, 13); \
	ROUND8(AESLAST, 14)

// ROUND1 and ROUNDT are round i of one block and of the next data unit's tweak.
#define ROUND1(AESOP, i) \
	AESOP (i*16)(R9), X0, X0

#define ROUNDT(AESOP, i) \
	AESOP (i*16)(AX), X12, X12

// func xtsAESNIAVX(k *xtsKeys, dst, src *byte, n, unitSize int, ivs *byte, decrypt bool)
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
//	R13  tweaks of the present eight blocks: on the stack, aligned to 16
//	R14  tweaks of the next eight
//	X0-7 blocks
//	X8   tweak
//	X9   carries
//	X10  xtsPoly
//	X11  a round key
//	X12  tweak of the next data unit's first block
TEXT ·xtsAESNIAVX(SB), NOSPLIT, $272-49
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
	LEAQ    tweaks-272+15(SP), R13
	ANDQ    $~15, R13
	LEAQ    128(R13), R14
	VMOVDQU xtsPoly<>(SB), X10

	// Before the first data unit there is one of no bytes, so that its tweak
	// too is encrypted while the one before it is in flight.
	XORL    R11, R11
	MOVQ    BX, R12
	CMPQ    DX, BX
	CMOVQLT DX, R12

unit:
	VMOVDQA X12, X8
	TESTQ   R12, R12
	JZ      tweaks
	VMOVDQU (R10), X12
	ADDQ    $16, R10
	VPXOR   (AX)(CX*1), X12, X12
	TESTQ   CX, CX
	JNZ     shortTweak
	FIRST4(ROUNDT, VAESENC)

shortTweak:
	LAST10(ROUNDT, VAESENC, VAESENCLAST)

tweaks:
	TESTQ R11, R11
	JZ    next
	TWEAK(0)
	TWEAK(1)
	TWEAK(2)
	TWEAK(3)
	TWEAK(4)
	TWEAK(5)
	TWEAK(6)
	TWEAK(7)
	SUBQ  $128, R11
	JLT   rest

blocks8:
	XCHGQ   R13, R14
	VMOVDQU (R9)(CX*1), X11
	LOAD(0, X0)
	LOAD(1, X1)
	LOAD(2, X2)
	LOAD(3, X3)
	LOAD(4, X4)
	LOAD(5, X5)
	LOAD(6, X6)
	LOAD(7, X7)
	ADDQ    $128, SI
	TESTQ   R8, R8
	JNZ     decrypt8
	TESTQ   CX, CX
	JNZ     shortEncrypt8
	FIRST4(ROUND8, VAESENC)

shortEncrypt8:
	LAST10TWEAKS(VAESENC, VAESENCLAST)
	JMP store8

decrypt8:
	TESTQ CX, CX
	JNZ   shortDecrypt8
	FIRST4(ROUND8, VAESDEC)

shortDecrypt8:
	LAST10TWEAKS(VAESDEC, VAESDECLAST)

store8:
	STORE(0, X0)
	STORE(1, X1)
	STORE(2, X2)
	STORE(3, X3)
	STORE(4, X4)
	STORE(5, X5)
	STORE(6, X6)
	STORE(7, X7)
	ADDQ $128, DI
	SUBQ $128, R11
	JGE  blocks8

rest:
	ADDQ $128, R11
	JZ   next

	// One block at a time; R15 points to its tweak.
	MOVQ R14, R15

block:
	VMOVDQU (SI), X0
	ADDQ    $16, SI
	VPXOR   (R9)(CX*1), X0, X0
	VPXOR   (R15), X0, X0
	TESTQ   R8, R8
	JNZ     decrypt1
	TESTQ   CX, CX
	JNZ     shortEncrypt1
	FIRST4(ROUND1, VAESENC)

shortEncrypt1:
	LAST10(ROUND1, VAESENC, VAESENCLAST)
	JMP store1

decrypt1:
	TESTQ CX, CX
	JNZ   shortDecrypt1
	FIRST4(ROUND1, VAESDEC)

shortDecrypt1:
	LAST10(ROUND1, VAESDEC, VAESDECLAST)

store1:
	VPXOR   (R15), X0, X0
	ADDQ    $16, R15
	VMOVDQU X0, (DI)
	ADDQ    $16, DI
	SUBQ    $16, R11
	JNZ     block

next:
	MOVQ    R12, R11
	SUBQ    R12, DX
	MOVQ    BX, R12
	CMPQ    DX, BX
	CMOVQLT DX, R12
	TESTQ   R11, R11
	JNZ     unit

	// The stack is not to keep tweaks.
	VPXOR   X0, X0, X0
	VMOVDQA X0, 0(R13)
	VMOVDQA X0, 0(R14)
	VMOVDQA X0, 16(R13)
	VMOVDQA X0, 16(R14)
	VMOVDQA X0, 32(R13)
	VMOVDQA X0, 32(R14)
	VMOVDQA X0, 48(R13)
	VMOVDQA X0, 48(R14)
	VMOVDQA X0, 64(R13)
	VMOVDQA X0, 64(R14)
	VMOVDQA X0, 80(R13)
	VMOVDQA X0, 80(R14)
	VMOVDQA X0, 96(R13)
	VMOVDQA X0, 96(R14)
	VMOVDQA X0, 112(R13)
	VMOVDQA X0, 112(R14)
	VZEROUPPER
	RET
