package main

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestByteCount(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 1: "1 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB",
		1<<20 - 1: "1.0 MiB", 1 << 20: "1.0 MiB", 5 << 30: "5.0 GiB", 1<<63 - 1: "8.0 EiB",
	} {
		if got := byteCount(n); got != want {
			t.Errorf("byteCount(%d): got %q, want %q", n, got, want)
		}
	}
}

func TestProgressPlain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		p := newProgress(&b, "plain")
		p.start()
		p.expect(4, 4<<20)
		p.done(1, 1<<20)
		time.Sleep(plainInterval + time.Millisecond)
		p.expectNoMore()
		p.Write([]byte("a message\n"))
		time.Sleep(plainInterval)
		p.stop()
		p.done(3, 3<<20)
		time.Sleep(plainInterval)
		want := "encfs: 1/4+ files, 1.0 MiB, 102.4 KiB/s\n" +
			"a message\n" +
			"encfs: 1/4 files, 1.0 MiB of 4.0 MiB, 51.2 KiB/s, 1m0s left\n"
		if got := b.String(); got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
	})
}

func TestProgressNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		p := newProgress(&b, "none")
		p.start()
		p.done(1, 1)
		time.Sleep(time.Hour)
		p.Write([]byte("a message\n"))
		p.stop()
		if got, want := b.String(), "a message\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// TestProgressBar checks that a message has a line of its own and that nothing is
// left of the bar.
func TestProgressBar(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		p := newProgress(&b, "bar")
		p.start()
		p.expect(4, 4<<20)
		p.done(1, 1<<20+1)
		time.Sleep(time.Second)
		p.expectNoMore()
		time.Sleep(time.Second)
		p.Write([]byte("a message\n"))
		p.done(3, 3<<20)
		time.Sleep(time.Second)
		p.stop()
		p.Write([]byte("the end\n"))
		got := b.String()
		for _, want := range []string{"1/4+ files", "1/4 files", " 25% ", "(1.0/4.0 MiB, ", "4/4 files", "\ra message\n", "\rthe end\n"} {
			if !strings.Contains(got, want) {
				t.Errorf("%q is not in\n%q", want, got)
			}
		}
		if strings.Contains(got, "\n\n") || strings.Count(got, "\n") != 2 {
			t.Errorf("more lines than messages:\n%q", got)
		}
	})
}
