package ir_test

import (
	"slices"
	"strings"
	"testing"

	"distaff/codegen/interp"
	"distaff/codegen/ir"
)

// sums returns a leaf that sums over segments, with the given body of the loop over parents.
func sums(t *testing.T, head, body string) *ir.Func {
	t.Helper()
	f,
		err := ir.Parse(
		"func f\n  param y float64 = t0.vals\n  param pos int32 const = t1.level1.pos\n  param own int32 = t2.vals\n  param a float64 const = t1.vals\n  bounds lo hi\n{\n" +
			head + "\n" + body + "\n}\n}")
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return f
}

// inner is the loop over one segment.
const inner = "for q in b : e {\ns += a[q]\n}\ny[i] = s"

func TestCarry(t *testing.T) {
	for _, c := range []struct{ name, head, body, want string }{
		{"every parent", "for i in lo : hi {",
			"var s float64 = 0.0\nvar b int64 = pos[i:64]\nvar e int64 = pos[i + 1:64]\n" + inner,
			"var q int64 = select(lo < hi, pos[lo:64], 0)"},
		{"behind an offset", "var o int64 = lo - 2\nfor i in 1 : hi {",
			"var p int64 = o + i\nvar s float64 = 0.0\nvar b int64 = pos[p - 1:64]\nvar e int64 = pos[p:64]\n" + inner,
			"var q int64 = select(1 < hi, pos[o:64], 0)"},
		{"some parents", "for i in lo : hi {",
			"if pos[i:64] < 7 {\nvar s float64 = 0.0\nvar b int64 = pos[i:64]\nvar e int64 = pos[i + 1:64]\n" + inner + "\n}",
			"} else {\nq = pos[i + 1:64]\n}"},
		{"others", "for i in lo : hi {",
			"if 7 < pos[i + 1:64] - pos[i:64] {\ny[i] = 9.0\n} else {\nvar s float64 = 0.0\nvar b int64 = pos[i:64]\nvar e int64 = pos[i + 1:64]\n" + inner + "\n}",
			"y[i] = 9.0\nq = pos[i + 1:64]\n} else {"},
	} {
		f := sums(t, c.head, c.body)
		before := ir.Print(f)
		ir.Carry(f)
		if err := ir.Verify(f); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		got := unindented(ir.Print(f))
		for _, want := range []string{c.want, "while q < e {\ns += a[q]\nq = q + 1\n}"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: got\n%s\nwant in it\n%s", c.name, got, want)
			}
		}
		if strings.Contains(got, "var b") {
			t.Errorf("%s: the begin of a segment is still loaded:\n%s", c.name, got)
		}
		for _, bounds := range [][2]int64{{0, 4}, {1, 3}, {3, 3}, {2, 1}} {
			if bounds[0] < 2 && strings.Contains(c.head, "lo - 2") {
				continue
			}
			want, got := sumsRun(t, before, bounds), sumsRun(t, ir.Print(f), bounds)
			if !slices.Equal(want, got) {
				t.Errorf("%s, %d to %d: got %v, want %v", c.name, bounds[0], bounds[1], got, want)
			}
		}
	}
}

// TestCarryNot checks that Carry does not change loops that start elsewhere than at the end of the
// previous segment, or whose begin is read by another statement.
func TestCarryNot(t *testing.T) {
	const bounds = "var s float64 = 0.0\nvar b int64 = pos[i:64]\nvar e int64 = pos[i + 1:64]\n"
	for _, c := range []struct{ name, head, body string }{
		{"every other parent", "for i in lo : hi step 2 {", bounds + inner},
		{"on threads", "for i in lo : hi parallel(dynamic, 1) {", bounds + inner},
		{"segments apart", "for i in lo : hi {",
			"var s float64 = 0.0\nvar b int64 = pos[2 * i:64]\nvar e int64 = pos[2 * i + 1:64]\n" + inner},
		{"backwards", "for i in lo : hi {",
			"var s float64 = 0.0\nvar b int64 = pos[hi - i:64]\nvar e int64 = pos[hi - i + 1:64]\n" + inner},
		{"one segment", "for i in lo : hi {",
			"var s float64 = 0.0\nvar b int64 = pos[lo:64]\nvar e int64 = pos[lo + 1:64]\n" + inner},
		{"two segments", "for i in lo : hi {",
			"var s float64 = 0.0\nvar b int64 = pos[i:64]\nvar e int64 = pos[i + 2:64]\n" + inner},
		{"positions that the leaf stores", "for i in lo : hi {",
			"var s float64 = 0.0\nvar b int64 = own[i:64]\nvar e int64 = own[i + 1:64]\n" + inner},
		{"begin read besides", "for i in lo : hi {", bounds + inner + "\ny[b] = s"},
		{"twice", "for i in lo : hi {", bounds + inner + "\nfor r in b : e {\ns += a[r]\n}"},
		{"stores", "for i in lo : hi {", bounds + "for q in b : e {\ny[q] = a[q]\n}"},
		{"in lanes", "for i in lo : hi {",
			bounds + "for q in b : e vector reduce(s) {\ns += a[q]\n}\ny[i] = s"},
		{"a parent that changes", "for i in lo : hi {",
			"var p int64 = i\np += 1\nvar s float64 = 0.0\nvar b int64 = pos[p:64]\nvar e int64 = pos[p + 1:64]\n" + inner},
	} {
		f := sums(t, c.head, c.body)
		want := ir.Print(f)
		ir.Carry(f)
		if got := ir.Print(f); got != want {
			t.Errorf("%s: got\n%s", c.name, got)
		}
	}
}

func unindented(text string) string {
	lines := strings.Split(text, "\n")
	for k, l := range lines {
		lines[k] = strings.TrimSpace(l)
	}
	return strings.Join(lines, "\n")
}

// sumsRun returns y after a run of a leaf of sums.
func sumsRun(t *testing.T, text string, bounds [2]int64) []float64 {
	t.Helper()
	f, err := ir.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	y := make([]float64, 5)
	args := []interp.Arg{
		{Vals: interp.Array{Data: y}},
		{Levels: []interp.Level{{}, {Pos: interp.Array{Data: []int32{0, 2, 2, 5, 9}}}},
			Vals: interp.Array{Data: []float64{1, 2, 3, 4, 5, 6, 7, 8, 9}}},
		{Vals: interp.Array{Data: []int32{0, 2, 2, 5, 9}}},
	}
	if fail, err := interp.Run(f, args, [][2]int64{bounds}, 2); err != nil || fail != nil {
		t.Fatalf("%v, %v\n%s", fail, err, text)
	}
	return y
}
