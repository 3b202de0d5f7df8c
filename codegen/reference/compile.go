package reference

import (
	"cmp"
	"fmt"
	"strings"

	"distaff/codegen/algebra"
	"distaff/codegen/diag"
	"distaff/codegen/notation"
	"distaff/io/tensor"
)

// node is a part of the right-hand side. eval computes the value of the node at the coordinates in
// env, which has one coordinate for each variable, and stores the value in x. If the node is absent
// at these coordinates, eval returns false, and x is undefined. An error is ignored if the node is
// absent, or if the node is a factor of a product and another factor is absent.
type node interface {
	eval(env []int64, x *num) (present bool, err error)
}

type (
	// access reads a tensor.
	access struct {
		name  string
		t     *Tensor
		slots []int // the variable of each mode
		to    tensor.Type
		coord []int64
		// joined is true if the join of the term finds the entry of this access. The join then sets
		// entry before it evaluates the term.
		joined bool
		entry  int
	}
	constant struct{ x num }
	negation struct {
		t tensor.Type
		x node
	}
	// product multiplies all its factors. It is absent if any factor is absent.
	product struct {
		t        tensor.Type
		factors  []node
		negative bool
		factor   num // the value of the current factor
	}
	sum struct {
		t        tensor.Type
		x, y     node
		subtract bool
		right    num // the value of y
	}
	quotient struct {
		t        tensor.Type
		num, den node
		divisor  num
		text     string
		vars     []string
		slots    []int
	}
	// call is the value of a function. An absent argument is zero.
	call struct {
		t    tensor.Type
		fn   *algebra.Function
		args []node
	}
	// reduction sums terms over variables. If op is not a sum, it combines the values of its only
	// term by op instead. An absent value is then zero.
	reduction struct {
		t     tensor.Type
		op    *algebra.Reduction
		terms []*term
		plans []*plan
		size  float64 // for op, the number of points: the product of the sizes of the variables
	}
)

func (a *access) eval(env []int64, x *num) (bool, error) {
	e, ok := a.entry, true
	if !a.joined {
		for m, s := range a.slots {
			a.coord[m] = env[s]
		}
		e, ok = a.t.Find(a.coord)
	}
	if ok {
		*x = a.num(e)
	}
	return ok, nil
}

// num returns the value of entry e.
func (a *access) num(e int) num { return operand(a.to, Convert(a.t.Value(e), a.t.Type, a.to)) }

func (c *constant) eval(_ []int64, x *num) (bool, error) {
	*x = c.x
	return true, nil
}

func (n *negation) eval(env []int64, x *num) (bool, error) {
	ok, err := n.x.eval(env, x)
	if ok && err == nil {
		x.negate(n.t)
	}
	return ok, err
}

func (p *product) eval(env []int64, x *num) (bool, error) { return p.multiplyFrom(0, env, x) }

// multiplyFrom multiplies x by the factors of p from number start on, and negates x if p is
// negative. Before the call, x must be the product of the factors before number start. If start is
// 0, the old x is not read. multiplyFrom returns false if a factor is absent.
func (p *product) multiplyFrom(start int, env []int64, x *num) (bool, error) {
	var first error
	for k := start; k < len(p.factors); k++ {
		y := x
		if k > 0 {
			y = &p.factor
		}
		ok, err := p.factors[k].eval(env, y)
		switch {
		case !ok:
			return false, nil
		case err != nil:
			first = cmp.Or(first, err)
		case k > 0 && first == nil:
			x.times(p.t, y)
		}
	}
	if p.negative && first == nil {
		x.negate(p.t)
	}
	return true, first
}

func (s *sum) eval(env []int64, x *num) (bool, error) {
	okx, errx := s.x.eval(env, x)
	if !okx {
		*x = num{}
	}
	oky, erry := s.y.eval(env, &s.right)
	if okx && errx != nil {
		return true, errx
	}
	if oky && erry != nil {
		return true, erry
	}
	if !oky {
		return okx, nil
	}
	if s.subtract {
		s.right.negate(s.t)
	}
	if okx {
		x.plus(s.t, &s.right)
	} else {
		*x = s.right
	}
	return true, nil
}

func (q *quotient) eval(env []int64, x *num) (bool, error) {
	if ok, err := q.num.eval(env, x); !ok || err != nil {
		return ok, err
	}
	ok, err := q.den.eval(env, &q.divisor)
	switch {
	case !ok:
		q.divisor = num{exact: true} // absent is zero
	case err != nil:
		return true, err
	}
	if q.t.HoldsInts() && isZero(q.t, q.divisor.v) {
		return true, q.zero(env)
	}
	*x = over(q.t, x, &q.divisor)
	return true, nil
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
	e := diag.Errorf(diag.DivideByZero,
		"got an integer division by zero%s in %s, want a divisor that is stored and not 0 (or -t with a float type)", where, q.text)
	e.Exit = diag.ExitData
	return e
}

func (c *call) eval(env []int64, x *num) (bool, error) {
	if c.fn.Fills {
		if ok, err := c.args[0].eval(env, x); ok {
			return true, err
		}
		return c.args[1].eval(env, x)
	}
	present, absent := !c.fn.KeepsZero, false
	args := [2]num{{exact: true}, {exact: true}}
	for k, y := range c.args {
		ok, err := y.eval(env, &args[k])
		if !ok {
			args[k] = num{exact: true}
			absent = true
			continue
		}
		present = true
		if err != nil {
			return true, err
		}
	}
	if c.fn.NeedsAll {
		if *x = args[0]; !absent {
			x.plus(c.t, &args[1])
		}
		return !absent, nil
	}
	*x = applied(c.t, c.fn, &args[0], &args[1])
	return present, nil
}

