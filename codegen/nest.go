package codegen

import (
	"fmt"
	"slices"
	"strings"

	"distaff/codegen/cin"
	"distaff/codegen/format"
	"distaff/codegen/ir"
	"distaff/codegen/notation"
)

// nest makes concrete index notation of a normal form: the terms go down the
// order of variables together, over each variable of the left side in one
// loop. At a summed variable the terms that sum it leave as producers of
// their own: of a scalar where no variable of the left remains, of the result
// itself where what remains of it can be written at random, else of a
// workspace over what remains.
type nest struct {
	order  []string
	name   func(*notation.Access) string
	result format.Format
	taken  map[string]bool // names that a temporary may not have
	// formats of the operands, by name, with their counts of positions a level.
	formats map[string]format.Format
	counts  map[string][]int64
	sizes   func(string) int64
	exact   bool // the arithmetic is that of integers
	plain   bool // for a schedule: one nest of loops where that will do
}

// term is a product on its way down.
type term struct {
	neg     bool
	factors []cin.Expr
	sums    []string // variables to sum, those not yet bound
	pending []*pending
}

// x is the term's expression. Factors come in the order in which their
// variables are bound, so that what does not change in an inner loop is
// multiplied outside it.
func (n *nest) x(t *term) cin.Expr {
	factors := slices.Clone(t.factors)
	slices.SortStableFunc(factors, func(a, b cin.Expr) int { return n.depth(a) - n.depth(b) })
	x := factors[0]
	for _, f := range factors[1:] {
		x = &cin.Binary{Op: '*', X: x, Y: f}
	}
	if t.neg {
		x = &cin.Neg{X: x}
	}
	return x
}

// depth is the number of loops that must be around x; a temporary stands for
// what is computed where it is read.
func (n *nest) depth(x cin.Expr) int {
	d := 0
	cin.ExprAccesses(x, func(a *cin.Access) {
		for _, v := range a.Vars {
			d = max(d, slices.Index(n.order, v)+1)
		}
	})
	return d
}

// pending is an explicit sum beside other factors, to be computed as
// temporary temp as soon as its free variables are bound.
type pending struct {
	temp string
	free []string
	body []*term
}

// target is what terms are assigned to.
type target struct {
	lhs        *cin.Access
	left       []string // variables not yet bound, in the storage order of the result
	temp       bool     // a temporary: written at random, and added to
	accumulate bool
	// ordered are the variables, among left, that the result must be looped
	// over first, in this order: those down to its last compressed level.
	ordered []string
}

func (n *nest) fresh(letter string) string {
	for k := 0; ; k++ {
		name := letter
		if k > 0 {
			name = fmt.Sprintf("%s%d", letter, k)
		}
		if !n.taken[name] {
			n.taken[name] = true
			return name
		}
	}
}

// statement is the whole statement.
func (n *nest) statement(lhs *notation.Access, terms []*notation.Term) cin.Stmt {
	t := target{lhs: &cin.Access{Name: lhs.Name, Vars: lhs.Vars}}
	deep := -1
	for l, mode := range n.result.Order {
		t.left = append(t.left, lhs.Vars[mode])
		if !n.result.Levels[l].Caps().Locate {
			deep = l
		}
	}
	t.ordered = t.left[:deep+1]
	var list []*term
	for _, x := range terms {
		list = append(list, n.term(x, x.Sum))
	}
	if n.plain {
		if s := n.perfect(list, t); s != nil {
			return s
		}
	}
	return n.build(list, 0, t)
}

func (n *nest) term(t *notation.Term, sums []string) *term {
	out := &term{sums: sums, neg: t.Negative}
	for _, f := range t.Factors {
		out.factors = append(out.factors, n.factor(f, out))
	}
	return out
}

func (n *nest) factor(f notation.Factor, t *term) cin.Expr {
	switch f := f.(type) {
	case *notation.Access:
		return n.expr(f, t)
	case *notation.Number:
		return n.expr(f, t)
	case *notation.Group:
		return n.expr(f.X, t)
	case *notation.Quotient:
		return &cin.Binary{Op: '/', X: n.expr(f.Num, t), Y: n.expr(f.Den, t)}
	case *notation.Reduction:
		return n.expr(&notation.ReductionExpr{Reduction: f}, t)
	}
	panic(fmt.Sprintf("BUG: codegen: factor %T", f))
}

// expr is a plain expression; sums in it become temporaries that t waits for.
func (n *nest) expr(x notation.Expr, t *term) cin.Expr {
	switch x := x.(type) {
	case *notation.Access:
		return &cin.Access{Name: n.name(x), Vars: x.Vars}
	case *notation.Number:
		return number(x)
	case *notation.Neg:
		return &cin.Neg{X: n.expr(x.X, t)}
	case *notation.Binary:
		return &cin.Binary{Op: x.Op, X: n.expr(x.X, t), Y: n.expr(x.Y, t)}
	case *notation.ReductionExpr:
		p := &pending{temp: n.fresh("t"), free: notation.FreeVars(x)}
		for _, b := range x.Body {
			sums := slices.Clone(x.Vars)
			for _, v := range b.Sum {
				if !slices.Contains(sums, v) {
					sums = append(sums, v)
				}
			}
			p.body = append(p.body, n.term(b, sums))
		}
		t.pending = append(t.pending, p)
		return &cin.Access{Name: p.temp}
	}
	panic(fmt.Sprintf("BUG: codegen: expression %T", x))
}

