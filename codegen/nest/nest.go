// Package nest builds the loops of a statement in concrete index notation. A nest begins as the
// terms of a normal form. The sums that contractions take out of the terms become temporaries, and
// some loops become products of dense matrices.
//
// # Files
//
//	nest.go       the default nest of loops, with workspaces
//	terms.go      terms: products with sums that are not yet bound
//	contract.go   terms that read the intermediates of a contraction
//	perfect.go    the perfect nest that a schedule starts from
//	manyterms.go  sums of more operands than one loop merges
//	products.go   terms that are computed as products of dense matrices
//	gemms.go      contractions that are computed as products of dense matrices
//	threads.go    loops that run on threads
package nest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"distaff/codegen/algebra"
	"distaff/codegen/cin"
	"distaff/codegen/lower/tree"
	"distaff/codegen/notation"
	"distaff/codegen/schedule"
	"distaff/io/tensor"
)

// Nest builds the concrete index notation of a normal form.
//
// By default it goes through the variables from the outermost inward, at first with all terms
// together. A variable of the left side becomes one loop around all terms, or several loops if
// there are too many operands (see loopGroups). At a summed variable, the terms that sum over it
// are separated from the others and become producers.
//
// What a producer assigns to depends on the remaining variables and levels. If no variable of the
// left side remains, it assigns to a scalar. If the remaining levels of the result can be written
// in any order, it assigns to the result itself. Otherwise it assigns to a workspace over the
// remaining variables.
type Nest struct {
	in    Problem
	taken map[string]bool // names that a new temporary may not have
	// formats has the format of each operand, by name.
	formats map[string]tensor.Format
	plain   bool // a schedule is given: the terms become one nest of loops if possible
	// target is the left side, which gets the terms.
	target   target
	terms    []*term
	products []*product
	// gemms are the products of matrices that contractions of terms end in.
	gemms []*product
}

// Problem describes the statement that becomes a nest of loops.
type Problem struct {
	Terms    []*notation.Term
	LHS      *notation.Access
	Order    []string        // the variables, in the order of the loops
	Result   tensor.Format   // the format of the result
	Operands []tree.Argument // the operands
	// Name returns an operand's name in concrete index notation.
	Name  func(*notation.Access) string
	Size  func(v string) int64
	Taken map[string]bool // names that a temporary may not have
	// Compute is the type of sums. Rounds says that the result has another type.
	Compute  tensor.Type
	Rounds   bool
	Schedule []string // the scheduling commands, or nil
}

// New returns a nest whose terms are the statement's terms.
func New(in Problem) *Nest {
	n := &Nest{in: in, taken: maps.Clone(in.Taken), formats: map[string]tensor.Format{},
		plain:  in.Schedule != nil && !schedule.Temporaries(in.Schedule),
		target: target{lhs: &cin.Access{Name: in.LHS.Name, Vars: in.LHS.Vars}}}
	for _, op := range in.Operands {
		n.formats[op.Name] = op.Format
	}
	var ordered int
	n.target.left, ordered = StorageOrder(in.LHS.Vars, in.Result)
	n.target.ordered = n.target.left[:ordered]
	for _, x := range in.Terms {
		n.terms = append(n.terms, n.term(x, x.Sum))
	}
	return n
}

// StorageOrder returns vars, the variables of an access to the result, in the storage order of
// format f. The loops over the first `ordered` variables must be nested in this order, because they
// append to the result.
func StorageOrder(vars []string, f tensor.Format) (list []string, ordered int) {
	for l, mode := range f.Order {
		list = append(list, vars[mode])
		if !f.Levels[l].CanLocate() {
			ordered = l + 1
		}
	}
	return list, ordered
}

// target is the tensor that terms are assigned to.
type target struct {
	lhs        *cin.Access
	left       []string // the variables that no loop binds yet, in the storage order of the result
	temp       bool     // it is a temporary, which is written in any order and added to
	accumulate bool
	op         *algebra.Reduction // combines values in place of an addition, if it is not nil
	// ordered is the first part of left. The loops over these variables must come first, in this
	// order, because the result is appended to. The last of them is the variable of the last
	// compressed level.
	ordered []string
}

