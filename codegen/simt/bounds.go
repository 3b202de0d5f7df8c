package simt

import (
	"math"

	"distaff/codegen/ir"
	"distaff/io/tensor"
)

// bounds holds what is known about variables: the initial values of declared variables, and the
// loops of loop variables. It leaves out a variable that may change, and a variable whose initial
// value or range depends on memory or on a variable that may change.
type bounds struct {
	stands map[*ir.Var]ir.Expr // by variable: its initial value
	loops  map[*ir.Var]*ir.For
}

func newBounds(f *ir.Func) *bounds {
	b := &bounds{stands: map[*ir.Var]ir.Expr{}, loops: map[*ir.Var]*ir.For{}}
	times := map[*ir.Var]int{}
	ir.WalkRows(f.Body, func(s ir.Stmt, r *ir.Row) {
		switch s := s.(type) {
		case *ir.Declare:
			b.stands[s.V] = s.Init
		case *ir.For:
			b.loops[s.V] = s
		}
		for v, role := range r.Vars() {
			times[v]++
			if role != ir.Declares {
				times[v]++
			}
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

// trips returns an upper bound of the number of iterations of a loop. The second result is false if
// no bound is known.
func (b *bounds) trips(s *ir.For) (int64, bool) {
	n, ok := b.atMost(ir.Minus(s.Hi, s.Lo))
	if !ok || n > math.MaxInt64-s.Step {
		return 0, false
	}
	return max(0, (n+s.Step-1)/s.Step), true
}

// largest limits the constants in the computation of bounds, so that sums do not wrap around. If
// the absolute value of a constant exceeds largest, no bound is found.
const largest = 1 << 40

// atMost returns an upper bound of x, an Int64. The second result is false if no bound is known.
// Lowering guarantees that loop bounds do not wrap around.
func (b *bounds) atMost(x ir.Expr) (int64, bool) {
	s := &search{b: b, steps: 400}
	return s.atMost(linear{}.plus(x, 1))
}

// linear is a sum of terms plus the number n. A term is an expression times a number.
type linear struct {
	terms []term
	n     int64
}

type term struct {
	x ir.Expr
	k int64
}

// plus returns l + k*x.
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

// without returns l without its term i.
func (l linear) without(i int) linear {
	terms := append([]term(nil), l.terms[:i]...)
	return linear{append(terms, l.terms[i+1:]...), l.n}
}

// search computes an upper bound of a linear form. It replaces one term after another by a bound of
// the term, until only a number remains. steps limits the number of forms that it examines: when no
// steps remain, it finds no bound.
type search struct {
	b     *bounds
	steps int // number of remaining steps
}

func (s *search) atMost(l linear) (int64, bool) {
	s.steps--
	if s.steps < 0 || l.n > largest || l.n < -largest {
		return 0, false
	}
	if len(l.terms) == 0 {
		return l.n, true
	}
	// The smaller operand of two is tried before the larger one, and a variable's declaration
	// before its loop. In this order each rule leaves fewer cases, and no rule loses information
	// that another needs.
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

// declared returns an upper bound n of the sum l, if term i of l is a variable with a known initial
// value. It replaces the variable by this value. ok is false if no bound of the new sum is found.
// applies is false if term i has another form.
func (s *search) declared(l linear, i int) (n int64, ok, applies bool) {
	v, isVar := l.terms[i].x.(*ir.Var)
	if !isVar || s.b.stands[v] == nil || v.Typ != tensor.Int64 {
		return 0, false, false
	}
	n, ok = s.atMost(l.without(i).plus(s.b.stands[v], l.terms[i].k))
	return n, ok, true
}

// smaller computes an upper bound n of the sum l, if term i is an added Min or a subtracted Max.
// Such a term is at most each of its two operands. So smaller replaces the term with one operand,
// then with the other, and bounds both sums. It returns the smaller bound.
//
// If neither sum has a known bound, ok is false. If term i has another form, applies is false.
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

// larger returns an upper bound n of the sum l, if term i of l is an added Max, a subtracted Min,
// or a Select. It replaces the term with one operand, then with the other, and returns the larger
// bound of the two sums. ok is false if one of the sums has no known bound. applies is false if
// term i has another form.
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

// sides returns the two operands of term t if the term is added and its operation is plus, or if
// the term is subtracted and its operation is minus. If plus is ir.Max, the term may also be a
// Select, added or subtracted. The operands are then its two cases. ok is false for any other term.
func sides(t term, plus, minus ir.Op) (x, y ir.Expr, ok bool) {
	switch e := t.x.(type) {
	case *ir.Binary:
		if e.Op == plus && t.k > 0 || e.Op == minus && t.k < 0 {
			return e.X, e.Y, true
		}
	case *ir.Select:
		if plus == ir.Max {
			return e.X, e.Y, true
		}
	}
	return nil, nil, false
}

// quotient returns an upper bound n of the sum l if its term i is x % c or x / c, where c is a
// positive constant. The term must be added, and c and the term's factor must be small. A quotient
// x / c must be the only term of l. ok is false if no bound is found. applies is false if term i is
// anything else.
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

// looped returns an upper bound n of the sum l, if term i of l is a loop variable with a known
// range. It replaces the variable with the last value of the range if the term is added, and with
// the first value if the term is subtracted. ok is false if no bound of the new sum is found.
// applies is false if term i has another form.
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
