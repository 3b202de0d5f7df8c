package coo

import (
	"fmt"
	"math"
	"testing"

	"distaff/io/tensor"
)

// TestMinusZero checks that every format keeps -0, and that a sum with -0 follows IEEE 754.
func TestMinusZero(t *testing.T) {
	minus := math.Copysign(0, -1)
	for _, typ := range []tensor.Type{tensor.Float64, tensor.Float32, tensor.Complex128,
		tensor.Complex64} {
		for _, kinds := range []string{"dd", "ds", "sd", "ss", "uq", "uc"} {
			in := &memStream{dims: []int64{3, 3}, exact: true, typ: typ, batch: 2}
			for _, e := range []struct {
				c []int64
				v float64
			}{{[]int64{2, 1}, minus}, {[]int64{0, 0}, 2}, {[]int64{1, 1}, minus}, {[]int64{0, 0}, minus},
				{[]int64{2, 1}, minus}} {
				in.coords = append(in.coords, e.c)
				in.vals = append(in.vals, tensor.Value{Type: typ, C: complex(e.v, 0)})
			}
			a, err := Assemble(in, Spec{Format: tensor.FormatOf(kinds, nil)}, Config{})
			if err != nil {
				t.Fatal(err)
			}
			a.Entries(func(c []int64, i int64) bool {
				v := real(a.Value(i).Complex())
				want := fmt.Sprint(c) == "[1 1]" || fmt.Sprint(c) == "[2 1]" ||
					kinds == "uc" && fmt.Sprint(c) == "[0 0]" && v == 0
				if math.Signbit(v) != want {
					t.Errorf("%v as %s: got %v at %v", typ, kinds, v, c)
				}
				return true
			})
			a.Close()
		}
	}
}

// TestMinusZeroInRoom checks that a zero with a minus sign in a dense level below a stored
// coordinate is left out like other zeros. If all levels are dense, it stays.
func TestMinusZeroInRoom(t *testing.T) {
	minus := math.Copysign(0, -1)
	for _, typ := range []tensor.Type{tensor.Float64, tensor.Float32, tensor.Complex128,
		tensor.Complex64} {
		for kinds, want := range map[string]int{"dd": 2, "sd": 1, "ds": 2, "ss": 2} {
			in := &memStream{dims: []int64{3, 3}, exact: true, typ: typ, batch: 2,
				coords: [][]int64{{0, 1}, {1, 2}},
				vals:   []tensor.Value{{Type: typ, C: complex(minus, 0)}, {Type: typ, C: 2}}}
			a, err := Assemble(in, Spec{Format: tensor.FormatOf(kinds, nil)}, Config{})
			if err != nil {
				t.Fatal(err)
			}
			s := FromTensor(a, DropFill)
			n := 0
			var b Batch
			for s.Next(&b) == nil {
				n += b.N
			}
			if n != want {
				t.Errorf("%v as %s: got %d entries, want %d", typ, kinds, n, want)
			}
			a.Close()
		}
	}
}
