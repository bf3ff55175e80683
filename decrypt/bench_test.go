package decrypt

import (
	"fmt"
	"testing"
)

// BenchmarkDecrypt decrypts data units of some sizes in place with each driver
// that the CPU can run, with the longest key that the algorithm takes.
func BenchmarkDecrypt(b *testing.B) {
	for _, d := range runnableDrivers() {
		s := shapes[d.Algorithm]
		c := newTestCipher(b, d, randBytes(testRand(6), s.keySizes[len(s.keySizes)-1]))
		iv := make([]byte, s.ivSize)
		for _, n := range []int{512, 4096, 65536} {
			b.Run(fmt.Sprintf("%s/%d", d.Name, n), func(b *testing.B) {
				unit := make([]byte, n)
				b.SetBytes(int64(n))
				b.ReportAllocs()
				for b.Loop() {
					c.Decrypt(unit, unit, iv)
				}
			})
		}
	}
}

// BenchmarkDecryptUnits decrypts 64 KiB in data units of some sizes, as Contents
// has it done.
func BenchmarkDecryptUnits(b *testing.B) {
	for _, d := range runnableDrivers() {
		s := shapes[d.Algorithm]
		c := unitsOf(newTestCipher(b, d, randBytes(testRand(6), s.keySizes[len(s.keySizes)-1])), s.ivSize)
		const size = 64 << 10
		for _, n := range []int{512, 4096} {
			b.Run(fmt.Sprintf("%s/%d", d.Name, n), func(b *testing.B) {
				data, ivs := make([]byte, size), make([]byte, size/n*s.ivSize)
				b.SetBytes(size)
				b.ReportAllocs()
				for b.Loop() {
					c.DecryptUnits(data, data, n, ivs)
				}
			})
		}
	}
}
