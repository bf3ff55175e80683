package workqueue

import (
	"slices"
	"testing"
	"testing/synctest"
)

// Tokens go to those who wait, in the order in which they came, and nobody who
// comes while one is being given back is quicker.
func TestLimiterOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(1)
		if !l.tryAcquire() || l.tryAcquire() {
			t.Fatal("a limiter of 1 did not give one token")
		}
		var got []int
		wait := func(i int) {
			go func() {
				l.acquire(&worker{wake: newSleeper()})
				got = append(got, i)
			}()
			synctest.Wait()
		}
		wait(0)
		wait(1)
		l.free.Add(1) // as release does, before it looks for waiters
		if l.tryAcquire() {
			t.Error("tryAcquire took a token that others wait for")
		}
		wait(2)
		if len(got) != 0 {
			t.Error("acquire took a token that others wait for")
		}
		l.free.Add(-1)
		for range 3 {
			l.release()
			synctest.Wait()
		}
		if want := []int{0, 1, 2}; !slices.Equal(got, want) {
			t.Errorf("tokens went to %v, want %v", got, want)
		}
		l.release()
		if !l.tryAcquire() {
			t.Error("the token is lost")
		}
	})
}
