package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"distaff/codegen/cin"
	"distaff/codegen/notation"
	"distaff/codegen/provenance"
)

// precompute computes a part of a statement's right side into a workspace before it is used.
// precompute(EXPR, i, iw[, W]) computes it into W over i, in a loop over iw. precompute(EXPR,
// {i,j}, {iw,jw}, W) makes a workspace over several variables, and {} makes a scalar.
//
// i may be a derived variable in two cases. In the first case i runs inside a tile, and its loop
// determines the coordinates. The workspace then stores one tile and is indexed by the original
// variables, and the producer's loop visits the same tile. In the second case i is the number of a
// tile. W then stores the sum of EXPR over one tile, and is filled and read in one iteration of the
// loop over i.
//
// If EXPR is a factor of the assignment's whole right side, the loops over variables that only EXPR
// uses move into the producer, which sums over them. This is valid because the other factors
// distribute over the sum.
//
// If an implicit workspace already sums EXPR for the result, W replaces this workspace. It does so
// only if the loops can still write the result, with one assignment for each coordinate. Otherwise
// the statement has both workspaces.
func precompute(s *state) error {
	r := &recipe{state: s}
	if err := r.read(); err != nil {
		return err
	}
	sum, err := r.find()
	if err != nil {
		return err
	}
	var why error
	if x := replaceable(s, sum); x != nil {
		t := *s
		tried := *r
		tried.state, tried.instead = &t, x
		if why = tried.apply(x.body, x.sum); why == nil {
			*s = t
			return nil
		}
	}
	if err := r.apply(s.body, sum); err != nil {
		return cmp.Or(why, err)
	}
	return nil
}

// find returns the assignment that contains r's expression.
func (r *recipe) find() (*cin.Assign, error) {
	var found []*cin.Assign
	cin.Paths(r.state.body, func(_ []*cin.Forall, a *cin.Assign) {
		if _, ok := r.without(a.RHS); ok {
			found = append(found, a)
		}
	})
	switch {
	case len(found) == 0:
		return nil, r.state.refuse(0,
			"got %s, want an expression of the statement: %s", r.state.cmd.Args[0].Text,
			cin.String(r.state.body))
	case len(found) > 1:
		return nil, r.state.refuse(0,
			"%s is an expression of %s; want one of only one statement", r.state.cmd.Args[0].Text,
			plural(len(found), "statement"))
	}
	return found[0], nil
}

// apply makes the workspace for r's expression in the statement body. assign is the assignment
// inside body that contains the expression.
func (r *recipe) apply(body cin.Stmt, assign *cin.Assign) error {
	r.state.body = body
	if err := r.takeName(); err != nil {
		return err
	}
	done := false
	var err error
	r.state.body = cin.Descend(r.state.body, func(t cin.Stmt) (cin.Stmt, bool) {
		chain, rest := []*cin.Forall(nil), t
		if f, ok := t.(*cin.Forall); ok {
			chain, rest = nested(f)
		}
		if rest != cin.Stmt(assign) {
			return nil, false
		}
		done = true
		var out cin.Stmt
		if out, err = r.place(chain, assign); err != nil {
			return t, true
		}
		return out, true
	})
	if err != nil {
		return err
	}
	if !done {
		panic("BUG: schedule: the statement to precompute in was not found again")
	}
	r.state.problem.Shared = false // a workspace has its own pattern
	r.state.made = append(slices.Clone(r.state.made), r.name)
	for k, v := range r.loops {
		if r.names[k] != v {
			if err := r.state.relate(
				provenance.Relation{Kind: provenance.Precompute, From: []string{v},
					To: []string{r.names[k]}}); err != nil {
				return err
			}
		}
	}
	if r.instead != nil {
		return r.written()
	}
	return nil
}

// written checks how the result is written if the workspace replaces an implicit workspace. It
// returns an error if an assignment to the result is inside a loop that does not run over a
// variable of the result, or if the whole statement breaks a rule (see check).
func (r *recipe) written() error {
	result := r.instead.into.LHS
	own := true
	cin.Paths(r.state.body, func(loops []*cin.Forall, a *cin.Assign) {
		if a.LHS.Name == result.Name {
			own = own && r.state.within(loops, result.Vars)
		}
	})
	if !own {
		return r.state.refuse(0,
			"%s would be summed outside the workspace; want a workspace over all loops that "+
				"sum it", result.Key())
	}
	return r.state.check()
}

