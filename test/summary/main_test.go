package main

import (
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	// Lines as go 1.26 writes them, without the fields that run ignores.
	const (
		pass = `{"Action":"run","Package":"encfs/a","Test":"TestA"}
{"Action":"output","Package":"encfs/a","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"output","Package":"encfs/a","Test":"TestA","Output":"--- PASS: TestA (0.00s)\n"}
{"Action":"pass","Package":"encfs/a","Test":"TestA","Elapsed":0}
{"Action":"output","Package":"encfs/a","Output":"PASS\n"}
{"Action":"output","Package":"encfs/a","Output":"ok  \tencfs/a\t0.002s\n"}
{"Action":"pass","Package":"encfs/a","Elapsed":0.002}
`
		skip = `{"Action":"output","Package":"encfs/b","Test":"TestB/mount","Output":"    b_test.go:7: no FUSE: open /dev/fuse: permission denied\n"}
{"Action":"output","Package":"encfs/b","Test":"TestB/mount","Output":"--- SKIP: TestB/mount (0.00s)\n"}
{"Action":"skip","Package":"encfs/b","Test":"TestB/mount","Elapsed":0}
{"Action":"output","Package":"encfs/b","Output":"ok  \tencfs/b\t0.002s\n"}
{"Action":"pass","Package":"encfs/b","Elapsed":0.002}
`
		fail = `{"Action":"output","Package":"encfs/c","Test":"TestC","Output":"=== RUN   TestC\n"}
{"Action":"output","Package":"encfs/c","Test":"TestC","Output":"    c_test.go:9: got 1\n"}
{"Action":"output","Package":"encfs/c","Test":"TestC","Output":"--- FAIL: TestC (0.00s)\n"}
{"Action":"fail","Package":"encfs/c","Test":"TestC","Elapsed":0}
{"Action":"output","Package":"encfs/c","Output":"FAIL\n"}
{"Action":"output","Package":"encfs/c","Output":"FAIL\tencfs/c\t0.002s\n"}
{"Action":"fail","Package":"encfs/c","Elapsed":0.002}
`
		panicked = `{"Action":"output","Package":"encfs/d","Test":"TestD","Output":"panic: oh\n"}
{"Action":"output","Package":"encfs/d","Output":"FAIL\tencfs/d\t0.002s\n"}
{"Action":"fail","Package":"encfs/d","Elapsed":0.002}
`
		broken = `{"ImportPath":"encfs/e","Action":"build-output","Output":"e.go:3:1: syntax error\n"}
{"ImportPath":"encfs/e","Action":"build-fail"}
{"Action":"output","Package":"encfs/e","Output":"FAIL\tencfs/e [build failed]\n"}
{"Action":"fail","Package":"encfs/e","Elapsed":0}
`
		noTests = `{"Action":"output","Package":"encfs/f","Output":"?   \tencfs/f\t[no test files]\n"}
{"Action":"skip","Package":"encfs/f","Elapsed":0}
`
	)
	for _, tt := range []struct {
		name, in string
		ok       bool
		want     string
	}{
		{"nothing", "", false, "\n0 passed, 0 failed, 0 skipped\n"},
		{"pass", pass, true, "ok  \tencfs/a\t0.002s\n\n1 passed, 0 failed, 0 skipped\n"},
		{"skip", pass + skip, true, "ok  \tencfs/a\t0.002s\nok  \tencfs/b\t0.002s\n\nSkipped tests:\n" +
			"  encfs/b: TestB/mount: no FUSE: open /dev/fuse: permission denied\n\n1 passed, 0 failed, 1 skipped\n"},
		{"fail", pass + fail, false, "ok  \tencfs/a\t0.002s\n    c_test.go:9: got 1\n--- FAIL: TestC (0.00s)\n" +
			"FAIL\nFAIL\tencfs/c\t0.002s\n\n1 passed, 1 failed, 0 skipped\n"},
		{"panic", panicked, false, "FAIL\tencfs/d\t0.002s\npanic: oh\n\n0 passed, 0 failed, 0 skipped\n"},
		{"build failed", broken, false, "e.go:3:1: syntax error\nFAIL\tencfs/e [build failed]\n\n0 passed, 0 failed, 0 skipped\n"},
		{"no test files", noTests, true, "?   \tencfs/f\t[no test files]\n\n0 passed, 0 failed, 0 skipped\n"},
		{"not JSON", "go: downloading x\n" + pass, true, "go: downloading x\nok  \tencfs/a\t0.002s\n\n1 passed, 0 failed, 0 skipped\n"},
		{"no newline at the end", strings.TrimSuffix(pass, "\n"), true, "ok  \tencfs/a\t0.002s\n\n1 passed, 0 failed, 0 skipped\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got strings.Builder
			ok, err := run(strings.NewReader(tt.in), &got)
			if err != nil {
				t.Fatal(err)
			}
			if ok != tt.ok {
				t.Errorf("run = %v, want %v", ok, tt.ok)
			}
			if got.String() != tt.want {
				t.Errorf("output:\n got %q\nwant %q", got.String(), tt.want)
			}
		})
	}
}

func TestReason(t *testing.T) {
	for _, tt := range []struct{ name, output, want string }{
		{"none", "--- SKIP: TestX (0.00s)\n", "no reason given"},
		{"one line", "    x_test.go:3: no mkfs.ext4\n--- SKIP: TestX (0.00s)\n", "no mkfs.ext4"},
		{"last one counts", "    x_test.go:3: looking\n    x_test.go:9: no root\n", "no root"},
		{"two lines", "    x_test.go:3: no driver:\n        needs VAES\n", "no driver: needs VAES"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := reason(tt.output); got != tt.want {
				t.Errorf("reason = %q, want %q", got, tt.want)
			}
		})
	}
}
