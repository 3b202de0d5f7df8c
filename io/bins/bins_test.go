package bins_test

import (
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"distaff/io/bins"
	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/tensor"
)

// list is a stream of coordinates. If exact is true, its sizes are known at the start;
// otherwise they are the largest coordinates so far.
type list struct {
	dims    []int64
	exact   bool
	entries [][]int64
	batch   int // entries at a time
	at      int
}

func (s *list) Dims() ([]int64, bool) {
	if s.exact {
		return s.dims, true
	}
	seen := make([]int64, len(s.dims))
	for _, e := range s.entries[:s.at] {
		for m, x := range e {
			seen[m] = max(seen[m], x+1)
		}
	}
	if s.at == len(s.entries) { // what a file says of its sizes may pass its largest coordinates
		for m := range seen {
			seen[m] = max(seen[m], s.dims[m])
		}
	}
	return seen, false
}

func (s *list) Type() tensor.Type { return tensor.Float64 }
func (s *list) Rewind() error     { s.at = 0; return nil }
func (s *list) Close() error      { return nil }

func (s *list) Next(b *coo.Batch) error {
	if s.at == len(s.entries) {
		return io.EOF
	}
	n := min(s.batch, len(s.entries)-s.at)
	b.Resize(len(s.dims), n, 8)
	for k, e := range s.entries[s.at : s.at+n] {
		for m, x := range e {
			b.Coords[m][k] = x
		}
	}
	s.at += n
	return nil
}

// check holds a grid to its description and to counting entries one by one.
func check(t *testing.T, g *bins.Grid, dims []int64, entries [][]int64) {
	t.Helper()
	size := [2]int64{1, 1}
	for side, m := range g.Modes {
		if m >= 0 {
			size[side] = dims[m]
		}
	}
	if g.Size != size {
		t.Fatalf("got sizes %v, want %v", g.Size, size)
	}
	for side := range g.Bins {
		if want := (size[side] + g.Width[side] - 1) / g.Width[side]; int64(g.Bins[side]) != want {
			t.Fatalf("size %d in bins of %d: got %d bins, want %d", size[side], g.Width[side],
				g.Bins[side], want)
		}
	}
	want := make([]int64, g.Bins[0]*g.Bins[1])
	for _, e := range entries {
		var at [2]int
		for side, m := range g.Modes {
			if m >= 0 {
				at[side] = int(e[m] / g.Width[side])
			}
		}
		want[at[0]*g.Bins[1]+at[1]]++
	}
	if !slices.Equal(g.Counts, want) {
		t.Fatalf("modes %v, sizes %v, bins of %v: got counts %v, want %v", g.Modes, size, g.Width,
			g.Counts, want)
	}
}

// room asks for at most n bins along each side.
func room(n int64) func([2]int64) [2]int64 {
	return func(size [2]int64) (w [2]int64) {
		for side := range w {
			w[side] = max(1, (size[side]+n-1)/n)
		}
		return w
	}
}

// TestCount checks that every bin of random tensors has the right count, whether sizes are
// known at the start or grow.
func TestCount(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	sizes := []int64{1, 2, 3, 7, 20, 63, 64, 65, 1000, 1 << 20, 1<<40 + 12345, tensor.MaxSize}
	for n := range 400 {
		order := 1 + r.IntN(4)
		dims := make([]int64, order)
		for m := range dims {
			dims[m] = sizes[r.IntN(len(sizes))]
		}
		entries := make([][]int64, r.IntN(200))
		for k := range entries {
			e := make([]int64, order)
			for m := range e {
				if e[m] = r.Int64N(dims[m]); r.IntN(4) == 0 {
					e[m] = dims[m] - 1 // the last coordinate is in the last bin
				}
			}
			entries[k] = e
		}
		var views []bins.View
		side := 1 + r.IntN(16)
		for i := -1; i < order; i++ {
			for j := range order {
				if i != j {
					views = append(views, bins.View{Modes: [2]int{i, j}, Width: room(int64(side))})
				}
			}
		}
		exact := n%2 == 0
		in := &list{dims: dims, exact: exact, entries: entries, batch: 1 + r.IntN(50)}
		c, err := bins.Count(in, views, bins.Options{Most: 4 * side})
		if err != nil {
			t.Fatal(err)
		}
		if c.Entries != int64(len(entries)) || !slices.Equal(c.Dims, dims) ||
			len(c.Grids) != len(views) {
			t.Fatalf("got %d entries, sizes %v, %d grids, want %d, %v, %d", c.Entries, c.Dims,
				len(c.Grids), len(entries), dims, len(views))
		}
		for k, g := range c.Grids {
			if g.Modes != views[k].Modes {
				t.Fatalf("got modes %v, want %v", g.Modes, views[k].Modes)
			}
			check(t, g, dims, entries)
			want := views[k].Width(g.Size)
			for s := range want {
				// The bins that are held are at most half as wide as what is wanted, so that the
				// next multiple is near.
				if g.Width[s] < want[s] || exact && g.Width[s] != want[s] ||
					g.Width[s] > want[s]*3/2 && want[0] != want[1] && want[s] > 2 {
					t.Fatalf("size %d, exact %v: got bins of %d, want %d", g.Size[s], exact,
						g.Width[s], want[s])
				}
			}
			factor := [2]int{1 + r.IntN(5), 1 + r.IntN(5)}
			check(t, g.Coarsen(factor), dims, entries)
			filled := 0
			for _, x := range g.Counts {
				if x > 0 {
					filled++
				}
			}
			if g.Filled() != filled {
				t.Fatalf("got %d bins with entries, want %d", g.Filled(), filled)
			}
		}
	}
}

