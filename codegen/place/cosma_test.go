package place

import (
	"slices"
	"strings"
	"testing"
)

func TestCosma(t *testing.T) {
	for _, c := range []struct {
		m, n, k, ranks, room int64
		extents              []int64
		steps                int64
	}{
		{4096, 4096, 4096, 8, 0, []int64{2, 2, 2}, 1}, // a cube
		{4096, 4096, 4096, 1, 0, []int64{1, 1, 1}, 1}, // one rank
		{4096, 4096, 4096, 9, 0, []int64{3, 3, 1}, 1}, // a square has less work a rank than a cube of 8
		{100, 100, 100000, 4, 0, []int64{1, 1, 4}, 1}, // a long sum
		{100000, 100, 100, 4, 0, []int64{4, 1, 1}, 1}, // a tall result
		{100, 100000, 100, 4, 0, []int64{1, 4, 1}, 1}, // a wide one
		{3, 1, 1, 8, 0, []int64{3, 1, 1}, 1},          // more ranks than elements
		// 1024 of the result and 4096 of operands leave 512 for what arrives
		{64, 64, 64, 4, 5632, []int64{2, 2, 1}, 16},
		{64, 64, 64, 4, 1 << 20, []int64{2, 2, 1}, 1}, // all fits
		{0, 5, 5, 4, 0, []int64{1, 2, 2}, 1},          // nothing to compute
	} {
		if c.room == 3600 {
			c.room = 1024 + 2*2048 + 2*2*64*2
		}
		m, err := Cosma(c.m, c.n, c.k, c.ranks, c.room)
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		if got := m.Dims(); !slices.Equal(got, c.extents) || m.Steps != c.steps {
			t.Errorf("%+v: got %v in %d steps", c, got, m.Steps)
		}
	}
	_, err := Cosma(1000, 1000, 1000, 4, 1000)
	if want := "elements needs more memory than 4 ranks with 1000 elements each have; want more ranks or more memory"; err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

// TestCosmaIsBest compares Cosma with a search over all grids.
func TestCosmaIsBest(t *testing.T) {
	for _, p := range []product{{m: 60, n: 48, k: 100}, {m: 7, n: 300, k: 11}, {m: 33, n: 33, k: 33}} {
		for ranks := int64(1); ranks <= 40; ranks++ {
			m, err := Cosma(p.m, p.n, p.k, ranks, 0)
			if err != nil {
				t.Fatal(err)
			}
			got := grid3(m.Dims())
			least := p.work(grid3{1, 1, 1})
			all := func(yield func(g grid3)) {
				for x := int64(1); x <= ranks; x++ {
					for y := int64(1); x*y <= ranks; y++ {
						for z := int64(1); x*y*z <= ranks; z++ {
							yield(grid3{x, y, z})
						}
					}
				}
			}
			all(func(g grid3) { least = min(least, p.work(g)) })
			if w := p.work(got); w > 1.03*least {
				t.Errorf("%+v, %d ranks: grid %v has work %v a rank, %v is possible", p, ranks, got, w, least)
			}
			all(func(g grid3) {
				if p.work(g) <= least && p.words(g) < p.words(got) {
					t.Errorf("%+v, %d ranks: grid %v receives %v, %v only %v", p, ranks, got, p.words(got), g,
						p.words(g))
				}
			})
		}
	}
}

// TestCosmaExactFit checks a rank whose memory has room for exactly its blocks: it needs no further
// memory if nothing arrives.
func TestCosmaExactFit(t *testing.T) {
	for memory, want := range map[int64]int64{48: 1, 47: 0, 0: 1} {
		p := product{m: 4, n: 4, k: 4, memory: memory}
		if got := p.steps(grid3{1, 1, 1}); got != want {
			t.Errorf("memory of %d elements: got %d steps, want %d", memory, got, want)
		}
	}
	p := product{m: 4, n: 4, k: 4, memory: 32}
	if got := p.steps(grid3{2, 1, 1}); got != 0 {
		t.Errorf("parts arrive and no memory is free: got %d steps, want 0", got)
	}
}
