package schedule

import (
	"slices"

	"distaff/codegen/cin"
)

// fission is loop fission: statements beside the loop over j in the loop over i, such as the
// one that adds the old value of a +=, get loops of their own before it: forall i { S; forall j T }
// becomes forall i S; forall i forall j T. Only additions to a result, or a temporary, with
// random access are moved so, whose order shows in nothing but rounding. The loops
// of S are over the original variables, whatever replaced these, and stay so: only
// parallelize and unroll concern them. It returns the loops over i that are around
// those over j then.
func (s *state) fission(i, j string) (own []*cin.Forall) {
	s.body = cin.Descend(s.body, func(t cin.Stmt) (cin.Stmt, bool) {
		f, ok := t.(*cin.Forall)
		if !ok {
			return nil, false
		}
		chain, rest := nested(f)
		if chain[len(chain)-1].Var != i {
			return nil, false
		}
		inner, beside := s.partsOf(rest, j)
		from, ok := s.originals(chain)
		if inner == nil || !ok {
			return nil, false
		}
		last := len(chain) - 1
		i := *chain[last]
		i.Body = inner
		own = append(own, &i)
		d := len(chain) - len(from)
		inner = wrapped(chain[d:last], &i)
		if beside == nil {
			return wrapped(chain[:d], inner), true
		}
		for k := len(from) - 1; k >= 0; k-- {
			for n := len(from[k]) - 1; n >= 0; n-- {
				beside = &cin.Forall{Var: from[k][n], Body: beside}
			}
		}
		return wrapped(chain[:d], &cin.Seq{List: []cin.Stmt{beside, inner}}), true
	})
	return own
}

// partsOf parts a statement that adds to a place that can be written at any time into
// the loop over j, which may sum a scalar there that is one of the terms, and the rest;
// own is nil where there is no such loop, beside where there is no rest.
func (s *state) partsOf(t cin.Stmt, j string) (own, beside cin.Stmt) {
	if f, ok := s.problem.Formats[cin.Target(t).Name]; ok && !f.AllDense() {
		return nil, nil
	}
	over := func(t cin.Stmt) bool {
		f, ok := t.(*cin.Forall)
		return ok && f.Var == j
	}
	switch t := t.(type) {
	case *cin.Seq:
		k := slices.IndexFunc(t.List, over)
		if k < 0 || len(t.List) < 2 || !accumulates(t) {
			return nil, nil
		}
		rest := slices.Delete(slices.Clone(t.List), k, k+1)
		if len(rest) == 1 {
			return t.List[k], rest[0]
		}
		return t.List[k], &cin.Seq{List: rest}
	case *cin.Where:
		if over(t.Producer) && len(cin.Target(t.Producer).Vars) == 0 {
			return s.summed(t)
		}
		own, beside = s.partsOf(t.Consumer, j)
		if own == nil || beside == nil || holdsName(own, cin.Target(t.Producer).Name) {
			return nil, nil
		}
		return own, &cin.Where{Consumer: beside, Producer: t.Producer}
	}
	return nil, nil
}

// accumulates tells whether all of a statement adds to its target.
func accumulates(t cin.Stmt) bool {
	target := cin.Target(t)
	ok := true
	cin.Walk(t, func(t cin.Stmt) {
		if a, is := t.(*cin.Assign); is && a.LHS.Name == target.Name {
			ok = ok && a.Accumulate
		}
	})
	return ok
}

// holdsName tells whether a statement reads the temporary of that name.
func holdsName(t cin.Stmt, name string) bool {
	found := false
	cin.Accesses(t, func(a *cin.Access) { found = found || a.Name == name })
	return found
}