// TestEqualWidths checks that bins with equal widths in both modes stay so when sizes grow.
func TestEqualWidths(t *testing.T) {
	square := func(size [2]int64) [2]int64 {
		w := max(1, (max(size[0], size[1])+9)/10)
		return [2]int64{w, w}
	}
	for n := int64(1); n < 3000; n += 7 {
		in := &list{dims: []int64{n, n/3 + 1}, entries: [][]int64{{0, 0}, {n - 1, n / 3}}, batch: 1}
		c, err := bins.Count(in, []bins.View{{Modes: [2]int{0, 1}, Width: square}},
			bins.Options{Most: 40})
		if err != nil {
			t.Fatal(err)
		}
		g := c.Grids[0]
		if want := square(g.Size)[0]; g.Width[0] != g.Width[1] || g.Width[0] < want || want > 3 &&
			g.Width[0] > want*3/2 {
			t.Fatalf("size %v: got bins of %v, want about %d both ways", g.Size, g.Width, want)
		}
	}
}

func TestEmpty(t *testing.T) {
	for _, dims := range [][]int64{{0, 5}, {3, 4}, {0, 0}} {
		for _, exact := range []bool{true, false} {
			c, err := bins.Count(&list{dims: dims, exact: exact},
				[]bins.View{{Modes: [2]int{0, 1}, Width: room(4)}}, bins.Options{Most: 16})
			if err != nil {
				t.Fatal(err)
			}
			check(t, c.Grids[0], dims, nil)
		}
	}
}

func TestErrors(t *testing.T) {
	view := []bins.View{{Modes: [2]int{0, 1}, Width: room(8)}}
	for _, c := range []struct {
		exact bool
		at    []int64
		want  string
	}{
		{true, []int64{3, 0}, "got coordinate 4 in mode 0, want at most 3, its size"},
		{true, []int64{0, 4}, "got coordinate 5 in mode 1, want at most 4, its size"},
		{true, []int64{-1, 0}, "got coordinate -1 in mode 0, which must be at least 0 (counted from 0)"},
		{false, []int64{0, -5}, "got coordinate -5 in mode 1, which must be at least 0 (counted from 0)"},
		{false, []int64{tensor.MaxSize, 0}, "want at most 2305843009213693952: sizes are at most 2^61"},
		{false, []int64{1<<63 - 1, 0},
			"got coordinate 9223372036854775808 in mode 0, want at most"},
	} {
		in := &list{dims: []int64{3, 4}, exact: c.exact, entries: [][]int64{{0, 0}, c.at}, batch: 2}
		_, err := bins.Count(in, view, bins.Options{Name: "b.tns", Most: 32})
		var bad *coo.Error
		if !errors.As(err, &bad) || bad.Exit != 3 || !strings.Contains(err.Error(), c.want) ||
			!strings.Contains(err.Error(), "b.tns") {
			t.Errorf("%v: got %v, want exit 3 and %q", c.at, err, c.want)
		}
	}
	in := func(exact bool) *list {
		return &list{dims: []int64{1000, 1000}, exact: exact, entries: [][]int64{{0, 0}}, batch: 1}
	}
	wide := []bins.View{{Modes: [2]int{0, 1}, Width: room(500)}}
	for _, exact := range []bool{true, false} {
		_, err := bins.Count(in(exact), wide,
			bins.Options{Most: 2000, Limit: tcs.NewLimit(1 << 20)})
		var full *tcs.MemoryError
		if !errors.As(err, &full) || (full.Hint == "") != exact {
			t.Errorf("exact %v: got %v, want that memory does not suffice, and -d as a hint "+
				"where sizes are not known", exact, err)
		}
	}
	stop := errors.New("stopped")
	if _, err := bins.Count(in(true), wide,
		bins.Options{Stopped: func() error { return stop }}); err != stop {
		t.Errorf("got %v, want that it stops", err)
	}
}
