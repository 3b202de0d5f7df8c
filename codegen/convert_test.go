package codegen_test

import (
	"testing"

	"distaff/codegen"
)

// TestConvertBySize: the choice of the operand to convert depends on the numbers of entries or,
// with ConvertBySize, only on the sizes of modes.
func TestConvertBySize(t *testing.T) {
	for _, c := range []struct {
		entries map[string]int64
		bySize  bool
		want    string // the operand that is converted
	}{
		{map[string]int64{"B": 10, "C": 1000}, false, "B"},
		{map[string]int64{"B": 1000, "C": 10}, false, "C"},
		{map[string]int64{"B": -1, "C": 10}, false, "C"},
		{map[string]int64{"B": 10, "C": 1000}, true, "C"}, // 10 x 20, and B is 10 x 20 x 30
		{map[string]int64{"B": 1000, "C": 10}, true, "C"},
		{map[string]int64{"B": -1, "C": -1}, true, "C"},
	} {
		r := goldenRequest(t, "A(i,j)=B(i,j,k)*C(i,j)\nA:dd\nB:sss\nC:ss:1,0\ni=10\nj=20\nk=30")
		r.Ask.ConvertBySize = c.bySize
		for name, n := range c.entries {
			x := r.Tensors.All[name]
			x.NNZ = n
			r.Tensors.All[name] = x
		}
		u, err := codegen.Compile(r)
		if err != nil {
			t.Fatal(err)
		}
		converted := ""
		for _, a := range u.Args {
			if a.Convert {
				converted += a.Tensor
			}
		}
		if converted != c.want {
			t.Errorf("%v, by size %v: %q is converted, want %q", c.entries, c.bySize, converted, c.want)
		}
	}
}
