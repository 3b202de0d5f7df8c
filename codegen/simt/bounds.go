package simt

import (
	"math"

	"distaff/codegen/ir"
)

// bounds knows what variables stand for, and which loops others run in, where that holds as long as
// they are visible: it reads no memory, and no variable that changes.
type bounds struct {
	stands map[*ir.Var]ir.Expr // their declarations
	loops  map[*ir.Var]*ir.For
}

func newBounds(f *ir.Func) *bounds {
	b := &bounds{stands: map[*ir.Var]ir.Expr{}, loops: map[*ir.Var]*ir.For{}}
	times := map[*ir.Var]int{}
	ir.Walk(f.Body, func(s ir.Stmt) {
		switch s := s.(type) {
		case *ir.Declare:
			times[s.V]++
			b.stands[s.V] = s.Init
		case *ir.For:
			times[s.V]++
			b.loops[s.V] = s
			for _, v := range s.Reduce {
				times[v] += 2
			}
		}
		for _, v := range assigned(s) {
			times[v] += 2
		}
	})
	lasting := func(list ...ir.Expr) bool {
		last := true
		for _, x := range list {
			ir.WalkExpr(x, func(x ir.Expr) {
				switch x := x.(type) {
				case *ir.Var:
					last = last && times[x] <= 1
				case *ir.Load, *ir.Search:
					last = false
				}
			})
		}
		return last
	}
	for v, x := range b.stands {
		if times[v] > 1 || !lasting(x) {
			delete(b.stands, v)
		}
	}
	for v, s := range b.loops {
		if times[v] > 1 || !lasting(s.Lo, s.Hi) {
			delete(b.loops, v)
		}
	}
	return b
}

// assigned are the variables that s itself sets.
func assigned(s ir.Stmt) []*ir.Var {
	switch s := s.(type) {
	case *ir.Assign:
		return []*ir.Var{s.V}
	case *ir.Grow:
		return []*ir.Var{s.Cap}
	case *ir.Mark:
		return []*ir.Var{s.N}
	case *ir.Collect:
		return []*ir.Var{s.N}
	case *ir.Union:
		return []*ir.Var{s.N}
	}
	return nil
}

// trips is a number that the iterations of a loop do not pass; false if none is known.
func (b *bounds) trips(s *ir.For) (int64, bool) {
	n, ok := b.atMost(ir.Minus(s.Hi, s.Lo))
	if !ok || n > math.MaxInt64-s.Step {
		return 0, false
	}
	return max(0, (n+s.Step-1)/s.Step), true
}

// largest is a size of constants beyond which nothing is concluded, so that sums of them do not
// wrap.
const largest = 1 << 40

// atMost is a number that x, an Int64, does not pass; false if none is known. That bounds of loops
// do not wrap is lowering's duty.
func (b *bounds) atMost(x ir.Expr) (int64, bool) {
	s := &search{b: b, steps: 400}
	return s.atMost(linear{}.plus(x, 1))
}

// linear is a sum of expressions, each times a number, and a number.
type linear struct {
	terms []term
	n     int64
}

type term struct {
	x ir.Expr
	k int64
}

// plus is l + k*x.
func (l linear) plus(x ir.Expr, k int64) linear {
	switch y := x.(type) {
	case *ir.Lit:
		l.n += k * y.I
		return l
	case *ir.Binary:
		switch y.Op {
		case ir.Add:
			return l.plus(y.X, k).plus(y.Y, k)
		case ir.Sub:
			return l.plus(y.X, k).plus(y.Y, -k)
		case ir.Mul:
			if c, ok := y.Y.(*ir.Lit); ok && small(c.I) && small(k) {
				return l.plus(y.X, k*c.I)
			}
			if c, ok := y.X.(*ir.Lit); ok && small(c.I) && small(k) {
				return l.plus(y.Y, k*c.I)
			}
		}
	case *ir.Unary:
		if y.Op == ir.Neg {
			return l.plus(y.X, -k)
		}
	}
	terms := make([]term, 0, len(l.terms)+1)
	for _, t := range l.terms {
		if ir.Same(t.x, x) {
			k += t.k
		} else {
			terms = append(terms, t)
		}
	}
	if k != 0 {
		terms = append(terms, term{x, k})
	}
	return linear{terms, l.n}
}

func small(k int64) bool { return k > -1<<20 && k < 1<<20 }

