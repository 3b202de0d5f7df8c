package flow_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"distaff/codegen/place"
	"distaff/spmd/plan/flow"
)

// draw is a random nest with ranks and a tensor.
type draw struct {
	*rand.Rand
	nest  *place.Nest
	ranks int
}

func newDraw(seed uint64) *draw {
	d := &draw{Rand: rand.New(rand.NewPCG(seed, 16))}
	var extents []int64
	points := 1
	for range 1 + d.IntN(3) {
		extents = append(extents, 1+d.Int64N(4))
		points *= int(extents[len(extents)-1])
	}
	d.nest = &place.Nest{Machine: &place.Machine{Name: "M", Grids: []place.Grid{{Extents: extents}}}}
	d.ranks = []int{points, points, 1 + d.IntN(points), points + d.IntN(4)}[d.IntN(4)]
	d.loops(extents)
	for v := range 1 + d.IntN(3) {
		d.nest.Chunks = append(d.nest.Chunks, place.Chunks{Var: fmt.Sprint("v", v)})
	}
	for k, l := range d.nest.Loops {
		if d.IntN(8) == 0 {
			continue // a loop that does not cut anything, so that it only repeats
		}
		c := &d.nest.Chunks[d.IntN(len(d.nest.Chunks))]
		digit := place.Digit{Loop: k, N: l.N}
		for range min(k, d.IntN(3)) {
			digit.Plus = append(digit.Plus, d.IntN(k))
		}
		c.Digits = append(c.Digits, digit)
		if d.IntN(10) == 0 { // a loop that two variables share
			c := &d.nest.Chunks[d.IntN(len(d.nest.Chunks))]
			c.Digits = append(c.Digits, place.Digit{Loop: k, N: l.N})
		}
	}
	return d
}

// loops draws distributed loops, most of them with as many values as their dimension has, and other
// loops above, between and below them.
func (d *draw) loops(extents []int64) {
	dims := d.Perm(len(extents))
	if d.IntN(4) == 0 {
		dims = dims[1:]
	}
	inOrder := func() {
		for d.IntN(2) == 0 && len(d.nest.Loops) < 6 {
			d.nest.Loops = append(d.nest.Loops, place.Loop{N: 1 + d.Int64N(3), Dim: -1})
		}
	}
	for _, dim := range dims {
		inOrder()
		n := extents[dim]
		if d.IntN(5) == 0 {
			n = 1 + d.Int64N(5)
		}
		d.nest.Loops = append(d.nest.Loops, place.Loop{N: n, Dim: dim})
	}
	inOrder()
}

func (d *draw) tensor() flow.Tensor {
	t := flow.Tensor{Scope: d.IntN(len(d.nest.Loops) + 1)}
	t.Cut = d.Perm(len(d.nest.Chunks))[:d.IntN(len(d.nest.Chunks)+1)]
	salt, one := d.Int64(), d.IntN(6) == 0
	t.Owner = func(at []int64) int {
		if one {
			return 0
		}
		return int(hash(salt, at) % uint64(d.ranks))
	}
	if d.IntN(3) == 0 {
		t.Copies = func(at []int64) []int {
			list := []int{t.Owner(at)}
			for r := range d.ranks {
				if r != list[0] && hash(salt+int64(r)+1, at)%3 == 0 {
					list = append(list, r)
				}
			}
			return list
		}
	}
	if d.IntN(3) == 0 {
		t.Reads = func(point []int64) bool { return hash(salt, point)%4 > 0 }
	}
	return t
}

func hash(salt int64, list []int64) uint64 {
	h := uint64(salt) * 0x9E3779B97F4A7C15
	for _, x := range list {
		h = (h ^ uint64(x)) * 0xBF58476D1CE4E5B9
		h ^= h >> 29
	}
	return h >> 7
}

