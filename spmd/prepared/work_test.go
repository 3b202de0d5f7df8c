package prepared

import (
	"testing"

	"distaff/codegen"
	"distaff/codegen/notation"
	"distaff/spmd/env"
	"distaff/spmd/input"
)

// TestThreadsOfSmallCalls checks that a leaf call over few coordinates, such as a step on an empty
// block, runs on one thread.
func TestThreadsOfSmallCalls(t *testing.T) {
	stmt, err := notation.Parse("y(i) = A(i,j)")
	if err != nil {
		t.Fatal(err)
	}
	p := &Planned{Parsed: &input.Statement{Stmt: stmt, Norm: &notation.Normal{}},
		Reader: &input.Reader{Env: &env.Env{}}}
	p.Reader.Env.Threads = 4
	s := &leaf{p: p, unit: &codegen.Unit{Vars: []string{"i", "j"}}}
	for _, c := range []struct {
		rows, columns [2]int64
		want          int
	}{
		{[2]int64{3, 3}, [2]int64{0, 1000}, 1},
		{[2]int64{3, 4}, [2]int64{0, 1000}, 1},
		{[2]int64{0, 100}, [2]int64{0, 1000}, 4},
		{[2]int64{0, 1 << 40}, [2]int64{0, 1 << 40}, 4},
	} {
		if got := s.env([][2]int64{c.rows, c.columns}).Threads; got != c.want {
			t.Errorf("rows %v, columns %v: got %d threads, want %d", c.rows, c.columns, got, c.want)
		}
	}
	if emptyBox([][2]int64{{0, 3}, {2, 5}}) || emptyBox(nil) || !emptyBox([][2]int64{{0, 3}, {5, 5}}) {
		t.Error("emptyBox is wrong")
	}
}
