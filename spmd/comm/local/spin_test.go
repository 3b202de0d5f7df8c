package local

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// A spinning wait lets the goroutine that it waits for run, even if both share one processor.
func TestSpinsBesideOthers(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var done atomic.Bool
	go func() {
		for range 100 {
			runtime.Gosched()
		}
		done.Store(true)
	}()
	if !spinUntil(done.Load, time.Hour) {
		t.Error("got false, want true as the other goroutine is done")
	}
}

// A spinning wait ends after its time, and ends at once if there is nothing to wait for.
func TestSpinsEnd(t *testing.T) {
	if spinUntil(func() bool { return false }, time.Millisecond) {
		t.Error("nothing was ready: got true")
	}
	if !spinUntil(func() bool { return true }, 0) {
		t.Error("all was ready: got false")
	}
}
