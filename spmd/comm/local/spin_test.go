package local

import (
	"context"
	"testing"
)

// TestSpins: a wait spins longer after one that was not in vain, up to a bound, and shorter after
// one that was.
func TestSpins(t *testing.T) {
	p := newWorld(context.Background(), 1).ranks[0]
	for range 10 {
		if !p.spun(func() bool { return true }) {
			t.Fatal("nothing to wait for, and the wait was in vain")
		}
	}
	if got := p.spin.Load(); got != int64(spinMost) {
		t.Errorf("after waits that were not in vain: got %d ns, want %d", got, spinMost)
	}
	for range 5 {
		if p.spun(func() bool { return false }) {
			t.Fatal("a wait that nothing ends was not in vain")
		}
	}
	if got := p.spin.Load(); got > int64(spinLeast) {
		t.Errorf("after waits in vain: got %d ns, want %d at most", got, spinLeast)
	}
}
