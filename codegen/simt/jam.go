package simt

import (
	"distaff/codegen/ir"
	"distaff/io/tensor"
)

// jammer interleaves several iterations of an unrolled loop (unroll and jam). Its statements are of
// two kinds. A varying statement depends on the loop's variable, or stores to an array: it is
// copied for each of the interleaved iterations. The other statements are the same in all of them,
// and run once. So an inner loop whose bounds are the same runs once for all iterations.
type jammer struct {
	l      *launcher
	copies map[*ir.Var][]*ir.Var // the variables of the iterations that replace a varying variable
	n      int                   // the number of interleaved iterations
}

func (l *launcher) newJammer(n int) *jammer {
	return &jammer{l: l, copies: map[*ir.Var][]*ir.Var{}, n: n}
}

// jammed returns the code of the loop s, whose iterations may be interleaved: a loop that
// interleaves s.Factor iterations at a time, and a loop over the remaining iterations. It returns
// nil if the statements of s cannot be interleaved. unitLevel is the unit that runs s. If this is
// not a thread, the remaining iterations are interleaved too, s.Factor/2 at a time. Otherwise the
// unit would have only one iteration's loads to wait for.
func (l *launcher) jammed(s *ir.For, unitLevel level) *ir.Block {
	if !canJam(s) {
		return nil
	}
	out := &ir.Block{}
	lo, hi := l.declared("first", s.Lo, out), l.declared("end", s.Hi, out)
	j := l.newJammer(int(s.Factor))
	j.vary(s.V)
	j.copies[s.V][0] = s.V
	for more := true; more; {
		more = j.spread(s.Body, false)
	}
	several := &ir.Block{}
	for k, v := range j.copies[s.V][1:] {
		several.Append(&ir.Declare{V: v, Init: ir.Plus(s.V, ir.Int(int64(k+1)))})
	}
	several.List = append(several.List, j.block(s.Body).List...)
	out.Append(&ir.For{V: s.V, Lo: lo, Hi: ir.Minus(hi, ir.Int(s.Factor-1)), Step: s.Factor,
		Body: several})

	whole := ir.Times(ir.Over(ir.Greatest(ir.Minus(hi, lo), ir.Int(0)), ir.Int(s.Factor)),
		ir.Int(s.Factor))
	rest := &ir.For{V: s.V, Lo: ir.Plus(lo, whole), Hi: hi, Step: 1, Body: s.Body}
	if unitLevel != ofThread && s.Factor >= 4 {
		rest.Kind, rest.Factor, rest.Jam = ir.Unrolled, s.Factor/2, true
	}
	one := l.newJammer(1)
	one.spread(rest, true)
	out.Append(one.copy(rest, 0))
	return out
}

// canJam reports whether the iterations of s may be interleaved: no iteration reads what another
// one stores, and none changes a variable that is declared outside of the loop.
func canJam(s *ir.For) bool {
	can, declared, stored := s.Step == 1, declaredIn(s), map[*ir.Array]bool{}
	ir.WalkRows(s.Body, func(t ir.Stmt, r *ir.Row) {
		switch t := t.(type) {
		case *ir.Block, *ir.Comment, *ir.Declare, *ir.While, *ir.If, *ir.Fail:
		case *ir.Assign:
			can = can && declared[t.V]
		case *ir.Store:
			stored[t.A] = true
		case *ir.For:
			can = can && t.Kind != ir.Warps
			for _, v := range t.Reduce {
				can = can && declared[v]
			}
		default:
			can = false
		}
	})
	ir.WalkExprs(s.Body, func(x ir.Expr) {
		if a := ir.ArrayOf(x); a != nil && stored[a] {
			can = false
		}
	})
	return can
}

// declared returns x if it is a literal or a variable. Otherwise it appends the declaration of a
// new variable with the value of x to out, and returns the variable.
func (l *launcher) declared(name string, x ir.Expr, out *ir.Block) ir.Expr {
	switch x.(type) {
	case *ir.Lit, *ir.Var:
		return x
	}
	v := l.h.names.newVar(name, tensor.Int64)
	out.Append(&ir.Declare{V: v, Init: x})
	return v
}

// vary makes the variables that replace v, and reports whether v had none before.
func (j *jammer) vary(v *ir.Var) bool {
	if j.copies[v] != nil {
		return false
	}
	for range j.n {
		j.copies[v] = append(j.copies[v], j.l.h.names.newVar(v.Name, v.Typ))
	}
	return true
}

