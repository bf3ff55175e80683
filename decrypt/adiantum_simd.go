//go:build !purego && (amd64 || arm64)

package decrypt

import (
	"encfs/decrypt/internal/nh"
	"encfs/decrypt/internal/poly1305"
)

// simdHashKey is the key of the hash of the message as assembly takes it.
type simdHashKey struct {
	poly poly1305.Key

	// nh has the two middle words of each group of four exchanged. In this order
	// the factors of NH's products are neighbours: added to words of the message in
	// the same order, a lane of 64 bits has both of them.
	nh nh.Key
}

// set sets h to the keys of the hash in k.
func (h *simdHashKey) set(k *adiantumKeys) {
	h.poly, h.nh = k.message, k.nh
	for i := 0; i < len(h.nh); i += 4 {
		h.nh[i+1], h.nh[i+2] = h.nh[i+2], h.nh[i+1]
	}
}
