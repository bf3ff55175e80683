// Macros for AES-256 (FIPS 197) of single blocks.

// LOAD sets X to the words LO and HI in memory.
#define LOAD(LO, HI, X) \
	MOVQ   LO, X \
	MOVHPS HI, X

// STORE sets the words LO and HI in memory to X.
#define STORE(X, LO, HI) \
	MOVQ   X, LO \
	MOVHPS X, HI

// ONE is a round, INSTRUCTION, of one block in X0 with the round key at OFF. X1 is
// clobbered.
#define ONE(INSTRUCTION, OFF) \
	MOVOU       OFF(AX), X1 \
	INSTRUCTION X1, X0

// ONE_BLOCK is all rounds of AES-256.
#define ONE_BLOCK(ROUND, LAST) \
	ONE(PXOR, 0)    \
	ONE(ROUND, 16)  \
	ONE(ROUND, 32)  \
	ONE(ROUND, 48)  \
	ONE(ROUND, 64)  \
	ONE(ROUND, 80)  \
	ONE(ROUND, 96)  \
	ONE(ROUND, 112) \
	ONE(ROUND, 128) \
	ONE(ROUND, 144) \
	ONE(ROUND, 160) \
	ONE(ROUND, 176) \
	ONE(ROUND, 192) \
	ONE(ROUND, 208) \
	ONE(LAST, 224)
