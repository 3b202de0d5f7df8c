package foresee_test

import (
	"testing"

	"distaff/codegen/foresee"
	"distaff/codegen/ir"
)

// TestCall checks the steps and the sure failures of small leaves.
func TestCall(t *testing.T) {
	for _, c := range []struct {
		text     string
		min, max float64
		fails    bool
	}{
		{"func f\n bounds i_lo i_hi\n{\n for i in i_lo : i_hi {\n var x int64 = i\n }\n}\n", 1000, 1000, false},
		{"func f\n bounds i_lo i_hi\n{\n for i in i_lo : i_hi {\n for j in 0 : i {\n var x int64 = j\n }\n }\n}\n",
			400e3, 600e3, false},
		{"func f\n bounds i_lo i_hi\n{\n var n int64 = 0\n}\n", 0, 1, false},
		{"func f\n bounds i_lo i_hi\n{\n if 10 < i_hi {\n fail bound(0)\n }\n}\n", 0, 1, true},
		{"func f\n bounds i_lo i_hi\n{\n if i_hi < 10 {\n fail bound(0)\n }\n}\n", 0, 1, false},
	} {
		f, err := ir.Parse(c.text)
		if err != nil {
			t.Fatal(err)
		}
		got := foresee.Call(f, foresee.Given{Bounds: [][2]int64{{0, 1000}}, Threads: 1})
		if got.Steps < c.min || got.Steps > c.max || (got.Fail != nil) != c.fails {
			t.Errorf("%s\ngot %v steps, failure %v, want %v to %v steps, failure %v", c.text, got.Steps,
				got.Fail, c.min, c.max, c.fails)
		}
	}
}
