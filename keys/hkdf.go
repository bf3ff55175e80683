package keys

import (
	"crypto/hkdf"
	"crypto/sha512"
)

// The context bytes of fscrypt's key derivation, HKDF_CONTEXT_* in
// fs/crypto/fscrypt_private.h.
const (
	hkdfKeyIdentifier  = 1
	hkdfPerFileKey     = 2
	hkdfDirectKey      = 3
	hkdfIVInoLblk64Key = 4
	hkdfIVInoLblk32Key = 6
	hkdfInodeHashKey   = 7
)

// The first bytes of the info string say for whom a key is derived. fscrypt's is
// fixed by fs/crypto/hkdf.c; ours is the directory format's and cannot meet it.
const (
	infoFscrypt = "fscrypt\x00"
	infoEncfs   = "encfs\x00"
)

// prkSize is the length in bytes of the pseudorandom key, and the longest output
// that fscrypt ever asks for: one block of SHA-512.
const prkSize = sha512.Size

// hkdfExtract writes the pseudorandom key of a master key to prk, which has prkSize
// bytes: HKDF-Extract of RFC 5869 with SHA-512 and no salt.
func hkdfExtract(prk, master []byte) {
	b, err := hkdf.Extract(sha512.New, master, nil)
	if err != nil {
		panic("keys: hkdf: " + err.Error()) // only a key too short for FIPS, and 16 bytes are enough
	}
	copy(prk, b)
	clear(b)
}

// hkdfExpand fills out, at most prkSize bytes, with the key that is derived for
// prefix || context || tail: HKDF-Expand of RFC 5869.
func hkdfExpand(out, prk []byte, prefix string, context byte, tail ...byte) {
	info := make([]byte, 0, 64)
	info = append(info, prefix...)
	info = append(info, context)
	info = append(info, tail...)
	b, err := hkdf.Expand(sha512.New, prk, string(info), len(out))
	if err != nil {
		panic("keys: hkdf: " + err.Error())
	}
	copy(out, b)
	clear(b)
}
