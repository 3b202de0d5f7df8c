package nest

import (
	"testing"

	"distaff/codegen/cin"
	"distaff/codegen/lower/tree"
	"distaff/codegen/notation"
	"distaff/io/tensor"
)

// TestVerify: Verify finds a term that has lost a sum or a factor.
func TestVerify(t *testing.T) {
	s, err := notation.Parse("A(i,j) = B(i,j)*C(i,k)*D(j,k)")
	if err != nil {
		t.Fatal(err)
	}
	normal := notation.Normalize(s)
	build := func() *Nest {
		return New(Problem{Terms: normal.Terms, LHS: normal.LHS, Order: normal.Vars,
			Result: tensor.DenseOf(2), Size: func(string) int64 { return 10 },
			Name: func(a *notation.Access) string { return a.Name },
			Operands: []tree.Argument{{Name: "B", Format: tensor.DenseOf(2)},
				{Name: "C", Format: tensor.DenseOf(2)}, {Name: "D", Format: tensor.DenseOf(2)}}})
	}
	for name, c := range map[string]struct {
		broken func(*Nest)
		ok     bool
	}{
		"unchanged":    {func(*Nest) {}, true},
		"a lost sum":   {func(n *Nest) { n.terms[0].sums = nil }, false},
		"a lost term":  {func(n *Nest) { n.terms = nil }, false},
		"another sign": {func(n *Nest) { n.terms[0].neg = true }, false},
		"a lost factor of a hoisted sum": {func(n *Nest) {
			x := n.terms[0]
			at := &cin.Access{Name: "t", Vars: []string{"i", "j"}}
			x.parts = []*hoistedSum{{k: 2, order: n.in.Order, at: at,
				body: []*term{{sums: x.sums, factors: x.factors[1:2]}}}}
			x.sums, x.factors = nil, []cin.Expr{x.factors[0], at}
		}, false},
		"a hoisted sum": {func(n *Nest) {
			x := n.terms[0]
			at := &cin.Access{Name: "t", Vars: []string{"i", "j"}}
			x.parts = []*hoistedSum{{k: 2, order: n.in.Order, at: at,
				body: []*term{{sums: x.sums, factors: x.factors[1:]}}}}
			x.sums, x.factors = nil, []cin.Expr{x.factors[0], at}
		}, true},
	} {
		n := build()
		c.broken(n)
		if err := n.Verify(); (err == nil) != c.ok {
			t.Errorf("%s: got %v from the verifier", name, err)
		}
	}
}
