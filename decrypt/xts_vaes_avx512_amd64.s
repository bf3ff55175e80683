//go:build !purego

#include "go_asm.h"
#include "textflag.h"

// AES-XTS with the AES instructions on ZMM registers, 32 blocks at a time: eight
// registers are what one or two instructions a cycle need to be kept busy.
//
// Sources: FIPS 197 and IEEE 1619; the instructions from the Intel 64 and IA-32
// Architectures Software Developer's Manual, volume 2.

// x^128 is x^7 + x^2 + x + 1.
DATA xtsPoly512<>+0x00(SB)/8, $0x87
DATA xtsPoly512<>+0x08(SB)/8, $0
DATA xtsPoly512<>+0x10(SB)/8, $0x87
DATA xtsPoly512<>+0x18(SB)/8, $0
DATA xtsPoly512<>+0x20(SB)/8, $0x87
DATA xtsPoly512<>+0x28(SB)/8, $0
DATA xtsPoly512<>+0x30(SB)/8, $0x87
DATA xtsPoly512<>+0x38(SB)/8, $0
GLOBL xtsPoly512<>(SB), RODATA|NOPTR, $64

// By how many bits the first tweak is shifted to become those of blocks 0 to 3,
DATA xtsLeft512<>+0x00(SB)/8, $0
DATA xtsLeft512<>+0x08(SB)/8, $0
DATA xtsLeft512<>+0x10(SB)/8, $1
DATA xtsLeft512<>+0x18(SB)/8, $1
DATA xtsLeft512<>+0x20(SB)/8, $2
DATA xtsLeft512<>+0x28(SB)/8, $2
DATA xtsLeft512<>+0x30(SB)/8, $3
DATA xtsLeft512<>+0x38(SB)/8, $3
GLOBL xtsLeft512<>(SB), RODATA|NOPTR, $64

// and by how many the other way for the bits that are shifted out.
DATA xtsRight512<>+0x00(SB)/8, $64
DATA xtsRight512<>+0x08(SB)/8, $64
DATA xtsRight512<>+0x10(SB)/8, $63
DATA xtsRight512<>+0x18(SB)/8, $63
DATA xtsRight512<>+0x20(SB)/8, $62
DATA xtsRight512<>+0x28(SB)/8, $62
DATA xtsRight512<>+0x30(SB)/8, $61
DATA xtsRight512<>+0x38(SB)/8, $61
GLOBL xtsRight512<>(SB), RODATA|NOPTR, $64

// CARRY adds to the tweaks T, halves of which have been shifted to the left, what
// was shifted out: CARRIES has it, for each half, and A is lost. The lower half's
// goes to the upper half; the upper half's comes back in as a multiple of x^128.
#define CARRY(CARRIES, A, T) \
	VPCLMULQDQ $0x01, xtsPoly512<>(SB), CARRIES, A; \
	VPSLLDQ    $8, CARRIES, CARRIES;                \
	VPTERNLOGQ $0x96, CARRIES, A, T

// MULBYTES sets T to the tweaks FROM multiplied by x^(8*n). m is 16-n, and A is
// lost. T may be FROM.
#define MULBYTES(n, m, FROM, A, T) \
	VPSRLDQ    $m, FROM, A;                    \
	VPCLMULQDQ $0x00, xtsPoly512<>(SB), A, A; \
	VPSLLDQ    $n, FROM, T;                    \
	VPXORQ     A, T, T

// LOAD begins the four blocks i of 32 in X, with the tweaks T.
#define LOAD(i, T, X) \
	VMOVDQA64  T, X; \
	VPTERNLOGQ $0x96, (i*64)(SI), Z17, X

// STORE ends the four blocks i of 32, and makes their tweaks those of the
// blocks 32 further.
#define STORE(i, T, X) \
	VPXORQ    T, X, X;        \
	VMOVDQU64 X, (i*64)(DI); \
	MULBYTES(4, 12, T, X, T)

// ROUND32 is one round of 32 blocks.
#define ROUND32(AESOP, K) \
	AESOP K, Z0, Z0; \
	AESOP K, Z1, Z1; \
	AESOP K, Z2, Z2; \
	AESOP K, Z3, Z3; \
	AESOP K, Z4, Z4; \
	AESOP K, Z5, Z5; \
	AESOP K, Z6, Z6; \
	AESOP K, Z7, Z7

