// Package keys holds the secrets and policies of fscrypt, the file encryption of
// Linux, and derives from them what a cipher needs.
//
// A directory tree has a [Policy]: modes, flags, and the name of a master key.
// Each inode in it adds a random nonce; the two together are its [Context],
// which is stored with it. A [MasterKey] and a context give the [FileKey]: the
// key of that inode and the rule for the IV of each data unit. There are two
// versions of policies. Version 2 derives with HKDF-SHA512 and names the master
// key by an [Identifier] that a wrong key cannot have; version 1 derives with
// AES-128-ECB and has a [Descriptor], which proves nothing. The master keys of a
// mount are in its [Keyring].
//
// The package encrypts nothing and knows no cipher's implementation. The formats
// are those of fs/crypto in Linux; see Documentation/filesystems/fscrypt.rst.
package keys
