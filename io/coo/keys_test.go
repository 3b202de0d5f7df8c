package coo

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"distaff/io/tcs"
	"distaff/io/tensor"
)

// TestKeys compares Key and Find with a search of all positions, and views between keys with the
// entries between them, for random tensors of every format.
func TestKeys(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 18))
	tried := map[byte]int{}
	for range 4000 {
		n := 1 + r.IntN(4)
		dims := randomDims(r, n)
		kinds, modes := randomFormat(r, n)
		a, err := Assemble(random(r, dims, r.IntN(40), tensor.Int64),
			Spec{Format: tensor.FormatOf(kinds, modes)},
			Config{})
		if err != nil {
			continue
		}
		tried[kinds[0]]++
		c := &keyCase{t: t, a: a,
			name: fmt.Sprintf("%s of %v", tensor.FormatOf(kinds, modes).String(), dims)}
		level := r.IntN(n)
		keys := c.search(r, level)
		c.views(keys)
		a.Close()
	}
	for _, k := range "dsuqcp" {
		if tried[byte(k)] == 0 {
			t.Errorf("no tensor whose outermost level is %c was tried", k)
		}
	}
}

type keyCase struct {
	t    *testing.T
	a    *tcs.Tensor
	name string
}

// search compares Key and Find at a level with all positions of the level, and returns random keys
// in order.
func (c *keyCase) search(r *rand.Rand, level int) [][]int64 {
	lo, hi := c.a.Interval(level)
	if lo != 0 || hi != c.a.Positions(level) && c.a.Vals.Len > 0 {
		c.t.Fatalf("%s: level %d shows positions %d to %d of %d", c.name, level, lo, hi,
			c.a.Positions(level))
	}
	var at [][]int64
	for p := lo; p < hi; p++ {
		key, err := c.a.Key(level, p)
		if err != nil {
			c.t.Fatalf("%s: %v", c.name, err)
		}
		if p > lo && slices.Compare(at[p-1], key) > 0 {
			c.t.Fatalf("%s: positions %d and %d of level %d are at %v and %v", c.name, p-1, p, level,
				at[p-1], key)
		}
		at = append(at, key)
	}
	var keys [][]int64
	for range 5 {
		key := make([]int64, level+1)
		for l := range key {
			key[l] = r.Int64N(c.a.Levels[l].Size + 1)
		}
		if len(at) > 0 && r.IntN(2) == 0 {
			if k := at[r.IntN(len(at))]; slices.Min(k) >= 0 {
				key = slices.Clone(k)
				key[level] += r.Int64N(2)
			}
		}
		want := lo
		for want < hi && slices.Compare(at[want], key) < 0 {
			want++
		}
		got, err := c.a.Find(key)
		if err != nil || got != want && got < hi {
			c.t.Fatalf("%s: %v of level %d is at %d, %v, want %d", c.name, key, level, got, err, want)
		}
		keys = append(keys, key)
	}
	slices.SortFunc(keys, slices.Compare)
	return keys
}

// views cuts the tensor at keys, and compares the views with the tensor's entries.
func (c *keyCase) views(keys [][]int64) {
	a := c.a
	ends := append(append([][]int64{nil}, keys...), nil)
	for k := range ends[1:] {
		from, to := ends[k], ends[k+1]
		tuple := make([]int64, len(keys[0]))
		// the range in the outermost mode of the coordinates between the keys
		box := make([][2]int64, len(a.Header.Dims))
		for m, d := range a.Header.Dims {
			box[m] = [2]int64{0, d}
		}
		outer := &box[a.Levels[0].Mode]
		if from != nil {
			outer[0] = min(from[0], outer[1])
		}
		if to != nil {
			end := to[0]
			if slices.ContainsFunc(to[1:], func(x int64) bool { return x > 0 }) {
				end++
			}
			outer[1] = max(outer[0], min(end, outer[1]))
		}
		want := map[string]int64{}
		a.Entries(func(x []int64, i int64) bool {
			for l := range tuple {
				tuple[l] = x[a.Levels[l].Mode]
			}
			if (from == nil || slices.Compare(tuple, from) >= 0) &&
				(to == nil || slices.Compare(tuple, to) < 0) {
				want[fmt.Sprint(x, a.Value(i))]++
			}
			return true
		})
		v, err := a.View(tcs.Block{Box: box, From: from, To: to})
		if err != nil {
			c.t.Fatalf("%s from %v to %v: %v", c.name, from, to, err)
		}
		got := map[string]int64{}
		v.Entries(func(x []int64, i int64) bool { got[fmt.Sprint(x, v.Value(i))]++; return true })
		if !maps.Equal(got, want) {
			c.t.Fatalf("%s from %v to %v: got %v\nwant %v", c.name, from, to, got, want)
		}
		if err := v.Check(); err != nil {
			c.t.Fatalf("%s from %v to %v: %v", c.name, from, to, err)
		}
		if a.KeysViewable(len(tuple)) {
			if err := v.OwnEdges(nil); err != nil {
				c.t.Fatal(err)
			}
			if got := loops(v); !maps.Equal(got, want) {
				c.t.Fatalf("%s from %v to %v: loops over its arrays meet %v\nwant %v", c.name, from, to, got,
					want)
			}
		}
		v.Close()
	}
}

// loops returns the entries that loops over a tensor's arrays find. Like the loops of a leaf, they
// use the box for dense levels only.
func loops(v *tcs.Tensor) map[string]int64 {
	got := map[string]int64{}
	x := make([]int64, len(v.Levels))
	var below func(l int, p int64)
	below = func(l int, p int64) {
		if l == len(v.Levels) {
			got[fmt.Sprint(x, v.Value(p-v.Vals.First))]++
			return
		}
		lev := &v.Levels[l]
		switch lev.Form() {
		case tensor.Full:
			r := v.Header.Range(lev.Mode)
			for i := r[0]; i < r[1]; i++ {
				x[lev.Mode] = i
				below(l+1, p*lev.Size+i-lev.Offset)
			}
		case tensor.Segmented:
			for q := lev.Pos.At(p); q < lev.Pos.At(p+1); q++ {
				x[lev.Mode] = lev.Crd.At(q)
				below(l+1, q)
			}
		case tensor.Single:
			if x[lev.Mode] = lev.Crd.At(p); x[lev.Mode] >= 0 {
				below(l+1, p)
			}
		}
	}
	below(0, 0)
	return got
}
