//go:build !purego

#include "go_asm.h"
#include "textflag.h"

// AES-XTS with the AES instructions in their SSE encoding, eight blocks at a
// time: the instructions take a few cycles each but are pipelined.
//
// Sources: FIPS 197 and IEEE 1619; the instructions from the Intel 64 and IA-32
// Architectures Software Developer's Manual, volume 2, and Gueron, "Intel
// Advanced Encryption Standard (AES) New Instructions Set", 2010.

// Carries of a tweak's halves: 0x87 is x^7 + x^2 + x + 1, which is x^128.
DATA xtsPoly<>+0(SB)/8, $0x87
DATA xtsPoly<>+8(SB)/8, $1
GLOBL xtsPoly<>(SB), RODATA|NOPTR, $16

// func subWordAESNI(x uint32) uint32
TEXT ·subWordAESNI(SB), NOSPLIT, $0-12
	MOVL x+0(FP), AX
	SHLQ $32, AX
	MOVQ AX, X0
	AESKEYGENASSIST $0, X0, X0 // the lowest word is SubWord of the second
	MOVQ X0, AX
	MOVL AX, ret+8(FP)
	RET

// DOUBLE multiplies the tweak X8 by x, with X9 for its carries.
#define DOUBLE \
	PSHUFD $0x13, X8, X9; \
	PSRAL  $31, X9;       \
	PAND   X10, X9;       \
	PADDQ  X8, X8;        \
	PXOR   X9, X8

// LOAD begins block i of eight in X: it adds the tweak, which it saves, and the
// first round key.
#define LOAD(i, X) \
	MOVUPS (i*16)(SI), X;  \
	MOVAPS X8, (i*16)(R13); \
	PXOR   X11, X;         \
	PXOR   X8, X;          \
	DOUBLE

// STORE ends block i of eight.
#define STORE(i, X) \
	PXOR   (i*16)(R13), X; \
	MOVUPS X, (i*16)(DI)

// ROUND8 is round i of eight blocks.
#define ROUND8(AESOP, i) \
	MOVUPS (i*16)(R9), X11; \
	AESOP  X11, X0;         \
	AESOP  X11, X1;         \
	AESOP  X11, X2;         \
	AESOP  X11, X3;         \
	AESOP  X11, X4;         \
	AESOP  X11, X5;         \
	AESOP  X11, X6;         \
	AESOP  X11, X7

// ROUND is round i, with the round keys at K, of the block X.
#define ROUND(AESOP, K, i, X) \
	MOVUPS (i*16)(K), X11; \
	AESOP  X11, X

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

// ROUND1 and ROUNDT are for single blocks: of data, and of a tweak.
#define ROUND1(AESOP, i) ROUND(AESOP, R9, i, X0)
#define ROUNDT(AESOP, i) ROUND(AESOP, AX, i, X12)

// func xtsAESNI(k *xtsKeys, dst, src *byte, n, unitSize int, ivs *byte, decrypt bool)
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
TEXT ·xtsAESNI(SB), NOSPLIT, $144-49
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
	MOVUPS  xtsPoly<>(SB), X10

	// Before the first data unit there is one of no bytes, so that its tweak
	// too is encrypted while the one before it is in flight.
	XORL    R11, R11
	MOVQ    BX, R12
	CMPQ    DX, BX
	CMOVQLT DX, R12

unit:
	MOVAPS X12, X8
	TESTQ  R12, R12
	JZ     blocks
	MOVUPS (R10), X12
	ADDQ   $16, R10
	MOVUPS (AX)(CX*1), X11
	PXOR   X11, X12
	TESTQ  CX, CX
	JNZ    shortTweak
	FIRST4(ROUNDT, AESENC)

shortTweak:
	LAST10(ROUNDT, AESENC, AESENCLAST)

blocks:
	SUBQ $128, R11
	JLT  rest

eight:
	MOVUPS (R9)(CX*1), X11
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
	FIRST4(ROUND8, AESENC)

shortEncrypt8:
	LAST10(ROUND8, AESENC, AESENCLAST)
	JMP store8

decrypt8:
	TESTQ CX, CX
	JNZ   shortDecrypt8
	FIRST4(ROUND8, AESDEC)

shortDecrypt8:
	LAST10(ROUND8, AESDEC, AESDECLAST)

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
	MOVUPS (SI), X0
	ADDQ   $16, SI
	MOVUPS (R9)(CX*1), X11
	PXOR   X11, X0
	PXOR   X8, X0
	TESTQ  R8, R8
	JNZ    decrypt1
	TESTQ  CX, CX
	JNZ    shortEncrypt1
	FIRST4(ROUND1, AESENC)

shortEncrypt1:
	LAST10(ROUND1, AESENC, AESENCLAST)
	JMP store1

decrypt1:
	TESTQ CX, CX
	JNZ   shortDecrypt1
	FIRST4(ROUND1, AESDEC)

shortDecrypt1:
	LAST10(ROUND1, AESDEC, AESDECLAST)

store1:
	PXOR   X8, X0
	MOVUPS X0, (DI)
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
	PXOR   X0, X0
	MOVAPS X0, 0(R13)
	MOVAPS X0, 16(R13)
	MOVAPS X0, 32(R13)
	MOVAPS X0, 48(R13)
	MOVAPS X0, 64(R13)
	MOVAPS X0, 80(R13)
	MOVAPS X0, 96(R13)
	MOVAPS X0, 112(R13)
	RET
