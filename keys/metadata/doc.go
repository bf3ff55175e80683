// Package metadata reads and writes the .fscrypt folder of the fscrypt tool
// (https://github.com/google/fscrypt), in which master keys are kept wrapped.
//
// A [Protector] is a random key of 32 bytes, the protector key, wrapped with a secret:
// a passphrase through Argon2id, or a raw key. A [Policy] is a master key of 64
// bytes wrapped with one or more protector keys, any of which opens it. So a
// passphrase is changed without touching a policy, and one protector can serve
// many policies. [Dir] is the folder:
//
//	.fscrypt/policies/IDENTIFIER               a policy, named by its master key
//	.fscrypt/protectors/DESCRIPTOR             a protector
//	.fscrypt/protectors/DESCRIPTOR.link        where a protector of another file system is
//
// A policy is opened by unlocking one of its protectors, and then the policy with
// the protector key:
//
//	protector, err := dir.Protector(policy.Protectors()[0])
//	protectorKey, err := protector.Unlock(passphrase)
//	masterKey, err := policy.Unlock(protector.Descriptor(), protectorKey)
//
// To make one, write the protector before the policy, so that a crash leaves no
// policy that nothing opens.
package metadata
