package main

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"encfs/keys"
)

// A serveOrder is what the mount command hands to the process that serves the
// mount, besides the master key. Paths are absolute.
type serveOrder struct {
	Source, MountPoint string
	ReadOnly           bool
	AllowOther         bool
	Shared             bool
	ShowBad            bool
	Options            []string // for the kernel
	Pipeline           pipelineOptions
	Log                string // file to append messages to, empty for syslog
}

// maxOrder bounds the encoded order in bytes.
const maxOrder = 1 << 20

// writeOrder writes an order and a master key: the length of the order as a gob
// in four bytes, little-endian, the order, the length of the key in one byte, the
// key. (A gob, as paths need not be UTF-8.) The key is never on the heap.
func writeOrder(w io.Writer, o serveOrder, mk *keys.MasterKey) error {
	var text bytes.Buffer
	if err := gob.NewEncoder(&text).Encode(o); err != nil {
		return err
	}
	raw, err := mk.Raw()
	if err != nil {
		return err
	}
	defer raw.Close()
	head := append(binary.LittleEndian.AppendUint32(nil, uint32(text.Len())), text.Bytes()...)
	for _, part := range [][]byte{head, {byte(raw.Len())}, raw.Bytes()} {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// readOrder reads what writeOrder wrote. The caller closes the key.
func readOrder(r io.Reader) (o serveOrder, mk *keys.MasterKey, err error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return o, nil, fmt.Errorf("order: %w", err)
	}
	n := binary.LittleEndian.Uint32(size[:])
	if n > maxOrder {
		return o, nil, errors.New("order: too long")
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return o, nil, fmt.Errorf("order: %w", err)
	}
	if err := gob.NewDecoder(bytes.NewReader(text)).Decode(&o); err != nil {
		return o, nil, fmt.Errorf("order: %w", err)
	}
	if _, err := io.ReadFull(r, size[:1]); err != nil {
		return o, nil, fmt.Errorf("order: %w", err)
	}
	raw, err := keys.NewSecret(max(1, int(size[0])))
	if err != nil {
		return o, nil, err
	}
	defer raw.Close()
	if _, err := io.ReadFull(r, raw.Bytes()); err != nil {
		return o, nil, fmt.Errorf("order: %w", err)
	}
	mk, err = keys.NewMasterKey(raw.Bytes())
	return o, mk, err
}

// An answer is what the serving process tells the mount command once: that the
// mount is there, or why not.
type answer struct {
	Code  int    // exit code, 0 if the mount is there
	Error string // without a remedy
	Hint  string
}

func writeAnswer(w io.Writer, err error) error {
	var a answer
	if err != nil {
		a.Error = message(err)
		a.Code, a.Hint = classify(err)
	}
	return json.NewEncoder(w).Encode(a)
}

// readAnswer waits for the answer and returns the error in it.
func readAnswer(r io.Reader) error {
	var a answer
	if err := json.NewDecoder(r).Decode(&a); err != nil {
		return failf(exitFailure, "see the system log, or try again with --foreground",
			"the serving process ended without an answer")
	}
	if a.Code == exitDone {
		return nil
	}
	return failf(a.Code, a.Hint, "%s", a.Error)
}