// ROUND4 is one round of four blocks.
#define ROUND4(AESOP, K) \
	AESOP K, Z0, Z0

// FIRST4 are the four rounds that only AES-256 has, LAST10 the others.
#define FIRST4(ROUNDS, AESOP) \
	ROUNDS(AESOP, Z18); \
	ROUNDS(AESOP, Z19); \
	ROUNDS(AESOP, Z20); \
	ROUNDS(AESOP, Z21)

#define LAST10(ROUNDS, AESOP, AESLAST) \
	ROUNDS(AESOP, Z22); \
	ROUNDS(AESOP, Z23); \
	ROUNDS(AESOP, Z24); \
	ROUNDS(AESOP, Z25); \
	ROUNDS(AESOP, Z26); \
	ROUNDS(AESOP, Z27); \
	ROUNDS(AESOP, Z28); \
	ROUNDS(AESOP, Z29); \
	ROUNDS(AESOP, Z30); \
	ROUNDS(AESLAST, Z31)

// func xtsVAESAVX512(k *xtsKeys, dst, src *byte, n, unitSize int, ivs *byte, decrypt bool)
//
//	AX     round keys of the tweak key
//	BX     bytes in a whole data unit
//	CX     offset of the first round key: 0 for AES-256, 64 for AES-128
//	DX     bytes after the present data unit
//	DI     dst
//	SI     src
//	R8     whether to decrypt
//	R9     round keys of the data key; then 64-bit words of four blocks or less
//	R10    IV of the next data unit
//	R11    bytes left of the present data unit
//	R12    bytes in the next data unit
//	R13    all ones
//	K1     which words there are of the last four blocks
//	Z0-7   blocks
//	Z8-15  their tweaks
//	X16    tweak of the next data unit's first block
//	Z17    first round key of the data key, four times
//	Z18-31 the others; Z18 to Z21 with AES-256 only
TEXT ·xtsVAESAVX512(SB), NOSPLIT, $0-49
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
	MOVQ    $-1, R13

	VBROADCASTI32X4 (R9)(CX*1), Z17
	VBROADCASTI32X4 16(R9), Z18
	VBROADCASTI32X4 32(R9), Z19
	VBROADCASTI32X4 48(R9), Z20
	VBROADCASTI32X4 64(R9), Z21
	VBROADCASTI32X4 80(R9), Z22
	VBROADCASTI32X4 96(R9), Z23
	VBROADCASTI32X4 112(R9), Z24
	VBROADCASTI32X4 128(R9), Z25
	VBROADCASTI32X4 144(R9), Z26
	VBROADCASTI32X4 160(R9), Z27
	VBROADCASTI32X4 176(R9), Z28
	VBROADCASTI32X4 192(R9), Z29
	VBROADCASTI32X4 208(R9), Z30
	VBROADCASTI32X4 224(R9), Z31

	// Before the first data unit there is one of no bytes, so that its tweak
	// too is encrypted while the one before it is in flight.
	XORL    R11, R11
	MOVQ    BX, R12
	CMPQ    DX, BX
	CMOVQLT DX, R12

unit:
	VSHUFI64X2 $0, Z16, Z16, Z8
	TESTQ      R12, R12
	JZ         tweaks
	VMOVDQU64  (R10), X16
	ADDQ       $16, R10
	VPXORQ     (AX)(CX*1), X16, X16
	TESTQ      CX, CX
	JNZ        shortTweak
	VAESENC    16(AX), X16, X16
	VAESENC    32(AX), X16, X16
	VAESENC    48(AX), X16, X16
	VAESENC    64(AX), X16, X16

shortTweak:
	VAESENC     80(AX), X16, X16
	VAESENC     96(AX), X16, X16
	VAESENC     112(AX), X16, X16
	VAESENC     128(AX), X16, X16
	VAESENC     144(AX), X16, X16
	VAESENC     160(AX), X16, X16
	VAESENC     176(AX), X16, X16
	VAESENC     192(AX), X16, X16
	VAESENC     208(AX), X16, X16
	VAESENCLAST 224(AX), X16, X16

