package bounds

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/scope"
	"distaff/codegen/provenance"
)

// Steps returns the variable over which loop f runs, and the step of this variable. Normally these
// are f's variable and 1. There is one exception, on a GPU: f is the last loop, goes serially from
// tile to tile and is not unrolled, and the outer loops choose a place within a tile of constant
// size. Then f runs over the variable that was split, and the step is the size of a tile. The code
// then needs neither the number of tiles nor a multiplication.
func Steps(l *scope.Leaf, f *cin.Forall, c *scope.Component, s *scope.Counts) (over string,
	step int64) {
	r := l.Graph.MadeBy(f.Var)
	if !l.Spec.GPU || f.Unit != cin.Serial || f.Unroll != 0 ||
		len(s.Counting.Value) < len(c.Leaves)-1 ||
		r == nil || len(r.To) != 2 || r.To[0] != f.Var || s.Counting.Value[r.To[1]] == nil {
		return f.Var, 1
	}
	if tile, ok := s.Counting.N[r.To[1]].(provenance.Const); ok && tile > 1 {
		return r.From[0], int64(tile)
	}
	return f.Var, 1
}

// LoopsOverAbsent reports whether a component's loops run over positions of an operand that is
// absent here. They then have no iterations.
func LoopsOverAbsent(c *scope.Component, e *scope.Env) bool {
	l := e.Leaf
	return slices.ContainsFunc(l.Graph.Relations(), func(r provenance.Relation) bool {
		return IsPosOf(l, r, c) && ir.IsFalse(e.Cur[r.Access].Present)
	})
}

// IsPosOf reports whether r makes a component's loops run over positions of an operand.
func IsPosOf(l *scope.Leaf, r provenance.Relation, c *scope.Component) bool {
	return r.Kind == provenance.Pos && l.Comps[r.From[0]] == c
}

// CountAll computes the number of values of every variable of a component.
func CountAll(c *scope.Component, e *scope.Env) *scope.Counts {
	l := e.Leaf
	s := &scope.Counts{Counting: &provenance.Counting{G: l.Graph, N: map[string]provenance.Form{}}}
	for _, r := range c.Roots {
		b := e.RangeOf(r)
		s.Counting.N[r] = Form(ir.Minus(b.Hi, b.Lo))
		if b.Size > 0 {
			s.Counting.N[r] = provenance.Const(b.Size)
		}
	}
	for _, r := range l.Graph.Relations() {
		if r.Kind == provenance.Precompute || s.Counting.N[r.From[0]] == nil {
			continue
		}
		switch r.Kind {
		case provenance.Pos:
			lo, hi := e.Cur[r.Access].Segment()
			s.Start = lo
			s.Counting.N[r.To[0]] = NameForm(l.B)(r.To[0]+"_n", Form(ir.Minus(hi, lo)))
			continue
		case provenance.Bound:
			// checked
			bounded(&r, scope.Interval{Lo: ir.Int(0), Hi: Code(s.Counting.N[r.From[0]]), Size: -1}, e)
		}
		s.Counting.Count(&r, NameForm(l.B))
	}
	return s
}

// Recover emits code that computes the variables of component c from the variables of the loops.
// Inside, it emits the code of body, which runs only if the computed variables are in their ranges.
// The variables in sure are not tested.
func Recover(c *scope.Component, s *scope.Counts, sure map[string]bool, in *scope.Env,
	body func()) {
	l := in.Leaf
	rels := l.Graph.Relations()
	var back func(k int)
	back = func(k int) {
		if k < 0 {
			body()
			return
		}
		r := &rels[k]
		switch {
		case r.Kind == provenance.Precompute || s.Counting.N[r.From[0]] == nil ||
			l.Comps[r.From[0]] != c:
		case r.Kind == provenance.Pos:
			cur := in.Cur[r.Access]
			p := l.B.Named(r.To[0], ir.Plus(s.Start, Code(s.Counting.Value[r.To[0]])))
			d := *cur
			d.Level++
			d.Pos, d.End, d.Base, d.Present = p, nil, nil, ir.Truth(true)
			s.Counting.Value[r.From[0]] = Form(l.B.Named(r.From[0], ir.Coord(cur.Of.Crd(cur.Level), p)))
			in.Cur[r.Access] = &d
		case s.Counting.Value[r.From[0]] != nil: // the loops run over it
		case s.Counting.Recover(r, sure, NameForm(l.B)):
			l.B.When(ir.Less(Code(s.Counting.Value[r.From[0]]), Code(s.Counting.N[r.From[0]])),
				func() { back(k - 1) })
			return
		}
		back(k - 1)
	}
	back(len(rels) - 1)
}
