//go:build !purego

// XCTR and POLYVAL, parts of HCTR2, with the Cryptographic Extension.
//
// XCTR is from "Length-preserving encryption with HCTR2" (Crowley, Huckleberry and
// Biggers, 2021), AES from FIPS 197, POLYVAL from RFC 8452; the products and their
// reduction are in the steps of internal/polyval. The instructions are from the Arm
// Architecture Reference Manual for A-profile architecture, chapter C7.

#include "textflag.h"
#include "aes256_arm64.h"

// INPUT sets the vector V, whose low half F is, to the next input of AES: the number of
// the block xor S.
#define INPUT(V, F) \
	ADD   $1, R4           \
	FMOVD R4, F            \
	VEOR  V5.B16, V.B16, V.B16

// func xctrAsm(enc *roundKeys, dst, src *byte, n int, lo, hi uint64)
//
// R0 round keys, R1 dst, R2 src, R3 bytes left, R4 number of the last block, V0 to V3
// blocks, V5 S, V6 to V9 data, V16 to V30 round keys.
TEXT ·xctrAsm(SB), NOSPLIT, $0-48
	MOVD enc+0(FP), R0
	MOVD dst+8(FP), R1
	MOVD src+16(FP), R2
	MOVD n+24(FP), R3
	MOVD lo+32(FP), R4
	MOVD hi+40(FP), R5
	VMOV R4, V5.D[0]
	VMOV R5, V5.D[1]
	MOVD ZR, R4
	ROUND_KEYS
	SUBS $64, R3
	BLO  lessThanFour

fourBlocks:
	INPUT(V0, F0)
	INPUT(V1, F1)
	INPUT(V2, F2)
	INPUT(V3, F3)
	ENCRYPT(V0)
	ENCRYPT(V1)
	ENCRYPT(V2)
	ENCRYPT(V3)
	VLD1.P 64(R2), [V6.B16, V7.B16, V8.B16, V9.B16]
	VEOR   V0.B16, V6.B16, V6.B16
	VEOR   V1.B16, V7.B16, V7.B16
	VEOR   V2.B16, V8.B16, V8.B16
	VEOR   V3.B16, V9.B16, V9.B16
	VST1.P [V6.B16, V7.B16, V8.B16, V9.B16], 64(R1)
	SUBS   $64, R3
	BHS    fourBlocks

lessThanFour:
	ADDS $64, R3
	BEQ  done

oneBlock:
	INPUT(V0, F0)
	ENCRYPT(V0)
	VLD1.P 16(R2), [V6.B16]
	VEOR   V0.B16, V6.B16, V6.B16
	VST1.P [V6.B16], 16(R1)
	SUBS   $16, R3
	BNE    oneBlock

done:
	RET

// MULTIPLY adds the product of V0 and V1 to V6, its low half, V7, its high half, and
// V8, what is between them. V0 and V2 to V4 are clobbered.
#define MULTIPLY \
	VPMULL  V1.D1, V0.D1, V2.Q1         \
	VPMULL2 V1.D2, V0.D2, V3.Q1         \
	VEXT    $8, V0.B16, V0.B16, V0.B16  \
	VPMULL  V1.D1, V0.D1, V4.Q1         \
	VPMULL2 V1.D2, V0.D2, V0.Q1         \
	VEOR    V2.B16, V6.B16, V6.B16      \
	VEOR    V3.B16, V7.B16, V7.B16      \
	VEOR    V4.B16, V8.B16, V8.B16      \
	VEOR    V0.B16, V8.B16, V8.B16

// CLEAR makes that product zero.
#define CLEAR \
	VEOR V6.B16, V6.B16, V6.B16 \
	VEOR V7.B16, V7.B16, V7.B16 \
	VEOR V8.B16, V8.B16, V8.B16

// REDUCE sets V6 to the product, divided by x^128. V9 is the constant x^63 + x^62 +
// x^57 and V10 zero: adding the field's polynomial as often as the lowest word has it
// makes that word zero, and is adding its product with the constant to the next word
// and itself to the one after that. V2 is clobbered.
#define REDUCE \
	VEXT   $8, V8.B16, V10.B16, V2.B16 \
	VEXT   $8, V10.B16, V8.B16, V8.B16 \
	VEOR   V2.B16, V6.B16, V6.B16      \
	VEOR   V8.B16, V7.B16, V7.B16      \
	VPMULL V9.D1, V6.D1, V2.Q1         \
	VEXT   $8, V6.B16, V6.B16, V6.B16  \
	VEOR   V2.B16, V6.B16, V6.B16      \
	VPMULL V9.D1, V6.D1, V2.Q1         \
	VEXT   $8, V6.B16, V6.B16, V6.B16  \
	VEOR   V2.B16, V6.B16, V6.B16      \
	VEOR   V7.B16, V6.B16, V6.B16

#define CONSTANTS \
	MOVD  $0xC200000000000000, R7    \
	FMOVD R7, F9                     \
	VEOR  V10.B16, V10.B16, V10.B16

// func polyvalMulAsm(h *polyval.Element, lo, hi uint64) (outLo, outHi uint64)
//
// R0 h, V0 to V10 as above.
TEXT ·polyvalMulAsm(SB), NOSPLIT, $0-40
	MOVD h+0(FP), R0
	MOVD lo+8(FP), R1
	MOVD hi+16(FP), R2
	VMOV R1, V0.D[0]
	VMOV R2, V0.D[1]
	VLD1 (R0), [V1.B16]
	CONSTANTS
	CLEAR
	MULTIPLY
	REDUCE
	VMOV V6.D[0], R1
	VMOV V6.D[1], R2
	MOVD R1, outLo+24(FP)
	MOVD R2, outHi+32(FP)
	RET

// func polyvalAsm(state *polyval.Element, powers *[8]polyval.Element, data *byte, n int)
//
// R0 state, R1 powers, R2 data, R3 bytes left, R4 bytes left of the next eight blocks
// at most, R5 power for the next block, R6 for comparing, R7 for the constants. V0 to
// V10 as above; V6 also is the state.
TEXT ·polyvalAsm(SB), NOSPLIT, $0-32
	MOVD state+0(FP), R0
	MOVD powers+8(FP), R1
	MOVD data+16(FP), R2
	MOVD n+24(FP), R3
	CONSTANTS
	VLD1 (R0), [V6.B16]

eightBlocks: // the first one times the key to the power of their number, and so on
	MOVD   $128, R6
	CMP    R6, R3
	CSEL   LO, R3, R6, R4
	SUB    R4, R3
	ADD    $128, R1, R5
	SUB    R4, R5
	VLD1.P 16(R2), [V0.B16]
	VEOR   V6.B16, V0.B16, V0.B16
	CLEAR

block:
	VLD1.P 16(R5), [V1.B16]
	MULTIPLY
	SUBS   $16, R4
	BEQ    reduce
	VLD1.P 16(R2), [V0.B16]
	B      block

reduce:
	REDUCE
	CBNZ R3, eightBlocks

	VST1 [V6.B16], (R0)
	RET
