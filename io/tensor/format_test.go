package tensor

import (
	"slices"
	"strings"
	"testing"
)

func TestParsePrints(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""}, {"d", "d"}, {"ds", "ds"}, {"ds:1,0", "ds:1,0"}, {"ds:0,1", "ds"}, {"uq", "uq"},
		{"uc", "uc"}, {"ucq", "ucq"},
		{"sss:2,0,1", "sss:2,0,1"}, {"dsdd", "dsdd"}, {"dp", "dp"}, {"p", "p"}, {"sq", "sq"},
		{"uqq", "uqq"}, {"us", "us"}, {"dddddddd", "dddddddd"},
	} {
		f, err := ParseFormat(c.in)
		if err != nil {
			t.Errorf("ParseFormat(%q): %v", c.in, err)
			continue
		}
		if f.String() != c.want {
			t.Errorf("ParseFormat(%q) prints %q", c.in, f)
		}
		if g, err := ParseFormat(f.String()); err != nil || !g.Equal(f) {
			t.Errorf("ParseFormat(%q) is not %v", f.String(), f)
		}
		if err := f.Check(); err != nil {
			t.Errorf("Check(%q): %v", c.in, err)
		}
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"q", "got level q outermost, want a u, s or c level above it"},
		{"c", "got level c outermost"},
		{"dq", "got level q under d"},
		{"dc", "got level c under d"},
		{"pq", "got level q under p"},
		{"udq", "got level q under d"},
		{"csr", "got csr, want a letter for each level: CSR is ds"},
		{"CSC:1,0", "CSC is ds:1,0"},
		{"dx",
			`got level 'x', want one of d (dense), s (compressed), u (compressed with repeats), q (singleton), c (singleton with repeats), p (padded singleton)`},
		{"dé", `got level 'é'`},
		{"Ds", `got level 'D'`},
		{"ds:1", "got 1 mode in the order, want 2"},
		{"ds:0,1,2", "got 3 modes in the order, want 2"},
		{"ds:1,1", "got mode 1 twice"},
		{"ds:1,2", `got mode "2", want a number from 0 to 1`},
		{"ds:a,b", `got mode "a"`},
		{"ds:", "got 1 mode in the order, want 2"},
	} {
		_, err := ParseFormat(c.in)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("ParseFormat(%q) = %v, want %q", c.in, err, c.want)
		}
	}
}

func TestDefaults(t *testing.T) {
	for order, want := range []string{"", "s", "ds", "sss", "ssss"} {
		if got := SparseOf(order).String(); got != want {
			t.Errorf("SparseOf(%d) = %q, want %q", order, got, want)
		}
		if got := DenseOf(order).String(); got != strings.Repeat("d", order) {
			t.Errorf("DenseOf(%d) = %q", order, got)
		}
	}
}

func TestQueries(t *testing.T) {
	f, _ := ParseFormat("dsdd:3,1,0,2")
	if f.TrailingDense() != 2 || f.AllDense() || f.Repeats() || f.Level(0) != 2 || f.Level(3) != 0 {
		t.Errorf("dsdd: %d %v %v %d", f.TrailingDense(), f.AllDense(), f.Repeats(), f.Level(0))
	}
	f, _ = ParseFormat("ucc")
	if !f.Repeats() || f.RunEnd(0) != 2 || f.RunEnd(2) != 2 {
		t.Error("ucc keeps repeats in one run of levels")
	}
	f, _ = ParseFormat("ucq")
	if f.Repeats() {
		t.Error("ucq keeps no repeats")
	}
	if f, _ = ParseFormat(""); !f.AllDense() || f.Repeats() {
		t.Error("a scalar is dense")
	}
}

func TestLastPos(t *testing.T) {
	for text, want := range map[string]int{"": -1, "dd": -1, "ds": 1, "dsdd": 1, "uqq": 0, "sds": 2,
		"dp": -1} {
		f, err := ParseFormat(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.LastPos(); got != want {
			t.Errorf("%q: got level %d, want %d", text, got, want)
		}
	}
}

func TestSharing(t *testing.T) {
	for _, c := range []struct {
		in      string
		sharing []int
		bound   []int
		repeats bool
	}{
		{"ds", []int{0, 1}, nil, false},
		{"uq", []int{1, 1}, nil, false},
		{"uc", []int{2, 2}, nil, true},
		{"u", []int{1}, nil, true},
		{"ucq", []int{2, 2, 2}, nil, false},
		{"ucc", []int{3, 3, 3}, nil, true},
		{"us", []int{0, 1}, nil, false},
		{"ud", []int{0, 1}, nil, false},
		{"sq", []int{0, 1}, []int{1}, false},
		{"sc", []int{0, 1}, []int{1}, false},
		{"dp", []int{0, 1}, []int{1}, false},
		{"p", []int{0}, []int{0}, false},
		{"up", []int{1, 1}, nil, false},
		{"uqq", []int{1, 1, 2}, []int{2}, false},
		{"duc", []int{0, 3, 3}, nil, true},
	} {
		f, err := ParseFormat(c.in)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(f.Sharing(), c.sharing) || !slices.Equal(f.Bound(), c.bound) ||
			f.Repeats() != c.repeats {
			t.Errorf("%s: sharing %v, bound %v, repeats %v, want %v", c.in, f.Sharing(), f.Bound(),
				f.Repeats(), c)
		}
	}
}