func number(x *notation.Number) *cin.Lit {
	if x.IsInt {
		return cin.Number(x.Text, ir.Int(x.Int))
	}
	return cin.Number(x.Text, ir.Number(ir.Float64, complex(x.Float, 0)))
}

// build is the nest of the terms over the variables from order[k] on.
func (n *nest) build(terms []*term, k int, t target) cin.Stmt {
	var ready []*pending
	rest := make([]*term, len(terms))
	for i, x := range terms {
		c := *x
		c.pending = nil
		for _, p := range x.pending {
			if n.bound(p.free, k) {
				ready = append(ready, p)
			} else {
				c.pending = append(c.pending, p)
			}
		}
		rest[i] = &c
	}
	s := n.loops(rest, k, t)
	for i := len(ready) - 1; i >= 0; i-- {
		p := ready[i]
		s = &cin.Where{Consumer: s, Producer: n.build(p.body, k, target{lhs: &cin.Access{Name: p.temp}, temp: true, accumulate: true})}
	}
	return s
}

// bound tells whether none of vars is among order[k:].
func (n *nest) bound(vars []string, k int) bool {
	for _, v := range n.order[k:] {
		if slices.Contains(vars, v) {
			return false
		}
	}
	return true
}

func (n *nest) loops(terms []*term, k int, t target) cin.Stmt {
	for ; k < len(n.order); k++ {
		v := n.order[k]
		if slices.Contains(t.left, v) {
			if len(t.ordered) > 0 && t.ordered[0] != v {
				return n.workspace(terms, k, t)
			}
			return &cin.Forall{Var: v, Body: n.build(terms, k+1, t.without(v))}
		}
		if slices.ContainsFunc(terms, func(x *term) bool { return slices.Contains(x.sums, v) }) {
			return n.sum(terms, k, t)
		}
	}
	return &cin.Assign{LHS: t.lhs, Accumulate: t.accumulate, RHS: n.sumOf(terms)}
}

func (t target) without(v string) target {
	t.left = remove(t.left, v)
	t.ordered = remove(t.ordered, v)
	return t
}

func remove(list []string, v string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(u string) bool { return u == v })
}

// sum builds terms some of which sum order[k].
func (n *nest) sum(terms []*term, k int, t target) cin.Stmt {
	if len(t.left) > 0 && len(t.ordered) > 0 {
		return n.workspace(terms, k, t)
	}
	if len(t.left) == 0 && !(t.temp && len(t.lhs.Vars) == 0) {
		return n.scalar(terms, k, t)
	}
	if s := n.row(terms, k, t); s != nil && !n.plain {
		return s
	}
	v := n.order[k]
	t.accumulate = true
	var list []cin.Stmt
	for _, group := range n.groups(terms, v) {
		if !slices.Contains(group[0].sums, v) {
			list = append(list, n.loops(group, k+1, t))
			continue
		}
		inner := make([]*term, len(group))
		for i, x := range group {
			c := *x
			c.sums = remove(x.sums, v)
			inner[i] = &c
		}
		list = append(list, &cin.Forall{Var: v, Body: n.build(inner, k+1, t)})
	}
	if len(list) == 1 {
		return list[0]
	}
	return &cin.Seq{List: list}
}

// groups parts terms into those that share a nest: the ones that do not sum v
// together, and of the others those that walk the same sparse accesses, since
// one pass over these then serves them all.
func (n *nest) groups(terms []*term, v string) [][]*term {
	var keys []string
	byKey := map[string][]*term{}
	for _, x := range terms {
		key := ""
		if slices.Contains(x.sums, v) {
			key = n.walks(x)
		}
		if byKey[key] == nil {
			keys = append(keys, key)
		}
		byKey[key] = append(byKey[key], x)
	}
	var out [][]*term
	for _, key := range keys {
		out = append(out, byKey[key])
	}
	return out
}

// walks is what a term that sums depends on for its loops, as a key.
func (n *nest) walks(x *term) string {
	var parts []string
	cin.ExprAccesses(n.x(x), func(a *cin.Access) {
		if n.isSparse(a) && !slices.Contains(parts, a.Key()) {
			parts = append(parts, a.Key())
		}
	})
	for _, p := range x.pending {
		parts = append(parts, p.temp)
	}
	slices.Sort(parts)
	sums := slices.Clone(x.sums)
	slices.Sort(sums)
	return "sum " + strings.Join(sums, ",") + " of " + strings.Join(parts, " ")
}

// workspace builds the terms into a workspace over the variables that are left
// of the result, which is then appended in order.
func (n *nest) workspace(terms []*term, k int, t target) cin.Stmt {
	w := &cin.Access{Name: n.fresh("w"), Vars: t.left}
	producer := n.loops(terms, k, target{lhs: w, left: t.left, temp: true, accumulate: true})
	var consumer cin.Stmt = &cin.Assign{LHS: t.lhs, Accumulate: t.accumulate, RHS: w}
	for i := len(t.left) - 1; i >= 0; i-- {
		consumer = &cin.Forall{Var: t.left[i], Body: consumer}
	}
	return &cin.Where{Consumer: consumer, Producer: producer}
}