// recipe is the state of one precompute command while it is applied.
type recipe struct {
	state        *state
	expr         cin.Expr
	vars, into   []string  // the workspace's variables, in the consumer and in the producer
	loops, names []string  // the workspace's loops, in the consumer and in the producer
	tiles        []string  // the loops over tiles, if the workspace stores the sum over one tile
	name         string    // the workspace's name
	instead      *replaced // the implicit workspace that this one replaces, or nil
}

func (r *recipe) read() error {
	x, err := notation.Parse("x = " + r.state.cmd.Args[0].Text)
	if err != nil {
		return r.state.cmd.Args[0].errorf(BadCommand,
			"precompute: got %s, want an expression of the statement", r.state.cmd.Args[0].Text)
	}
	if r.expr = r.convert(x.RHS); r.expr == nil {
		return r.state.refuse(0,
			"got an expression with sum(), want one without: its variables must be summed in "+
				"the statement")
	}
	list := func(k int) []Arg {
		if a := r.state.cmd.Args[k]; a.List != nil {
			return a.List
		}
		return []Arg{r.state.cmd.Args[k]}
	}
	from, to := list(1), list(2)
	if len(from) != len(to) {
		return r.state.refuse(2, "got %s, want %d, one for each variable of %s",
			plural(len(to), "variable"), len(from), r.state.cmd.Args[1].Text)
	}
	inside := exprVars(r.expr)
	for k, a := range from {
		if err := r.state.hasLoop(a); err != nil {
			return err
		}
		if slices.Contains(r.loops, a.Text) {
			return r.state.refuse(1, "got %s twice, want each variable once", a.Text)
		}
		if r.isTiles(a.Text) {
			if w := to[k].Text; w != a.Text && (!notation.IsName(w) || r.state.inUse(w)) {
				return r.state.refuse(2, "got %s as the workspace's variable, want either %s or a new name", w, a.Text)
			}
			r.tiles = append(r.tiles, a.Text)
			continue
		}
		roots, err := r.determinedRoots(a.Text)
		if err != nil {
			return err
		}
		for _, v := range roots {
			if !slices.Contains(inside, v) {
				return r.state.refuse(1, "got %s, want a variable that occurs in %s",
					v, r.state.cmd.Args[0].Text)
			}
		}
		w := to[k].Text
		r.state.giveWay(w)
		if w != a.Text && (!notation.IsName(w) || r.state.inUse(w) || r.state.g.Original(w) != w ||
			r.state.g.ConsumerVar(w) != w || slices.Contains(r.names, w)) {
			return r.state.refuse(2, "got %s as the workspace's variable, want either %s or a new name",
				w, a.Text)
		}
		r.loops, r.names = append(r.loops, a.Text), append(r.names, w)
		r.vars = append(r.vars, roots...)
		if r.state.g.MadeBy(a.Text) != nil {
			r.into = append(r.into, roots...)
		} else {
			r.into = append(r.into, w)
		}
	}
	if len(r.state.cmd.Args) == 4 {
		name := r.state.cmd.Args[3].Text
		if !notation.IsName(name) {
			return r.state.cmd.Args[3].errorf(BadCommand,
				"precompute: got %s, want a name for the workspace", name)
		}
		r.state.giveWay(name)
	}
	return nil
}

// takeName chooses the workspace's name.
func (r *recipe) takeName() error {
	if r.instead != nil {
		defer func() { r.state.renameOrders(r.instead.name, r.name) }()
	}
	if len(r.state.cmd.Args) == 4 {
		if r.name = r.state.cmd.Args[3].Text; r.taken(r.name) {
			return r.state.refuse(3, "the name %s is in use; want a new one", r.name)
		}
		return nil
	}
	r.name = "w"
	for k := 1; r.taken(r.name); k++ {
		r.name = fmt.Sprintf("w%d", k)
	}
	return nil
}

