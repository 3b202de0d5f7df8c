package lower

import (
	"math"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
)

// A result begins with a capacity of maxGrowth times as many entries as the operands at
// most, since few sparse matrices are uniform, or of more where their number is sure,
// and of no more than maxCapacity on that account.
const (
	maxGrowth   = 8
	maxCapacity = 1 << 26
)

// initialCapacity is how many entries there is to be capacity for at first: those of the
// sparse operands together, or growth times as many, if the result has as many coordinates.
func (a *appendResult) initialCapacity() ir.Expr {
	n := ir.Expr(ir.Int(16))
	for _, o := range a.l.spec.Operands[1:] {
		if !o.Format.AllDense() {
			n = ir.Plus(n, a.l.ops[o.Name].nnz())
		}
	}
	n = ir.Times(n, ir.Int(a.l.growth()))
	all := 1.0
	for _, v := range a.l.resultVars[:a.deep+1] {
		all *= float64(a.l.spec.Sizes[v])
	}
	if all < 1<<40 {
		n = ir.Least(n, ir.Int(int64(all)+1))
	}
	if most := a.capacityBound(); most > 0 {
		n = ir.Least(n, ir.Int(most))
	}
	return n
}

// capacityBound is the most entries that there is to be capacity for at first, as
// Spec.RoomBytes says; 0 where the operands are known to have so few that it does not matter.
func (a *appendResult) capacityBound() int64 {
	l := a.l
	if l.spec.RoomBytes <= 0 {
		return 0
	}
	entry, expected := float64(a.op.Type.Size()), 16.0
	for k, v := range l.resultVars {
		if k > a.deep {
			entry *= max(float64(l.spec.Sizes[v]), 1) // a block of values
		}
	}
	for _, width := range a.op.CrdWidth {
		entry += float64(width)
	}
	for _, o := range l.spec.Operands[1:] {
		switch {
		case o.Format.AllDense():
		case o.NNZ < 0:
			expected = math.Inf(1)
		default:
			expected += float64(o.NNZ)
		}
	}
	most := max(float64(l.spec.RoomBytes)/entry, 16)
	if expected*float64(l.growth()) <= most {
		return 0
	}
	return int64(most)
}

// growth is how many times as many entries as the sparse operands together the
// result is expected to have where they are added up in workspaces, or are products
// that it stores: a power of two.
func (l *lowerer) growth() int64 {
	entries, places, added := 1.0, 1.0, 0.0
	most := int64(maxGrowth)
	for _, o := range l.spec.Operands[1:] {
		if o.NNZ < 0 {
			return 1
		}
		if !o.Format.AllDense() {
			entries += float64(o.NNZ)
		}
	}
	for _, v := range l.resultVars {
		places *= max(float64(l.spec.Sizes[v]), 1)
	}
	cin.Walk(l.spec.Stmt, func(s cin.Stmt) {
		switch s := s.(type) {
		case *cin.Where:
			if t := cin.Target(s.Producer); len(t.Vars) > 0 {
				added += l.additions(s.Producer, t)
			}
		case *cin.Assign: // of no sum: all its variables are the result's
			if l.assigns(s) && !s.Accumulate {
				n, exact := l.products(s.RHS)
				added += n
				if exact {
					most = maxCapacity
				}
			}
		}
	})
	// Of so many values thrown at so many places.
	expected := -places * math.Expm1(-added/places)
	n := int64(1)
	for n < most && float64(n)*entries < expected && float64(2*n)*entries <= maxCapacity {
		n *= 2
	}
	return n
}
