package codegen_test

import (
	"strings"
	"testing"

	"distaff/codegen"
)

// TestWidths: positions have 4 bytes only if a result can never have more positions than these
// hold.
func TestWidths(t *testing.T) {
	const add, product = "A(i,j)=B(i,j)+C(i,j) A:ss B:ss C:ss", "A(i,j)=B(i,k)*C(k,j) A:ds B:ds C:ds"
	for _, c := range []struct {
		request  string
		entries  int64 // of each operand
		pos, crd uint8 // of the result's last level
	}{
		{add + " i=1000000 j=1000000", 1e9, 4, 4},
		{add + " i=1000000 j=1000000", 1.1e9, 8, 4},
		{add + " i=1000000 j=1000000", -1, 8, 4},
		{add + " i=40000 j=40000", -1, 4, 4}, // fewer coordinates than that
		{add + " i=50000 j=50000", 2e9, 8, 4},
		{add + " i=2 j=2147483647", 1e9, 4, 4},
		{add + " i=2 j=2147483648", 1e9, 4, 8},
		{product + " i=1000000 j=1000", 2e6, 4, 4}, // 1000 for each entry of B
		{product + " i=1000000 j=1000000 k=1", 3e3, 8, 4},
		{"A(i,j)=B(i,j)/C(i,j) A:ss B:ss C:ss i=1000000 j=1000000", 2e9, 4, 4},
		{"A(i,j)=B(i,j)-2*C(i,j) A:ss B:ss C:ss i=1000000 j=1000000", 2e9, 8, 4},
		{"A(i,j)=B(i,j)+2 A:ss B:ss i=1000000 j=1000000", 1, 8, 4},
	} {
		r := goldenRequest(t, strings.ReplaceAll(c.request, " ", "\n"))
		for name, x := range r.Tensors.All {
			x.NNZ, x.Counts, x.PosWidth, x.CrdWidth = c.entries, nil, []uint8{8, 8}, []uint8{8, 8}
			if name == "A" {
				x.PosWidth, x.CrdWidth = nil, nil
			}
			r.Tensors.All[name] = x
		}
		u, err := codegen.Compile(r)
		if err != nil {
			t.Errorf("%s: %v", c.request, err)
			continue
		}
		if u.Result.PosWidth[1] != c.pos || u.Result.CrdWidth[1] != c.crd {
			t.Errorf("%s with %d entries: got %d-byte positions and %d-byte coordinates, want %d and %d",
				c.request, c.entries, u.Result.PosWidth, u.Result.CrdWidth, c.pos, c.crd)
		}
	}
}
