package kernels

import (
	"testing"

	"distaff/io/tcs"
)

// TestPoolOfManyBlocks: a repeat finds the pages of all blocks that the one before freed, of as many as the pieces of a result of several levels
// have that many threads make.
func TestPoolOfManyBlocks(t *testing.T) {
	const blocks, bytes = 300, 256 << 10
	a := NewArena(nil)
	a.Reuse(true)
	defer a.Reuse(false)
	for repeat := range 3 {
		var held []*tcs.Memory
		for range blocks {
			m, err := a.Alloc(bytes, "a piece")
			if err != nil {
				t.Fatal(err)
			}
			held = append(held, m)
		}
		if n := a.Pooled(); n != 0 {
			t.Errorf("repeat %d: %d bytes of the pool are not used", repeat, n)
		}
		for _, m := range held {
			if err := m.Release(); err != nil {
				t.Fatal(err)
			}
		}
		if n := a.Pooled(); n < blocks*bytes {
			t.Errorf("repeat %d: %d bytes are kept of %d", repeat, n, blocks*bytes)
		}
	}
}
