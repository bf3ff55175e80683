//go:build !purego

#include "go_asm.h"
#include "textflag.h"

// AES-XTS with the AES instructions on ZMM registers, 32 blocks at a time: eight
// registers are what one or two instructions a cycle need to be kept busy. The
// tweaks of the next 32 are computed between the rounds, so that at no time the
// other units wait for those that do AES, or these for the others.
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
// goes to the upper half; the upper half's comes back in as a multiple of x^128, which
// is in Z21.
#define CARRY(CARRIES, A, T) \
	VPCLMULQDQ $0x01, Z21, CARRIES, A; \
	VPSLLDQ    $8, CARRIES, CARRIES;   \
	VPTERNLOGQ $0x96, CARRIES, A, T

// MULBITS sets T to the tweaks FROM multiplied by x^n. m is 64-n; CARRIES and A are
// lost.
#define MULBITS(n, m, FROM, CARRIES, A, T) \
	VPSRLQ $m, FROM, CARRIES; \
	VPSLLQ $n, FROM, T;       \
	CARRY(CARRIES, A, T)

// MULBYTES sets T to the tweaks FROM multiplied by x^(8*n). m is 16-n, and A is
// lost. T may be FROM.
#define MULBYTES(n, m, FROM, A, T) \
	VPSRLDQ    $m, FROM, A;      \
	VPCLMULQDQ $0x00, Z21, A, A; \
	VPSLLDQ    $n, FROM, T;      \
	VPXORQ     A, T, T

// TWEAKS sets NEXT to the tweaks that are 32 blocks further than T.
#define TWEAKS(T, NEXT) \
	MULBYTES(4, 12, T, Z20, NEXT)

// LOAD begins the four blocks i of 32 in X, with the tweaks NEXT, which T is to have
// until STORE.
#define LOAD(i, NEXT, T, X) \
	VMOVDQA64  NEXT, T; \
	VMOVDQA64  NEXT, X; \
	VPTERNLOGQ $0x96, (i*64)(SI), Z17, X

// STORE ends the four blocks i of 32.
#define STORE(i, T, X) \
	VPXORQ    T, X, X; \
	VMOVDQU64 X, (i*64)(DI)

// ROUND32 is round i of 32 blocks.
#define ROUND32(AESOP, i) \
	VBROADCASTI32X4 (i*16)(R9), Z18; \
	AESOP           Z18, Z0, Z0;     \
	AESOP           Z18, Z1, Z1;     \
	AESOP           Z18, Z2, Z2;     \
	AESOP           Z18, Z3, Z3;     \
	AESOP           Z18, Z4, Z4;     \
	AESOP           Z18, Z5, Z5;     \
	AESOP           Z18, Z6, Z6;     \
	AESOP           Z18, Z7, Z7

// ROUND4 and ROUNDT are round i of four blocks and of the next data unit's tweak.
#define ROUND4(AESOP, i) \
	VBROADCASTI32X4 (i*16)(R9), Z18; \
	AESOP           Z18, Z0, Z0

#define ROUNDT(AESOP, i) \
	AESOP (i*16)(AX), X16, X16

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

// LAST10TWEAKS are the last ten rounds of 32 blocks, with the tweaks of the
// next 32.
#define LAST10TWEAKS(AESOP, AESLAST) \
	ROUND32(AESOP, 5);  \
	TWEAKS(Z8, Z24);    \
	ROUND32(AESOP, 6);  \
	TWEAKS(Z9, Z25);    \
	ROUND32(AESOP, 7);  \
	TWEAKS(Z10, Z26);   \
	ROUND32(AESOP, 8);  \
	TWEAKS(Z11, Z27);   \
	ROUND32(AESOP, 9);  \
	TWEAKS(Z12, Z28);   \
	ROUND32(AESOP, 10); \
	TWEAKS(Z13, Z29);   \
	ROUND32(AESOP, 11); \
	TWEAKS(Z14, Z30);   \
	ROUND32(AESOP, 12); \
	TWEAKS(Z15, Z31);   \
	ROUND32(AESOP, 13); \
	ROUND32(AESLAST, 14)