// TestRandom compares flows of random nests with a search of all points of all ranks.
func TestRandom(t *testing.T) {
	aligned, forwarded := 0, 0
	for seed := range uint64(600) {
		d := newDraw(seed)
		tensor := d.tensor()
		want := newBrute(d.nest, d.ranks, tensor)
		w := flow.NewWalk(d.nest, d.ranks)
		name := fmt.Sprintf("seed %d: machine %s, %d ranks, loops %v, chunks %v, cut %v, scope %d",
			seed, d.nest.Machine, d.ranks, d.nest.Loops, d.nest.Chunks, tensor.Cut, tensor.Scope)
		if w.Aligned() != want.aligned() {
			t.Fatalf("%s: got aligned %t", name, w.Aligned())
		}
		if w.Aligned() {
			aligned++
		}
		checkWalk(t, name, w, want, d)
		f := flow.New(w, tensor)
		for r := range d.ranks {
			checkInstances(t, name, f, want, r)
			forwarded += checkFetches(t, name, f, want, r)
			checkSends(t, name, f, want, r)
		}
		checkCounts(t, name, f, want)
		if t.Failed() {
			return
		}
	}
	if aligned < 100 || aligned > 550 || forwarded < 300 {
		t.Errorf("%d nests are aligned and %d pieces are forwarded, want some of each kind", aligned,
			forwarded)
	}
}

func checkWalk(t *testing.T, name string, w *flow.Walk, want *brute, d *draw) {
	for r := range d.ranks {
		var got [][]int64
		for p := range w.Points(r) {
			if w.Rank(p) != r {
				t.Errorf("%s: point %v is of rank %d, want %d", name, p, w.Rank(p), r)
			}
			got = append(got, slices.Clone(p))
		}
		if !slices.EqualFunc(got, want.points[r], slices.Equal[[]int64]) {
			t.Errorf("%s: points of rank %d: got %v, want %v", name, r, got, want.points[r])
		}
		if c := w.Coordinates(r); !slices.Equal(c, want.coordinates(r)) {
			t.Errorf("%s: coordinates of rank %d: got %v, want %v", name, r, c, want.coordinates(r))
		}
	}
	all := want.allPoints()
	at := want.chunks(all[d.IntN(len(all))])
	var got, here [][]int64
	for p := range w.At(want.t.Cut, at) {
		got = append(got, slices.Clone(p))
	}
	for _, p := range all {
		if slices.Equal(want.chunks(p), at) {
			here = append(here, p)
		}
	}
	if !slices.EqualFunc(got, here, slices.Equal[[]int64]) {
		t.Errorf("%s: points at %v: got %v, want %v", name, at, got, here)
	}
}

func checkInstances(t *testing.T, name string, f *flow.Flow, want *brute, r int) {
	var got, need []string
	for k, pieces := range f.Instances(r) {
		got = append(got, fmt.Sprint(k, pieces))
	}
	for k, pieces := range want.needs[r] {
		if len(pieces) > 0 {
			need = append(need, fmt.Sprint(k, pieces))
		}
	}
	if !slices.Equal(got, need) {
		t.Errorf("%s: instances of rank %d: got %v, want %v", name, r, got, need)
	}
}

// checkFetches checks the fetches of rank r, and returns how many pieces come from a rank that does
// not own them.
func checkFetches(t *testing.T, name string, f *flow.Flow, want *brute, r int) (forwarded int) {
	var got []string
	for x := range f.Fetches(r) {
		got = append(got, fmt.Sprint(x.T, fmt.Sprint(x.At), x.From))
		if !slices.Contains(want.owners(fmt.Sprint(x.At)), x.From) {
			forwarded++
		}
		// Ask the flow for something else while it lists fetches.
		if to := f.Receivers(x.T, x.At, x.From); slices.Contains(to, r) != (x.From != r) {
			t.Errorf("%s: rank %d fetches %v, receivers are %v", name, r, x, to)
		}
	}
	if fetches := want.fetches(r); !slices.Equal(got, fetches) {
		t.Errorf("%s: fetches of rank %d: got %v, want %v", name, r, got, fetches)
	}
	return forwarded
}

