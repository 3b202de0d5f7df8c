package lower

import (
	"fmt"
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/strategy"
	"distaff/io/tensor"
)

// Loops on a GPU's units become loops over blocks, warps and lanes. Their iterations have the usual
// meaning, in any order. If several iterations add to one place of the result, they add atomically,
// or they first sum into a scalar.

// blockThreads and blockWarps are the number of threads, or warps, in a block if no constant bound
// of the loop over them gives it.
const (
	blockThreads = 256
	blockWarps   = 16
	mostThreads  = 1024 // the largest number of threads in a block
	mostWarps    = mostThreads / ir.WarpSize
)

// onGPU gives a loop the kind and the width of its unit.
func (l *lowerer) onGPU(f *cin.Forall, s *ir.For) {
	v := f.Var
	if c := l.sched.comps[v]; c != nil && l.sched.g.ReplacedBy(v) != nil {
		// this loop determines the original variable
		v = c.component.Leaves[len(c.component.Leaves)-1]
	}
	most := l.sched.g.Most(v)
	switch f.Unit {
	case cin.GPUBlock:
		s.Kind = ir.Blocks
		return
	case cin.GPUWarp:
		s.Kind, s.Width = ir.Warps, blockWarps
		if 0 < most && most <= mostWarps {
			s.Width = most
		}
	case cin.GPUThread:
		s.Kind, s.Width = ir.Lanes, ir.WarpSize
		if l.warps > 0 {
			break
		}
		s.Width = threadsFor(most)
	}
	if most > s.Width && l.spec.Note != nil {
		l.spec.Note(fmt.Sprintf(
			"%s has %d iterations for %d units of %s: each runs several",
			v, most, s.Width, f.Unit))
	}
}

// threadsFor returns the number of threads in a block for a loop with at most bound iterations. If
// bound is 0, the number of iterations is not known.
func threadsFor(bound int64) int64 {
	if 0 < bound && bound <= mostThreads {
		return (bound + ir.WarpSize - 1) / ir.WarpSize * ir.WarpSize
	}
	return blockThreads
}

// gpuAtomicEnv returns the environment inside f, a loop on a unit of a GPU. In it, additions to the
// result are atomic under two conditions. Iterations of f may add to the same place. The command of
// f, or of a loop inside f, says how concurrent additions are made. IgnoreRaces on f leaves this
// decision to the loops inside. If none of these decides, the user guarantees that no two
// iterations add to the same place, and the additions are not atomic.
func (l *lowerer) gpuAtomicEnv(f *cin.Forall, e *env) *env {
	if !l.assigns(f) || !l.hasRaces(f) || f.Race == cin.NoRaces ||
		f.Race == cin.IgnoreRaces && !l.decidesRaces(f.Body) {
		return e
	}
	// otherwise the sum would be in a scalar
	if f.Race == cin.Temporary || f.Race == cin.ParallelReduction {
		l.refuse(f.Var,
			"iterations of %s add to many elements of %s, of which a GPU's threads have no "+
				"copies; use Atomics", f.Var, cin.Target(f).Key())
	}
	if l.out.op.Argument.Type.IsComplex() {
		l.refuse(f.Var,
			"iterations of %s add to the same elements of %s, and a GPU cannot add complex "+
				"numbers atomically",
			f.Var, cin.Target(f).Key())
	}
	in := e.clone()
	by := l.sched.comps[f.Var]
	if e.atomic && e.racing != by {
		by = nil
	}
	in.atomic, in.racing, in.own = true, by, nil
	return in
}

// decidesRaces reports whether loops in s on units of a GPU say how they add to the result.
func (l *lowerer) decidesRaces(s cin.Stmt) bool {
	found := false
	cin.Walk(s, func(s cin.Stmt) {
		f, ok := s.(*cin.Forall)
		found = found || ok && f.Unit.OnGPU() && cin.SettlesRaces(f.Race) && l.assigns(f)
	})
	return found
}

// sumsAcross reports whether the iterations of a loop on units of a GPU sum one value that all of
// them share.
func sumsAcross(f *cin.Forall) bool {
	return f.Unit != cin.GPUBlock && (f.Race == cin.Temporary || f.Race == cin.ParallelReduction)
}

// refuseSpaces refuses statement s if one of its workspaces can only be filled by one entry after
// another, because on a GPU many threads add entries at the same time.
func (l *lowerer) refuseSpaces(s cin.Stmt) {
	cin.Walk(s, func(s cin.Stmt) {
		w, ok := s.(*cin.Where)
		if !ok {
			return
		}
		t := cin.Target(w.Producer)
		switch kind := l.spec.Strategy.Spaces[t.Name].Form.Kind; kind {
		case strategy.HashTable, strategy.Terms, strategy.Marks, strategy.MarkedList, strategy.Bitmap,
			strategy.SortedList:
			if len(t.Vars) > 0 {
				l.refuse(t.Vars[0],
					"on a GPU, a workspace must be an array that is filled everywhere or "+
						"nowhere, but %s would be stored as %s", t.Key(), kind)
			}
		}
	})
}

