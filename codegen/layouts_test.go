package codegen_test

import (
	"slices"
	"strings"
	"testing"

	"distaff/codegen"
	"distaff/codegen/emit/c"
	"distaff/codegen/schedule"
)

// TestLayouts: a dense operand is read from a copy if the innermost loop would access it with a
// stride for each entry of a sparse operand, and if the copy pays. The printed command makes the
// same leaf, and a schedule without the command makes no copy.
func TestLayouts(t *testing.T) {
	const sddmm = "A(i,j)=B(i,j)*C(i,k)*D(k,j)\nA:ds\nB:ds\nk=32"
	for text, want := range map[string][]string{
		sddmm: {"layout(D(k,j),1,0)"},
		"A(i,j)=B(i,j)*C(k,i)*D(k,j)\nA:ds\nB:ds\nk=32": {"layout(C(k,i),1,0)",
			"layout(D(k,j),1,0)"},
		"A(i,j)=B(i,j)*C(i,k)*C(k,j)\nA:ds\nB:ds\nk=32":         {"layout(C(k,j),1,0)"},
		"A(i,j)=B(i,j)*C(i,k)*D(j,k)\nA:ds\nB:ds\nk=32":         nil, // along memory as they are
		"A(i,j,k)=B(i,j,l)*C(k,l)\nA:dsd\nB:dss\nk=32\nl=5000":  {"layout(C(k,l),1,0)"},
		"C(i,k)=A(i,j)*B(j,k)\nA:ds\nB:dd:1,0\nk=32":            {"layout(B(j,k),0,1)"},
		"C(i,k)=A(i,j)*B(j,k)\nA:ds\nB:dd:1,0\nk=32\nj=5000000": nil, // each value is read twice
		"C(i,j)=A(i,k)*B(j,k)\nk=1000\ni=1000\nj=1000":          nil, // a product of matrices
		"y(i)=A(i,j)*x(j)\nA:ds":                                nil,
	} {
		lines, err := codegen.Schedule(large(t, text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var got []string
		for _, l := range lines {
			if strings.HasPrefix(l.Command, "layout(") {
				got = append(got, l.Command)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
		q := large(t, text)
		q.Ask.Schedule = []string{schedule.Text(lines)}
		if a, b := compiled(t, large(t, text)), compiled(t, q); a != b {
			t.Errorf("%s: with its printed schedule the leaf is another", text)
		}
	}
	for _, c := range []struct {
		cuts  []codegen.Cut
		ranks int
		want  bool
	}{
		// each of two ranks reads each value of D five times
		{[]codegen.Cut{{Vars: []string{"i"}, N: 2}}, 2, true},
		// in ten steps each, which share a copy
		{[]codegen.Cut{{Vars: []string{"i"}, N: 20}}, 2, true},
		// each of 20 ranks would copy all of D
		{[]codegen.Cut{{Vars: []string{"i"}, N: 20}}, 20, false},
		// a part of D
		{[]codegen.Cut{{Vars: []string{"j"}, N: 20}}, 20, true},
		// parts of D that two ranks have
		{[]codegen.Cut{{Vars: []string{"i"}, N: 2}, {Vars: []string{"j"}, N: 20}}, 40, true},
		// chunks of entries, of any columns
		{[]codegen.Cut{{Vars: []string{"i", "j"}, N: 20}}, 20, false},
	} {
		q := large(t, sddmm)
		q.Ask.Cuts, q.Ask.Ranks = c.cuts, c.ranks
		u, err := codegen.Compile(q)
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.ContainsFunc(u.Args,
			func(a codegen.Arg) bool { return a.Convert }); got != c.want {
			t.Errorf("%v on %d ranks: a copy of D is made: %v, want %v", c.cuts, c.ranks, got, c.want)
		}
	}
	q := large(t, sddmm)
	q.Ask.Schedule = []string{"temporaries(A)"}
	u, err := codegen.Compile(q)
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(u.Args, func(a codegen.Arg) bool { return a.Convert }) {
		t.Error("a schedule that says nothing of layouts has a copy")
	}
}

func compiled(t *testing.T, r codegen.Request) string {
	t.Helper()
	u, err := codegen.Compile(r)
	if err != nil {
		t.Fatal(err)
	}
	return c.File(u.Func)
}

// TestLayoutRefused checks the refusals of layout commands, with their reasons.
func TestLayoutRefused(t *testing.T) {
	const sddmm = "A(i,j)=B(i,j)*C(i,k)*D(k,j)\nA:ds\nB:ds\nk=32"
	for command, want := range map[string]string{
		"layout(D(k,j),1,1)":                    "layout: got 1, want each mode once, counted from 0, the outermost first",
		"layout(D(k,j),1,2)":                    "layout: got 2, want each mode once",
		"layout(D(k,j),1)":                      "layout: got 1, want each mode once",
		"layout(D(j,k),1,0)":                    "layout: got D(j,k), want an access of the right side: B(i,j), C(i,k), D(k,j)",
		"layout(B(i,j),1,0)":                    "layout: B is stored as ds, but only operands whose levels are all dense can be copied to another order of modes",
		"layout(D(k,j),1,0),layout(D(k,j),0,1)": "layout: D(k,j) already has a layout command",
		"layout(D(k,j),2,1,0)":                  "layout: got an order of 3 modes for D, want 2",
	} {
		q := large(t, sddmm)
		q.Ask.Schedule = []string{command}
		if _, err := codegen.Compile(q); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", command, err, want)
		}
	}
}
