package cpufeat

// Keys of the auxiliary vector, of getauxval(3).
const (
	atHWCAP  = 16
	atHWCAP2 = 26
)

// detectHWCAP finds the features of an arm64 machine from the auxiliary vector
// of Linux, a list of keys and values. The kernel puts there what every core
// has and what it preserves between threads. A word that is 0 or missing means
// that nothing of it is there; the ID registers are not asked instead, as
// reading them traps on kernels before 4.11.
func detectHWCAP(os string, auxv [][2]uintptr) Detection {
	d := Detection{Arch: "arm64", OS: os, Source: "AT_HWCAP"}
	for _, kv := range auxv {
		switch kv[0] {
		case atHWCAP:
			d.HWCAP = uint64(kv[1])
		case atHWCAP2:
			d.HWCAP2 = uint64(kv[1])
		}
	}
	var words [numWords]uint64
	words[hwcap], words[hwcap2] = d.HWCAP, d.HWCAP2
	d.Reported = reported(arm64Features, words)
	d.Features = d.Reported
	d.withholdIncomplete(arm64Features)
	return d
}

// detectApple returns the features that all Macs with Apple's own CPU have, the
// M1 being the first.
func detectApple(os string) Detection {
	s := FP | ASIMD | AES | PMULL | SHA1 | SHA2 | SHA512 | SHA3 | CRC32
	return Detection{Arch: "arm64", OS: os, Source: "Apple silicon", Reported: s, Features: s}
}
