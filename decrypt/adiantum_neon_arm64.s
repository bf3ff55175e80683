//go:build !purego

// ChaCha12 and NH, the parts of Adiantum whose work grows with the data, with the
// Advanced SIMD instructions ("Neon").
//
// ChaCha is from "ChaCha, a variant of Salsa20" (Bernstein, 2008) and RFC 8439; NH
// and the 12 rounds from "Adiantum: length-preserving encryption for entry-level
// processors" (Crowley and Biggers, 2018). The instructions are from the Arm
// Architecture Reference Manual for A-profile architecture, chapter C7.

#include "textflag.h"

// Indices of VTBL that rotate each word left by 8 bits.
DATA rotate8<>+0x00(SB)/8, $0x0605040702010003
DATA rotate8<>+0x08(SB)/8, $0x0e0d0c0f0a09080b
GLOBL rotate8<>(SB), RODATA|NOPTR, $16

// The block counters of four blocks, before the number of the first is added.
DATA fourCounters<>+0x00(SB)/8, $0x0000000100000000
DATA fourCounters<>+0x08(SB)/8, $0x0000000300000002
GLOBL fourCounters<>(SB), RODATA|NOPTR, $16

// QUARTERS is four quarter rounds side by side.
#define QUARTERS(A0, B0, C0, D0, A1, B1, C1, D1, A2, B2, C2, D2, A3, B3, C3, D3) \
	VADD  B0.S4, A0.S4, A0.S4       \
	VADD  B1.S4, A1.S4, A1.S4       \
	VADD  B2.S4, A2.S4, A2.S4       \
	VADD  B3.S4, A3.S4, A3.S4       \
	VEOR  A0.B16, D0.B16, D0.B16    \
	VEOR  A1.B16, D1.B16, D1.B16    \
	VEOR  A2.B16, D2.B16, D2.B16    \
	VEOR  A3.B16, D3.B16, D3.B16    \
	VREV32 D0.H8, D0.H8             \
	VREV32 D1.H8, D1.H8             \
	VREV32 D2.H8, D2.H8             \
	VREV32 D3.H8, D3.H8             \
	VADD  D0.S4, C0.S4, C0.S4       \
	VADD  D1.S4, C1.S4, C1.S4       \
	VADD  D2.S4, C2.S4, C2.S4       \
	VADD  D3.S4, C3.S4, C3.S4       \
	VEOR  C0.B16, B0.B16, V16.B16   \
	VEOR  C1.B16, B1.B16, V17.B16   \
	VEOR  C2.B16, B2.B16, V18.B16   \
	VEOR  C3.B16, B3.B16, V19.B16   \
	VSHL  $12, V16.S4, B0.S4        \
	VSHL  $12, V17.S4, B1.S4        \
	VSHL  $12, V18.S4, B2.S4        \
	VSHL  $12, V19.S4, B3.S4        \
	VSRI  $20, V16.S4, B0.S4        \
	VSRI  $20, V17.S4, B1.S4        \
	VSRI  $20, V18.S4, B2.S4        \
	VSRI  $20, V19.S4, B3.S4        \
	VADD  B0.S4, A0.S4, A0.S4       \
	VADD  B1.S4, A1.S4, A1.S4       \
	VADD  B2.S4, A2.S4, A2.S4       \
	VADD  B3.S4, A3.S4, A3.S4       \
	VEOR  A0.B16, D0.B16, D0.B16    \
	VEOR  A1.B16, D1.B16, D1.B16    \
	VEOR  A2.B16, D2.B16, D2.B16    \
	VEOR  A3.B16, D3.B16, D3.B16    \
	VTBL  V26.B16, [D0.B16], D0.B16 \
	VTBL  V26.B16, [D1.B16], D1.B16 \
	VTBL  V26.B16, [D2.B16], D2.B16 \
	VTBL  V26.B16, [D3.B16], D3.B16 \
	VADD  D0.S4, C0.S4, C0.S4       \
	VADD  D1.S4, C1.S4, C1.S4       \
	VADD  D2.S4, C2.S4, C2.S4       \
	VADD  D3.S4, C3.S4, C3.S4       \
	VEOR  C0.B16, B0.B16, V16.B16   \
	VEOR  C1.B16, B1.B16, V17.B16   \
	VEOR  C2.B16, B2.B16, V18.B16   \
	VEOR  C3.B16, B3.B16, V19.B16   \
	VSHL  $7, V16.S4, B0.S4         \
	VSHL  $7, V17.S4, B1.S4         \
	VSHL  $7, V18.S4, B2.S4         \
	VSHL  $7, V19.S4, B3.S4         \
	VSRI  $25, V16.S4, B0.S4        \
	VSRI  $25, V17.S4, B1.S4        \
	VSRI  $25, V18.S4, B2.S4        \
	VSRI  $25, V19.S4, B3.S4