// isTiles reports whether the workspace may store a sum for each tile that v numbers. The loops of
// v's component must be in natural order, and v must not be the last of their variables. A
// producer's name for a consumer's variable is not allowed.
func (r *recipe) isTiles(v string) bool {
	c, g := r.state.g.OfLoop(v), r.state.g
	return c != nil && r.state.isTileNumber(v) && g.ConsumerVar(v) == v &&
		cin.Natural(r.state.body, g, c) && v != c.Leaves[len(c.Leaves)-1]
}

// determinedRoots returns the original variables that the loop over v determines.
func (r *recipe) determinedRoots(v string) ([]string, error) {
	c := r.state.g.OfLoop(v)
	switch {
	case c == nil:
		return []string{v}, nil
	case r.state.g.ConsumerVar(v) != v:
		return nil, r.state.refuse(1,
			"%s is the name of %s in the loops that fill a workspace; a workspace over %s "+
				"must be made before it", v,
			r.state.g.ConsumerVar(v), v)
	case !cin.Natural(r.state.body, r.state.g, c) || v != c.Leaves[len(c.Leaves)-1]:
		return nil, r.state.refuse(1,
			"%s does not determine %s; a workspace must be over either variables of the "+
				"statement or inner variables inside loops over tiles",
			v, strings.Join(c.Roots, ", "))
	}
	return c.Roots, nil
}

func (r *recipe) taken(name string) bool {
	return r.state.inUse(name) || slices.Contains(r.into, name) || slices.Contains(r.names, name)
}

// convert converts an expression of the command to concrete notation. It returns nil if the
// expression contains a sum.
func (r *recipe) convert(x notation.Expr) cin.Expr {
	switch x := x.(type) {
	case *notation.Access:
		return &cin.Access{Name: x.Name, Vars: x.Vars}
	case *notation.Number:
		return &cin.Lit{Text: x.Text}
	case *notation.Neg:
		if y := r.convert(x.X); y != nil {
			return &cin.Neg{X: y}
		}
	case *notation.Call:
		c := &cin.Call{Func: x.Func}
		for _, a := range x.Args {
			y := r.convert(a)
			if y == nil {
				return nil
			}
			c.Args = append(c.Args, y)
		}
		return c
	case *notation.Binary:
		p, q := r.convert(x.X), r.convert(x.Y)
		if p != nil && q != nil {
			return &cin.Binary{Op: x.Op, X: p, Y: q}
		}
	}
	return nil
}

func exprVars(x cin.Expr) []string {
	var out []string
	cin.ExprAccesses(x, func(a *cin.Access) { out = append(out, a.Vars...) })
	return out
}

// shape returns a key for expression x. Two expressions have the same key if they differ only in
// the order of their factors or added terms, or in names that operands got when their formats were
// converted.
func (s *state) shape(x cin.Expr) string {
	switch x := x.(type) {
	case *cin.Access:
		return s.problem.Source(x.Name) + "(" + strings.Join(x.Vars, ",") + ")"
	case *cin.Lit:
		return x.Text
	case *cin.Call:
		text := x.Func.Name
		for _, y := range x.Args {
			text += "(" + s.shape(y) + ")"
		}
		return text
	case *cin.Neg:
		return "-(" + s.shape(x.X) + ")"
	case *cin.Binary:
		if x.Op == '*' || x.Op == '+' {
			var parts []string
			for _, y := range operands(x, x.Op) {
				parts = append(parts, s.shape(y))
			}
			slices.Sort(parts)
			return "(" + strings.Join(parts, string(rune(x.Op))) + ")"
		}
		return "(" + s.shape(x.X) + string(rune(x.Op)) + s.shape(x.Y) + ")"
	}
	panic("BUG: schedule: unknown expression")
}

// operands returns the factors of a product if op is '*', or the terms of a sum if op is '+'.
func operands(x cin.Expr, op byte) []cin.Expr {
	if b, ok := x.(*cin.Binary); ok && b.Op == op {
		return append(operands(b.X, op), operands(b.Y, op)...)
	}
	return []cin.Expr{x}
}

