package flow_test

import (
	"fmt"
	"slices"
	"testing"

	"distaff/codegen/place"
	"distaff/spmd/plan/flow"
)

// product returns the walk of A(i,j) = B(i,k) * C(k,j) over a grid, and the flows of B and C. Their
// pieces are distributed in the order of their chunks, at coordinate 0 of further dimensions.
func product(extents []int64, loops []place.Loop, k []place.Digit) (*flow.Walk, flow.Tensor,
	flow.Tensor) {
	n, ranks := extents[0], int64(1)
	for _, e := range extents {
		ranks *= e
	}
	layers := ranks / (n * extents[1])
	nest := &place.Nest{
		Machine: &place.Machine{Name: "M", Grids: []place.Grid{{Extents: extents}}},
		Loops:   loops,
		Chunks: []place.Chunks{
			{Var: "i", Digits: []place.Digit{{Loop: 0, N: n}}},
			{Var: "j", Digits: []place.Digit{{Loop: 1, N: n}}},
			{Var: "k", Digits: k},
		},
	}
	owner := func(at []int64) int { return int((at[0]*n + at[1]) * layers) }
	return flow.NewWalk(nest, int(ranks)),
		flow.Tensor{Cut: []int{0, 2}, Owner: owner, Scope: len(loops)},
		flow.Tensor{Cut: []int{2, 1}, Owner: owner, Scope: len(loops)}
}

// square is product on an n by n grid. The chunks of k are the sum of a sequential loop and the
// loops of plus.
func square(n int64, plus ...int) (*flow.Walk, flow.Tensor, flow.Tensor) {
	return product([]int64{n, n},
		[]place.Loop{{Var: "io", N: n, Dim: 0}, {Var: "jo", N: n, Dim: 1}, {Var: "ko", N: n, Dim: -1}},
		[]place.Digit{{Loop: 2, Plus: plus, N: n}})
}

func summa(n int64) (*flow.Walk, flow.Tensor, flow.Tensor)  { return square(n) }
func cannon(n int64) (*flow.Walk, flow.Tensor, flow.Tensor) { return square(n, 0, 1) }
func pumma(n int64) (*flow.Walk, flow.Tensor, flow.Tensor)  { return square(n, 0) }

// received counts the pieces that a rank receives from other ranks.
func received(f *flow.Flow, rank int) int {
	n := 0
	for x := range f.Fetches(rank) {
		if x.From != rank {
			n++
		}
	}
	return n
}

// sent returns the multicasts of all ranks.
func sent(f *flow.Flow, ranks int) []flow.Send {
	var list []flow.Send
	for r := range ranks {
		list = slices.AppendSeq(list, f.Sends(r))
	}
	return list
}

// multicasts checks that the owner of a piece sends it to all other ranks of its row or column in
// one multicast.
func multicasts(t *testing.T, name string, w *flow.Walk, tensor flow.Tensor, n int) {
	t.Helper()
	f := flow.New(w, tensor)
	for r := range n * n {
		if got := received(f, r); got != n-1 {
			t.Errorf("%s: rank %d receives %d blocks, want %d", name, r, got, n-1)
		}
		for x := range f.Fetches(r) {
			if x.From != tensor.Owner(x.At) {
				t.Errorf("%s: rank %d fetches %v, want it from %d", name, r, x, tensor.Owner(x.At))
			}
		}
	}
	list := sent(f, n*n)
	for _, s := range list {
		if len(s.To) != n-1 {
			t.Errorf("%s: got %v, want %d receivers", name, s, n-1)
		}
	}
	if len(list) != n*n {
		t.Errorf("%s: got %d multicasts, want one for each piece", name, len(list))
	}
}

// shifts checks that, after the first step, each block comes from the neighbour to the right (down
// is 0) or below (down is 1).
func shifts(t *testing.T, name string, w *flow.Walk, tensor flow.Tensor, n, down int) {
	t.Helper()
	f := flow.New(w, tensor)
	for r := range n * n {
		if got := received(f, r); got != n-1 {
			t.Errorf("%s: rank %d receives %d blocks, want %d", name, r, got, n-1)
		}
		next := r/n*n + (r+1)%n
		if down == 1 {
			next = (r + n) % (n * n)
		}
		for x := range f.Fetches(r) {
			if own := tensor.Owner(x.At); x.T == 0 && x.From != own ||
				x.T > 0 && own != r && x.From != next {
				t.Errorf("%s: rank %d fetches %v, want it from %d at first and then from %d", name, r, x, own,
					next)
			}
		}
	}
	for _, s := range sent(f, n*n) {
		if len(s.To) != 1 {
			t.Errorf("%s: got %v, want one receiver", name, s)
		}
	}
}

func TestSUMMA(t *testing.T) {
	for _, n := range []int{2, 3, 4, 5} {
		w, b, c := summa(int64(n))
		multicasts(t, fmt.Sprint("B of ", n), w, b, n)
		multicasts(t, fmt.Sprint("C of ", n), w, c, n)
	}
}