func checkSends(t *testing.T, name string, f *flow.Flow, want *brute, r int) {
	var got []string
	var last flow.Send
	for s := range f.Sends(r) {
		if got != nil && (s.T < last.T || s.T == last.T && slices.Compare(s.At, last.At) <= 0) {
			t.Errorf("%s: rank %d sends %v before %v", name, r, last, s)
		}
		last = s
		got = append(got, fmt.Sprint(s.T, fmt.Sprint(s.At))+fmt.Sprint(s.To))
		if to := f.Receivers(s.T, s.At, r); !slices.Equal(to, s.To) {
			t.Errorf("%s: rank %d sends %v, receivers are %v", name, r, s, to)
		}
	}
	sends := want.sends(r)
	slices.Sort(got)
	slices.Sort(sends)
	if !slices.Equal(got, sends) {
		t.Errorf("%s: sends of rank %d: got %v, want %v", name, r, got, sends)
	}
}

// checkCounts compares the counting functions with Instances, Fetches and Sends.
func checkCounts(t *testing.T, name string, f *flow.Flow, want *brute) {
	var sends, counted []string
	for r := range want.ranks {
		var needs, comes []string
		for i, list := range f.Instances(r) {
			for _, at := range list {
				needs = append(needs, fmt.Sprint(i, want.number(at)))
			}
		}
		for x := range f.Fetches(r) {
			if x.From != r {
				comes = append(comes, fmt.Sprint(x.T, want.number(x.At)))
			}
		}
		for s := range f.Sends(r) {
			sends = append(sends, fmt.Sprint(want.number(s.At), r, len(s.To)))
		}
		for i, list := range f.Needs(r) {
			for _, n := range list {
				text := fmt.Sprint(i, n.Piece)
				if len(needs) == 0 || needs[0] != text {
					t.Fatalf("%s: rank %d needs piece %d in instance %d, want %v", name, r, n.Piece, i, needs)
				}
				if needs = needs[1:]; !n.IsNew || slices.Contains(n.Homes, r) {
					continue
				}
				if len(comes) == 0 || comes[0] != text {
					t.Fatalf("%s: piece %d comes to rank %d in instance %d, want %v", name, n.Piece, r, i, comes)
				}
				comes = comes[1:]
			}
		}
		if len(needs)+len(comes) > 0 {
			t.Errorf("%s: rank %d also needs %v and gets %v", name, r, needs, comes)
		}
	}
	ranks := 0
	for list := range f.Alike() {
		ranks += len(list)
		for _, r := range list[1:] {
			if !slices.EqualFunc(want.needs[r], want.needs[list[0]], slices.Equal) {
				t.Errorf("%s: ranks %d and %d do not need the same", name, list[0], r)
			}
		}
	}
	if ranks != want.ranks {
		t.Errorf("%s: %d of %d ranks are listed", name, ranks, want.ranks)
	}
	for m := range f.Multicasts() {
		counted = append(counted, fmt.Sprint(m.Piece, m.From, m.To))
	}
	slices.Sort(sends)
	slices.Sort(counted)
	if !slices.Equal(sends, counted) {
		t.Errorf("%s: multicasts %v are counted, %v are sent", name, counted, sends)
	}
}

// TestStops breaks out of each iterator after one value.
func TestStops(t *testing.T) {
	w, b, _ := summa(4)
	f := flow.New(w, b)
	n := 0
	for range w.Points(5) {
		n++
		break
	}
	for range w.At([]int{0}, []int64{1}) {
		n++
		break
	}
	for range f.Instances(5) {
		n++
		break
	}
	for range f.Fetches(5) {
		n++
		break
	}
	for range f.Sends(5) {
		n++
		break
	}
	for range f.Needs(5) {
		n++
		break
	}
	for range f.Multicasts() {
		n++
		break
	}
	for range f.Alike() {
		n++
		break
	}
	if n != 8 {
		t.Errorf("got %d values, want one of each iterator", n)
	}
}

// TestNoReceivers asks for instances that do not exist.
func TestNoReceivers(t *testing.T) {
	w, b, _ := summa(3)
	f := flow.New(w, b)
	for _, instance := range []int64{-1, 3, 1 << 40} {
		if to := f.Receivers(instance, []int64{0, 0}, 0); len(to) > 0 {
			t.Errorf("instance %d: got receivers %v, want none", instance, to)
		}
	}
}