// split splits the factors of the product x into the factors of r's expression and the rest. ok is
// false if x does not have all factors of r's expression.
func (r *recipe) split(x cin.Expr) (match, rest []cin.Expr, ok bool) {
	rest = operands(x, '*')
	for _, y := range operands(r.expr, '*') {
		k := slices.IndexFunc(rest, func(z cin.Expr) bool { return r.state.shape(z) == r.state.shape(y) })
		if k < 0 {
			return nil, nil, false
		}
		match = append(match, rest[k])
		rest = slices.Delete(slices.Clone(rest), k, k+1)
	}
	return match, rest, true
}

// without returns x with the workspace in place of r's expression. It returns false if x does not
// contain the expression.
func (r *recipe) without(x cin.Expr) (cin.Expr, bool) {
	w := &cin.Access{Name: r.name, Vars: r.vars}
	if _, rest, ok := r.split(x); ok {
		return product(append([]cin.Expr{w}, rest...)), true
	}
	switch x := x.(type) {
	case *cin.Neg:
		if y, ok := r.without(x.X); ok {
			return &cin.Neg{X: y}, true
		}
	case *cin.Binary:
		if y, ok := r.without(x.X); ok {
			return &cin.Binary{Op: x.Op, X: y, Y: x.Y}, true
		}
		if y, ok := r.without(x.Y); ok {
			return &cin.Binary{Op: x.Op, X: x.X, Y: y}, true
		}
	}
	return x, false
}

func product(list []cin.Expr) cin.Expr {
	x := list[0]
	for _, y := range list[1:] {
		x = &cin.Binary{Op: '*', X: x, Y: y}
	}
	return x
}

// place returns a where statement that replaces assignment a and the loops around it, which are
// listed in chain. The producer of the where statement computes the precomputed expression, and its
// consumer reads the workspace. The outer loops that the producer and the consumer share stay
// around the where statement.
func (r *recipe) place(chain []*cin.Forall, a *cin.Assign) (cin.Stmt, error) {
	inside := exprVars(r.expr)
	rest, _ := r.without(a.RHS)
	outside := slices.Clone(a.LHS.Vars)
	cin.ExprAccesses(rest, func(x *cin.Access) {
		if x.Name != r.name {
			outside = append(outside, x.Vars...)
		}
	})
	// If the expression is a factor of a product, a sum over a variable can be computed before the
	// product if no other factor has the variable.
	_, _, factor := r.split(positive(a.RHS))
	only := func(f *cin.Forall, has, lacks []string) bool {
		return !slices.ContainsFunc(r.state.g.RootsOf(f.Var),
			func(v string) bool { return !slices.Contains(has, v) || slices.Contains(lacks, v) })
	}
	summed := func(f *cin.Forall) bool {
		return a.Accumulate && only(f, inside, outside) &&
			!r.over(f)
	}
	producer := func(f *cin.Forall) bool { return factor && summed(f) }
	consumer := func(f *cin.Forall) bool {
		return !slices.ContainsFunc(r.state.g.RootsOf(f.Var),
			func(v string) bool { return slices.Contains(inside, v) })
	}
	d := len(chain)
	for d > 0 && !r.enclosesBoth(chain[d-1]) &&
		(r.over(chain[d-1]) || producer(chain[d-1]) || consumer(chain[d-1])) {
		d--
	}
	for _, v := range r.loops {
		if !slices.ContainsFunc(chain[d:], func(f *cin.Forall) bool { return f.Var == v }) {
			if d > 0 && summed(chain[d-1]) && !factor {
				return nil, r.state.refuse(0,
					"the workspace would sum %s over %s, but %s cannot be summed this way; "+
						"use reorder to move the loop over %s inside the one over %s",
					r.state.cmd.Args[0].Text, strings.Join(r.state.g.RootsOf(chain[d-1].Var), ", "),
					cin.ExprString(a.RHS), v, chain[d-1].Var)
			}
			if d == 0 {
				return nil, r.state.refuse(1,
					"the loop over %s contains other statements, so that the workspace over "+
						"%s would have only one entry", v, v)
			}
			return nil, r.state.refuse(1,
				"the loop over %s is outside the loop over %s, where the workspace over %s "+
					"would have only one entry; use reorder to move it inside",
				v, chain[d-1].Var, v)
		}
	}
	if err := r.sumsTiles(chain, d); err != nil {
		return nil, err
	}
	if err := r.refuseDivision(a.RHS,
		slices.DeleteFunc(slices.Clone(chain[d:]),
			func(f *cin.Forall) bool { return !consumer(f) })); err != nil {
		return nil, err
	}
	var fill cin.Stmt = &cin.Assign{LHS: &cin.Access{Name: r.name, Vars: r.into}, Accumulate: true,
		RHS: r.producerExpr(a.RHS)}
	var use cin.Stmt = a.With(rest)
	if r.instead != nil {
		use = r.instead.consumer(rest)
	}
	for k := len(chain) - 1; k >= d; k-- {
		f := chain[k]
		if !consumer(f) {
			g := *f
			if j := slices.Index(r.loops, f.Var); j >= 0 {
				g.Var = r.names[j]
			}
			g.Body = fill
			fill = &g
		}
		if !producer(f) {
			g := *f
			g.Body = use
			use = &g
		}
	}
	var out cin.Stmt = &cin.Where{Consumer: use, Producer: fill}
	for k := d - 1; k >= 0; k-- {
		f := *chain[k]
		f.Body = out
		out = &f
	}
	return out, nil
}

