package main

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"encfs/fs"
	"encfs/keys"
)

// A serveOrder is what the mount command hands to the process that serves the
// mount, besides the master keys. Paths are absolute.
type serveOrder struct {
	Source, MountPoint string
	ReadOnly           bool
	AllowOther         bool
	Shared             bool
	ShowBad            bool
	Partition          int
	Force              bool
	Options            []string // for the kernel
	Without            []fs.Shortcut
	Pipeline           pipelineOptions
	Log                string // file to append messages to, empty for syslog
	Measure            *measureOrder
}

// A measureOrder says how a mount that bench tar measures differs from all others,
// which have none.
type measureOrder struct {
	Algorithm  string // that contents are encrypted with in place of the policy's; empty for that
	Completion []int  // CPUs on which ciphertext arrives; empty for wherever it is asked for
}

// image returns the source, if it is an image.
func (o *serveOrder) image() imageSource {
	return imageSource{path: o.Source, partition: o.Partition, force: o.Force}
}

// maxOrder bounds the encoded order in bytes.
const maxOrder = 1 << 20

// writeOrder writes an order and master keys: the length of the order as a gob in
// four bytes, little-endian, the order, for each key its length in one byte and
// the key, and a zero byte. (A gob, as paths need not be UTF-8.) The keys are never
// on the heap.
func writeOrder(w io.Writer, o serveOrder, mks masterKeys) error {
	var text bytes.Buffer
	if err := gob.NewEncoder(&text).Encode(o); err != nil {
		return err
	}
	head := append(binary.LittleEndian.AppendUint32(nil, uint32(text.Len())), text.Bytes()...)
	if _, err := w.Write(head); err != nil {
		return err
	}
	for _, mk := range mks {
		if err := writeKey(w, mk); err != nil {
			return err
		}
	}
	_, err := w.Write([]byte{0})
	return err
}

func writeKey(w io.Writer, mk *keys.MasterKey) error {
	raw, err := mk.Raw()
	if err != nil {
		return err
	}
	defer raw.Close()
	if _, err := w.Write([]byte{byte(raw.Len())}); err != nil {
		return err
	}
	_, err = w.Write(raw.Bytes())
	return err
}

// readOrder reads what writeOrder wrote. The caller closes the keys.
func readOrder(r io.Reader) (o serveOrder, mks masterKeys, err error) {
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
	for {
		mk, err := readKey(r)
		if err != nil {
			mks.close()
			return o, nil, fmt.Errorf("order: %w", err)
		}
		if mk == nil {
			return o, mks, nil
		}
		mks = append(mks, mk)
	}
}

// readKey returns the next key, nil behind the last one.
func readKey(r io.Reader) (*keys.MasterKey, error) {
	var size [1]byte
	if _, err := io.ReadFull(r, size[:]); err != nil || size[0] == 0 {
		return nil, err
	}
	raw, err := keys.NewSecret(int(size[0]))
	if err != nil {
		return nil, err
	}
	defer raw.Close()
	if _, err := io.ReadFull(r, raw.Bytes()); err != nil {
		return nil, err
	}
	return keys.NewMasterKey(raw.Bytes())
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
