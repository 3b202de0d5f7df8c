package codegen

import (
	"fmt"
	"slices"
	"strings"

	"distaff/codegen/cin"
	"distaff/codegen/notation"
	"distaff/io/tensor"
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
	result tensor.Format
	taken  map[string]bool // names that a temporary may not have
	// formats of the operands, by name, with their counts of positions a level.
	formats map[string]tensor.Format
	counts  map[string][]int64
	sizes   func(string) int64
	exact   bool // the arithmetic is that of integers
	rounds  bool // the result is of another type than the sums that it takes
	plain   bool // for a schedule: one nest of loops where that will do
	// The statement: what the terms are assigned to, and these.
	target target
	terms  []*term
	// products are the terms that are computed as products of matrices.
	products []*product
	// gemms are the products of matrices that contractions of the terms end in.
	gemms []*product
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

// newTarget is the whole statement's.
func (n *nest) newTarget(lhs *notation.Access) target {
	t := target{lhs: &cin.Access{Name: lhs.Name, Vars: lhs.Vars}}
	deep := -1
	for l, mode := range n.result.Order {
		t.left = append(t.left, lhs.Vars[mode])
		if !n.result.Levels[l].CanLocate() {
			deep = l
		}
	}
	t.ordered = t.left[:deep+1]
	return t
}

// statement is the whole statement.
func (n *nest) statement() cin.Stmt {
	if len(n.products) > 0 {
		return n.withProducts()
	}
	if vars := n.perfect(); vars != nil {
		return n.perfectNest(vars)
	}
	return n.build(n.terms, 0, n.target)
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
		s = &cin.Where{Consumer: s,
			Producer: n.build(p.body, k,
				target{lhs: &cin.Access{Name: p.temp}, temp: true, accumulate: true})}
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
		if len(terms) == 1 && !havePart(terms, k) && terms[0].isGemmFrom(v) {
			return n.gemmLoops(terms[0], t)
		}
		switch {
		case slices.Contains(t.left, v):
			if len(t.ordered) > 0 && t.ordered[0] != v {
				return n.workspace(terms, k, t)
			}
			if havePart(terms, k) {
				return n.parts(terms, k, t)
			}
			if groups := n.loopGroups(terms, k); groups != nil {
				return n.inTurn(groups, k, t)
			}
			return &cin.Forall{Var: v, Body: n.build(terms, k+1, t.without(v))}
		case slices.ContainsFunc(terms, func(x *term) bool { return slices.Contains(x.sums, v) }):
			return n.sum(terms, k, t)
		case havePart(terms, k):
			return n.parts(terms, k, t)
		}
	}
	if havePart(terms, k) {
		return n.parts(terms, k, t)
	}
	return &cin.Assign{LHS: t.lhs, Accumulate: t.accumulate, RHS: n.sumOf(terms)}
}

// havePart tells whether a part of one of the terms is computed at order[k].
func havePart(terms []*term, k int) bool {
	return slices.ContainsFunc(terms, func(x *term) bool { return x.hasPart(k) })
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
	if havePart(terms, k) {
		return n.parts(terms, k, t)
	}
	if len(t.left) == 0 && !(t.temp && len(t.lhs.Vars) == 0) {
		return n.scalar(terms, k, t)
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

// parts builds terms some of which have parts that are computed at order[k]: before what reads
// them, the first outermost.
func (n *nest) parts(terms []*term, k int, t target) cin.Stmt {
	rest, here := without(terms, func(p *hoistedSum) bool { return p.k == k })
	return n.produced(n.loops(rest, k, t), here)
}

// without are the terms without some of their parts, and these.
func without(terms []*term, taken func(*hoistedSum) bool) (rest []*term, parts []*hoistedSum) {
	for _, x := range terms {
		c := *x
		c.parts = nil
		for _, p := range x.parts {
			if taken(p) {
				parts = append(parts, p)
			} else {
				c.parts = append(c.parts, p)
			}
		}
		rest = append(rest, &c)
	}
	return rest, parts
}

// produced is a statement that reads parts, with what computes them: each stands beside the one
// that reads it, which is the statement or a later part.
func (n *nest) produced(s cin.Stmt, parts []*hoistedSum) cin.Stmt {
	made := make([]cin.Stmt, len(parts))
	for i := len(parts) - 1; i >= 0; i-- {
		p, m := parts[i], *n
		m.order = p.order
		made[i] = m.loops(p.body, p.k, target{lhs: p.at, left: p.at.Vars, temp: true, accumulate: true})
	}
	for i, p := range parts {
		if reader := slices.IndexFunc(made[i+1:],
			func(t cin.Stmt) bool { return readsTensor(t, p.at.Name) }); reader >= 0 {
			made[i+1+reader] = &cin.Where{Consumer: made[i+1+reader], Producer: made[i]}
			made[i] = nil
		}
	}
	for i := len(parts) - 1; i >= 0; i-- {
		if made[i] != nil {
			s = &cin.Where{Consumer: s, Producer: made[i]}
		}
	}
	return s
}

// readsTensor tells whether a statement has the tensor of that name on a right side.
func readsTensor(s cin.Stmt, name string) bool {
	found := false
	cin.Accesses(s, func(a *cin.Access) { found = found || a.Name == name })
	return found
}

// scalar sums terms, some of which sum order[k], into a temporary where the target has
// no variables left, and assigns that and the other terms.
func (n *nest) scalar(terms []*term, k int, t target) cin.Stmt {
	var here, summed []*term
	for _, x := range terms {
		if len(x.sums) == 0 {
			here = append(here, x)
		} else {
			summed = append(summed, x)
		}
	}
	temp := &cin.Access{Name: n.fresh("t")}
	here, parts := without(append(here, &term{factors: []cin.Expr{temp}}),
		func(*hoistedSum) bool { return true })
	return &cin.Where{
		Consumer: n.produced(&cin.Assign{LHS: t.lhs, Accumulate: t.accumulate, RHS: n.sumOf(here)},
			parts),
		Producer: n.sum(summed, k, target{lhs: temp, temp: true, accumulate: true}),
	}
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
	var keys []string
	x = x.whole()
	cin.ExprAccesses(n.expression(x), func(a *cin.Access) {
		if n.isSparse(a) && !slices.Contains(keys, a.Key()) {
			keys = append(keys, a.Key())
		}
	})
	for _, p := range x.pending {
		keys = append(keys, p.temp)
	}
	slices.Sort(keys)
	sums := slices.Clone(x.sums)
	slices.Sort(sums)
	return "sum " + strings.Join(sums, ",") + " of " + strings.Join(keys, " ")
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

func (n *nest) isSparse(a *cin.Access) bool {
	f, ok := n.formats[a.Name]
	return ok && !f.AllDense()
}

func (n *nest) sumOf(terms []*term) cin.Expr {
	var sum cin.Expr
	for _, t := range terms {
		switch {
		case sum == nil:
			sum = n.expression(t)
		case t.neg:
			sum = &cin.Binary{Op: '-', X: sum, Y: n.expression(&term{factors: t.factors})}
		default:
			sum = &cin.Binary{Op: '+', X: sum, Y: n.expression(t)}
		}
	}
	return sum
}