func (r *reduction) eval(env []int64, x *num) (bool, error) {
	if !r.op.IsSum() {
		return r.combine(env, x)
	}
	var acc accumulator
	for k, t := range r.terms {
		if err := r.plans[k].each(env, func() error { return acc.addTerm(r.t, t, env) }); err != nil {
			return true, err
		}
	}
	*x = acc.num()
	return acc.present, nil
}

// combine computes a reduction that is not a sum. It is absent if its term is absent at all points,
// unless there are no points.
func (r *reduction) combine(env []int64, x *num) (bool, error) {
	all := operand(r.t, r.op.Start(r.t))
	visited, t := 0.0, r.terms[0]
	with := func(y *num) {
		switch visited++; {
		case visited == 1:
			all = *y
		case r.op.Combine == algebra.Times:
			all.times(r.t, y)
		default:
			all = applied(r.t, r.op.Combine, &all, y)
		}
	}
	err := r.plans[0].each(env, func() error {
		ok, err := t.eval(env, &t.x)
		if ok && err == nil {
			with(&t.x)
		}
		return err
	})
	present := visited > 0 || r.size == 0 || r.op.Stored == r.op
	if visited > 0 && visited < r.size && r.op.Stored != r.op {
		with(&num{v: tensor.Value{Type: r.t}, exact: true})
	}
	*x = all
	return present, err
}

// accumulator adds up terms at one coordinate.
type accumulator struct {
	x       num
	adds    int64
	present bool
}

func (a *accumulator) addTerm(t tensor.Type, tm *term, env []int64) error {
	ok, err := tm.eval(env, &tm.x)
	if ok && err == nil {
		a.add(t, &tm.x)
	}
	return err
}

func (a *accumulator) add(t tensor.Type, x *num) {
	if !a.present {
		a.present, a.x = true, *x
		return
	}
	// The longest path passes through one term and all additions, not through all terms.
	ops := max(a.x.ops, x.ops)
	a.x.plus(t, x)
	a.x.ops = ops
	a.adds++
}

// merge adds the sum of accumulator b to the sum of accumulator a, in type t. It also adds b's
// number of additions to a's number. Both accumulators must belong to the same coordinate.
func (a *accumulator) merge(t tensor.Type, b *accumulator) {
	if !b.present {
		return
	}
	a.add(t, &b.x)
	a.adds += b.adds
}

func (a *accumulator) num() num {
	x := a.x
	x.ops += a.adds
	return x
}

// term is a product. The product has a value at a point only if each access in needs has an entry
// there. The join finds these entries step by step. When it has found the entry of a leading
// factor, it multiplies by this factor at once. A factor that an outer step finds is therefore
// multiplied only once for all points of the inner steps.
type term struct {
	product product
	needs   []*access
	leads   int   // the number of such leading factors
	led     []num // led[k], for k of 1 and more, is the product of the first k factors
	x       num   // the value
}

// lead computes products of t's leading factors. t.led[k] is the product of the first k factors,
// and lead sets it for each k from first+1 to end. It multiplies each product by one more factor to
// get the next product. The join must have found an entry for each factor with a number in [first,
// end).
func (t *term) lead(first, end int) {
	for k := first; k < end; k++ {
		a := t.product.factors[k].(*access)
		if k == 0 {
			t.led[1] = a.num(a.entry)
			continue
		}
		x := a.num(a.entry)
		t.led[k+1] = t.led[k]
		t.led[k+1].times(t.product.t, &x)
	}
}

func (t *term) eval(env []int64, x *num) (bool, error) {
	if t.leads > 0 {
		*x = t.led[t.leads]
	}
	return t.product.multiplyFrom(t.leads, env, x)
}

// builder turns a normal form into nodes.
type builder struct {
	p     *Problem
	slots map[string]int
	pulse *pulse
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
		v = Convert(Int(n.Int), tensor.Int64, b.p.Compute)
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
		out.product.factors = append(out.product.factors, n)
		out.need(n)
	}
	for out.leads < len(out.product.factors) {
		if a, ok := out.product.factors[out.leads].(*access); !ok || a.t.full {
			break
		}
		out.leads++
	}
	out.led = make([]num, out.leads+1)
	return out
}

// need adds to t.needs the accesses that must be present so that n is present.
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
	case *call:
		if n.fn.KeepsZero && len(n.args) == 1 || n.fn.NeedsAll {
			for _, x := range n.args {
				t.need(x)
			}
		}
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
	case *notation.Call:
		c := &call{t: b.p.Compute, fn: e.Func}
		for _, x := range e.Args {
			c.args = append(c.args, b.expr(x))
		}
		return c
	case *notation.Binary:
		switch e.Op {
		case '*':
			return &product{t: b.p.Compute, factors: []node{b.expr(e.X), b.expr(e.Y)}}
		case '/':
			return b.quotient(e.X, e.Y)
		}
		return &sum{t: b.p.Compute, x: b.expr(e.X), y: b.expr(e.Y), subtract: e.Op == '-'}
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

// reduction builds the node of a reduction. For each term it makes a plan, which finds the values
// of the variables that the reduction or the term sums over. The values of all other variables are
// given.
func (b *builder) reduction(r *notation.Reduction) node {
	out := &reduction{t: b.p.Compute, op: r.Op, size: 1}
	for _, v := range r.Vars {
		out.size *= float64(b.p.slotSizes[b.slots[v]])
	}
	for _, t := range r.Body {
		tm := b.term(t)
		var open []int
		for _, v := range append(append([]string{}, r.Vars...), t.Sum...) {
			open = append(open, b.slots[v])
		}
		out.terms = append(out.terms, tm)
		out.plans = append(out.plans, newPlan(tm, open, b.p.slotSizes, b.pulse))
	}
	return out
}
