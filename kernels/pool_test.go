package kernels

import (
	"testing"

	"distaff/io/tcs"
)

// TestPoolOfManyBlocks checks that a repeat reuses the pages of all blocks of the previous repeat:
// the blocks of a result of several levels with one piece for each thread, and the smaller blocks
// of ordered chunks.
func TestPoolOfManyBlocks(t *testing.T) {
	for _, c := range []struct{ blocks, bytes int64 }{{300, 256 << 10}, {200, 120 << 10},
		{100, 16 << 10}} {
		a := NewArena(nil)
		a.Reuse(true)
		for repeat := range 3 {
			var held []*tcs.Memory
			for range c.blocks {
				held = append(held, alloc(t, a, c.bytes))
			}
			if n := a.Pooled(); n != 0 {
				t.Errorf("%d B, repeat %d: %d bytes of the pool are not used", c.bytes, repeat, n)
			}
			free(t, held...)
			if n := a.Pooled(); n < c.blocks*c.bytes {
				t.Errorf("%d B, repeat %d: %d bytes are kept of %d", c.bytes, repeat, n,
					c.blocks*c.bytes)
			}
		}
		a.Reuse(false)
		if n := a.Pooled(); n != 0 {
			t.Errorf("%d B: %d bytes are kept when nothing is for reuse", c.bytes, n)
		}
	}
}

// TestPoolCountsWhatItGives checks that an unmapped block is reused only for its exact size, so no
// request counts more than it asked for, and that blocks under 16 KiB are not kept.
func TestPoolCountsWhatItGives(t *testing.T) {
	limit := tcs.NewLimit(0)
	a := NewArena(limit)
	a.Reuse(true)
	defer a.Reuse(false)
	free(t, alloc(t, a, 120<<10), alloc(t, a, 15<<10))
	if n := a.Pooled(); n != 120<<10 {
		t.Errorf("%d bytes are kept, want %d", n, 120<<10)
	}
	less := alloc(t, a, 100<<10)
	if n := limit.Used(); n != 100<<10 {
		t.Errorf("%d bytes are counted for %d", n, 100<<10)
	}
	free(t, less)
}

// TestPoolUnderLimit checks that the pool is freed if the limit has no room for the pool and a
// request together.
func TestPoolUnderLimit(t *testing.T) {
	a := NewArena(tcs.NewLimit(200 << 10))
	a.Reuse(true)
	defer a.Reuse(false)
	free(t, alloc(t, a, 120<<10))
	free(t, alloc(t, a, 100<<10))
	if n := a.Pooled(); n != 100<<10 {
		t.Errorf("%d bytes are kept of a limit of %d, want the %d of the newest block", n, 200<<10,
			100<<10)
	}
}

func alloc(t *testing.T, a *Arena, bytes int64) *tcs.Memory {
	t.Helper()
	m, err := a.Alloc(bytes, "a piece")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func free(t *testing.T, held ...*tcs.Memory) {
	t.Helper()
	for _, m := range held {
		if err := m.Release(); err != nil {
			t.Fatal(err)
		}
	}
}
