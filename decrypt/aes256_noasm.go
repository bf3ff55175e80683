//go:build purego || !(amd64 || arm64)

package decrypt

import "encfs/decrypt/internal/aesct"

func newAES256(key []byte) aes256 { return aes256Block{aesct.New(key)} }
