package clike

import (
	"strings"
	"testing"

	"distaff/io/tensor"
)

func TestNames(t *testing.T) {
	file := NewNamer(nil)
	file.Take("leaf")
	f := NewNamer(file)
	for _, c := range [][2]string{
		{"x", "x"}, {"x", "x_2"}, {"x", "x_3"}, // each name once
		// names of the file, too
		{"leaf", "leaf_2"},
		// keywords and macros
		{"for", "for_v"}, {"template", "template_v"}, {"errno", "errno_v"}, {"for", "for_v_2"},
		// names that headers probably define
		{"SIZE", "SIZE_v"}, {"word_t", "word_t_v"}, {"B2", "B2"}, {"A", "A"},
		{"x'", "x_"}, {"2a", "v2a"}, {"", "v"}, {"_a", "v_a"}, {"dst_a", "vdst_a"}, {"é", "v__"},
	} {
		if got := f.User(c[0]); got != c[1] {
			t.Errorf("%q: got %s, want %s", c[0], got, c[1])
		}
	}
	if got := file.Fresh("x"); got != "x" {
		t.Errorf("a function's names are taken for the file: got %s", got)
	}
	for _, c := range [][2]string{{"spmv", "spmv"}, {"sin", "sin_leaf"}, {"main", "main_leaf"},
		{"MAX", "MAX_leaf"}, {"a-b", "a_b"}} {
		if got := Symbol(c[0], "_leaf"); got != c[1] {
			t.Errorf("the function %q: got %s, want %s", c[0], got, c[1])
		}
	}
}

func TestComment(t *testing.T) {
	for in, want := range map[string]string{"a\nb": "a b", `a\`: "a/", "a??/": "a? ?/", "é": "é",
		"a\x9bb\xff": "a\ufffdb\ufffd", "\u009b": " "} {
		if got := Comment(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// TestPrelude checks that the requested helpers are printed with the helpers that they use, each
// once, in the order of the list.
func TestPrelude(t *testing.T) {
	types := []tensor.Type{tensor.Float64, tensor.Complex128}
	helpers := []Helper{{Name: "base"}, {Name: "max", Types: types},
		{Name: "abs", Types: types, Uses: []string{"max:$P"}},
		{Name: "div", Types: types, Uses: []string{"abs"}}, {Name: "other"}}
	text := func(name string, t tensor.Type) string {
		if t == tensor.None {
			return name
		}
		return name + ":" + t.String()
	}
	for asked, want := range map[string]string{
		"":                           "",
		"other base":                 "base other",
		"max:float64":                "max:float64",
		"div:complex128":             "max:float64 abs:complex128 div:complex128",
		"div:float64 abs:float64":    "max:float64 abs:float64 div:float64",
		"div:float64 max:complex128": "max:float64 max:complex128 abs:float64 div:float64",
	} {
		if got := strings.Join(strings.Fields(Prelude(helpers, set(asked), text)), " "); got != want {
			t.Errorf("%q: got %q, want %q", asked, got, want)
		}
	}
}