// fresh returns a new name for a temporary: letter, with a number appended if necessary.
func (n *Nest) fresh(letter string) string {
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

// Statement returns the concrete index notation of the whole statement, with the products of
// matrices that gemms wants. If gemms is nil, only contractions have products of matrices.
func (n *Nest) Statement(gemms *Gemms) cin.Stmt {
	n.findProducts(gemms)
	if len(n.products) > 0 {
		return n.withProducts()
	}
	if vars := n.perfect(); vars != nil {
		return n.perfectNest(vars)
	}
	return n.build(n.terms, 0, n.target)
}

// build returns the loop nest that computes the terms, over the variables from order[k] on. It also
// makes producers for explicit sums. An explicit sum becomes a producer here if the loops outside
// this nest bind all its free variables. The nest is the consumer of these producers.
func (n *Nest) build(terms []*term, k int, t target) cin.Stmt {
	var ready []*pendingSum
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
				target{lhs: &cin.Access{Name: p.temp}, temp: true, accumulate: true, op: p.op})}
	}
	return s
}

// bound reports whether no variable of vars is in order[k:].
func (n *Nest) bound(vars []string, k int) bool {
	for _, v := range n.in.Order[k:] {
		if slices.Contains(vars, v) {
			return false
		}
	}
	return true
}

// loops returns the loop nest that computes the terms, over the variables from order[k] on. It
// ignores pending explicit sums, because build makes their producers.
func (n *Nest) loops(terms []*term, k int, t target) cin.Stmt {
	for ; k < len(n.in.Order); k++ {
		v := n.in.Order[k]
		if len(terms) == 1 && !anyPartAt(terms, k) && terms[0].isGemmFrom(v) {
			return n.gemmLoops(terms[0], t)
		}
		switch {
		case slices.Contains(t.left, v):
			if len(t.ordered) > 0 && t.ordered[0] != v {
				return n.workspace(terms, k, t)
			}
			if anyPartAt(terms, k) {
				return n.parts(terms, k, t)
			}
			if groups := n.loopGroups(terms, k); groups != nil {
				return n.separateLoops(groups, k, t)
			}
			return &cin.Forall{Var: v, Body: n.build(terms, k+1, t.without(v))}
		case slices.ContainsFunc(terms, func(x *term) bool { return slices.Contains(x.sums, v) }):
			return n.sum(terms, k, t)
		case anyPartAt(terms, k):
			return n.parts(terms, k, t)
		}
	}
	if anyPartAt(terms, k) {
		return n.parts(terms, k, t)
	}
	return &cin.Assign{LHS: t.lhs, Accumulate: t.accumulate && t.op == nil, Op: t.op,
		RHS: n.sumOf(terms)}
}

