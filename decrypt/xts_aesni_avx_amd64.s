//go:build !purego

#include "go_asm.h"
#include "textflag.h"

// AES-XTS with the AES instructions on XMM registers in their VEX encoding, eight
// blocks at a time. The three operands save copies, and memory need not be
// aligned.
//
// Sources: FIPS 197 and IEEE 1619; the instructions from the Intel 64 and IA-32
// Architectures Software Developer's Manual, volume 2, and Gueron, "Intel
// Advanced Encryption Standard (AES) New Instructions Set", 2010.

// Carries of a tweak's halves: 0x87 is x^7 + x^2 + x + 1, which is x^128.
DATA xtsPoly<>+0(SB)/8, $0x87
DATA xtsPoly<>+8(SB)/8, $1
GLOBL xtsPoly<>(SB), RODATA|NOPTR, $16

// DOUBLE multiplies the tweak X8 by x, with X9 for its carries.
#define DOUBLE \
	VPSHUFD $0x13, X8, X9; \
	VPSRAD  $31, X9, X9;   \
	VPAND   X10, X9, X9;   \
	VPADDQ  X8, X8, X8;    \
	VPXOR   X9, X8, X8

// LOAD begins block i of eight in X: it adds the tweak, which it saves, and the
// first round key.
#define LOAD(i, X) \
	VPXOR   (i*16)(SI), X11, X; \
	VMOVDQA X8, (i*16)(R13);    \
	VPXOR   X8, X, X;           \
	DOUBLE

// STORE ends block i of eight.
#define STORE(i, X) \
	VPXOR   (i*16)(R13), X, X; \
	VMOVDQU X, (i*16)(DI)

// ROUND8 is round i of eight blocks.
#define ROUND8(AESOP, i) \
	VMOVDQU (i*16)(R9), X11; \
	AESOP   X11, X0, X0;      \
	AESOP   X11, X1, X1;      \
	AESOP   X11, X2, X2;      \
	AESOP   X11, X3, X3;      \
	AESOP   X11, X4, X4;      \
	AESOP   X11, X5, X5;      \
	AESOP   X11, X6, X6;      \
	AESOP   X11, X7, X7

// ROUND1 and ROUNDT are for single blocks: of data, and of a tweak.
#define ROUND1(AESOP, i) \
	AESOP (i*16)(R9), X0, X0

#define ROUNDT(AESOP, i) \
	AESOP (i*16)(AX), X12, X12

// LAST10 is what AES-128 and AES-256 have in common: all but the first four
// rounds.
#define LAST10(ROUNDS, AESOP, AESLAST) \
	ROUNDS(AESOP, 5);  \
	ROUNDS(AESOP, 6);  \
	ROUNDS(AESOP, 7);  \
	ROUNDS(AESOP, 8);  \
	ROUNDS(AESOP, 9);  \
	ROUNDS(AESOP, 10); \
	ROUNDS(AESOP, 11); \
	ROUNDS(AESOP, 12); \
	ROUNDS(AESOP, 13); \
	ROUNDS(AESLAST, 14)

#define FIRST4(ROUNDS, AESOP) \
	ROUNDS(AESOP, 1); \
	ROUNDS(AESOP, 2); \
	ROUNDS(AESOP, 3); \
	ROUNDS(AESOP, 4)

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
//	R13  eight tweaks on the stack, aligned to 16
//	X0-7 blocks
//	X8   tweak of the next block
//	X9   carries
//	X10  xtsPoly
//	X11  a round key
//	X12  tweak of the next data unit's first block
TEXT ·xtsAESNIAVX(SB), NOSPLIT, $144-49
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
	LEAQ    tweaks-144+15(SP), R13
	ANDQ    $~15, R13
	VMOVDQU  xtsPoly<>(SB), X10

	// Before the first data unit there is one of no bytes, so that its tweak
	// too is encrypted while the one before it is in flight.
	XORL    R11, R11
	MOVQ    BX, R12
	CMPQ    DX, BX
	CMOVQLT DX, R12

unit:
	VMOVDQA X12, X8
	TESTQ  R12, R12
	JZ     blocks
	VMOVDQU (R10), X12
	ADDQ   $16, R10
	VPXOR (AX)(CX*1), X12, X12
	TESTQ  CX, CX
	JNZ    shortTweak
	FIRST4(ROUNDT, VAESENC)

shortTweak:
	LAST10(ROUNDT, VAESENC, VAESENCLAST)

blocks:
	SUBQ $128, R11
	JLT  rest

eight:
	VMOVDQU (R9)(CX*1), X11
	LOAD(0, X0)
	LOAD(1, X1)
	LOAD(2, X2)
	LOAD(3, X3)
	LOAD(4, X4)
	LOAD(5, X5)
	LOAD(6, X6)
	LOAD(7, X7)
	ADDQ   $128, SI
	TESTQ  R8, R8
	JNZ    decrypt8
	TESTQ  CX, CX
	JNZ    shortEncrypt8
	FIRST4(ROUND8, VAESENC)

shortEncrypt8:
	LAST10(ROUND8, VAESENC, VAESENCLAST)
	JMP store8

decrypt8:
	TESTQ CX, CX
	JNZ   shortDecrypt8
	FIRST4(ROUND8, VAESDEC)

shortDecrypt8:
	LAST10(ROUND8, VAESDEC, VAESDECLAST)

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
	JGE  eight

rest:
	ADDQ $128, R11
	JZ   next

one:
	VPXOR (SI), X8, X0
	ADDQ  $16, SI
	VPXOR (R9)(CX*1), X0, X0
	TESTQ  R8, R8
	JNZ    decrypt1
	TESTQ  CX, CX
	JNZ    shortEncrypt1
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
	VPXOR X8, X0, X0
	VMOVDQU X0, (DI)
	ADDQ   $16, DI
	DOUBLE
	SUBQ   $16, R11
	JNZ    one

next:
	MOVQ    R12, R11
	SUBQ    R12, DX
	MOVQ    BX, R12
	CMPQ    DX, BX
	CMOVQLT DX, R12
	TESTQ   R11, R11
	JNZ     unit

	// The stack is not to keep tweaks.
	VPXOR X0, X0, X0
	VMOVDQA X0, 0(R13)
	VMOVDQA X0, 16(R13)
	VMOVDQA X0, 32(R13)
	VMOVDQA X0, 48(R13)
	VMOVDQA X0, 64(R13)
	VMOVDQA X0, 80(R13)
	VMOVDQA X0, 96(R13)
	VMOVDQA X0, 112(R13)
	VZEROUPPER
	RET
