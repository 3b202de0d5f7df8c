package simt

import (
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
		for _, r := range sums {
			l.overWarp(r.part, out)
		}
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

// overWarp appends code that sets v, in each thread of a warp, to the sum of v over all threads of
// the warp. In each step two threads exchange their sums, and both add the same two numbers. All
// threads therefore get exactly the same result.
func (l *launcher) overWarp(v *ir.Var, out *ir.Block) {
	other := l.h.names.newVar(v.Name+"_other", v.Typ)
	out.Append(&ir.Declare{V: other, Init: ir.Zero(v.Typ)})
	for mask := int64(ir.WarpSize / 2); mask > 0; mask /= 2 {
		out.Append(&ir.Shuffle{V: other, X: v, Mask: mask})
		out.Append(&ir.Assign{V: v, Accumulate: true, X: other})
	}
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