// ADD_WORD adds word I of the row ROW of the initial state to REG.
#define ADD_WORD(ROW, I, REG) \
	VDUP ROW.S[I], V20.S4       \
	VADD V20.S4, REG.S4, REG.S4

// FOUR_WORDS transposes A, B, C and D, which have consecutive words of four blocks:
// each then has the four words of one block.
#define FOUR_WORDS(A, B, C, D) \
	VZIP1 B.S4, A.S4, V16.S4     \
	VZIP2 B.S4, A.S4, V17.S4     \
	VZIP1 D.S4, C.S4, V18.S4     \
	VZIP2 D.S4, C.S4, V19.S4     \
	VZIP1 V18.D2, V16.D2, A.D2   \
	VZIP2 V18.D2, V16.D2, B.D2   \
	VZIP1 V19.D2, V17.D2, C.D2   \
	VZIP2 V19.D2, V17.D2, D.D2

// XOR_BLOCK xors the next block, whose words are in A, B, C and D, into the data.
#define XOR_BLOCK(A, B, C, D) \
	VLD1.P 64(R1), [V16.B16, V17.B16, V18.B16, V19.B16] \
	VEOR   A.B16, V16.B16, V16.B16                      \
	VEOR   B.B16, V17.B16, V17.B16                      \
	VEOR   C.B16, V18.B16, V18.B16                      \
	VEOR   D.B16, V19.B16, V19.B16                      \
	VST1.P [V16.B16, V17.B16, V18.B16, V19.B16], 64(R0)

// func chacha12NEON(dst, src *byte, n int, state *xchacha.State)
//
// R0 dst, R1 src, R2 bytes left, R3 state, R4 double rounds left, R5 and R6 for
// addresses. V0 to V15 have words 0 to 15 of four blocks; V16 to V20 are for
// rotating, transposing and the data. V26 and V27 have the constants above, V28 to
// V31 the rows of the initial state of the next block.
TEXT ·chacha12NEON(SB), NOSPLIT, $0-32
	MOVD dst+0(FP), R0
	MOVD src+8(FP), R1
	MOVD n+16(FP), R2
	MOVD state+24(FP), R3
	MOVD $rotate8<>(SB), R5
	MOVD $fourCounters<>(SB), R6
	VLD1 (R5), [V26.B16]
	VLD1 (R6), [V27.S4]
	VLD1 (R3), [V28.S4, V29.S4, V30.S4, V31.S4]

four:
	VDUP V28.S[0], V0.S4
	VDUP V28.S[1], V1.S4
	VDUP V28.S[2], V2.S4
	VDUP V28.S[3], V3.S4
	VDUP V29.S[0], V4.S4
	VDUP V29.S[1], V5.S4
	VDUP V29.S[2], V6.S4
	VDUP V29.S[3], V7.S4
	VDUP V30.S[0], V8.S4
	VDUP V30.S[1], V9.S4
	VDUP V30.S[2], V10.S4
	VDUP V30.S[3], V11.S4
	VDUP V31.S[0], V12.S4
	VDUP V31.S[1], V13.S4
	VDUP V31.S[2], V14.S4
	VDUP V31.S[3], V15.S4
	VADD V27.S4, V12.S4, V12.S4
	MOVD $6, R4

rounds:
	QUARTERS(V0, V4, V8, V12, V1, V5, V9, V13, V2, V6, V10, V14, V3, V7, V11, V15)
	QUARTERS(V0, V5, V10, V15, V1, V6, V11, V12, V2, V7, V8, V13, V3, V4, V9, V14)
	SUB  $1, R4
	CBNZ R4, rounds

	ADD_WORD(V28, 0, V0)
	ADD_WORD(V28, 1, V1)
	ADD_WORD(V28, 2, V2)
	ADD_WORD(V28, 3, V3)
	ADD_WORD(V29, 0, V4)
	ADD_WORD(V29, 1, V5)
	ADD_WORD(V29, 2, V6)
	ADD_WORD(V29, 3, V7)
	ADD_WORD(V30, 0, V8)
	ADD_WORD(V30, 1, V9)
	ADD_WORD(V30, 2, V10)
	ADD_WORD(V30, 3, V11)
	ADD_WORD(V31, 0, V12)
	ADD_WORD(V31, 1, V13)
	ADD_WORD(V31, 2, V14)
	ADD_WORD(V31, 3, V15)
	VADD V27.S4, V12.S4, V12.S4
	FOUR_WORDS(V0, V1, V2, V3)
	FOUR_WORDS(V4, V5, V6, V7)
	FOUR_WORDS(V8, V9, V10, V11)
	FOUR_WORDS(V12, V13, V14, V15)
	XOR_BLOCK(V0, V4, V8, V12)
	XOR_BLOCK(V1, V5, V9, V13)
	XOR_BLOCK(V2, V6, V10, V14)
	XOR_BLOCK(V3, V7, V11, V15)

	VMOV V31.S[0], R4
	ADDW $4, R4
	VMOV R4, V31.S[0]
	SUB  $256, R2
	CBNZ R2, four
	VST1 [V28.S4, V29.S4, V30.S4, V31.S4], (R3)
	RET