// anyPartAt reports whether one of the terms has a hoisted sum that is computed just outside the
// loop over variable number k of the loop order.
func anyPartAt(terms []*term, k int) bool {
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

// sum returns the nest of the terms over the variables from order[k] on. At least one of the terms
// sums over order[k].
func (n *Nest) sum(terms []*term, k int, t target) cin.Stmt {
	if len(t.left) > 0 && len(t.ordered) > 0 {
		return n.workspace(terms, k, t)
	}
	if anyPartAt(terms, k) {
		return n.parts(terms, k, t)
	}
	if len(t.left) == 0 && !(t.temp && len(t.lhs.Vars) == 0) {
		return n.scalar(terms, k, t)
	}
	v := n.in.Order[k]
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

// parts returns the loop nest that computes the terms, over the variables from order[k] on. At
// least one term has a hoisted sum that is computed just outside the loop over order[k]. parts adds
// a producer for each such sum (see withProducers).
func (n *Nest) parts(terms []*term, k int, t target) cin.Stmt {
	rest, here := splitParts(terms, func(p *hoistedSum) bool { return p.k == k })
	return n.withProducers(n.loops(rest, k, t), here)
}

// splitParts removes those parts of the terms for which taken returns true. It returns copies of
// the terms without these parts, and the removed parts.
func splitParts(terms []*term, taken func(*hoistedSum) bool) (rest []*term, parts []*hoistedSum) {
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

// withProducers returns statement s together with the code that computes the temporaries of parts.
// Each temporary has a producer and a consumer, which form a where statement. The consumer is the
// producer of the first later part that reads the temporary. If no later part reads it, the
// consumer is s. Around s, the producer of the first part is outermost.
func (n *Nest) withProducers(s cin.Stmt, parts []*hoistedSum) cin.Stmt {
	made := make([]cin.Stmt, len(parts))
	readers := make([]int, len(parts)) // the number of the first part that reads each part, or -1
	first := map[string]int{}          // the same, by the name of the temporary
	for i := len(parts) - 1; i >= 0; i-- {
		p, m := parts[i], *n
		m.in.Order = p.order
		made[i] = m.loops(p.body, p.k, target{lhs: p.at, left: p.at.Vars, temp: true, accumulate: true})
		readers[i] = -1
		if r, ok := first[p.at.Name]; ok {
			readers[i] = r
		}
		cin.Accesses(made[i], func(a *cin.Access) { first[a.Name] = i })
	}
	for i, r := range readers {
		if r >= 0 {
			made[r] = &cin.Where{Consumer: made[r], Producer: made[i]}
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

// scalar returns the nest of the terms for a target without unbound variables. At least one of the
// terms sums over order[k]. The nest adds the sums to a scalar temporary. It then assigns the
// temporary, together with the other terms, to the target.
func (n *Nest) scalar(terms []*term, k int, t target) cin.Stmt {
	var here, summed []*term
	for _, x := range terms {
		if len(x.sums) == 0 {
			here = append(here, x)
		} else {
			summed = append(summed, x)
		}
	}
	temp := &cin.Access{Name: n.fresh("t")}
	here, parts := splitParts(append(here, &term{factors: []cin.Expr{temp}}),
		func(*hoistedSum) bool { return true })
	return &cin.Where{
		Consumer: n.withProducers(&cin.Assign{LHS: t.lhs, Accumulate: t.accumulate, RHS: n.sumOf(here)},
			parts),
		Producer: n.sum(summed, k, target{lhs: temp, temp: true, accumulate: true}),
	}
}

// groups divides terms into groups. The terms of a group share one nest. All terms that do not sum
// over v are in one group. Two terms that sum over v are in the same group if one pass over their
// sparse accesses is enough. For this they must walk the same sparse accesses, need the same
// temporaries and sum over the same variables.
func (n *Nest) groups(terms []*term, v string) [][]*term {
	var keys []string
	byKey := map[string][]*term{}
	for _, x := range terms {
		key := ""
		if slices.Contains(x.sums, v) {
			key = n.walkKey(x)
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

// walkKey returns a key of term x, which sums. Two terms have the same key if they traverse the
// same sparse accesses, need the same temporaries and sum over the same variables.
func (n *Nest) walkKey(x *term) string {
	var keys []string
	x = x.multipliedOut()
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

// workspace returns a nest that computes the terms into a workspace over the unbound variables of
// the target, and then moves the workspace to the target in the order of these variables.
func (n *Nest) workspace(terms []*term, k int, t target) cin.Stmt {
	w := &cin.Access{Name: n.fresh("w"), Vars: t.left}
	producer := n.loops(terms, k, target{lhs: w, left: t.left, temp: true, accumulate: true})
	consumer := &cin.Assign{LHS: t.lhs, Accumulate: t.accumulate, RHS: w}
	return &cin.Where{Consumer: cin.Nest(t.left, consumer), Producer: producer}
}

// isSparse reports whether an access is to an operand that is not all dense.
func (n *Nest) isSparse(a *cin.Access) bool {
	f, ok := n.formats[a.Name]
	return ok && !f.AllDense()
}

// sumOf returns the sum of the terms as an expression.
func (n *Nest) sumOf(terms []*term) cin.Expr {
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
