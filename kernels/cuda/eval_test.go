package cuda

import (
	"fmt"
	"testing"

	"distaff/codegen/ir"
	"distaff/codegen/ir/irtest"
	"distaff/io/tensor"
)

// ascending is the memory of a test. Element k of an array is 2k+1, or true if k is odd.
type ascending struct{}

func (ascending) load(a *ir.Array, index int64) (*ir.Lit, error) {
	if a.Elem == tensor.Bool {
		return ir.Truth(index%2 != 0), nil
	}
	return ir.Number(a.Elem, complex(float64(2*index+1), 0)), nil
}

// folded replaces variables and elements in x by their values. Package ir folds the expression to a
// literal, unless the expression has an operation that package ir does not fold.
func folded(x ir.Expr, s scope) ir.Expr {
	if v, ok := x.(*ir.Var); ok {
		return s[v]
	}
	x = ir.Rebuild(x, func(y ir.Expr) ir.Expr { return folded(y, s) })
	l, ok := x.(*ir.Load)
	if !ok {
		return x
	}
	at, ok := l.Index.(*ir.Lit)
	if !ok {
		return x
	}
	element, _ := ascending{}.load(l.A, at.I)
	if l.Widen {
		return ir.Int(element.I)
	}
	return element
}

// TestEveryExprOnHost evaluates every expression of the leaves in package irtest on the host of a
// GPU. The result must have the type of the expression. If package ir can fold the expression, the
// result must be the folded value.
func TestEveryExprOnHost(t *testing.T) {
	compared := map[string]bool{} // the types of folded expressions
	for _, c := range irtest.All() {
		f, values := c.Func(), scope{}
		ir.WalkExprs(f.Body, func(x ir.Expr) {
			v, ok := x.(*ir.Var)
			if !ok || values[v] != nil {
				return
			}
			n := len(values) + 2
			values[v] = ir.Number(v.Typ, complex(float64(n), 0))
			if v.Typ == tensor.Bool {
				values[v] = ir.Truth(n%2 != 0)
			}
		})
		ir.WalkExprs(f.Body, func(x ir.Expr) {
			got, err := values.eval(x, ascending{})
			if err != nil {
				t.Errorf("%s: %s: %v", c.Name, x, err)
				return
			}
			if got.Typ != x.Type() {
				t.Errorf("%s: %s is a %s, want a %s", c.Name, x, got.Typ, x.Type())
			}
			if want, ok := folded(x, values).(*ir.Lit); ok {
				compared[fmt.Sprintf("%T", x)] = true
				if !ir.Same(got, want) {
					t.Errorf("%s: %s is %s, want %s", c.Name, x, got, want)
				}
			}
		})
	}
	if len(compared) < 7 {
		t.Errorf("values of %v are compared, want all types but *ir.Search", compared)
	}
}
