package analysis

import (
	"math"
	"slices"

	"distaff/codegen/cin"
)

// CrdWidths returns the size in bytes of the coordinates of each variable: 4, or 8 if there are at
// least 2^31 coordinates.
func (f *Facts) CrdWidths() map[string]uint8 {
	out := map[string]uint8{}
	for v, n := range f.Problem.Sizes {
		if out[v] = 4; n >= 1<<31 {
			out[v] = 8
		}
	}
	return out
}

// Entries returns the number of entries of all operands, or -1 if it is unknown.
func (f *Facts) Entries() int64 {
	n := int64(0)
	for _, t := range f.Problem.Tensors[1:] {
		if t.NNZ < 0 {
			return -1
		}
		n += t.NNZ
	}
	return n
}

// Places returns the product of the sizes of the given variables.
func (f *Facts) Places(vars []string) float64 {
	n := 1.0
	for _, v := range vars {
		n *= float64(f.Problem.Sizes[v])
	}
	return n
}

// Additions estimates the number of values that a leaf adds to workspace t. producer is the
// statement that fills t. The estimate assumes that all patterns are uniform and independent. An
// assignment counts as 0 if the number of its values is not known.
func (f *Facts) Additions(producer cin.Stmt, t *cin.Access) float64 {
	total := 0.0
	cin.Walk(producer, func(s cin.Stmt) {
		a, ok := s.(*cin.Assign)
		if !ok || a.LHS.Name != t.Name {
			return
		}
		n, _ := f.ProductEntries(a.RHS)
		total += n
	})
	return total
}

// ProductEntries estimates the number of places where all factors of the product x have a value. It
// assumes that the patterns of the factors are uniform and independent. exact is true if the number
// is right for every pattern, because no variable occurs twice. ProductEntries returns 0 if x is
// another expression, or if the number is not known.
func (f *Facts) ProductEntries(x cin.Expr) (n float64, exact bool) {
	if !IsProduct(x) {
		return 0, false
	}
	n, exact = 1, true
	seen := map[string]bool{}
	cin.ExprAccesses(x, func(a *cin.Access) {
		t := f.Tensor(a.Name)
		if t == nil || t.NNZ < 0 {
			n, exact = 0, false
			return
		}
		n *= float64(t.NNZ)
		for _, v := range a.Vars {
			if seen[v] {
				n /= max(float64(f.Problem.Sizes[v]), 1)
				exact = false
			}
			seen[v] = true
		}
	})
	return n, exact
}

// IsProduct reports whether an expression consists only of accesses and numbers, and of products,
// quotients and negatives of these operands.
func IsProduct(x cin.Expr) bool {
	switch x := x.(type) {
	case *cin.Binary:
		return (x.Op == '*' || x.Op == '/') && IsProduct(x.X) && IsProduct(x.Y)
	case *cin.Neg:
		return IsProduct(x.X)
	case *cin.Call:
		return false
	}
	return true
}

// TermsAdded returns an upper bound of the number of values that producer adds to workspace t. ok
// is true if each of these values is a product with an entry of one sparse operand. The other
// factors must be scalars and elements of dense operands, and the coordinates of the entry must
// determine these elements. If the sparse operand's number of entries is unknown, n is infinite.
func (f *Facts) TermsAdded(producer cin.Stmt, t *cin.Access) (n float64, ok bool) {
	ok, some := true, false
	cin.Paths(producer, func(loops []*cin.Forall, a *cin.Assign) {
		if a.LHS.Name != t.Name {
			return
		}
		some = true
		var sparse *cin.Access
		var vars []string // the variables of all factors and of the workspace
		vars = append(vars, a.LHS.Vars...)
		cin.ExprAccesses(a.RHS, func(x *cin.Access) {
			op := f.Tensor(x.Name)
			switch {
			case op == nil && len(x.Vars) == 0: // a scalar
			case op == nil || !op.Format.AllDense() && sparse != nil:
				ok = false
			case !op.Format.AllDense():
				sparse = x
			}
			vars = append(vars, x.Vars...)
		})
		if ok = ok && IsProduct(a.RHS) && sparse != nil; !ok {
			return
		}
		for _, l := range loops {
			vars = append(vars, l.Var)
		}
		of := f.Underived(sparse.Vars)
		for _, v := range f.Underived(vars) {
			ok = ok && slices.Contains(of, v)
		}
		if op := f.Tensor(sparse.Name); op.NNZ >= 0 {
			n += float64(op.NNZ)
		} else {
			n = math.Inf(1)
		}
	})
	return n, ok && some
}

// KeysFrom returns the operand whose entries give the keys of workspace t, or nil if there is none.
// The operand must be the only sparse operand of producer. producer must visit all entries of the
// operand without running on threads, and each entry must give at most one key. keys lists the
// variables of a key.
func (f *Facts) KeysFrom(producer cin.Stmt, t *cin.Access, keys []string) *cin.Access {
	if cin.Threaded(producer) {
		return nil
	}
	var operand *cin.Access
	one := true
	cin.Paths(producer, func(loops []*cin.Forall, a *cin.Assign) {
		cin.ExprAccesses(a.RHS, func(x *cin.Access) {
			op := f.Tensor(x.Name)
			switch {
			case op == nil && len(x.Vars) > 0:
				one = false
			case op != nil && !op.Format.AllDense():
				one = one && (operand == nil || operand.Key() == x.Key())
				operand = x
			}
		})
		var vars []string
		for _, l := range loops {
			vars = append(vars, l.Var)
			one = one && !f.IsDerived(l.Var)
		}
		for _, v := range keys {
			one = one && operand != nil && slices.Contains(operand.Vars, v)
		}
		if operand != nil {
			for _, v := range operand.Vars {
				one = one && slices.Contains(vars, v) && !slices.Contains(t.Vars[len(keys):], v)
			}
		}
	})
	if !one {
		return nil
	}
	return operand
}
