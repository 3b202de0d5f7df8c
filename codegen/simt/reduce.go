package simt

import (
	"slices"

	"distaff/codegen/ir"
	"distaff/io/tensor"
)

// sum is a scalar that the iterations of a loop of Warps or Lanes add to.
type sum struct {
	total *ir.Var // the variable in the loop
	outer *ir.Var // the variable that code outside the loop adds to
	part  *ir.Var // the partial sum of a thread or warp
}

// beginSums makes a new variable for each variable that loop s reduces. In each thread, the new
// variable holds the partial sum of the thread. It replaces the reduced variable in the loop's
// body.
func (l *launcher) beginSums(s *ir.For) []sum {
	var sums []sum
	for _, v := range s.Reduce {
		r := sum{v, l.rewriter.variable(v), l.h.names.newVar(v.Name+"_part", v.Typ)}
		l.rewriter.vars[v] = r.part
		sums = append(sums, r)
	}
	return sums
}

// endInner undoes the renaming that beginSums made for the body of a loop. After it, the name of
// each reduced variable refers again to the variable outside the loop.
func (l *launcher) endInner(sums []sum) {
	for _, r := range sums {
		l.rewriter.vars[r.total] = r.outer
	}
}

// total appends code that adds the partial sums of the threads or warps. All threads add them in
// the same order, and all get the total.
func (l *launcher) total(s *ir.For, sums []sum, unitLevel level, out *ir.Block) {
	if s.Kind == ir.Lanes {
		var parts []*ir.Var
		for _, r := range sums {
			parts = append(parts, r.part)
		}
		l.overWarp(parts, out)
	}
	if unitLevel == ofBlock && l.threads > ir.WarpSize && len(sums) > 0 {
		warps := s.Width // the warps whose partial sums are added
		if s.Kind == ir.Lanes {
			warps = (s.Width + ir.WarpSize - 1) / ir.WarpSize
		}
		l.overBlock(sums, warps, out)
		return
	}
	for _, r := range sums {
		out.Append(&ir.Assign{V: r.outer, Accumulate: true, X: r.part})
	}
}

// overWarp appends code that sets each variable of list, in each thread of a warp, to its sum over
// all threads of the warp. In each step two threads exchange their sums, and add the same two
// numbers. All threads therefore get exactly the same result.
//
// If list has 2, 4 or 8 variables, two threads divide the variables between them in the first
// steps: each sends its partner the sums that the partner continues with. This takes fewer
// exchanges than one variable after the other. In the last steps they exchange the totals.
func (l *launcher) overWarp(list []*ir.Var, out *ir.Block) {
	mask, rest := int64(ir.WarpSize/2), list
	add := func(list ...ir.Stmt) { out.List = append(out.List, list...) }
	var lasts []func()
	for canDivide(list) && len(rest) > 1 {
		upper := l.h.names.newVar("upper", tensor.Bool)
		add(&ir.Declare{V: upper, Init: ir.Unequal(ir.Modulo(
			ir.Over(l.ids.lane, ir.Int(mask)), ir.Int(2)), ir.Int(0))})
		half, all, step := len(rest)/2, rest, mask
		var others []*ir.Var
		for k, v := range all[:half] {
			w := all[k+half]
			sent := l.h.names.newVar(w.Name+"_sent", v.Typ)
			other := l.h.names.newVar(v.Name+"_other", v.Typ)
			add(&ir.Declare{V: sent, Init: ir.Choose(upper, v, w)},
				&ir.Declare{V: other, Init: ir.Zero(v.Typ)},
				&ir.Shuffle{V: other, X: sent, Mask: step},
				&ir.Assign{V: v, X: ir.Choose(upper, w, v)},
				&ir.Assign{V: v, Accumulate: true, X: other})
			others = append(others, other)
		}
		lasts = append(lasts, func() {
			for k, v := range all[:half] {
				w := all[k+half]
				add(&ir.Shuffle{V: others[k], X: v, Mask: step},
					&ir.Assign{V: w, X: ir.Choose(upper, v, others[k])},
					&ir.Assign{V: v, X: ir.Choose(upper, others[k], v)})
			}
		})
		rest, mask = all[:half], mask/2
	}
	var others []*ir.Var
	for _, v := range rest {
		others = append(others, l.h.names.newVar(v.Name+"_other", v.Typ))
		add(&ir.Declare{V: others[len(others)-1], Init: ir.Zero(v.Typ)})
	}
	for ; mask > 0; mask /= 2 {
		for k, v := range rest {
			add(&ir.Shuffle{V: others[k], X: v, Mask: mask},
				&ir.Assign{V: v, Accumulate: true, X: others[k]})
		}
	}
	for _, last := range slices.Backward(lasts) {
		last()
	}
}

// canDivide reports whether two threads can divide the variables of list between them (overWarp).
func canDivide(list []*ir.Var) bool {
	for _, v := range list {
		if v.Typ != list[0].Typ {
			return false
		}
	}
	return len(list) == 2 || len(list) == 4 || len(list) == 8
}

// overBlock appends code that adds up the partial sums of a block's first warps, in the order of
// the warps. For each element of sums, the code adds the total to the variable outside the loop.
// The parameter warps is the number of warps that have a partial sum.
func (l *launcher) overBlock(sums []sum, warps int64, out *ir.Block) {
	first := ir.Equal(l.ids.lane, ir.Int(0))
	if l.threads/ir.WarpSize > warps {
		first = ir.Both(first, ir.Less(l.ids.warp, ir.Int(warps)))
	}
	store := &ir.If{Cond: first, Then: &ir.Block{}}
	l.roles[store] = eachThread
	out.Append(store)
	w := l.h.names.newVar("w", tensor.Int64)
	add := &ir.For{V: w, Lo: ir.Int(0), Hi: ir.Int(warps), Step: 1, Kind: ir.Unrolled,
		Body: &ir.Block{}}
	out.Append(add)
	for _, r := range sums {
		parts := l.h.names.newArray(r.total.Name+"_parts", r.total.Typ)
		if !l.share(parts, warps) {
			l.refuse(
				"the sums of %d warps and a block's shared arrays need more than %d bytes of "+
					"shared memory",
				warps, ir.MaxShared)
			return
		}
		store.Then.Append(&ir.Store{A: parts, Index: l.ids.warp, X: r.part})
		add.Body.Append(&ir.Assign{V: r.outer, Accumulate: true, X: ir.At(parts, w)})
	}
}
