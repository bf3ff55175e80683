//go:build !purego

// AES-256 of single blocks, with the Cryptographic Extension.
//
// AES is from FIPS 197, the instructions from the Arm Architecture Reference Manual
// for A-profile architecture, chapter C7.

#include "textflag.h"
#include "aes256_arm64.h"

// func aes256EncryptAsm(enc *roundKeys, lo, hi uint64) (outLo, outHi uint64)
//
// R0 round keys, V0 block, V16 to V30 round keys.
TEXT ·aes256EncryptAsm(SB), NOSPLIT, $0-40
	MOVD enc+0(FP), R0
	MOVD lo+8(FP), R1
	MOVD hi+16(FP), R2
	VMOV R1, V0.D[0]
	VMOV R2, V0.D[1]
	ROUND_KEYS
	ENCRYPT(V0)
	VMOV V0.D[0], R1
	VMOV V0.D[1], R2
	MOVD R1, outLo+24(FP)
	MOVD R2, outHi+32(FP)
	RET

// func aes256DecryptAsm(dec *roundKeys, lo, hi uint64) (outLo, outHi uint64)
//
// R0 round keys, V0 block, V16 to V30 round keys.
TEXT ·aes256DecryptAsm(SB), NOSPLIT, $0-40
	MOVD dec+0(FP), R0
	MOVD lo+8(FP), R1
	MOVD hi+16(FP), R2
	VMOV R1, V0.D[0]
	VMOV R2, V0.D[1]
	ROUND_KEYS
	AESD   V16.B16, V0.B16
	AESIMC V0.B16, V0.B16
	AESD   V17.B16, V0.B16
	AESIMC V0.B16, V0.B16
	AESD   V18.B16, V0.B16
	AESIMC V0.B16, V0.B16
	AESD   V19.B16, V0.B16
	AESIMC V0.B16, V0.B16
	AESD   V20.B16, V0.B16
	AESIMC V0.B16, V0.B16
	AESD   V21.B16, V0.B16
	AESIMC V0.B16, V0.B16
	AESD   V22.B16, V0.B16
	AESIMC V0.B16, V0.B16
	AESD   V23.B16, V0.B16
	AESIMC V0.B16, V0.B16
	AESD   V24.B16, V0.B16
	AESIMC V0.B16, V0.B16
	AESD   V25.B16, V0.B16
	AESIMC V0.B16, V0.B16
	AESD   V26.B16, V0.B16
	AESIMC V0.B16, V0.B16
	AESD   V27.B16, V0.B16
	AESIMC V0.B16, V0.B16
	AESD   V28.B16, V0.B16
	AESIMC V0.B16, V0.B16
	AESD   V29.B16, V0.B16
	VEOR   V30.B16, V0.B16, V0.B16
	VMOV   V0.D[0], R1
	VMOV   V0.D[1], R2
	MOVD   R1, outLo+24(FP)
	MOVD   R2, outHi+32(FP)
	RET
