package extract

import (
	"os"
	"syscall"
	"testing"
)

// asUser calls f as another user, which the whole program is meanwhile.
func asUser(t *testing.T, uid int, f func()) {
	t.Helper()
	groups, err := os.Getgroups()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Setresuid(-1, 0, -1); err != nil {
			t.Fatal(err)
		}
		syscall.Setresgid(-1, 0, -1)
		syscall.Setgroups(groups)
	}()
	syscall.Setgroups(nil)
	syscall.Setresgid(-1, uid, -1)
	if err := syscall.Setresuid(-1, uid, -1); err != nil {
		t.Fatal(err)
	}
	f()
}