// func xtsVAESAVX512(k *xtsKeys, dst, src *byte, n, unitSize int, ivs *byte, decrypt bool)
//
//	AX     round keys of the tweak key
//	BX     bytes in a whole data unit
//	CX     offset of the first round key: 0 for AES-256, 64 for AES-128
//	DX     bytes after the present data unit
//	DI     dst
//	SI     src
//	R8     whether to decrypt
//	R9     round keys of the data key
//	R10    IV of the next data unit
//	R11    bytes left of the present data unit
//	R12    bytes in the next data unit
//	R13    all ones
//	R14    64-bit words in the last four blocks
//	K1     which words there are of the last four blocks
//	Z0-7   blocks
//	Z8-15  their tweaks
//	X16    tweak of the next data unit's first block
//	Z17    first round key, four times
//	Z18    another round key, four times
//	Z19    bits shifted out of tweaks
//	Z20    the same, or a multiple of x^128
//	Z21    xtsPoly512
//	Z24-31 tweaks of the next 32 blocks
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
	VMOVDQU64       xtsPoly512<>(SB), Z21

	// Before the first data unit there is one of no bytes, so that its tweak
	// too is encrypted while the one before it is in flight.
	XORL    R11, R11
	MOVQ    BX, R12
	CMPQ    DX, BX
	CMOVQLT DX, R12

unit:
	VSHUFI64X2 $0, Z16, Z16, Z24
	TESTQ      R12, R12
	JZ         tweaks
	VMOVDQU64  (R10), X16
	ADDQ       $16, R10
	VPXORQ     (AX)(CX*1), X16, X16
	TESTQ      CX, CX
	JNZ        shortTweak
	FIRST4(ROUNDT, VAESENC)

shortTweak:
	LAST10(ROUNDT, VAESENC, VAESENCLAST)

tweaks:
	TESTQ R11, R11
	JZ    next

	// The tweaks of blocks 0 to 3, and from them those of 4 to 7 and so on.
	VPSRLVQ xtsRight512<>(SB), Z24, Z19
	VPSLLVQ xtsLeft512<>(SB), Z24, Z24
	CARRY(Z19, Z20, Z24)
	MULBITS(4, 60, Z24, Z19, Z20, Z25)
	MULBYTES(1, 15, Z24, Z20, Z26)
	MULBITS(12, 52, Z24, Z19, Z20, Z27)
	MULBYTES(2, 14, Z24, Z20, Z28)
	MULBITS(20, 44, Z24, Z19, Z20, Z29)
	MULBYTES(3, 13, Z24, Z20, Z30)
	MULBITS(28, 36, Z24, Z19, Z20, Z31)

	SUBQ $512, R11
	JLT  rest

blocks32:
	LOAD(0, Z24, Z8, Z0)
	LOAD(1, Z25, Z9, Z1)
	LOAD(2, Z26, Z10, Z2)
	LOAD(3, Z27, Z11, Z3)
	LOAD(4, Z28, Z12, Z4)
	LOAD(5, Z29, Z13, Z5)
	LOAD(6, Z30, Z14, Z6)
	LOAD(7, Z31, Z15, Z7)
	ADDQ  $512, SI
	TESTQ R8, R8
	JNZ   decrypt32
	TESTQ CX, CX
	JNZ   shortEncrypt32
	FIRST4(ROUND32, VAESENC)

shortEncrypt32:
	LAST10TWEAKS(VAESENC, VAESENCLAST)
	JMP store32

decrypt32:
	TESTQ CX, CX
	JNZ   shortDecrypt32
	FIRST4(ROUND32, VAESDEC)

shortDecrypt32:
	LAST10TWEAKS(VAESDEC, VAESDECLAST)

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
	MOVQ        R11, R14
	SHRQ        $3, R14
	BZHIQ       R14, R13, R14
	KMOVW       R14, K1
	VMOVDQU64.Z (SI), K1, Z0
	VPTERNLOGQ  $0x96, Z24, Z17, Z0
	ADDQ        $64, SI
	TESTQ       R8, R8
	JNZ         decrypt4
	TESTQ       CX, CX
	JNZ         shortEncrypt4
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
	VPXORQ    Z24, Z0, Z0
	VMOVDQU64 Z0, K1, (DI)
	ADDQ      $64, DI
	VMOVDQA64 Z25, Z24
	VMOVDQA64 Z26, Z25
	VMOVDQA64 Z27, Z26
	VMOVDQA64 Z28, Z27
	VMOVDQA64 Z29, Z28
	VMOVDQA64 Z30, Z29
	VMOVDQA64 Z31, Z30
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
