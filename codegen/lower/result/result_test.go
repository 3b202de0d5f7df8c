package result

import (
	"testing"

	"distaff/codegen/cin"
	"distaff/codegen/lower/scope"
	"distaff/codegen/lower/tree"
)

// TestCopies checks which consumers only copy a workspace w(j) to the row of a result y(i,j), and
// which statements store a value of y once.
func TestCopies(t *testing.T) {
	l := &scope.Leaf{ResultVars: []string{"i", "j"}}
	l.Out = &scope.Result{Leaf: l, Op: tree.NewOperand(&tree.Arguments{}, tree.Argument{Name: "y"})}
	w := &cin.Access{Name: "w", Vars: []string{"j"}}
	for _, c := range []struct {
		text         string
		copies, once bool
	}{
		{"forall(j, y(i,j) = w(j))", true, true},
		{"forall(j, y(i,j) += w(j))", false, false},
		{"forall(j, y(i,j) = w(j) * 2)", false, true},
		{"forall(j, forall(k, y(i,j) = w(j)))", false, false},
		{"forall(j, where(y(i,j) = s, s += w(j)))", false, true},
		{"forall(j, z(i,j) = w(j))", false, false},
	} {
		s, err := cin.Parse(c.text)
		if err != nil {
			t.Fatal(err)
		}
		if got := copiesTo(l, s, w, 1); got != c.copies {
			t.Errorf("%s: only copies: %t", c.text, got)
		}
		if got := storesOnce(l, s.(*cin.Forall).Body); got != c.once {
			t.Errorf("%s: stores once: %t", c.text, got)
		}
	}
}
