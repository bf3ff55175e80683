// Package decrypt implements the length-preserving ciphers of fscrypt and
// applies them to data units and to file names.
//
// Every algorithm has a portable driver in Go and may have faster ones in
// assembly. Drivers are named and ranked as in the Linux crypto API: "xts(aes)"
// is an algorithm, "xts-aes-aesni" a driver of it, and of the drivers that the
// CPU can run the one of highest priority is used. All drivers of an algorithm
// compute the same function; the tests run the same vectors through each.
//
//	algorithm                 key bytes  IV bytes  data bytes              in fscrypt for
//	xts(aes)                  32, 64     16        multiple of 16          contents
//	essiv(cbc(aes),sha256)    16         16        multiple of 16          contents
//	cts(cbc(aes))             16, 32     16        16 or more              names
//	hctr2(aes)                32         32        16 or more              names
//	adiantum(xchacha12,aes)   32         32        16 or more              both
//	xts(sm4)                  32         16        multiple of 16          contents
//	cts(cbc(sm4))             16         16        16 or more              names
//	xts(speck128)             64         16        multiple of 16          -
//	cts(cbc(speck128))        32         16        16 or more              -
//
// [Contents] encrypts and decrypts the data units of one inode, [Names] the names
// in one directory or the target of one symlink. Names whose key is absent
// are shown as no-key names; see [NoKeyName].
//
// A [Table] chooses drivers for a CPU, and has each of them encrypt and decrypt data
// whose ciphertext is known before it returns it.
//
// None of this authenticates. A wrong key or damaged ciphertext gives garbage,
// never an error, and whoever can write ciphertext can change what is read.
//
// No driver branches on or indexes memory by keys or data, except that the portable
// ones of AES modes take AES from crypto/aes, and SM4 comes from gmsm: on CPUs without
// AES instructions both use lookup tables. For those CPUs there are bit-sliced drivers,
// "xts-aes-bs-ssse3" and "xts-aes-bs-avx2"; and Adiantum, the algorithm meant for
// them, has an AES of its own. Speck is for benchmarks only.
package decrypt
