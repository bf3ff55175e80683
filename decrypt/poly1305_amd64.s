//go:build !purego

// Poly1305: RFC 8439, section 2.5.1.

#include "textflag.h"
#include "poly1305_amd64.h"

// func poly1305Tweaks(states *poly1305.State, key *poly1305.Key, bits uint64, ivs *byte, count int)
//
// DI key, R9 IV, CX IVs left, BX where its state is stored, R10, R11 and R12 state; AX, DX,
// R13, SI, R14 and R15 are clobbered. The frame has the state after the first block, which
// is the same for all.
TEXT ·poly1305Tweaks(SB), NOSPLIT, $24-40
	MOVQ states+0(FP), BX
	MOVQ key+8(FP), DI
	MOVQ bits+16(FP), R10
	MOVQ ivs+24(FP), R9
	MOVQ count+32(FP), CX
	XORQ R11, R11
	XORQ R12, R12
	POLY1305_BLOCK($0, $0, 0(DI), 8(DI), R10, R11, R12, R13, SI, R14, R15)
	MOVQ R10, 0(SP)
	MOVQ R11, 8(SP)
	MOVQ R12, 16(SP)

next:
	POLY1305_BLOCK(0(R9), 8(R9), 0(DI), 8(DI), R10, R11, R12, R13, SI, R14, R15)
	POLY1305_BLOCK(16(R9), 24(R9), 0(DI), 8(DI), R10, R11, R12, R13, SI, R14, R15)
	MOVQ R10, 0(BX)
	MOVQ R11, 8(BX)
	MOVQ R12, 16(BX)
	MOVQ 0(SP), R10
	MOVQ 8(SP), R11
	MOVQ 16(SP), R12
	ADDQ $32, R9
	ADDQ $24, BX
	DECQ CX
	JNZ  next
	RET
