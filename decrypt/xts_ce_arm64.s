//go:build !purego

#include "go_asm.h"
#include "textflag.h"

// AES-XTS with the AES instructions of the ARMv8 Cryptographic Extension, eight
// blocks at a time: the instructions take a few cycles each but are pipelined.
// Tweaks are doubled in general registers, beside the units that do AES.
//
// Sources: FIPS 197 and IEEE 1619; the instructions from the Arm Architecture
// Reference Manual for A-profile architecture (DDI 0487), C7.2.

// func subWordCE(x uint32) uint32
TEXT ·subWordCE(SB), NOSPLIT, $0-12
	MOVW x+0(FP), R0
	VEOR V1.B16, V1.B16, V1.B16
	VMOV R0, V0.S4
	AESE V1.B16, V0.B16          // ShiftRows moves equal columns into each other
	VMOV V0.S[0], R0
	MOVW R0, ret+8(FP)
	RET

// TWEAK sets T to the tweak R15, R16, which it multiplies by x: x^128 is
// x^7 + x^2 + x + 1, or 0x87.
#define TWEAK(T) \
	VMOV R15, T.D[0];        \
	VMOV R16, T.D[1];        \
	ASR  $63, R16, R17;      \
	AND  $0x87, R17, R17;    \
	EXTR $63, R15, R16, R16; \
	EOR  R15<<1, R17, R15

// ROUND is a round of block X but for its AddRoundKey, which comes first in the
// next round.
#define ROUND(AESOP, MIXOP, K, X) \
	AESOP K.B16, X.B16; \
	MIXOP X.B16, X.B16

#define ROUND8(AESOP, MIXOP, K) \
	ROUND(AESOP, MIXOP, K, V0); \
	ROUND(AESOP, MIXOP, K, V1); \
	ROUND(AESOP, MIXOP, K, V2); \
	ROUND(AESOP, MIXOP, K, V3); \
	ROUND(AESOP, MIXOP, K, V4); \
	ROUND(AESOP, MIXOP, K, V5); \
	ROUND(AESOP, MIXOP, K, V6); \
	ROUND(AESOP, MIXOP, K, V7)

#define ROUND1(AESOP, MIXOP, K) \
	ROUND(AESOP, MIXOP, K, V0)

// FINAL is the last round of block X with the tweak T.
#define FINAL(AESOP, T, X) \
	AESOP V29.B16, X.B16;        \
	VEOR  V30.B16, X.B16, X.B16; \
	VEOR  T.B16, X.B16, X.B16

// FIRST4 are the four rounds that only AES-256 has, NEXT9 the others but the last.
#define FIRST4(ROUNDS, AESOP, MIXOP) \
	ROUNDS(AESOP, MIXOP, V16); \
	ROUNDS(AESOP, MIXOP, V17); \
	ROUNDS(AESOP, MIXOP, V18); \
	ROUNDS(AESOP, MIXOP, V19)

#define NEXT9(ROUNDS, AESOP, MIXOP) \
	ROUNDS(AESOP, MIXOP, V20); \
	ROUNDS(AESOP, MIXOP, V21); \
	ROUNDS(AESOP, MIXOP, V22); \
	ROUNDS(AESOP, MIXOP, V23); \
	ROUNDS(AESOP, MIXOP, V24); \
	ROUNDS(AESOP, MIXOP, V25); \
	ROUNDS(AESOP, MIXOP, V26); \
	ROUNDS(AESOP, MIXOP, V27); \
	ROUNDS(AESOP, MIXOP, V28)

#define FINAL8(AESOP) \
	FINAL(AESOP, V8, V0);  \
	FINAL(AESOP, V9, V1);  \
	FINAL(AESOP, V10, V2); \
	FINAL(AESOP, V11, V3); \
	FINAL(AESOP, V12, V4); \
	FINAL(AESOP, V13, V5); \
	FINAL(AESOP, V14, V6); \
	FINAL(AESOP, V15, V7)

// ROUNDT is a round of the next data unit's tweak.
#define ROUNDT \
	VLD1.P 16(R14), [V0.B16]; \
	ROUND(AESE, AESMC, V0, V31)