func TestCannon(t *testing.T) {
	for _, n := range []int{2, 3, 4, 5} {
		w, b, c := cannon(int64(n))
		shifts(t, fmt.Sprint("B of ", n), w, b, n, 0)
		shifts(t, fmt.Sprint("C of ", n), w, c, n, 1)
	}
}

func TestPUMMA(t *testing.T) {
	for _, n := range []int{2, 3, 4, 5} {
		w, b, c := pumma(int64(n))
		multicasts(t, fmt.Sprint("B of ", n), w, b, n)
		shifts(t, fmt.Sprint("C of ", n), w, c, n, 1)
	}
}

// TestJohnson has a cube of ranks: B is on the face with j = 0, and C on the face with i = 0.
func TestJohnson(t *testing.T) {
	n := int64(3)
	w, b, c := product([]int64{n, n, n}, []place.Loop{{N: n, Dim: 0}, {N: n, Dim: 1}, {N: n, Dim: 2}},
		[]place.Digit{{Loop: 2, N: n}})
	b.Owner = func(at []int64) int { return int(at[0]*n*n + at[1]) }
	c.Owner = func(at []int64) int { return int(at[1]*n + at[0]) }
	for number, tensor := range []flow.Tensor{b, c} {
		f := flow.New(w, tensor)
		for r := range int(n * n * n) {
			off := w.Coordinates(r)[1-number] != 0
			if got := received(f, r); (got == 1) != off || got > 1 {
				t.Errorf("operand %d: rank %v receives %d blocks", number, w.Coordinates(r), got)
			}
		}
		list := sent(f, int(n*n*n))
		if len(list) != int(n*n) || len(list[0].To) != int(n-1) {
			t.Errorf("operand %d: got %d multicasts, the first %v, want %d to %d ranks each", number,
				len(list), list[0], n*n, n-1)
		}
	}
}

// TestSolomonik has layers of a square grid. Each layer has a part of k that is shifted as in
// Cannon's algorithm. The operands are in the first layer.
func TestSolomonik(t *testing.T) {
	n, layers := int64(4), int64(2)
	m := n / layers
	w, b, c := product([]int64{n, n, layers},
		[]place.Loop{{N: n, Dim: 0}, {N: n, Dim: 1}, {N: layers, Dim: 2}, {N: m, Dim: -1}},
		[]place.Digit{{Loop: 2, N: layers}, {Loop: 3, Plus: []int{0, 1}, N: m}})
	for number, tensor := range []flow.Tensor{b, c} {
		f := flow.New(w, tensor)
		for r := range w.Ranks {
			at := w.Coordinates(r)
			want := int(m)
			// its own block belongs to the part of the first layer
			if at[2] == 0 && at[1-number] < m {
				want--
			}
			if got := received(f, r); got != want {
				t.Errorf("operand %d: rank %v receives %d blocks, want %d", number, at, got, want)
			}
			for x := range f.Fetches(r) {
				if from := w.Coordinates(x.From); x.T > 0 && at[2] > 0 && from[2] != at[2] &&
					x.From%int(layers) != 0 {
					t.Errorf("operand %d: rank %v fetches %v from another layer than its own and the first",
						number, at, x)
				}
			}
		}
	}
}

// TestSeveralForwarders shifts a vector along the rows of a grid, and all columns use it. Each rank
// receives it from its own column, or from its owner if the owner is equally near.
func TestSeveralForwarders(t *testing.T) {
	n := int64(3)
	nest := &place.Nest{
		Machine: &place.Machine{Name: "M", Grids: []place.Grid{{Extents: []int64{n, n}}}},
		Loops:   []place.Loop{{N: n, Dim: 0}, {N: n, Dim: 1}, {N: n, Dim: -1}},
		Chunks:  []place.Chunks{{Var: "k", Digits: []place.Digit{{Loop: 2, Plus: []int{0}, N: n}}}},
	}
	f := flow.New(flow.NewWalk(nest, int(n*n)),
		flow.Tensor{Cut: []int{0}, Owner: func([]int64) int { return 0 }, Scope: 3})
	for rank, want := range map[int]int{2: 0, 3: 0, 4: 7, 8: 2} {
		for x := range f.Fetches(rank) {
			if x.T == 1 && x.From != want {
				t.Errorf("rank %d fetches %v, want it from %d", rank, x, want)
			}
		}
	}
}

func benchmark(b *testing.B, w *flow.Walk, tensors ...flow.Tensor) {
	fetches := 0
	for b.Loop() {
		for _, t := range tensors {
			f := flow.New(w, t)
			for r := range w.Ranks {
				for range f.Fetches(r) {
					fetches++
				}
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(fetches), "ns/fetch")
}

func BenchmarkSUMMA(b *testing.B) {
	w, x, y := summa(64)
	benchmark(b, w, x, y)
}

func BenchmarkCannon(b *testing.B) {
	w, x, y := cannon(64)
	benchmark(b, w, x, y)
}

func BenchmarkSends(b *testing.B) {
	for b.Loop() {
		w, x, _ := cannon(64)
		f := flow.New(w, x)
		for r := range w.Ranks {
			for range f.Sends(r) {
			}
		}
	}
}
