package place

import (
	"slices"
	"strings"
	"testing"

	"distaff/codegen/notation"
)

func TestParseSplit(t *testing.T) {
	for _, c := range []struct {
		in     string
		count  int64
		points []int64
		err    string
	}{
		{in: "i:4", count: 4},
		{in: "i:100,200", points: []int64{100, 200}},
		{in: "i:100,", points: []int64{100}},
		{in: "i:3,3", points: []int64{3, 3}},
		{in: "i", err: `got "i"`},
		{in: "i:", err: `got neither a count nor points; want either VAR:COUNT or VAR:POINT,POINT,...; ` +
			`a single point ends with a comma, as in "i:5,"`},
		{in: "i:0", err: "a whole number of at least 1"},
		{in: "i:x", err: "a whole number of at least 1"},
		{in: "i:5,3", err: "got points that decrease"},
		{in: "i:5,x", err: "which must be a whole number of at least 0"},
		{in: "2i:5", err: "got"},
	} {
		s, err := ParseSplit(c.in)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q: got %v, want an error with %q", c.in, err, c.err)
			}
			continue
		}
		if err != nil || s.Var != "i" || s.Count != c.count || !slices.Equal(s.Points, c.points) {
			t.Errorf("%q: got %+v, %v", c.in, s, err)
		}
	}
}

func TestParseVars(t *testing.T) {
	if got, err := ParseVars("order", "j, i"); err != nil || !slices.Equal(got, []string{"j", "i"}) {
		t.Errorf("got %v, %v", got, err)
	}
	for _, bad := range []string{"", "i,", "i,i", "1"} {
		if _, err := ParseVars("order", bad); err == nil {
			t.Errorf("%q: got no error", bad)
		}
	}
}

// example is a(i) = d(i) + B(i,j)*c(j) + sum(k, ...)*e(i), where k is bound inside a product.
func example() *notation.Normal {
	acc := func(name string, vars ...string) *notation.Access {
		return &notation.Access{Name: name, Vars: vars}
	}
	inner := &notation.Reduction{Vars: []string{"k"},
		Body: []*notation.Term{{Factors: []notation.Factor{acc("C", "i", "k")}, Sum: []string{"k"}}}}
	return &notation.Normal{
		LHS:  acc("a", "i"),
		Vars: []string{"i", "j", "k"},
		Terms: []*notation.Term{
			{Factors: []notation.Factor{acc("d", "i")}},
			{Factors: []notation.Factor{acc("B", "i", "j"), acc("c", "j")}, Sum: []string{"j"}},
			{Factors: []notation.Factor{inner, acc("e", "i")}},
		},
	}
}

func TestResolve(t *testing.T) {
	sizes := map[string]int64{"i": 10, "j": 7, "k": 5}
	split := func(s string) SplitSpec {
		x, err := ParseSplit(s)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	b,
		err := Resolve(&BlockSpec{Splits: []SplitSpec{split("i:3"), split("j:2,2")}, Order: []string{"j"},
		Extend: []string{"j"}}, example(), sizes)
	if err != nil {
		t.Fatal(err)
	}
	if b.Vars[0].Name != "j" || !b.Vars[0].Reduction || !b.Vars[0].Extended ||
		!slices.Equal(b.Vars[0].Cuts, []int64{0, 2, 2, 7}) {
		t.Errorf("j: got %+v", b.Vars[0])
	}
	if !slices.Equal(b.Vars[1].Cuts, []int64{0, 3, 6, 10}) || !slices.Equal(b.Map, []int{1}) {
		t.Errorf("i: got %+v, map %v", b.Vars[1], b.Map)
	}
	if len(b.Groups) != 2 || !slices.Equal(b.Groups[0].Terms, []int{0, 2}) ||
		!slices.Equal(b.Groups[1].Held, []int{0}) {
		t.Errorf("groups: got %+v", b.Groups)
	}
	for _, c := range []struct {
		spec BlockSpec
		err  string
	}{
		{BlockSpec{Splits: []SplitSpec{split("z:2")}}, "got z, want an index variable of the statement: i, j, k"},
		{BlockSpec{Splits: []SplitSpec{split("i:2"), split("i:3")}}, "twice"},
		{BlockSpec{Splits: []SplitSpec{split("k:2")}}, "inside a product"},
		{BlockSpec{Splits: []SplitSpec{split("i:11,")}}, "want at most the size of"},
		{BlockSpec{Splits: []SplitSpec{split("i:5000000000000")}}, "more than 16777216 blocks"},
		{BlockSpec{Splits: []SplitSpec{split("i:5000"), split("j:5000")}},
			"blocks in all; want fewer than"},
		{BlockSpec{Extend: []string{"i"}}, "variable of the result"},
		{BlockSpec{Order: []string{"q"}}, "got q, want an index variable of the statement"},
		{BlockSpec{Map: []string{"q"}}, "got q, want an index variable of the statement"},
	} {
		if _, err := Resolve(&c.spec, example(), sizes); err == nil ||
			!strings.Contains(err.Error(), c.err) {
			t.Errorf("%+v: got %v, want %q", c.spec, err, c.err)
		}
	}
}

func TestEvenCuts(t *testing.T) {
	for _, size := range []int64{0, 1, 7, 1 << 62} {
		for _, n := range []int64{1, 2, 3, 8} {
			cuts := EvenCuts(size, n)
			if cuts[0] != 0 || cuts[n] != size {
				t.Errorf("%d in %d: got %v", size, n, cuts)
			}
			for k := range n {
				if d := cuts[k+1] - cuts[k]; d != size/n && d != size/n+1 {
					t.Errorf("%d in %d: range %d has %d", size, n, k, d)
				}
			}
		}
	}
}
