package lattice

import (
	"strings"
	"testing"

	"distaff/codegen/cin"
)

// kinds returns full for lower-case names, absent for Z, and iterate for other names.
func kinds(a *cin.Access) kind {
	switch {
	case a.Name == "Z":
		return absent
	case a.Name == strings.ToLower(a.Name):
		return full
	}
	return iterate
}

func TestPoints(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"a = B", "{B}"},
		{"a = b", "{U}"},
		{"a = Z", "absent"},
		{"a = 2", "{U}"},
		{"a = B * C", "{B, C}"},
		{"a = B * c", "{B}"},
		{"a = B * Z", "absent"},
		{"a = B + Z", "{B}"},
		{"a = B + C", "{B, C} {B} {C}"},
		{"a = B - c", "{U, B} {B} {U}"},
		{"a = B * C + D", "{B, C, D} {B, C} {D}"},
		{"a = (B + C) * D", "{B, D, C} {B, D} {D, C}"},
		{"a = (B + c) * D", "{B, D} {D}"},
		{"a = B * B", "{B}"},
		{"a = B / C", "{B, C} {B}"},
		{"a = B / c", "{B}"},
		{"a = b / C", "{U, C} {U}"},
		{"a = -B", "{B}"},
		{"where(a = t * B, t += C)", "{C, B}"},
		{"where(a = t + B, forall(k, t += C(k)))", "{C(k), B} {C(k)} {B}"},
		{"seq(a += B, a += C)", "{B, C} {B} {C}"},
		{"a = both(B, C)", "{B, C}"},
		{"a = both(B, fill(C, 0))", "{B, C} {B}"},
		{"where(a = t, forall(k, t max= C(k)))", "{C(k)}"},
		{"where(a = t, forall(k, t minstored= C(k)))", "{U, C(k)} {C(k)} {U}"},
	} {
		s, err := cin.Parse(c.src)
		if err != nil {
			t.Fatal(err)
		}
		got := latticeOf(s, kinds)
		if !sameText(got.String(), c.want) {
			t.Errorf("%s: got %s, want %s", c.src, got, c.want)
		}
	}
}

// sameText compares the texts of two lattices up to the order of iterators and points.
func sameText(a, b string) bool {
	norm := func(s string) map[string]bool {
		out := map[string]bool{}
		for _, p := range strings.Split(s, "}") {
			names := strings.Split(strings.TrimLeft(strings.TrimSpace(p), "{"), ", ")
			key := map[string]bool{}
			for _, n := range names {
				key[n] = true
			}
			text := ""
			for _, n := range []string{"U", "B", "C", "C(k)", "D", "absent"} {
				if key[n] {
					text += n + " "
				}
			}
			out[text] = true
		}
		return out
	}
	x, y := norm(a), norm(b)
	for k := range x {
		if !y[k] {
			return false
		}
	}
	return len(x) == len(y)
}

// TestClosed checks that a lattice with two points also has their union, so that one largest point
// holds at any coordinate.
func TestClosed(t *testing.T) {
	for _, src := range []string{"a = B + C * D + E / F", "a = (B + C) * (D + E)",
		"a = B / (C + D) - E", "a = (B + c) * (D + e) + F"} {
		s, err := cin.Parse(src)
		if err != nil {
			t.Fatal(err)
		}
		l := latticeOf(s, kinds)
		has := map[Point]bool{}
		for _, p := range l.Points {
			has[p] = true
		}
		for _, p := range l.Points {
			for _, q := range l.Points {
				if !has[Point{p.Iters.Union(q.Iters), p.Universe || q.Universe}] {
					t.Errorf("%s: %v and %v lack their union in %s", src, p, q, l)
				}
			}
		}
	}
}

// TestCoarse checks that a long sum, which has too many points, becomes one point that says that
// any of its iterators may be present.
func TestCoarse(t *testing.T) {
	var names []string
	for c := 'A'; c < 'Q'; c++ {
		names = append(names, string(c))
	}
	s, err := cin.Parse("a = " + strings.Join(names, " + "))
	if err != nil {
		t.Fatal(err)
	}
	l := latticeOf(s, kinds)
	if !l.Coarse || len(l.Points) != 1 || l.Points[0].Iters.Len() != len(names) || l.Universe() {
		t.Errorf("got %s, coarse %v", l, l.Coarse)
	}
	s, err = cin.Parse("a = (" + strings.Join(names, " + ") + " + b) * (C + d)")
	if err != nil {
		t.Fatal(err)
	}
	if l = latticeOf(s, kinds); !l.Coarse || !l.Universe() {
		t.Errorf("got %s, coarse %v, want the universe", l, l.Coarse)
	}
}
