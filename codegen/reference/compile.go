package reference

import (
	"fmt"
	"strings"

	"distaff/codegen/diag"
	"distaff/codegen/dtype"
	"distaff/codegen/notation"
)

// node is a part of the right side. eval gives its value at the coordinates
// of env (one for each variable), and whether it is present there. An error
// counts only where the node, and all it is multiplied by, are present.
type node interface {
	eval(env []int64) (x num, present bool, err error)
}

type (
	// access reads a tensor.
	access struct {
		name  string
		t     *Tensor
		slots []int // the variable of each mode
		to    dtype.Type
		coord []int64
		// joined accesses are found by the join of their term, which sets
		// entry before it evaluates the term.
		joined bool
		entry  int
	}
	constant struct{ x num }
	negation struct {
		t dtype.Type
		x node
	}
	// product is all factors; it is absent where one is.
	product struct {
		t        dtype.Type
		factors  []node
		negative bool
	}
	sum struct {
		t        dtype.Type
		x, y     node
		subtract bool
	}
	quotient struct {
		t        dtype.Type
		num, den node
		text     string
		vars     []string
		slots    []int
	}
	// reduction sums terms over variables.
	reduction struct {
		t     dtype.Type
		terms []*term
		plans []*plan
	}
)

func (a *access) eval(env []int64) (num, bool, error) {
	e, ok := a.entry, true
	if !a.joined {
		for m, s := range a.slots {
			a.coord[m] = env[s]
		}
		e, ok = a.t.Find(a.coord)
	}
	if !ok {
		return num{}, false, nil
	}
	return operand(a.to, Convert(a.t.Value(e), a.t.Type, a.to)), true, nil
}

func (c *constant) eval([]int64) (num, bool, error) { return c.x, true, nil }

func (n *negation) eval(env []int64) (num, bool, error) {
	x, ok, err := n.x.eval(env)
	return negate(n.t, x), ok, err
}

func (p *product) eval(env []int64) (num, bool, error) {
	var out num
	var first error
	for k, f := range p.factors {
		x, ok, err := f.eval(env)
		if !ok {
			return num{}, false, nil
		}
		if err != nil {
			if first == nil {
				first = err
			}
			continue
		}
		if k == 0 {
			out = x
		} else {
			out = times(p.t, out, x)
		}
	}
	if p.negative {
		out = negate(p.t, out)
	}
	return out, true, first
}

func (s *sum) eval(env []int64) (num, bool, error) {
	x, okx, errx := s.x.eval(env)
	y, oky, erry := s.y.eval(env)
	if okx && errx != nil {
		return num{}, true, errx
	}
	if oky && erry != nil {
		return num{}, true, erry
	}
	if s.subtract {
		y = negate(s.t, y)
	}
	switch {
	case okx && oky:
		return plus(s.t, x, y), true, nil
	case oky:
		return y, true, nil
	}
	return x, okx, nil
}

func (q *quotient) eval(env []int64) (num, bool, error) {
	x, ok, err := q.num.eval(env)
	if !ok || err != nil {
		return num{}, ok, err
	}
	y, ok, err := q.den.eval(env)
	switch {
	case !ok:
		y = num{exact: true} // absent is zero
	case err != nil:
		return num{}, true, err
	}
	if q.t.IsInt() && isZero(q.t, y.v) {
		return num{}, true, q.zero(env)
	}
	return over(q.t, x, y), true, nil
}

func (q *quotient) zero(env []int64) error {
	at := make([]string, len(q.slots))
	for k, s := range q.slots {
		at[k] = fmt.Sprintf("%s=%d", q.vars[k], env[s])
	}
	where := ""
	if len(at) > 0 {
		where = " at " + strings.Join(at, ", ")
	}
	e := diag.Errorf(diag.DivideByZero, "got an integer division by zero%s in %s, want a divisor that is stored and not 0 (or -t with a float type)", where, q.text)
	e.Exit = diag.ExitData
	return e
}

func (r *reduction) eval(env []int64) (num, bool, error) {
	var acc accumulator
	for k, t := range r.terms {
		if err := r.plans[k].each(env, func() error { return acc.addTerm(r.t, t, env) }); err != nil {
			return num{}, true, err
		}
	}
	return acc.num(), acc.present, nil
}

