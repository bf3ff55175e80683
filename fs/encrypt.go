package fs

import (
	"sync"

	"encfs/decrypt"
	"encfs/workqueue"
)

// An encryption is data units that the queue encrypts before they are written.
type encryption struct {
	loop workqueue.Loop

	// What the loop encrypts, in place, until it has run.
	contents *decrypt.Contents
	data     []byte
	first    uint64 // number of the first data unit in data
}

var encryptions = sync.Pool{New: func() any {
	e := new(encryption)
	e.loop.Init(e.encrypt)
	return e
}}

func (e *encryption) encrypt(from, to int) {
	p := e.data[from*unitSize : to*unitSize]
	e.contents.EncryptUnits(p, p, e.first+uint64(from))
}

// encrypt encrypts whole data units in place, the first of which has a number. More
// than one work item's worth goes to the queue, where one cipher in several places
// at once is faster than in one.
func (w *change) encrypt(p []byte, first int64) error {
	const perItem = ItemSize / unitSize
	units := len(p) / unitSize
	if w.v.opts.Queue == nil || units <= perItem {
		w.i.contents.EncryptUnits(p, p, uint64(first))
		return nil
	}
	e := encryptions.Get().(*encryption)
	defer encryptions.Put(e)
	e.contents, e.data, e.first = w.i.contents, p, uint64(first)
	defer func() { e.contents, e.data = nil, nil }()
	return e.loop.Run(w.v.opts.Queue, units, perItem, ShareableWork(units, w.i.unitTime), nil)
}
