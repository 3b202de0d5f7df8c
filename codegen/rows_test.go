package codegen_test

import (
	"strings"
	"testing"

	"distaff/codegen"
	"distaff/codegen/ir"
)

// TestRowsCut: a sum over columns whose result is too large for partial results is cut at the rows
// of the result, if the inner loop is over rows and columns are not short.
func TestRowsCut(t *testing.T) {
	for request, want := range map[string]bool{
		"y(i)=A(i,j)*x(j) A:ds:1,0":                             false, // a few partial results pay
		"y(i)=A(i,j)*x(j) A:ss:1,0 i=5000 j=100":                true,
		"y(i)=A(i,j)*x(j)+B(i,j)*x(j) A:ds:1,0 B:ss:1,0 i=5000": true,
		"Y(i,k)=A(i,j)*X(j,k) A:ds:1,0":                         true,
		"y(i)=A(i,j)*x(j) A:ds":                                 false, // the loop over rows is outermost
		"y(i)=A(i,j)*x(j) A:ds:1,0 i=4":                         false, // partial results pay
		"y(k)=A(i,j,k)*x(i) A:dss":                              false, // another inner loop
		"y(j)=A(i,j)*x(i) A:uq":                                 false, // one entry below each
		"Y(i,j)=A(i,k)*X(k,j) A:ds:1,0 Y:ds X:dd":               false, // a sparse result
	} {
		u, err := codegen.Compile(goldenRequest(t, strings.ReplaceAll(request, " ", "\n")))
		if err != nil {
			t.Errorf("%s: %v", request, err)
			continue
		}
		if text := ir.Print(u.Func); strings.Contains(text,
			"for part in 0 : @\"threads\" parallel") != want {
			t.Errorf("%s: rows are cut: %v, want %v:\n%s", request, !want, want, text)
		}
	}
	short := goldenRequest(t, "y(i)=A(i,j)*x(j)\nA:ds:1,0")
	a := short.Tensors.All["A"]
	a.Counts, a.NNZ = []int64{1000, 2400}, 2400
	x := short.Tensors.All["x"]
	x.NNZ = 1000
	short.Tensors.All["A"], short.Tensors.All["x"] = a, x
	u, err := codegen.Compile(short)
	if err != nil {
		t.Fatal(err)
	}
	if text := ir.Print(u.Func); strings.Contains(text, "parallel(") ||
		strings.Contains(text, "for part") {
		t.Errorf("fewer than 3 entries a column are cut:\n%s", text)
	}
}

// TestKeptTermsFetched: if each term adds a row, and a workspace keeps the terms, their rows are
// prefetched, since they are read in the order of the keys.
func TestKeptTermsFetched(t *testing.T) {
	r := goldenRequest(t, "Y(j,k,l)=A(i,j,k)*X(i,l)\nl=8\nY:ssd\nA:sss")
	r.Ask.Schedule = []string{"workspace(w,Terms)"}
	u, err := codegen.Compile(r)
	if err != nil {
		t.Fatal(err)
	}
	text := ir.Print(u.Func)
	for _, want := range []string{"var w_next int64 = w_perm[", "prefetch w_of_A[w_next]",
		"prefetch w_at_i[w_next]"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
}

// TestWalkedRowsFetched: a loop over coordinates reads consecutive rows. They are prefetched up to
// the last one if each row is read for only a few entries, which pick rows of other operands.
func TestWalkedRowsFetched(t *testing.T) {
	for _, c := range []struct {
		text string
		each int64 // the number of entries of a row
		want bool
	}{
		{"Y(i,j)=A(i,j)*C(i,k)*D(j,k)\nk=32\nY:ds\nA:ds", 10, true},
		{"Y(i,j)=A(i,j)*C(i,k)*D(j,k)\nk=32\nY:ds\nA:ds", 100, false},
		{"Y(i,k)=A(i,j)*D(j,k)\nk=32\nA:ds", 10, false}, // the result's rows are written
	} {
		r := large(t, c.text)
		a := r.Tensors.All["A"]
		rows := a.Dims[0]
		a.NNZ, a.Counts = c.each*rows, []int64{rows, c.each * rows}
		r.Tensors.All["A"] = a
		u, err := codegen.Compile(r)
		if err != nil {
			t.Fatal(err)
		}
		got := ir.Print(u.Func)
		if fetched := strings.Contains(got, "if i + 16 < i_") &&
			strings.Contains(got, "prefetch C_vals[C_far], 32 far"); fetched != c.want {
			t.Errorf("%s, %d entries a row: rows of C are fetched: %v, want %v, in\n%s", c.text, c.each,
				fetched, c.want, got)
		}
	}
}
