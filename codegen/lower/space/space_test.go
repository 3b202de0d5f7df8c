package space_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"distaff/codegen/cin"
	"distaff/codegen/interp"
	"distaff/codegen/ir"
	"distaff/codegen/lower/emit"
	"distaff/codegen/lower/space"
	"distaff/codegen/lower/tree"
	"distaff/codegen/strategy"
	"distaff/io/tensor"
)

// TestBox numbers the points of a box row by row.
func TestBox(t *testing.T) {
	box := space.Box{Lo: []ir.Expr{ir.Int(2), ir.Int(5)}, Hi: []ir.Expr{ir.Int(4), ir.Int(8)}}
	if got := box.Places(); !ir.Is(got, 6) {
		t.Errorf("got %v places, want 6", got)
	}
	place := int64(0)
	for i := int64(2); i < 4; i++ {
		for j := int64(5); j < 8; j++ {
			got := box.At(func(m int) ir.Expr { return ir.Int([]int64{i, j}[m]) })
			if !ir.Is(got, place) {
				t.Errorf("place of (%d,%d): got %v, want %d", i, j, got, place)
			}
			place++
		}
	}
}

// TestPlacesOverflow checks that a number of places past emit.MaxPoints never wraps around, whether
// the sizes are variables or constants.
func TestPlacesOverflow(t *testing.T) {
	n := ir.NewVar("n", tensor.Int64)
	for _, sizes := range [][]ir.Expr{{n, ir.Int(256)}, {ir.Int(256), n}, {n, n}} {
		box := space.Box{}
		for _, s := range sizes {
			box.Lo, box.Hi = append(box.Lo, ir.Int(0)), append(box.Hi, s)
		}
		if got := fmt.Sprint(box.Places()); !strings.Contains(got, fmt.Sprint(emit.MaxPoints)) {
			t.Errorf("sizes %v: got %s places, want at most %d", sizes, got, emit.MaxPoints)
		}
	}
}

// TestSums adds terms to workspaces of each kind, twice, and reads the sums in order.
func TestSums(t *testing.T) {
	terms := [][3]int64{{1, 2, 10}, {0, 3, 20}, {1, 2, 5}, {2, 0, 7}, {0, 1, 1}, {1, 0, 3}, {0, 3, 2}}
	const want = "[[0 1 1] [0 3 22] [1 0 3] [1 2 15] [2 0 7]]"
	for _, kind := range []strategy.Kind{strategy.MarkedList, strategy.Bitmap, strategy.Marks,
		strategy.HashTable, strategy.Terms, strategy.SortedList} {
		given := slices.Clone(terms)
		if kind == strategy.SortedList {
			slices.SortStableFunc(given, func(a, b [3]int64) int { return slices.Compare(a[:2], b[:2]) })
		}
		if got := sums(t, kind, given); got != want {
			t.Errorf("%v: got %s, want %s", kind, got, want)
		}
	}
}

// sums returns the entries that a workspace of the given kind has after the terms were added.
func sums(t *testing.T, kind strategy.Kind, terms [][3]int64) string {
	t.Helper()
	b := emit.New()
	m := &space.Maker{B: b, Args: &tree.Arguments{B: b}, Type: tensor.Int64,
		Range:  func(string) tree.Range { return tree.Range{Lo: ir.Int(0), Hi: ir.Int(4)} },
		Width:  func(string) uint8 { return 8 },
		Trips:  func(string) (int64, bool) { return 0, false },
		Chunks: func() ir.Expr { return ir.Int(2) }}
	out := b.Array("out", tensor.Int64)
	f := &ir.Func{Name: "leaf", Params: []ir.Param{{Slot: ir.Slot{Field: ir.Vals}, A: out}}}
	f.Body = b.Func(func() {
		w := m.Make(&cin.Access{Name: "w", Vars: []string{"i", "j"}}, strategy.Form{Kind: kind})
		b.Loop("use", ir.Int(0), ir.Int(2), func(*ir.Var) {
			w.Begin()
			for _, x := range terms {
				w.Add(ir.Int(x[2]), func(m int) ir.Expr { return b.Named("c", ir.Int(x[m])) })
			}
			op := w.Finish()
			n := b.Declare("n", ir.Int(0))
			entry := func(i, j, p ir.Expr) {
				for k, x := range []ir.Expr{i, j, ir.At(op.Vals(), p)} {
					b.Store(out, ir.Plus(ir.Int(int64(k+1)), ir.Times(n, ir.Int(3))), x)
				}
				b.Incr(n, ir.Int(1))
			}
			c := &tree.Cursor{Of: op, Vars: []string{"i", "j"}, Pos: ir.Int(0), Present: ir.Truth(true)}
			if op.Kind(0).CanLocate() {
				b.Loop("i", ir.Int(0), ir.Int(4), func(i *ir.Var) {
					lo, hi := c.LocateDense(i).Segment()
					b.Loop("p", lo, hi, func(p *ir.Var) { entry(i, ir.Coord(op.Crd(1), p), p) })
				})
			} else {
				lo, hi := c.Segment()
				b.Loop("p", lo, hi,
					func(p *ir.Var) { entry(ir.Coord(op.Crd(0), p), ir.Coord(op.Crd(1), p), p) })
			}
			w.End()
			b.Store(out, ir.Int(0), n)
		})
	})
	if err := ir.Verify(f); err != nil {
		t.Fatalf("%v: %v, in\n%s", kind, err, ir.Print(f))
	}
	args := []interp.Arg{{Vals: interp.Array{Data: make([]int64, 1+3*len(terms))}}}
	if fail, err := interp.Run(f, args, nil, 1); fail != nil || err != nil {
		t.Fatalf("%v: %v, %v, in\n%s", kind, fail, err, ir.Print(f))
	}
	got := args[0].Vals.Data.([]int64)
	return fmt.Sprint(slices.Collect(slices.Chunk(got[1:1+3*got[0]], 3)))
}