// spread emits a loop from lo to hi on all threads of a GPU, for code that lowering adds between
// the loops of the schedule.
func (l *lowerer) spread(name string, lo, hi ir.Expr, body func(x ir.Expr)) {
	lo, hi = l.b.Named(name+"_lo", lo), l.b.Named(name+"_hi", hi)
	b, v := l.b.Var(name+"_block"), l.b.Var(name)
	n := ir.Over(ir.Plus(ir.Minus(hi, lo), ir.Int(blockThreads-1)), ir.Int(blockThreads))
	l.b.Emit(&ir.For{V: b, Lo: ir.Int(0), Hi: n, Step: 1, Kind: ir.Blocks, Body: l.b.Within(func() {
		from := l.b.Named(name+"_from", ir.Plus(lo, ir.Times(b, ir.Int(blockThreads))))
		to := l.b.Named(name+"_to", ir.Least(ir.Plus(from, ir.Int(blockThreads)), hi))
		l.b.Emit(&ir.For{V: v, Lo: from, Hi: to, Step: 1, Kind: ir.Lanes, Width: blockThreads,
			Body: l.b.InScope(func() { body(v) })})
	})})
}

// setOne emits code outside all loops that sets a[at]. On a GPU this code runs on the host, which
// uses a fill.
func (l *lowerer) setOne(a *ir.Array, at, x ir.Expr) {
	if l.spec.GPU {
		l.b.Emit(&ir.Fill{A: a, Lo: at, Hi: ir.Plus(at, ir.Int(1)), X: ir.Convert(a.Elem, x)})
		return
	}
	l.b.Store(a, at, x)
}

// blockRows has the rows where the blocks of a loop over tiles of fused positions begin. arrays[d],
// if it is not nil, belongs to a level in which the row of a position must be searched for. It has
// the row of each block's first position, and of the end.
type blockRows struct {
	c      *component
	first  ir.Expr // the number of the first block
	arrays []*ir.Array
}

// findBlockRows emits a separate loop that stores the rows where the blocks of f begin, if warps or
// threads of a block search for their rows. They then search only among the rows of their block. It
// returns nil if no search is saved, or if the positions are for only some of the fused variables.
func (l *lowerer) findBlockRows(f *cin.Forall, e *env, c *component, o *openLoops) *blockRows {
	base := positionsAmong(o.frames)
	if f.Unit != cin.GPUBlock || len(c.component.Roots) < 2 || base == nil ||
		len(base.roots) != len(c.component.Roots) || !ir.Always(e.cur[base.key].Present) ||
		!narrowsInBlock(f, c) {
		return nil
	}
	cur := e.cur[base.key]
	r := &blockRows{c: c, first: o.iv.lo, arrays: make([]*ir.Array, len(c.component.Roots))}
	n := l.b.Named(f.Var+"_count", ir.Minus(o.iv.hi, o.iv.lo))
	searched := false
	for d := 1; d < len(c.component.Roots); d++ {
		if cur.Of.Kind(cur.Level + d).HasPos() {
			r.arrays[d] = l.b.Alloc(f.Var+"_rows", tensor.Int64, ir.Plus(n, ir.Int(1)), false)
			searched = true
		}
	}
	if !searched {
		return nil
	}
	l.spread(f.Var+"_start", ir.Int(0), ir.Plus(n, ir.Int(1)), func(b ir.Expr) {
		at := ir.Plus(o.iv.lo, b)
		iv := interval{unit: numbers, lo: at, hi: at, size: -1}
		start := l.inPositions(iv, o.frames, e)
		for d, p := range cur.Ancestors(base.ancestor, len(c.component.Roots), start.lo) {
			if d+1 < len(c.component.Roots) && r.arrays[d+1] != nil {
				l.b.Store(r.arrays[d+1], b, p)
			}
		}
	})
	return r
}

// narrowsInBlock reports whether loops over warps or threads of a block cut the positions of c
// further.
func narrowsInBlock(f *cin.Forall, c *component) bool {
	found := false
	cin.Walk(f.Body, func(s cin.Stmt) {
		g, ok := s.(*cin.Forall)
		found = found || ok && g.Unit.OnGPU() && slices.Contains(c.component.Leaves, g.Var)
	})
	return found
}

// positionsAmong returns the outermost interval in frames whose unit is positions, or nil.
func positionsAmong(frames []frame) *interval {
	for k := range frames {
		if frames[k].iv.unit == positions {
			return &frames[k].iv
		}
	}
	return nil
}

// inside restricts the searches in block v to the block's rows. It changes iv or, if iv is not an
// interval of positions, the interval of positions that frames are tiles of.
func (r *blockRows) inside(l *lowerer, v ir.Expr, iv interval, frames []frame) (interval, []frame) {
	if r == nil {
		return iv, frames
	}
	narrow := func(iv interval) interval {
		iv.ancestor = slices.Clone(iv.ancestor)
		b := ir.Minus(v, r.first)
		for d, a := range r.arrays {
			if a != nil {
				iv.ancestor[2*d-2] = l.b.Named(a.Name+"_from", ir.At(a, b))
				iv.ancestor[2*d-1] = l.b.Named(a.Name+"_to", ir.At(a, ir.Plus(b, ir.Int(1))))
			}
		}
		return iv
	}
	if iv.unit == positions {
		iv = narrow(iv)
		iv.rowsKnown = true
		return iv, frames
	}
	frames = slices.Clone(frames)
	for k := range frames {
		if frames[k].iv.unit == positions {
			frames[k].iv = narrow(frames[k].iv)
		}
	}
	return iv, frames
}

// free frees the arrays after the loop.
func (r *blockRows) free(l *lowerer) {
	if r == nil {
		return
	}
	for _, a := range r.arrays {
		if a != nil {
			l.b.Emit(&ir.Free{A: a})
		}
	}
}
