//go:build !purego

// Poly1305: RFC 8439, section 2.5.1.

#include "textflag.h"
#include "poly1305_amd64.h"

// func poly1305Tweak(state *poly1305.State, key *poly1305.Key, bits uint64, iv *byte)
//
// DI key, R9 iv, R10, R11 and R12 state; AX, DX, R13, SI, R14 and R15 are clobbered.
TEXT ·poly1305Tweak(SB), NOSPLIT, $0-32
	MOVQ key+8(FP), DI
	MOVQ bits+16(FP), R10
	MOVQ iv+24(FP), R9
	XORQ R11, R11
	XORQ R12, R12
	POLY1305_BLOCK($0, $0, 0(DI), 8(DI), R10, R11, R12, R13, SI, R14, R15)
	POLY1305_BLOCK(0(R9), 8(R9), 0(DI), 8(DI), R10, R11, R12, R13, SI, R14, R15)
	POLY1305_BLOCK(16(R9), 24(R9), 0(DI), 8(DI), R10, R11, R12, R13, SI, R14, R15)
	MOVQ state+0(FP), AX
	MOVQ R10, 0(AX)
	MOVQ R11, 8(AX)
	MOVQ R12, 16(AX)
	RET
