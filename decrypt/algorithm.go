package decrypt

import "slices"

// An Algorithm is what all drivers of it have in common.
type Algorithm struct {
	Name     string // as the Linux crypto API has it, such as "xts(aes)"
	KeySizes []int  // lengths of keys in bytes, ascending
	IVSize   int    // length of an IV in bytes
	Multiple int    // lengths of data are multiples of so many bytes: 16 or 1
}

var algorithms = []Algorithm{
	{"xts(aes)", []int{32, 64}, 16, 16},
	{"essiv(cbc(aes),sha256)", []int{16}, 16, 16},
	{"cts(cbc(aes))", []int{16, 32}, 16, 1},
	{"hctr2(aes)", []int{32}, 32, 1},
	{"adiantum(xchacha12,aes)", []int{32}, 32, 1},
	{"xts(sm4)", []int{32}, 16, 16},
	{"cts(cbc(sm4))", []int{16}, 16, 1},
	{"xts(speck128)", []int{64}, 16, 16},
	{"cts(cbc(speck128))", []int{32}, 16, 1},
}

// Algorithms returns the algorithms that there are drivers of. The caller may change
// the slice, but not those in it.
func Algorithms() []Algorithm { return slices.Clone(algorithms) }
