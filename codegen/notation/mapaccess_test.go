package notation

import "testing"

func TestMapAccessesReachesEveryAccessAndKeepsTheOriginal(t *testing.T) {
	s, err := Parse("a(i) = B(i,j)*2*sum(k, C(i,k))*(D(i)/(-E(j) + sum(l, F(l))))")
	if err != nil {
		t.Fatal(err)
	}
	n := Normalize(s)
	var seen []string
	out := MapAccesses(n.Terms[0], func(a *Access) *Access {
		seen = append(seen, a.Name)
		c := *a
		c.Name = "x" + a.Name
		return &c
	})
	if len(seen) != 5 {
		t.Errorf("saw %v, want 5 accesses", seen)
	}
	names := func(t *Term) (list []string) {
		WalkTerm(t, func(e Expr) bool {
			if a, ok := e.(*Access); ok {
				list = append(list, a.Name)
			}
			return true
		})
		return list
	}
	for _, name := range names(out) {
		if name[0] != 'x' {
			t.Errorf("%s is not mapped", name)
		}
	}
	for _, name := range names(n.Terms[0]) {
		if name[0] == 'x' {
			t.Errorf("the original has %s", name)
		}
	}
}
