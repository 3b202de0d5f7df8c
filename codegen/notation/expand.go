package notation

import (
	"fmt"
	"slices"
	"strings"

	"distaff/codegen/algebra"
)

// Made describes a tensor that Expand made. The modes of a pick are the variables of an index, and
// last the coordinate that the index selects. The pick stores a 1 at the coordinates for which
//
//	last = Const + Coef[0]*first + Coef[1]*second + ...
//
// If Coordinates is set, the tensor has one mode instead, and its values are the coordinates. If
// Rest is set, the tensor stores a 1 at the coordinates that a pick of an index of the left side
// does not store, for any values of the variables that are not indices of the left side by
// themselves. Its modes are the other variables of the index, and last the coordinate.
type Made struct {
	Coordinates, Rest bool
	Coef              []int64
	Const             int64
	From              []string // of a rest: the variables that Coef belongs to
	// Single says that the pick of a left side must not store two entries with the same coordinates
	// of the left side.
	Single bool
	// Outside says that coordinates out of range are absent. Otherwise all must be in range.
	Outside bool
	// Text is the access that the pick replaces, for messages.
	Text string
}

// hasIndices reports whether the statement has an index that is not a variable, or an index
// variable as a number.
func (s *Stmt) hasIndices() (found bool) {
	found = s.LHS.Index != nil || repeats(s.LHS)
	Walk(s.RHS, func(e Expr) bool {
		switch e := e.(type) {
		case *Access:
			found = found || e.Index != nil
		case *Coordinate:
			found = true
		}
		return !found
	})
	return found
}

// Expand returns a statement with the same meaning in which every index is a variable, and in which
// no index variable is a number. s must be accepted by Check. Expand replaces x(i+1) by
//
//	sum(at1, pick1(i,at1)*x(at1))
//
// where the tensor pick1 is 1 where at1 = i+1 and absent elsewhere. It replaces a number i by
// index1(i). Access.Made of the new accesses says what the tensors are. In a product that is summed
// anyway, Expand leaves out the sum(), so that loops can run over stored entries in any order.
func Expand(s *Stmt) *Stmt {
	if !s.hasIndices() {
		return s
	}
	x := &expander{s: s, taken: map[string]bool{s.LHS.Name: true}, made: map[string]string{}}
	for _, v := range append(s.LeftVars(), FreeVars(s.RHS)...) {
		x.taken[v] = true
	}
	for _, a := range s.Accesses() {
		x.taken[a.Name] = true
	}
	Walk(s.RHS, func(e Expr) bool {
		if sum, ok := e.(*Sum); ok {
			x.sums = true
			for _, v := range sum.Vars {
				x.taken[v] = true
			}
		}
		return true
	})
	x.findWindows()
	out := *s
	out.source = s
	if !s.AssignsPart() {
		out.RHS = x.expr(s.RHS, true)
		return &out
	}
	x.left(&out)
	return &out
}

// left expands a statement whose left side has indices that are not variables: the left side of out
// gets variables, and the right side is multiplied by the picks of the indices. If the statement
// does not add to the old values, those at other coordinates are added.
func (x *expander) left(out *Stmt) {
	a := x.s.LHS
	c := *a
	c.Vars, c.Index, c.Outside = slices.Clone(a.Vars), nil, nil
	var picks, rests []*Access
	for m, v := range a.Vars {
		f := &affine{vars: []string{v}, coef: []int64{1}}
		switch {
		case v == "":
			f, _ = affineOf(x.s.Src, a.Index[m])
		case !slices.Contains(a.Vars[:m], v):
			continue
		}
		c.Vars[m] = x.fresh("at")
		p := x.pick(a, m, f, false, c.Vars[m])
		p.Made.Single = !x.s.Accumulate
		rest := *p
		rest.Name, rest.Made = x.tensor("rest", "rest of "+p.Name), &Made{Coef: f.coef, Const: f.c,
			From: f.vars, Rest: true, Text: p.Made.Text}
		rest.Vars = nil
		for _, w := range append(slices.Clone(f.vars), c.Vars[m]) {
			if slices.Contains(a.Vars, w) || w == c.Vars[m] {
				rest.Vars = append(rest.Vars, w)
			}
		}
		rest.VarAt = repeatSpan(a.At, len(rest.Vars))
		picks, rests = append(picks, p), append(rests, &rest)
	}
	out.LHS = &c
	out.RHS = x.picked(picks, x.s.RHS)
	if x.s.Accumulate {
		return
	}
	// An old value stays if its first index is not picked, or if the first is picked and the second
	// is not, and so on.
	out.New = out.RHS
	for k, rest := range rests {
		old := c
		var kept Expr = &Binary{Op: '*', X: rest, Y: &old}
		for _, p := range picks[:k] {
			kept = &Binary{Op: '*', X: p, Y: kept}
		}
		out.RHS = &Binary{Op: '+', X: out.RHS, Y: kept}
	}
}

// picked expands e, with each of its terms multiplied by the picks.
func (x *expander) picked(picks []*Access, e Expr) Expr {
	switch b := e.(type) {
	case *Neg:
		return &Neg{X: x.picked(picks, b.X), At: b.At}
	case *Binary:
		if b.Op == '+' || b.Op == '-' {
			return &Binary{Op: b.Op, X: x.picked(picks, b.X), Y: x.picked(picks, b.Y)}
		}
	}
	out := x.expr(e, !isSum(e))
	for _, p := range slices.Backward(picks) {
		out = &Binary{Op: '*', X: p, Y: out}
	}
	return out
}

