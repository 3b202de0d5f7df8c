package cuda

import (
	"slices"

	"distaff/codegen/ir"
)

// streams finds the loads of a launch that read each element of a sparse operand's arrays only
// once, neighbouring threads neighbouring elements. These loads are printed so that the elements do
// not displace data in the caches that is read again, such as the vector of a product.
type streams struct {
	launch   *ir.Launch
	assigned map[*ir.Var]bool
	inits    map[*ir.Var]ir.Expr // the values of variables that never change
	loops    []*ir.Var           // the variables of the loops around the current statement
	sparse   map[*ir.Array]bool
	found    map[*ir.Load]bool
}

// streamed returns the loads of l that streams describes. assigned has the variables that change
// after their declaration.
func (f *file) streamed(l *ir.Launch, assigned map[*ir.Var]bool) map[*ir.Load]bool {
	s := &streams{launch: l, assigned: assigned, inits: map[*ir.Var]ir.Expr{},
		sparse: f.sparse(), found: map[*ir.Load]bool{}}
	s.block(l.Body)
	return s.found
}

// sparse returns the coordinates and values of the operands that have a level with positions. The
// leaf does not store to these arrays.
func (f *file) sparse() map[*ir.Array]bool {
	has, out := map[int]bool{}, map[*ir.Array]bool{}
	for _, p := range f.fn.Params {
		has[p.Slot.Arg] = has[p.Slot.Arg] || p.Slot.Field == ir.Pos
	}
	for _, p := range f.fn.Params {
		if p.A != nil && p.A.Const && has[p.Slot.Arg] && p.Slot.Field != ir.Pos &&
			slices.Contains(reals, p.A.Elem) {
			out[p.A] = true
		}
	}
	return out
}

func (s *streams) block(b *ir.Block) {
	for _, t := range b.List {
		for _, x := range ir.Exprs(t) {
			ir.WalkExpr(x, s.load)
		}
		switch t := t.(type) {
		case *ir.Block:
			s.block(t)
			continue
		case *ir.Declare:
			if !s.assigned[t.V] {
				s.inits[t.V] = t.Init
			}
		case *ir.While:
			continue // an iteration may load what another one loads
		case *ir.For:
			s.loops = append(s.loops, t.V)
			s.block(t.Body)
			s.loops = s.loops[:len(s.loops)-1]
			continue
		}
		for _, in := range ir.Inside(t) {
			if in, ok := in.(*ir.Block); ok {
				s.block(in)
			}
		}
	}
}

// load adds x to the found loads if x is a load that streams describes.
func (s *streams) load(x ir.Expr) {
	l, ok := x.(*ir.Load)
	if !ok || !s.sparse[l.A] {
		return
	}
	by, linear := s.factor(l.Index, s.launch.Thread)
	moves := func(v *ir.Var) bool { n, linear := s.factor(l.Index, v); return linear && n != 0 }
	if linear && by == 1 && moves(s.launch.Block) &&
		!slices.ContainsFunc(s.loops, func(v *ir.Var) bool { return !moves(v) }) {
		s.found[l] = true
	}
}

// factor returns n if x is a sum of n*v and a value that does not depend on v. Otherwise linear is
// false.
func (s *streams) factor(x ir.Expr, v *ir.Var) (n int64, linear bool) {
	switch x := x.(type) {
	case *ir.Lit:
		return 0, true
	case *ir.Var:
		init := s.inits[x]
		switch {
		case x == v:
			return 1, true
		case init != nil:
			return s.factor(init, v)
		}
		return 0, !s.assigned[x]
	case *ir.Binary:
		a, linearA := s.factor(x.X, v)
		b, linearB := s.factor(x.Y, v)
		if !linearA || !linearB {
			return 0, false
		}
		lit, isLit := x.Y.(*ir.Lit)
		switch {
		case x.Op == ir.Add:
			return a + b, true
		case x.Op == ir.Sub:
			return a - b, true
		case x.Op == ir.Mul && isLit:
			return a * lit.I, true
		}
		return 0, a == 0 && b == 0
	case *ir.Cast:
		n, linear := s.factor(x.X, v)
		return n, linear && n == 0
	}
	return 0, false
}
