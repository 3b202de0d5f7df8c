package schedule

import (
	"slices"

	"distaff/codegen/cin"
)

// fission performs loop fission: forall i { S; forall j T } becomes forall i S; forall i forall j
// T. S is the rest of the body, such as the statement that adds the old value of a "+=". The body
// must write to a result or temporary with random access. The new order then changes only the
// rounding.
//
// The new loops around S run over original variables, even if derived variables replaced these
// variables. fission returns the loops over i that are now directly around the loops over j.
func fission(s *state, i, j string) (own []*cin.Forall) {
	s.body = cin.Descend(s.body, func(t cin.Stmt) (cin.Stmt, bool) {
		f, ok := t.(*cin.Forall)
		if !ok {
			return nil, false
		}
		chain, rest := nested(f)
		if chain[len(chain)-1].Var != i {
			return nil, false
		}
		inner, others := partsOf(s, rest, j)
		from, ok := originals(s, chain)
		if inner == nil || !ok {
			return nil, false
		}
		last := len(chain) - 1
		i := *chain[last]
		i.Body = inner
		own = append(own, &i)
		d := len(chain) - len(from)
		inner = wrapped(chain[d:last], &i)
		if others == nil {
			return wrapped(chain[:d], inner), true
		}
		for k := len(from) - 1; k >= 0; k-- {
			for n := len(from[k]) - 1; n >= 0; n-- {
				others = &cin.Forall{Var: from[k][n], Body: others}
			}
		}
		return wrapped(chain[:d], &cin.Seq{List: []cin.Stmt{others, inner}}), true
	})
	return own
}

// partsOf splits statement t into own, the loop over j, and others, the rest of t. t must write to
// a tensor with random access. If t is a where statement in which a loop over j sums into a scalar,
// own adds directly to the target of the consumer instead (see splitWhere). own is nil if t cannot
// be split. others is nil if nothing else remains.
func partsOf(s *state, t cin.Stmt, j string) (own, others cin.Stmt) {
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
			return splitWhere(s, t)
		}
		own, others = partsOf(s, t.Consumer, j)
		if own == nil || others == nil || cin.Reads(own, cin.Target(t.Producer).Name) {
			return nil, nil
		}
		return own, &cin.Where{Consumer: others, Producer: t.Producer}
	}
	return nil, nil
}

// accumulates reports whether t only adds to its target.
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

// splitWhere splits a where statement into two statements, if possible. The statement's temporary
// must be a scalar. It must occur in the consumer once, as a term or as a factor of a term.
//
// The first result, own, computes the term with the temporary: the producer adds this term directly
// to the consumer's target. The second result, others, computes the other terms of the consumer.
// The first result is nil if the statement cannot be split.
func splitWhere(s *state, w *cin.Where) (own, others cin.Stmt) {
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
	if !ok || uses != 1 || into.Op != nil {
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
	// A loop of its own does not have the temporaries that enclosing wheres compute.
	for _, y := range scale {
		cin.ExprAccesses(y, func(a *cin.Access) {
			found = found &&
				s.problem.Formats[a.Name].Levels != nil
		})
	}
	if len(scale) > 0 && !s.problem.Compute.HoldsInts() {
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
		return into.With(rest)
	})
}

// signed is a term of a sum with its sign.
type signed struct {
	x   cin.Expr
	neg bool
}

// terms returns the terms of the sum x, each with its sign. If neg is true, it inverts all signs,
// because x itself is subtracted.
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

// originals finds loops over original variables that can replace the loops of a component. chain
// lists nested loops. The component belongs to the last loop of chain.
//
// vars has an element for each loop of chain, from the component's first loop on. The element lists
// the variables of the loops that replace this loop:
//
//   - for the last loop: all original variables of the component
//   - for another loop of the component: none
//   - for a loop of another component: its own variable
//
// ok is false if chain lacks a loop of the component, or has a loop over a producer's name for a
// consumer's variable.
func originals(s *state, chain []*cin.Forall) (vars [][]string, ok bool) {
	c := s.g.OfLoop(chain[len(chain)-1].Var)
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

// wrapped returns t inside the loops of a chain.
func wrapped(chain []*cin.Forall, t cin.Stmt) cin.Stmt {
	for k := len(chain) - 1; k >= 0; k-- {
		f := *chain[k]
		f.Body = t
		t = &f
	}
	return t
}