// without is l without its term i.
func (l linear) without(i int) linear {
	terms := append([]term(nil), l.terms[:i]...)
	return linear{append(terms, l.terms[i+1:]...), l.n}
}

// search replaces terms by what bounds them until a number is left.
type search struct {
	b     *bounds
	steps int // that may still be taken
}

func (s *search) atMost(l linear) (int64, bool) {
	s.steps--
	if s.steps < 0 || l.n > largest || l.n < -largest {
		return 0, false
	}
	if len(l.terms) == 0 {
		return l.n, true
	}
	// A smaller of two is tried before a larger one, a variable's declaration before its loop: each
	// leaves fewer cases, and none loses what another knows.
	for _, rule := range []func(linear, int) (int64, bool, bool){s.declared, s.smaller, s.larger,
		s.quotient, s.looped} {
		for i := range l.terms {
			if n, ok, applies := rule(l, i); applies {
				return n, ok
			}
		}
	}
	return 0, false
}

// declared replaces a variable by what it stands for.
func (s *search) declared(l linear, i int) (n int64, ok, applies bool) {
	v, isVar := l.terms[i].x.(*ir.Var)
	if !isVar || s.b.stands[v] == nil || v.Typ != ir.Int64 {
		return 0, false, false
	}
	n, ok = s.atMost(l.without(i).plus(s.b.stands[v], l.terms[i].k))
	return n, ok, true
}

// smaller tries both sides of a Min that is added, or of a Max that is taken away: either bounds
// it.
func (s *search) smaller(l linear, i int) (n int64, ok, applies bool) {
	x, y, isOne := sides(l.terms[i], ir.Min, ir.Max)
	if !isOne {
		return 0, false, false
	}
	rest, k := l.without(i), l.terms[i].k
	n, ok = s.atMost(rest.plus(x, k))
	m, also := s.atMost(rest.plus(y, k))
	if !ok || also && m < n {
		n, ok = m, also
	}
	return n, ok, true
}

// larger wants a bound of both sides.
func (s *search) larger(l linear, i int) (n int64, ok, applies bool) {
	x, y, isOne := sides(l.terms[i], ir.Max, ir.Min)
	if !isOne {
		return 0, false, false
	}
	rest, k := l.without(i), l.terms[i].k
	n, ok = s.atMost(rest.plus(x, k))
	if !ok {
		return 0, false, true
	}
	m, ok := s.atMost(rest.plus(y, k))
	return max(n, m), ok, true
}

// sides are those of an added a or of a b that is taken away; both cases of a Select are such sides
// of a Max.
func sides(t term, added, taken ir.Op) (x, y ir.Expr, ok bool) {
	switch e := t.x.(type) {
	case *ir.Binary:
		if e.Op == added && t.k > 0 || e.Op == taken && t.k < 0 {
			return e.X, e.Y, true
		}
	case *ir.Select:
		if added == ir.Max {
			return e.X, e.Y, true
		}
	}
	return nil, nil, false
}

// quotient bounds the quotient by a positive number, or the remainder, that stands alone.
func (s *search) quotient(l linear, i int) (n int64, ok, applies bool) {
	e, isBinary := l.terms[i].x.(*ir.Binary)
	if !isBinary || e.Op != ir.Div && e.Op != ir.Rem {
		return 0, false, false
	}
	c, isLit := e.Y.(*ir.Lit)
	if !isLit || c.I < 1 || !small(c.I) || !small(l.terms[i].k) || l.terms[i].k < 0 {
		return 0, false, false
	}
	if e.Op == ir.Rem {
		n, ok = s.atMost(linear{l.without(i).terms, l.n + l.terms[i].k*(c.I-1)})
		return n, ok, true
	}
	if len(l.terms) > 1 {
		return 0, false, false
	}
	m, ok := s.atMost(linear{}.plus(e.X, 1))
	return m/c.I*l.terms[i].k + l.n, ok, true
}

// looped replaces the variable of a loop by its first value where it is taken away, else by what it
// stays below.
func (s *search) looped(l linear, i int) (n int64, ok, applies bool) {
	v, isVar := l.terms[i].x.(*ir.Var)
	if !isVar || s.b.loops[v] == nil {
		return 0, false, false
	}
	loop, k := s.b.loops[v], l.terms[i].k
	if k < 0 {
		n, ok = s.atMost(l.without(i).plus(loop.Lo, k))
	} else {
		rest := l.without(i).plus(loop.Hi, k)
		rest.n -= k
		n, ok = s.atMost(rest)
	}
	return n, ok, true
}