// sumsTiles checks a workspace that stores the sum of its expression over one tile. It returns an
// error if the loop over the tiles is not around the expression, or if the workspace would get only
// a part of the sum. chain lists the loops around the expression. The first d of them will be
// around both the producer and the consumer.
func (r *recipe) sumsTiles(chain []*cin.Forall, d int) error {
	expr := r.state.cmd.Args[0].Text
	for _, v := range r.tiles {
		at := slices.IndexFunc(chain, func(f *cin.Forall) bool { return f.Var == v })
		if at < 0 {
			return r.state.refuse(1, "the loop over %s must contain %s", v, expr)
		}
		for _, f := range chain[at+1 : d] {
			if !slices.Contains(r.tiles, f.Var) {
				return r.state.refuse(1,
					"the loop over %s counts tiles, and the loop over %s inside it does not "+
						"sum only %s; want a workspace over the inner variable of %s",
					v, f.Var, expr, strings.Join(r.state.g.RootsOf(v), ", "))
			}
		}
	}
	return nil
}

// positive returns x without its leading minus signs.
func positive(x cin.Expr) cin.Expr {
	for {
		n, ok := x.(*cin.Neg)
		if !ok {
			return x
		}
		x = n.X
	}
}

// over reports whether f is a loop over a variable of the workspace.
func (r *recipe) over(f *cin.Forall) bool { return slices.Contains(r.loops, f.Var) }

// enclosesBoth reports whether loop f must be around both the producer and the consumer. This is
// the case if f is a loop over tiles and the workspace stores only one tile or the sum over one
// tile.
func (r *recipe) enclosesBoth(f *cin.Forall) bool {
	if slices.Contains(r.tiles, f.Var) {
		return true
	}
	c := r.state.g.OfLoop(f.Var)
	return c != nil && !r.over(f) &&
		slices.ContainsFunc(r.loops, func(v string) bool { return slices.Contains(c.Leaves, v) })
}

// producerExpr returns the expression that the producer assigns to the workspace. It searches x for
// the precomputed expression, and replaces the variables of this expression by the variables of the
// producer's loops.
func (r *recipe) producerExpr(x cin.Expr) cin.Expr {
	var find func(x cin.Expr) cin.Expr
	find = func(x cin.Expr) cin.Expr {
		if match, _, ok := r.split(x); ok {
			return product(match)
		}
		switch x := x.(type) {
		case *cin.Neg:
			return find(x.X)
		case *cin.Binary:
			if y := find(x.X); y != nil {
				return y
			}
			return find(x.Y)
		}
		return nil
	}
	return cin.MapAccesses(find(x), func(x *cin.Access) *cin.Access {
		b := &cin.Access{Name: x.Name}
		for _, v := range x.Vars {
			if k := slices.Index(r.vars, v); k >= 0 {
				v = r.into[k]
			}
			b.Vars = append(b.Vars, v)
		}
		return b
	})
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