// The assembler does not know these: UMLAL Vd.2D, Vn.2S, Vm.2S and UMLAL2 Vd.2D,
// Vn.4S, Vm.4S.
#define UMLAL(M, N, D) WORD $(0x2EA08000 | M<<16 | N<<5 | D)
#define UMLAL2(M, N, D) WORD $(0x6EA08000 | M<<16 | N<<5 | D)

// PASS adds the products of one pass to the sums in V0 to V3, of which P is the
// number: words of the message in V4 and V5 with those of the key in KA and KB. V6
// and V7 are clobbered. The first and second registers each have the first and
// second halves of two groups.
#define PASS(KA, KB, P) \
	VADD KA.S4, V4.S4, V6.S4  \
	VADD KB.S4, V5.S4, V7.S4  \
	UMLAL(7, 6, P)            \
	UMLAL2(7, 6, P)

// PASS_ONE is the same for a single group in V4.
#define PASS_ONE(K, P) \
	VADD K.S4, V4.S4, V6.S4  \
	VDUP V6.D[1], V7.D2      \
	UMLAL(7, 6, P)

// func nhNEON(sums *byte, key *nh.Key, message *byte, n int)
//
// R0 sums, R1 key, R2 message, R3 bytes left, R4 bytes left of the piece, R5 key of
// the next groups, R6 the size of a group, R7 for comparing. V0 to V3 are the sums of
// the four passes, each in two parts; V4 to V7 and V16 to V23 as PASS has them.
TEXT ·nhNEON(SB), NOSPLIT, $0-32
	MOVD sums+0(FP), R0
	MOVD key+8(FP), R1
	MOVD message+16(FP), R2
	MOVD n+24(FP), R3
	MOVD $16, R6

piece:
	MOVD $1024, R7
	CMP  R7, R3
	CSEL LO, R3, R7, R4
	SUB  R4, R3
	MOVD R1, R5
	VEOR V0.B16, V0.B16, V0.B16
	VEOR V1.B16, V1.B16, V1.B16
	VEOR V2.B16, V2.B16, V2.B16
	VEOR V3.B16, V3.B16, V3.B16
	SUBS $64, R4
	BLO  lessThanFour
	VLD2.P (R5)(R6), [V16.D2, V17.D2]
	VLD2.P (R5)(R6), [V18.D2, V19.D2]

fourGroups: // two at a time: the key of passes 2 and 3 is that of the next two's 0 and 1
	VLD2.P 32(R2), [V4.D2, V5.D2]
	VLD2.P (R5)(R6), [V20.D2, V21.D2]
	VLD2.P (R5)(R6), [V22.D2, V23.D2]
	PASS(V16, V17, 0)
	PASS(V18, V19, 1)
	PASS(V20, V21, 2)
	PASS(V22, V23, 3)
	VLD2.P 32(R2), [V4.D2, V5.D2]
	VLD2.P (R5)(R6), [V16.D2, V17.D2]
	VLD2.P (R5)(R6), [V18.D2, V19.D2]
	PASS(V20, V21, 0)
	PASS(V22, V23, 1)
	PASS(V16, V17, 2)
	PASS(V18, V19, 3)
	SUBS $64, R4
	BHS  fourGroups
	SUB  $32, R5

lessThanFour:
	ADDS $64, R4
	BEQ  sum

oneGroup:
	VLD1.P 16(R2), [V4.S4]
	VLD1   (R5), [V16.S4, V17.S4, V18.S4, V19.S4]
	ADD    $16, R5
	PASS_ONE(V16, 0)
	PASS_ONE(V17, 1)
	PASS_ONE(V18, 2)
	PASS_ONE(V19, 3)
	SUBS $16, R4
	BNE  oneGroup

sum:
	VADDP  V1.D2, V0.D2, V4.D2
	VADDP  V3.D2, V2.D2, V5.D2
	VST1.P [V4.D2, V5.D2], 32(R0)
	CBNZ   R3, piece
	RET