// ExpandFor is Expand for a statement whose left tensor has old values, if hasOld is true, or has
// none. In the latter case, a statement that assigns a part of the tensor does not read them.
func ExpandFor(s *Stmt, hasOld bool) *Stmt {
	s = Expand(s)
	if s.New != nil && !hasOld {
		s.RHS = s.New
	}
	return s
}

type expander struct {
	s     *Stmt
	taken map[string]bool   // names in use
	made  map[string]string // names of made tensors by their formulas
	sums  bool              // a sum() of the statement binds variables
	// windows has the variables that also occur in another index of the same mode of a tensor, as
	// "x/0/i". The mode is then larger than the range of the variable.
	windows map[string]bool
}

// fresh returns the first of the names word1, word2, ... that the statement does not have.
func (x *expander) fresh(word string) string {
	for k := 1; ; k++ {
		if name := fmt.Sprintf("%s%d", word, k); !x.taken[name] {
			x.taken[name] = true
			return name
		}
	}
}

// tensor returns the name of a made tensor. Two made tensors with the same key have one name,
// unless sums bind variables, because variables of the same name may then have different sizes.
func (x *expander) tensor(word, key string) string {
	if name, ok := x.made[key]; ok && !x.sums {
		return name
	}
	x.made[key] = x.fresh(word)
	return x.made[key]
}

func windowKey(tensor string, mode int, v string) string {
	return fmt.Sprintf("%s/%d/%s", tensor, mode, v)
}

// findWindows sets x.windows.
func (x *expander) findWindows() {
	x.windows = map[string]bool{}
	for _, a := range x.s.Accesses() {
		for m, e := range a.Index {
			if e == nil || a.Outside[m] {
				continue
			}
			f, _ := affineOf(x.s.Src, e)
			for _, v := range f.vars {
				x.windows[windowKey(a.Name, m, v)] = true
			}
		}
	}
}

// expr expands e. linear says that e is an addend of the right side or a factor of such an addend,
// so that all variables of the addend that the left side lacks are summed together.
func (x *expander) expr(e Expr, linear bool) Expr {
	switch e := e.(type) {
	case *Access:
		return x.access(e, linear)
	case *Coordinate:
		return &Access{Name: x.tensor("index", e.Var), Vars: []string{e.Var}, At: e.At,
			VarAt: []Span{e.At}, Made: &Made{Coordinates: true, Text: e.Var}}
	case *Neg:
		return &Neg{X: x.expr(e.X, linear), At: e.At}
	case *Sum:
		c := *e
		c.X = x.expr(e.X, linear && (e.Op == nil || e.Op == algebra.Sum))
		return &c
	case *Call:
		return e.MapArgs(func(y Expr) Expr { return x.expr(y, false) })
	case *Binary:
		switch e.Op {
		case '*':
			linear = linear && !slices.ContainsFunc(factors(e, nil), isSum)
		case '/':
			linear = false
		}
		return &Binary{Op: e.Op, X: x.expr(e.X, linear), Y: x.expr(e.Y, linear)}
	}
	return e
}

// isSum reports whether a factor is a sum of terms, with or without signs before it.
func isSum(e Expr) bool {
	switch e := e.(type) {
	case *Neg:
		return isSum(e.X)
	case *Sum:
		return true
	case *Binary:
		return e.Op == '+' || e.Op == '-'
	}
	return false
}

// access returns a product of a with variables as indices, and picks for its other indices.
func (x *expander) access(a *Access, linear bool) Expr {
	c := *a
	c.Vars, c.Index, c.Outside = slices.Clone(a.Vars), nil, nil
	var product Expr
	var bound []string
	for m, v := range a.Vars {
		var f *affine
		outside := false
		switch {
		case v == "":
			f, _ = affineOf(x.s.Src, a.Index[m])
			outside = a.Outside[m]
		case x.windows[windowKey(a.Name, m, v)]:
			f = &affine{vars: []string{v}, coef: []int64{1}}
		default:
			continue
		}
		at := x.fresh("at")
		p := x.pick(a, m, f, outside, at)
		c.Vars[m] = at
		bound = append(bound, at)
		if product == nil {
			product = p
		} else {
			product = &Binary{Op: '*', X: product, Y: p}
		}
	}
	if product == nil {
		return a
	}
	product = &Binary{Op: '*', X: product, Y: &c}
	if linear {
		return product
	}
	return &Sum{Vars: bound, VarAt: repeatSpan(a.At, len(bound)), X: product, At: a.At}
}

func repeatSpan(at Span, n int) []Span {
	list := make([]Span, n)
	for k := range list {
		list[k] = at
	}
	return list
}

// pick returns the pick of index f of mode m of a, which selects coordinate at.
func (x *expander) pick(a *Access, m int, f *affine, outside bool, at string) *Access {
	span := a.At
	if m < len(a.VarAt) {
		span = a.VarAt[m]
	}
	key := fmt.Sprint(a.Name, m, f.vars, f.coef, f.c, outside)
	return &Access{Name: x.tensor("pick", key), Vars: append(slices.Clone(f.vars), at), At: span,
		VarAt: repeatSpan(span, len(f.vars)+1),
		Made: &Made{Coef: f.coef, Const: f.c, Outside: outside,
			Text: strings.ReplaceAll(a.String(), " ", "")}}
}

// IsPick reports whether a is an access to a pick.
func (a *Access) IsPick() bool { return a.Made != nil && !a.Made.Coordinates && !a.Made.Rest }

// HasOnes reports whether a is an access to a made tensor whose values are all 1. Such a tensor has
// the type of the computation.
func (a *Access) HasOnes() bool { return a.Made != nil && !a.Made.Coordinates }
