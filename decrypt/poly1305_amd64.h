// POLY1305_BLOCK appends the block of the words M0 and M1 to the message of
// Poly1305: h = (h + block + 2^128)·r mod 2^130 - 5, in the same steps as
// internal/poly1305, where their bounds are explained. It is from RFC 8439, section
// 2.5.1.
//
// M0, M1 and the clamped key R0, R1 may be in memory. H0, H1 and H2 are the state,
// T0 to T3 the product; AX and DX are clobbered too.
#define POLY1305_BLOCK(M0, M1, R0, R1, H0, H1, H2, T0, T1, T2, T3) \
	ADDQ  M0, H0      \
	ADCQ  M1, H1      \
	ADCQ  $1, H2      \
	MOVQ  R0, AX      \
	MULQ  H0          \
	MOVQ  AX, T0      \
	MOVQ  DX, T1      \
	MOVQ  R0, AX      \
	MULQ  H1          \
	MOVQ  R0, T2      \
	IMULQ H2, T2      \
	ADDQ  AX, T1      \
	ADCQ  DX, T2      \
	MOVQ  R1, AX      \
	MULQ  H0          \
	MOVQ  DX, H0      \
	IMULQ R1, H2      \
	MOVQ  H2, T3      \
	ADDQ  AX, T1      \
	ADCQ  $0, H0      \
	MOVQ  R1, AX      \
	MULQ  H1          \
	ADDQ  H0, T2      \
	ADCQ  DX, T3      \
	ADDQ  AX, T2      \
	ADCQ  $0, T3      \
	MOVQ  T2, H2      \
	ANDQ  $3, H2      \
	ANDQ  $~3, T2     \
	MOVQ  T0, H0      \
	MOVQ  T1, H1      \
	ADDQ  T2, H0      \
	ADCQ  T3, H1      \
	ADCQ  $0, H2      \
	SHRQ  $2, T3, T2  \
	SHRQ  $2, T3      \
	ADDQ  T2, H0      \
	ADCQ  T3, H1      \
	ADCQ  $0, H2
