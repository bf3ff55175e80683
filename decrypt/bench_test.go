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