// spread finds varying variables in s, and reports whether it has found any that was not known to
// be varying. If all is true, each variable that s sets is varying.
func (j *jammer) spread(s ir.Stmt, all bool) (more bool) {
	all = all || j.varies(s)
	if all {
		for v := range ir.RowOf(s).Vars() {
			more = j.vary(v) || more
		}
	}
	for _, t := range ir.Inside(s) {
		more = j.spread(t, all) || more
	}
	return more
}

// varies reports whether s itself is a varying statement. Statements inside s do not count.
func (j *jammer) varies(s ir.Stmt) bool {
	switch s := s.(type) {
	case *ir.Store:
		return true
	case *ir.Fail:
		return false // the first of the iterations fails, and the others do not run
	case *ir.Assign:
		if j.copies[s.V] != nil {
			return true
		}
	case *ir.Declare:
		if j.copies[s.V] != nil {
			return true
		}
	}
	found := false
	for _, x := range ir.Exprs(s) {
		ir.WalkExpr(x, func(x ir.Expr) {
			v, ok := x.(*ir.Var)
			found = found || ok && j.copies[v] != nil
		})
	}
	return found
}

// block returns the interleaved code of b.
func (j *jammer) block(b *ir.Block) *ir.Block {
	if b == nil {
		return nil
	}
	out := &ir.Block{}
	for _, s := range b.List {
		switch s := s.(type) {
		case *ir.Block:
			out.Append(j.block(s))
			continue
		case *ir.Fail:
			out.Append(j.copy(s, 0))
			continue
		}
		if j.varies(s) {
			for k := range j.n {
				out.Append(j.copy(s, k))
			}
			continue
		}
		switch s := s.(type) {
		case *ir.If:
			out.Append(&ir.If{Cond: s.Cond, Then: j.block(s.Then), Else: j.block(s.Else)})
		case *ir.While:
			out.Append(&ir.While{Cond: s.Cond, Body: j.block(s.Body)})
		case *ir.For:
			g := *s
			g.Reduce, g.Body = j.sums(s.Reduce), j.block(s.Body)
			out.Append(&g)
		default:
			out.Append(s)
		}
	}
	return out
}

// sums returns the scalars that the interleaved iterations of a loop sum, instead of list.
func (j *jammer) sums(list []*ir.Var) (out []*ir.Var) {
	for _, v := range list {
		if c := j.copies[v]; c != nil {
			out = append(out, c...)
		} else {
			out = append(out, v)
		}
	}
	return out
}

// copy returns a copy of s for interleaved iteration k. The variables that s declares must be
// varying.
func (j *jammer) copy(s ir.Stmt, k int) ir.Stmt {
	r := newRewriter()
	for v, list := range j.copies {
		r.vars[v] = list[k]
	}
	var copied func(ir.Stmt) ir.Stmt
	blocks := func(b *ir.Block) *ir.Block {
		if b == nil {
			return nil
		}
		out := &ir.Block{}
		for _, s := range b.List {
			out.Append(copied(s))
		}
		return out
	}
	copied = func(s ir.Stmt) ir.Stmt {
		switch s := s.(type) {
		case *ir.Block:
			return blocks(s)
		case *ir.Declare:
			return &ir.Declare{V: r.variable(s.V), Init: r.expr(s.Init)}
		case *ir.Assign:
			return &ir.Assign{V: r.variable(s.V), Accumulate: s.Accumulate, X: r.expr(s.X)}
		case *ir.Store:
			return &ir.Store{A: s.A, Index: r.expr(s.Index), Accumulate: s.Accumulate, Atomic: s.Atomic,
				X: r.expr(s.X)}
		case *ir.If:
			return &ir.If{Cond: r.expr(s.Cond), Then: blocks(s.Then), Else: blocks(s.Else)}
		case *ir.While:
			return &ir.While{Cond: r.expr(s.Cond), Body: blocks(s.Body)}
		case *ir.For:
			g := *s
			g.V, g.Lo, g.Hi, g.Body = r.variable(s.V), r.expr(s.Lo), r.expr(s.Hi), blocks(s.Body)
			g.Reduce = nil
			for _, v := range s.Reduce {
				g.Reduce = append(g.Reduce, r.variable(v))
			}
			return &g
		case *ir.Fail:
			return &ir.Fail{Code: s.Code, Coord: r.exprs(s.Coord)}
		}
		return s // a comment
	}
	return copied(s)
}
