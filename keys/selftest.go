package keys

// A KnownAnswerTest derives a key whose value is known with a function that this
// package derives keys with.
type KnownAnswerTest struct {
	Name string       // as the kernel names the function, such as "hkdf(hmac(sha512))"
	Run  func() error // returns an error if the value is another one
}

// KnownAnswerTests returns a test for each key derivation function, which take some
// microseconds together. This package never runs one: when, and whether at all, is
// its users' to say. There are none if the program was built with the build tag
// noselftest.
func KnownAnswerTests() []KnownAnswerTest { return knownAnswerTests() }
