//go:build !purego

// XCTR and POLYVAL, parts of HCTR2, with AES-NI and PCLMULQDQ.
//
// XCTR is from "Length-preserving encryption with HCTR2" (Crowley, Huckleberry and
// Biggers, 2021), AES from FIPS 197, POLYVAL from RFC 8452. The products and their
// reduction are in the steps of internal/polyval, as in the "Intel Carry-Less
// Multiplication Instruction and its Usage for Computing the GCM Mode" (Gueron and
// Kounavis, 2014). The instructions are from the Intel 64 and IA-32 Architectures
// Software Developer's Manual, volume 2.

#include "textflag.h"
#include "aes256_amd64.h"

// FOUR is a round, INSTRUCTION, of the blocks in X0 to X3.
#define FOUR(INSTRUCTION, OFF) \
	MOVOU       OFF(AX), X4 \
	INSTRUCTION X4, X0      \
	INSTRUCTION X4, X1      \
	INSTRUCTION X4, X2      \
	INSTRUCTION X4, X3

// INPUT sets X to the next input of AES: the number of the block xor S.
#define INPUT(X) \
	INCQ BX    \
	MOVQ BX, X \
	PXOR X5, X

// XOR xors X into the data at OFF. X4 is clobbered.
#define XOR(OFF, X) \
	MOVOU OFF(SI), X4 \
	PXOR  X, X4       \
	MOVOU X4, OFF(DI)

// func xctrAsm(enc *roundKeys, dst, src *byte, n int, lo, hi uint64)
//
// AX round keys, DI dst, SI src, CX bytes left, BX number of the last block, X0 to X3
// blocks, X4 round keys and data, X5 S.
TEXT ·xctrAsm(SB), NOSPLIT, $0-48
	MOVQ enc+0(FP), AX
	MOVQ dst+8(FP), DI
	MOVQ src+16(FP), SI
	MOVQ n+24(FP), CX
	LOAD(lo+32(FP), hi+40(FP), X5)
	XORQ BX, BX
	SUBQ $64, CX
	JB   lessThanFour

fourBlocks:
	INPUT(X0)
	INPUT(X1)
	INPUT(X2)
	INPUT(X3)
	FOUR(PXOR, 0)
	FOUR(AESENC, 16)
	FOUR(AESENC, 32)
	FOUR(AESENC, 48)
	FOUR(AESENC, 64)
	FOUR(AESENC, 80)
	FOUR(AESENC, 96)
	FOUR(AESENC, 112)
	FOUR(AESENC, 128)
	FOUR(AESENC, 144)
	FOUR(AESENC, 160)
	FOUR(AESENC, 176)
	FOUR(AESENC, 192)
	FOUR(AESENC, 208)
	FOUR(AESENCLAST, 224)
	XOR(0, X0)
	XOR(16, X1)
	XOR(32, X2)
	XOR(48, X3)
	ADDQ $64, SI
	ADDQ $64, DI
	SUBQ $64, CX
	JAE  fourBlocks

lessThanFour:
	ADDQ $64, CX
	JZ   done

oneBlock:
	INPUT(X0)
	ONE_BLOCK(AESENC, AESENCLAST)
	XOR(0, X0)
	ADDQ $16, SI
	ADDQ $16, DI
	SUBQ $16, CX
	JNZ  oneBlock

done:
	RET

// MULTIPLY adds the product of X0 and X1 to X6, its low half, X7, its high half, and
// X8, what is between them. X0, X2, X3 and X4 are clobbered.
#define MULTIPLY \
	MOVOA     X0, X2        \
	MOVOA     X0, X3        \
	MOVOA     X0, X4        \
	PCLMULQDQ $0x00, X1, X2 \
	PCLMULQDQ $0x11, X1, X3 \
	PCLMULQDQ $0x01, X1, X4 \
	PCLMULQDQ $0x10, X1, X0 \
	PXOR      X2, X6        \
	PXOR      X3, X7        \
	PXOR      X4, X8        \
	PXOR      X0, X8

// CLEAR makes that product zero.
#define CLEAR \
	PXOR X6, X6 \
	PXOR X7, X7 \
	PXOR X8, X8

// REDUCE sets X6 to the product, divided by x^128. X9 is the constant x^63 + x^62 +
// x^57: adding the field's polynomial as often as the lowest word has it makes that
// word zero, and is adding its product with the constant to the next word and itself
// to the one after that. X2 is clobbered.
#define REDUCE \
	MOVOA     X8, X2        \
	PSLLDQ    $8, X2        \
	PSRLDQ    $8, X8        \
	PXOR      X2, X6        \
	PXOR      X8, X7        \
	MOVOA     X6, X2        \
	PCLMULQDQ $0x00, X9, X2 \
	PSHUFD    $0x4E, X6, X6 \
	PXOR      X2, X6        \
	MOVOA     X6, X2        \
	PCLMULQDQ $0x00, X9, X2 \
	PSHUFD    $0x4E, X6, X6 \
	PXOR      X2, X6        \
	PXOR      X7, X6

#define CONSTANT \
	MOVQ $0xC200000000000000, AX \
	MOVQ AX, X9

// func polyvalMulAsm(h *polyval.Element, lo, hi uint64) (outLo, outHi uint64)
//
// AX h, X0 to X9 as above.
TEXT ·polyvalMulAsm(SB), NOSPLIT, $0-40
	MOVQ  h+0(FP), AX
	LOAD(lo+8(FP), hi+16(FP), X0)
	MOVOU (AX), X1
	CONSTANT
	CLEAR
	MULTIPLY
	REDUCE
	STORE(X6, outLo+24(FP), outHi+32(FP))
	RET

// func polyvalAsm(state *polyval.Element, powers *[8]polyval.Element, data *byte, n int)
//
// DI state, SI powers, DX data, CX bytes left, BX bytes left of the next eight blocks
// at most, R8 power for the next block. X0 to X9 as above; X6 also is the state.
TEXT ·polyvalAsm(SB), NOSPLIT, $0-32
	MOVQ state+0(FP), DI
	MOVQ powers+8(FP), SI
	MOVQ data+16(FP), DX
	MOVQ n+24(FP), CX
	CONSTANT
	LOAD(0(DI), 8(DI), X6)

eightBlocks: // the first one times the key to the power of their number, and so on
	MOVQ    $128, BX
	CMPQ    CX, BX
	CMOVQLT CX, BX
	SUBQ    BX, CX
	LEAQ    128(SI), R8
	SUBQ    BX, R8
	MOVOU   (DX), X0
	PXOR    X6, X0
	CLEAR

block:
	MOVOU (R8), X1
	MULTIPLY
	ADDQ  $16, DX
	ADDQ  $16, R8
	SUBQ  $16, BX
	JZ    reduce
	MOVOU (DX), X0
	JMP   block

reduce:
	REDUCE
	TESTQ CX, CX
	JNZ   eightBlocks

	STORE(X6, 0(DI), 8(DI))
	RET
