package simt

import (
	"testing"

	"distaff/codegen/ir"
)

// TestTrips checks the largest number of iterations of the loop over v, or -1 if it is not known.
func TestTrips(t *testing.T) {
	for _, c := range []struct {
		body string
		want int64
	}{
		{"for v in 0 : 32 {\n}", 32},
		{"for v in 3 : 32 step 5 {\n}", 6},
		{"for v in 0 : n {\n}", -1},
		{"for v in n : n + 7 {\n}", 7},
		{"for v in n : min(n + 7, x[0]) {\n}", 7},
		{"for v in max(n, x[0]) : min(x[1], n + 9) {\n}", 9},
		{"var lo int64 = n * 4\nvar hi int64 = min(lo + 4, m)\nfor v in lo : hi {\n}", 4},
		{
			"var lo int64 = n * 3584\nvar hi int64 = min(lo + 3584, m)\nfor v in 0 : max((hi - lo + 223) / 224, 1) {\n}", 16},
		{"for v in 0 : select(n == 0, 5, 8) {\n}", 8},
		{"for v in 0 : n % 6 + 1 {\n}", 6},
		{"for i in 0 : 10 {\n for v in i : 10 {\n}\n}", 10},
		{"for i in 0 : 10 {\n for v in 0 : i {\n}\n}", 9},
		{"var hi int64 = 4\nfor i in 0 : n {\n hi = n\n}\nfor v in 0 : hi {\n}", -1},
		{"var lo int64 = 4\nvar hi int64 = lo + 4\nfor i in 0 : n {\n lo += n\n for v in lo : hi {\n}\n}",
			-1},
		{"var hi int64 = x[0] + 4\nx[0] = 5\nfor v in x[0] : hi {\n}", -1},
		{"for v in 0 : 0 - 5 {\n}", 0},
	} {
		f,
			err := ir.Parse(
			"func f\n param x int64 = t0.vals\n param n = t0.nnz\n param m = t0.level0.size\n{\n" + c.body +
				"\n}")
		if err != nil {
			t.Fatal(err)
		}
		if err := ir.Verify(f); err != nil {
			t.Fatal(err)
		}
		ir.Walk(f.Body, func(s ir.Stmt) {
			if s, ok := s.(*ir.For); ok && s.V.Name == "v" {
				got, known := newBounds(f).trips(s)
				if !known {
					got = -1
				}
				if got != c.want {
					t.Errorf("%s: got %d, want %d", c.body, got, c.want)
				}
			}
		})
	}
}