// summed parts a where whose temporary is a scalar that is one term of its consumer, or
// a factor of one: the producer then adds to the consumer's place, and the consumer
// has the other terms.
func (s *state) summed(w *cin.Where) (own, beside cin.Stmt) {
	temp := cin.Target(w.Producer).Name
	t := w.Consumer
	for {
		inner, ok := t.(*cin.Where)
		if !ok {
			break
		}
		t = inner.Consumer
	}
	into, ok := t.(*cin.Assign)
	uses := 0
	cin.Accesses(w.Consumer, func(a *cin.Access) {
		if a.Name == temp {
			uses++
		}
	})
	if !ok || uses != 1 {
		return nil, nil
	}
	var rest cin.Expr
	var scale []cin.Expr
	var neg, found bool
	for _, x := range terms(into.RHS, false) {
		factors := operands(x.x, '*')
		k := slices.IndexFunc(factors,
			func(y cin.Expr) bool { a, ok := y.(*cin.Access); return ok && a.Name == temp })
		switch {
		case k >= 0:
			found, neg, scale = true, x.neg, slices.Delete(factors, k, k+1)
		case rest == nil && x.neg:
			rest = &cin.Neg{X: x.x}
		case rest == nil:
			rest = x.x
		case x.neg:
			rest = &cin.Binary{Op: '-', X: rest, Y: x.x}
		default:
			rest = &cin.Binary{Op: '+', X: rest, Y: x.x}
		}
	}
	for _, y := range scale { // what the where around computes is not there for a loop of its own
		cin.ExprAccesses(y, func(a *cin.Access) {
			found = found &&
				s.problem.Formats[a.Name].Levels != nil
		})
	}
	if len(scale) > 0 && !s.problem.Compute.IsInt() {
		return nil, nil // infinite factors do not distribute over a sum
	}
	if !found || !accumulates(w.Producer) || rest == nil && w.Consumer != cin.Stmt(into) {
		return nil, nil
	}
	own = cin.Map(w.Producer, func(t cin.Stmt) cin.Stmt {
		a, ok := t.(*cin.Assign)
		if !ok || a.LHS.Name != temp {
			return t
		}
		x := product(append(slices.Clone(scale), a.RHS))
		if neg {
			x = &cin.Neg{X: x}
		}
		return &cin.Assign{LHS: into.LHS, Accumulate: true, RHS: x}
	})
	if rest == nil {
		return own, nil
	}
	return own, cin.Map(w.Consumer, func(t cin.Stmt) cin.Stmt {
		if t != cin.Stmt(into) {
			return t
		}
		return &cin.Assign{LHS: into.LHS, Accumulate: into.Accumulate, RHS: rest}
	})
}

// signed is a term of a sum.
type signed struct {
	x   cin.Expr
	neg bool
}

// terms are those of a sum; neg says that it is subtracted.
func terms(x cin.Expr, neg bool) []signed {
	switch x := x.(type) {
	case *cin.Neg:
		return terms(x.X, !neg)
	case *cin.Binary:
		if x.Op == '+' || x.Op == '-' {
			return append(terms(x.X, neg), terms(x.Y, neg != (x.Op == '-'))...)
		}
	}
	return []signed{{x, neg}}
}

// originals are, for each loop of a chain from the first of the component of the
// last on, the variables that stand in its place where no loop is over a derived one of
// that component: all of its original ones for the last, none for the others of it. It
// is false where the chain has not the whole component.
func (s *state) originals(chain []*cin.Forall) (vars [][]string, ok bool) {
	c := s.component(chain[len(chain)-1].Var)
	if c == nil {
		return [][]string{{chain[len(chain)-1].Var}}, true
	}
	within := func(f *cin.Forall) bool { return slices.Contains(c.Leaves, s.g.ConsumerVar(f.Var)) }
	n := 0
	for _, f := range chain {
		switch {
		case s.g.ConsumerVar(f.Var) != f.Var:
			return nil, false
		case within(f):
			n++
			vars = append(vars, nil)
		case n > 0:
			vars = append(vars, []string{f.Var})
		}
	}
	vars[len(vars)-1] = c.Roots
	return vars, n == len(c.Leaves)
}

// wrapped is a statement inside the loops of a chain.
func wrapped(chain []*cin.Forall, t cin.Stmt) cin.Stmt {
	for k := len(chain) - 1; k >= 0; k-- {
		f := *chain[k]
		f.Body = t
		t = &f
	}
	return t
}
