package workqueue_test

import (
	"bytes"
	"fmt"

	"encfs/workqueue"
)

// A part is an item that works on a piece of a buffer.
type part struct {
	workqueue.Work
	data []byte
}

// A read is set up once and used again and again. The function of an item
// learns its piece from the struct that it was made with, so nothing is
// allocated later.
type read struct {
	group workqueue.Group
	parts [4]part
}

func newRead() *read {
	r := new(read)
	for i := range r.parts {
		p := &r.parts[i]
		p.Init(func(*workqueue.Work) { copy(p.data, bytes.ToUpper(p.data)) })
	}
	return r
}

// A request divides its buffer into items, waits for them together, and takes
// back what has not started when it is interrupted.
func ExampleGroup() {
	q, err := workqueue.New(workqueue.Attrs{Name: "read", Kind: workqueue.Unbound})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer q.Close()

	buffer := []byte("length-preserve.")
	interrupted := make(chan struct{})
	r := newRead()
	for i := range r.parts {
		r.parts[i].data = buffer[i*4 : i*4+4]
		r.group.Queue(q, &r.parts[i].Work)
	}
	err = r.group.WaitContext(interrupted)
	fmt.Println(string(buffer), err)
	// Output: LENGTH-PRESERVE. <nil>
}

func ExampleParseKind() {
	_, err := workqueue.ParseKind("pinned")
	fmt.Println(err)
	// Output: unknown kind of queue "pinned": known are bound, unbound, inline, auto
}
