package positions

import (
	"testing"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/scope"
	"distaff/io/tensor"
)

// TestUnrolls checks which loops over a tile of 8 places are unrolled for all places.
func TestUnrolls(t *testing.T) {
	lo, hi := ir.NewVar("lo", tensor.Int64), ir.NewVar("hi", tensor.Int64)
	tile := scope.Interval{Lo: lo, Hi: hi}
	for _, c := range []struct {
		unroll, places int64
		each           bool
		iv             scope.Interval
		want           bool
	}{
		{cin.AllIterations, 8, false, tile, true},
		{8, 8, false, tile, true},
		{4, 8, false, tile, false},
		{0, 8, false, tile, false},
		{0, 8, true, tile, true},
		{cin.AllIterations, 8, false, scope.Interval{Lo: ir.Int(0), Hi: hi}, false},
		{cin.AllIterations, 65, false, tile, false},
	} {
		w := &positionSpace{lo: lo, hi: hi, len: c.places, each: c.each}
		if got := w.unrolls(&cin.Forall{Unroll: c.unroll}, c.iv); got != c.want {
			t.Errorf("%+v: got %t", c, got)
		}
	}
}
