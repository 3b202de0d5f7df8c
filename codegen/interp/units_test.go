package interp_test

import (
	"reflect"
	"strings"
	"testing"

	"distaff/codegen/interp"
	"distaff/codegen/ir"
	"distaff/io/tensor"
)

// unitLeaf returns a leaf with the given body, a float64 array x, an int32 array k and a number n.
func unitLeaf(t *testing.T, body string) *interp.Program {
	t.Helper()
	f,
		err := ir.Parse("func f\n param x float64 = t0.vals\n param k int32 = t1.vals\n bounds n _\n{\n" +
		body + "\n}")
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	p, err := interp.Compile(f)
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return p
}

func TestUnitLoops(t *testing.T) {
	// A sum over lanes and warps, once a block, and atomic stores from all.
	p := unitLeaf(t, `
 for b in 0 : n blocks {
  var sum float64 = 0.0
  local part float64[4]
  for w in 0 : 4 warps(2) reduce(sum) {
   var own float64 = 0.0
   for l in 0 : 40 lanes(32) reduce(own) {
    own += float64(l)
    atomic k[w % 2] += int32(1)
   }
   part[w] = own
   sum += own
  }
  for l in 0 : 4 lanes(32) {
   atomic x[n] += part[l]
  }
  x[b] = sum
 }`)
	for seed := range uint64(20) {
		x, k := make([]float64, 4), make([]int32, 2)
		fail, err := p.Run([]interp.Arg{{Vals: interp.Array{Data: x}}, {Vals: interp.Array{Data: k}}},
			[][2]int64{{3, 0}}, interp.Env{Seed: seed})
		if fail != nil || err != nil {
			t.Fatal(fail, err)
		}
		if want := []float64{3120, 3120, 3120, 3 * 3120}; !reflect.DeepEqual(x, want) || k[0] != 240 ||
			k[1] != 240 {
			t.Fatalf("seed %d: got %v and %v, want %v and 240s", seed, x, k, want)
		}
	}
}

func TestUnitRaces(t *testing.T) {
	for _, body := range []string{
		"for b in 0 : n blocks {\n x[0] = 1.0\n }",
		"for b in 0 : n blocks {\n for l in 0 : 1 lanes(32) {\n x[0] += 1.0\n }\n }",
		"for b in 0 : 1 blocks {\n for w in 0 : 2 warps(2) {\n for l in 0 : 2 lanes(32) {\n x[l] = 1.0\n }\n }\n }",
		"for b in 0 : 1 blocks {\n for w in 0 : 1 warps(2) {\n for l in 0 : 2 lanes(32) {\n x[l] = x[0]\n }\n }\n }",
		"for b in 0 : 1 blocks {\n for w in 0 : 2 warps(2) {\n x[w] = 1.0\n for l in 0 : 2 lanes(32) {\n x[l + 1] = x[w]\n }\n }\n }",
		"for b in 0 : 1 blocks {\n local u float64[2]\n for l in 0 : 40 lanes(32) {\n u[l % 2] += 1.0\n }\n }",
		"for b in 0 : 2 blocks {\n for l in 0 : 2 lanes(32) {\n if b == 0 {\n atomic x[0] += 1.0\n }\n if b == 1 {\n x[0] = 1.0\n }\n }\n }",
	} {
		p := unitLeaf(t, body)
		for seed := range uint64(5) {
			_,
				err := p.Run([]interp.Arg{{Vals: interp.Array{Data: make([]float64, 4)}},
				{Vals: interp.Array{Data: make([]int32, 2)}}}, [][2]int64{{2, 0}}, interp.Env{Seed: seed})
			if err == nil || !strings.Contains(err.Error(), "race in a ") {
				t.Errorf("%s: got %v, want a race", body, err)
			}
		}
	}
	// What lanes stored, other lanes of the warp read in the next loop over them.
	p := unitLeaf(t, `for b in 0 : 2 blocks {
  local u float64[4]
  for l in 0 : 4 lanes(32) {
   u[l] = 1.0
  }
  for l in 0 : 2 lanes(32) {
   x[2 * b + l] = u[3 - l]
  }
 }`)
	if fail,
		err := p.Run([]interp.Arg{{Vals: interp.Array{Data: make([]float64, 4)}},
		{Vals: interp.Array{Data: make([]int32, 2)}}}, [][2]int64{{2, 0}}, interp.Env{}); fail != nil ||
		err != nil {
		t.Error(fail, err)
	}
}

func TestScan(t *testing.T) {
	scan := func(k any, elem tensor.Type, lo, hi int64) error {
		a := ir.NewArray("k", elem)
		f := &ir.Func{Name: "f", Params: []ir.Param{{Slot: ir.Slot{Field: ir.Vals}, A: a}},
			Body: ir.Seq(&ir.Scan{A: a, Lo: ir.Int(lo), Hi: ir.Int(hi)})}
		_, err := interp.Run(f, []interp.Arg{{Vals: interp.Array{Data: k}}}, nil, 1)
		return err
	}
	k := []int32{5, 1, -2, 3, 7}
	if err := scan(k, tensor.Int32, 1, 4); err != nil ||
		!reflect.DeepEqual(k, []int32{5, 1, -1, 2, 7}) {
		t.Errorf("got %v, %v", k, err)
	}
	for _, c := range []struct {
		k    any
		elem tensor.Type
		hi   int64
		want string
	}{
		{[]int32{1 << 30, 1 << 30}, tensor.Int32, 2, "k[1] = 2147483648 does not fit into 32 bits"},
		{[]int64{1 << 62, 1 << 62}, tensor.Int64, 2, "the sum up to [1] does not fit into 64 bits"},
		{[]int64{1}, tensor.Int64, 2, "out of bounds"},
	} {
		if err := scan(c.k, c.elem, 0, c.hi); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: got %v, want %q", c.k, err, c.want)
		}
	}
}