tweaks:
	TESTQ R11, R11
	JZ    next

	// The tweaks of blocks 0 to 3, 4 to 7, and so on.
	VPSRLVQ xtsRight512<>(SB), Z8, Z0
	VPSLLVQ xtsLeft512<>(SB), Z8, Z8
	CARRY(Z0, Z1, Z8)
	VPSRLQ  $60, Z8, Z0
	VPSLLQ  $4, Z8, Z9
	CARRY(Z0, Z1, Z9)
	MULBYTES(1, 15, Z8, Z2, Z10)
	MULBYTES(1, 15, Z9, Z3, Z11)
	MULBYTES(2, 14, Z8, Z4, Z12)
	MULBYTES(2, 14, Z9, Z5, Z13)
	MULBYTES(2, 14, Z10, Z6, Z14)
	MULBYTES(2, 14, Z11, Z7, Z15)

	SUBQ $512, R11
	JLT  rest

blocks32:
	LOAD(0, Z8, Z0)
	LOAD(1, Z9, Z1)
	LOAD(2, Z10, Z2)
	LOAD(3, Z11, Z3)
	LOAD(4, Z12, Z4)
	LOAD(5, Z13, Z5)
	LOAD(6, Z14, Z6)
	LOAD(7, Z15, Z7)
	ADDQ  $512, SI
	TESTQ R8, R8
	JNZ   decrypt32
	TESTQ CX, CX
	JNZ   shortEncrypt32
	FIRST4(ROUND32, VAESENC)

shortEncrypt32:
	LAST10(ROUND32, VAESENC, VAESENCLAST)
	JMP store32

decrypt32:
	TESTQ CX, CX
	JNZ   shortDecrypt32
	FIRST4(ROUND32, VAESDEC)

shortDecrypt32:
	LAST10(ROUND32, VAESDEC, VAESDECLAST)

store32:
	STORE(0, Z8, Z0)
	STORE(1, Z9, Z1)
	STORE(2, Z10, Z2)
	STORE(3, Z11, Z3)
	STORE(4, Z12, Z4)
	STORE(5, Z13, Z5)
	STORE(6, Z14, Z6)
	STORE(7, Z15, Z7)
	ADDQ $512, DI
	SUBQ $512, R11
	JGE  blocks32

rest:
	ADDQ $512, R11
	JZ   next

	// Four blocks or less at a time. What is not there is neither read nor
	// written.
blocks4:
	MOVQ         R11, R9
	SHRQ         $3, R9
	BZHIQ        R9, R13, R9
	KMOVW        R9, K1
	VMOVDQU64.Z  (SI), K1, Z0
	VPTERNLOGQ   $0x96, Z8, Z17, Z0
	ADDQ         $64, SI
	TESTQ        R8, R8
	JNZ          decrypt4
	TESTQ        CX, CX
	JNZ          shortEncrypt4
	FIRST4(ROUND4, VAESENC)

shortEncrypt4:
	LAST10(ROUND4, VAESENC, VAESENCLAST)
	JMP store4

decrypt4:
	TESTQ CX, CX
	JNZ   shortDecrypt4
	FIRST4(ROUND4, VAESDEC)

shortDecrypt4:
	LAST10(ROUND4, VAESDEC, VAESDECLAST)

store4:
	VPXORQ    Z8, Z0, Z0
	VMOVDQU64 Z0, K1, (DI)
	ADDQ      $64, DI
	VMOVDQA64 Z9, Z8
	VMOVDQA64 Z10, Z9
	VMOVDQA64 Z11, Z10
	VMOVDQA64 Z12, Z11
	VMOVDQA64 Z13, Z12
	VMOVDQA64 Z14, Z13
	VMOVDQA64 Z15, Z14
	SUBQ      $64, R11
	JGT       blocks4

	// DI and SI are past the end by what was not there.
	ADDQ R11, DI
	ADDQ R11, SI

next:
	MOVQ    R12, R11
	SUBQ    R12, DX
	MOVQ    BX, R12
	CMPQ    DX, BX
	CMOVQLT DX, R12
	TESTQ   R11, R11
	JNZ     unit
	VZEROUPPER
	RET
