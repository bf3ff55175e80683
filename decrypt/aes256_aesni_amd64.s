//go:build !purego

// AES-256 of single blocks, with AES-NI.
//
// AES is from FIPS 197, the instructions from the Intel 64 and IA-32 Architectures
// Software Developer's Manual, volume 2.

#include "textflag.h"
#include "aes256_amd64.h"

// func aes256EncryptAsm(enc *roundKeys, lo, hi uint64) (outLo, outHi uint64)
//
// AX round keys, X0 block, X1 round key.
TEXT ·aes256EncryptAsm(SB), NOSPLIT, $0-40
	MOVQ enc+0(FP), AX
	LOAD(lo+8(FP), hi+16(FP), X0)
	ONE_BLOCK(AESENC, AESENCLAST)
	STORE(X0, outLo+24(FP), outHi+32(FP))
	RET

// func aes256DecryptAsm(dec *roundKeys, lo, hi uint64) (outLo, outHi uint64)
//
// AX round keys, X0 block, X1 round key.
TEXT ·aes256DecryptAsm(SB), NOSPLIT, $0-40
	MOVQ dec+0(FP), AX
	LOAD(lo+8(FP), hi+16(FP), X0)
	ONE_BLOCK(AESDEC, AESDECLAST)
	STORE(X0, outLo+24(FP), outHi+32(FP))
	RET