// func xtsCE(k *xtsKeys, dst, src *byte, n, unitSize int, ivs *byte, decrypt bool)
//
//	R0      k
//	R1      dst
//	R2      src
//	R3      bytes after the present data unit
//	R4      bytes in a whole data unit
//	R5      IV of the next data unit
//	R6      whether to decrypt
//	R7      offset of the first round key: 0 for AES-256, 64 for AES-128
//	R8      bytes left of the present data unit
//	R9      bytes in the next data unit
//	R14     round keys
//	R15-16  tweak of the next block
//	R17     carries
//	V0-7    blocks
//	V8-15   their tweaks
//	V16-30  round keys; V16 to V19 with AES-256 only
//	V31     tweak of the next data unit's first block
TEXT ·xtsCE(SB), NOSPLIT, $0-49
	MOVD   k+0(FP), R0
	MOVD   dst+8(FP), R1
	MOVD   src+16(FP), R2
	MOVD   n+24(FP), R3
	MOVD   unitSize+32(FP), R4
	MOVD   ivs+40(FP), R5
	MOVBU  decrypt+48(FP), R6
	MOVD   xtsKeys_first(R0), R7
	ADD    $xtsKeys_enc, R0, R14
	ADD    $xtsKeys_dec, R0, R15
	CMP    $0, R6
	CSEL   EQ, R14, R15, R14
	VLD1.P 64(R14), [V16.B16, V17.B16, V18.B16, V19.B16]
	VLD1.P 64(R14), [V20.B16, V21.B16, V22.B16, V23.B16]
	VLD1.P 64(R14), [V24.B16, V25.B16, V26.B16, V27.B16]
	VLD1   (R14), [V28.B16, V29.B16, V30.B16]

	// Before the first data unit there is one of no bytes, so that its tweak
	// too is encrypted while the one before it is in flight.
	MOVD $0, R8
	CMP  R4, R3
	CSEL LT, R3, R4, R9

unit:
	VMOV   V31.D[0], R15
	VMOV   V31.D[1], R16
	CBZ    R9, blocks
	VLD1.P 16(R5), [V31.B16]
	ADD    R7, R0, R14
	ADD    $xtsKeys_tweak, R14, R14
	CBNZ   R7, shortTweak
	ROUNDT
	ROUNDT
	ROUNDT
	ROUNDT

shortTweak:
	ROUNDT
	ROUNDT
	ROUNDT
	ROUNDT
	ROUNDT
	ROUNDT
	ROUNDT
	ROUNDT
	ROUNDT
	VLD1 (R14), [V0.B16, V1.B16]
	AESE V0.B16, V31.B16
	VEOR V1.B16, V31.B16, V31.B16

blocks:
	SUBS $128, R8, R8
	BLT  rest

blocks8:
	VLD1.P 64(R2), [V0.B16, V1.B16, V2.B16, V3.B16]
	VLD1.P 64(R2), [V4.B16, V5.B16, V6.B16, V7.B16]
	TWEAK(V8)
	TWEAK(V9)
	TWEAK(V10)
	TWEAK(V11)
	TWEAK(V12)
	TWEAK(V13)
	TWEAK(V14)
	TWEAK(V15)
	VEOR   V8.B16, V0.B16, V0.B16
	VEOR   V9.B16, V1.B16, V1.B16
	VEOR   V10.B16, V2.B16, V2.B16
	VEOR   V11.B16, V3.B16, V3.B16
	VEOR   V12.B16, V4.B16, V4.B16
	VEOR   V13.B16, V5.B16, V5.B16
	VEOR   V14.B16, V6.B16, V6.B16
	VEOR   V15.B16, V7.B16, V7.B16
	CBNZ   R6, decrypt8
	CBNZ   R7, shortEncrypt8
	FIRST4(ROUND8, AESE, AESMC)

shortEncrypt8:
	NEXT9(ROUND8, AESE, AESMC)
	FINAL8(AESE)
	B store8

decrypt8:
	CBNZ R7, shortDecrypt8
	FIRST4(ROUND8, AESD, AESIMC)

shortDecrypt8:
	NEXT9(ROUND8, AESD, AESIMC)
	FINAL8(AESD)

store8:
	VST1.P [V0.B16, V1.B16, V2.B16, V3.B16], 64(R1)
	VST1.P [V4.B16, V5.B16, V6.B16, V7.B16], 64(R1)
	SUBS   $128, R8, R8
	BGE    blocks8

rest:
	ADDS $128, R8, R8
	BEQ  next

block:
	VLD1.P 16(R2), [V0.B16]
	TWEAK(V8)
	VEOR   V8.B16, V0.B16, V0.B16
	CBNZ   R6, decrypt1
	CBNZ   R7, shortEncrypt1
	FIRST4(ROUND1, AESE, AESMC)

shortEncrypt1:
	NEXT9(ROUND1, AESE, AESMC)
	FINAL(AESE, V8, V0)
	B store1

decrypt1:
	CBNZ R7, shortDecrypt1
	FIRST4(ROUND1, AESD, AESIMC)

shortDecrypt1:
	NEXT9(ROUND1, AESD, AESIMC)
	FINAL(AESD, V8, V0)

store1:
	VST1.P [V0.B16], 16(R1)
	SUBS   $16, R8, R8
	BNE    block

next:
	MOVD R9, R8
	SUB  R9, R3, R3
	CMP  R4, R3
	CSEL LT, R3, R4, R9
	CBNZ R8, unit
	RET