// accumulator adds up terms at one coordinate.
type accumulator struct {
	x       num
	adds    int64
	present bool
}

func (a *accumulator) addTerm(t dtype.Type, tm *term, env []int64) error {
	x, ok, err := tm.eval(env)
	if ok && err == nil {
		a.add(t, x)
	}
	return err
}

func (a *accumulator) add(t dtype.Type, x num) {
	if !a.present {
		a.present, a.x = true, x
		return
	}
	// The longest way is through one term and all additions, not through all terms.
	ops := max(a.x.ops, x.ops)
	a.x = plus(t, a.x, x)
	a.x.ops = ops
	a.adds++
}

func (a *accumulator) num() num {
	x := a.x
	x.ops += a.adds
	return x
}

// term is a product and the accesses without which it is absent.
type term struct {
	product
	needs []*access
}

// builder turns a normal form into nodes.
type builder struct {
	p     *Problem
	slots map[string]int
}

func (b *builder) access(a *notation.Access) *access {
	t := b.p.Tensors[a.Name]
	out := &access{name: a.Name, t: t, to: b.p.Compute, coord: make([]int64, len(a.Vars))}
	for _, v := range a.Vars {
		out.slots = append(out.slots, b.slots[v])
	}
	return out
}

func (b *builder) constant(n *notation.Number) node {
	v := Float(n.Float)
	if n.IsInt {
		v = Convert(Int(n.Int), dtype.Int64, b.p.Compute)
	}
	return &constant{operand(b.p.Compute, fit(b.p.Compute, v))}
}

func (b *builder) term(t *notation.Term) *term {
	out := &term{product: product{t: b.p.Compute, negative: t.Negative}}
	for _, f := range t.Factors {
		var n node
		switch f := f.(type) {
		case *notation.Access:
			n = b.access(f)
		case *notation.Number:
			n = b.constant(f)
		case *notation.Group:
			n = b.expr(f.X)
		case *notation.Quotient:
			n = b.quotient(f.Num, f.Den)
		case *notation.Reduction:
			n = b.reduction(f)
		}
		out.factors = append(out.factors, n)
		out.need(n)
	}
	return out
}

// need notes the accesses without which n is absent.
func (t *term) need(n node) {
	switch n := n.(type) {
	case *access:
		if !n.t.full {
			t.needs = append(t.needs, n)
		}
	case *negation:
		t.need(n.x)
	case *product:
		for _, f := range n.factors {
			t.need(f)
		}
	case *quotient:
		t.need(n.num)
	}
}

func (b *builder) expr(e notation.Expr) node {
	switch e := e.(type) {
	case *notation.Access:
		return b.access(e)
	case *notation.Number:
		return b.constant(e)
	case *notation.Neg:
		return &negation{b.p.Compute, b.expr(e.X)}
	case *notation.ReductionExpr:
		return b.reduction(e.Reduction)
	case *notation.Binary:
		switch e.Op {
		case '*':
			return &product{t: b.p.Compute, factors: []node{b.expr(e.X), b.expr(e.Y)}}
		case '/':
			return b.quotient(e.X, e.Y)
		}
		return &sum{b.p.Compute, b.expr(e.X), b.expr(e.Y), e.Op == '-'}
	}
	panic("BUG: reference: not a part of a normal form")
}

func (b *builder) quotient(x, y notation.Expr) node {
	e := &notation.Binary{Op: '/', X: x, Y: y}
	q := &quotient{t: b.p.Compute, num: b.expr(x), den: b.expr(y), text: notation.ExprString(e)}
	for _, v := range notation.FreeVars(e) {
		q.slots = append(q.slots, b.slots[v])
		if s, ok := b.p.Normal.Source[v]; ok {
			v = s
		}
		q.vars = append(q.vars, v)
	}
	return q
}

// reduction plans each body term with every variable known but those that the
// reduction binds.
func (b *builder) reduction(r *notation.Reduction) node {
	out := &reduction{t: b.p.Compute}
	for _, t := range r.Body {
		tm := b.term(t)
		var open []int
		for _, v := range append(append([]string{}, r.Vars...), t.Sum...) {
			open = append(open, b.slots[v])
		}
		out.terms = append(out.terms, tm)
		out.plans = append(out.plans, newPlan(tm.needs, open, b.p.slotSizes))
	}
	return out
}
