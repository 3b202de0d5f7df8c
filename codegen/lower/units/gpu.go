package units

import (
	"fmt"
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/bounds"
	"distaff/codegen/lower/scope"
	"distaff/codegen/lower/tree"
	"distaff/io/tensor"
)

// Loops on a GPU's units become loops over blocks, warps and lanes. Their iterations have the usual
// meaning, in any order. If several iterations add to one place of the result, they add atomically,
// or they first sum into a scalar.

// BlockThreads and blockWarps are the default numbers of threads and warps in a block. They are
// used if the loop over threads or warps has no constant bound, or if the bound is more than a
// block can have.
const (
	BlockThreads = 256
	blockWarps   = 16
	mostThreads  = 1024 // the largest number of threads in a block
	mostWarps    = mostThreads / ir.WarpSize
)

// onGPU sets the kind and the width of s, the emitted loop for f. Both depend on the unit of the
// GPU that runs the iterations of f.
func onGPU(f *cin.Forall, e *scope.Env, s *ir.For) {
	l := e.Leaf
	v := f.Var
	if c := l.Comps[v]; c != nil && l.Graph.ReplacedBy(v) != nil {
		// this loop determines the original variable
		v = c.Leaves[len(c.Leaves)-1]
	}
	most := l.Graph.MaxValues(v)
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
		if e.Warps > 0 {
			break
		}
		s.Width = ThreadsFor(most)
	}
	if most > s.Width && l.Spec.Note != nil {
		l.Spec.Note(fmt.Sprintf("%s has %d iterations for %d units of %s: each runs several",
			v, most, s.Width, f.Unit))
	}
}

// ThreadsFor returns the number of threads in a block for a loop with at most bound iterations. If
// bound is 0, the number of iterations is not known.
func ThreadsFor(bound int64) int64 {
	if 0 < bound && bound <= mostThreads {
		return (bound + ir.WarpSize - 1) / ir.WarpSize * ir.WarpSize
	}
	return BlockThreads
}

// Spread emits a loop over [lo, hi) on all threads of a GPU, for code that lowering adds between
// the loops of the schedule.
func Spread(l *scope.Leaf, name string, lo, hi ir.Expr, body func(x ir.Expr)) {
	lo, hi = l.B.Named(name+"_lo", lo), l.B.Named(name+"_hi", hi)
	b, v := l.B.Var(name+"_block"), l.B.Var(name)
	n := ir.Over(ir.Plus(ir.Minus(hi, lo), ir.Int(BlockThreads-1)), ir.Int(BlockThreads))
	l.B.Emit(&ir.For{V: b, Lo: ir.Int(0), Hi: n, Step: 1, Kind: ir.Blocks, Body: l.B.Within(func() {
		from := l.B.Named(name+"_from", ir.Plus(lo, ir.Times(b, ir.Int(BlockThreads))))
		to := l.B.Named(name+"_to", ir.Least(ir.Plus(from, ir.Int(BlockThreads)), hi))
		l.B.Emit(&ir.For{V: v, Lo: from, Hi: to, Step: 1, Kind: ir.Lanes, Width: BlockThreads,
			Body: l.B.InScope(func() { body(v) })})
	})})
}

// Grid emits the loop f, whose iterations run in chunks on blocks (cin.Forall.Chunk). The threads
// of a block divide the block's chunk among themselves: each runs a range of neighbouring
// coordinates. body emits the code for the coordinates from lo up to, but not including, hi. Grid
// returns the loop over all coordinates of f in e.
func Grid(f *cin.Forall, e *scope.Env, body func(lo, hi ir.Expr)) {
	l := e.Leaf
	all := e.RangeOf(f.Var)
	threads := ThreadsFor(min(f.Chunk, BlockThreads))
	each := (f.Chunk + threads - 1) / threads
	lo, hi := l.B.Named(f.Var+"_lo", all.Lo), l.B.Named(f.Var+"_hi", all.Hi)
	b, t := l.B.Var(f.Var+"_block"), l.B.Var(f.Var+"_thread")
	inside := l.B.InScope(func() {
		at := ir.Plus(ir.Times(b, ir.Int(f.Chunk)), ir.Times(t, ir.Int(each)))
		from := l.B.Named(f.Var+"_from", ir.Plus(lo, at))
		to := l.B.Named(f.Var+"_to", ir.Least(ir.Plus(from, ir.Int(each)), hi))
		body(from, to)
	})
	lanes := &ir.For{V: t, Lo: ir.Int(0), Hi: ir.Over(ir.Int(f.Chunk+each-1), ir.Int(each)), Step: 1,
		Kind: ir.Lanes, Width: threads, Body: inside}
	blocks := ir.Over(ir.Plus(ir.Minus(hi, lo), ir.Int(f.Chunk-1)), ir.Int(f.Chunk))
	l.B.Emit(findSums(f, l, &ir.For{V: b, Lo: ir.Int(0), Hi: blocks, Step: 1, Kind: ir.Blocks,
		Body: ir.Seq(findSums(f, l, lanes))}))
}

// Together emits a loop over [0, n) that the threads of the surrounding unit of a GPU run together.
// Inside a loop on threads, one thread runs the whole loop. body emits an iteration.
func Together(e *scope.Env, name string, n ir.Expr, body func(k *ir.Var)) {
	l := e.Leaf
	if e.OnThread {
		l.B.Loop(name, ir.Int(0), n, body)
		return
	}
	k := l.B.Var(name)
	s := &ir.For{V: k, Lo: ir.Int(0), Hi: n, Step: 1, Body: l.B.Within(func() { body(k) })}
	l.B.Emit(SetKind(&cin.Forall{Var: k.Name, Unit: cin.GPUThread, Race: cin.NoRaces}, e, s))
}

// SetOne emits code outside all loops that sets a[at] to x. For a GPU this code runs on the host,
// which cannot store to GPU memory directly. SetOne then emits a fill of one element.
func SetOne(l *scope.Leaf, a *ir.Array, at, x ir.Expr) {
	if l.Spec.GPU {
		l.B.Emit(&ir.Fill{A: a, Lo: at, Hi: ir.Plus(at, ir.Int(1)), X: ir.Convert(a.Elem, x)})
		return
	}
	l.B.Store(a, at, x)
}

// blockRows has the row where each block begins, for a loop over tiles of fused positions.
// arrays[d] belongs to fused level d. It is nil if no search for rows is needed in that level.
// Element b of the array is the row of the first position of block b. The array has one more
// element: the row where the last block ends.
type blockRows struct {
	c      *scope.Component
	first  ir.Expr // the number of the first block
	arrays []*ir.Array
	all    bool // every row, even an empty one, is a row of a block
}

// FindBlockRows emits a loop before f that finds the first row of each block and stores it. The
// warps or threads of a block then search for their rows only among the rows of this block.
// FindBlockRows returns nil and emits no loop if no search becomes shorter, if the positions belong
// to only some of the fused variables, or if the positions may be absent.
//
// If begin is not nil, the loop also runs the code that begin emits, once for each row that has the
// first position of a block. begin gets the row's position. The rows before the first one that has
// an entry then belong to the first block.
func FindBlockRows(f *cin.Forall, e *scope.Env, o *scope.OpenLoops,
	begin func(row ir.Expr)) *blockRows {
	c := o.Of
	l := e.Leaf
	base := PositionsAmong(o.Frames)
	if f.Unit != cin.GPUBlock || len(c.Roots) < 2 || base == nil ||
		len(base.Roots) != len(c.Roots) || !ir.Always(e.Cur[base.Key].Present) ||
		!narrowsInBlock(f, c) {
		return nil
	}
	cur := e.Cur[base.Key]
	r := &blockRows{c: c, first: o.Iv.Lo, arrays: make([]*ir.Array, len(c.Roots)), all: begin != nil}
	n := l.B.Named(f.Var+"_count", ir.Minus(o.Iv.Hi, o.Iv.Lo))
	searched := false
	for d := 1; d < len(c.Roots); d++ {
		if cur.Of.Kind(cur.Level + d).HasPos() {
			r.arrays[d] = l.B.Alloc(f.Var+"_rows", tensor.Int64, ir.Plus(n, ir.Int(1)), false)
			searched = true
		}
	}
	if !searched {
		return nil
	}
	Spread(l, f.Var+"_start", ir.Int(0), ir.Plus(n, ir.Int(1)), func(b ir.Expr) {
		start := func(b ir.Expr) ir.Expr {
			at := ir.Plus(o.Iv.Lo, b)
			iv := scope.Interval{Unit: scope.Numbers, Lo: at, Hi: at, Size: -1}
			return bounds.InPositions(iv, o.Frames, e).Lo
		}
		p := start(b)
		rows := cur.Ancestors(near(l, cur, base, len(c.Roots), p), len(c.Roots), p)
		for d, row := range rows[:len(rows)-1] {
			if begin != nil {
				beginsIn := ir.Either(ir.Equal(b, ir.Int(0)), ir.Less(start(ir.Minus(b, ir.Int(1))),
					ir.Coord(cur.Of.Pos(cur.Level+1), row)))
				l.B.When(ir.Both(ir.Less(row, base.Ancestor[1]), beginsIn), func() { begin(row) })
				row = ir.Choose(ir.Equal(b, ir.Int(0)), base.Ancestor[0], row)
			}
			if r.arrays[d+1] != nil {
				l.B.Store(r.arrays[d+1], b, row)
			}
		}
	})
	return r
}

// nearRows is the largest distance of a row from its expected place in the first search.
const nearRows = 64

// near returns the ranges to search for the row that has position p: base.Ancestor, or fewer rows.
// If rows are about equally long, the row is near the place that is proportional to p. near emits
// code that tests whether the row is there. It does so only for the rows of a matrix.
func near(l *scope.Leaf, cur *tree.Cursor, base *scope.Interval, levels int, p ir.Expr) []ir.Expr {
	if levels != 2 || !cur.Of.Kind(cur.Level+1).HasPos() ||
		cur.Of.Pos(cur.Level+1).Elem != tensor.Int32 { // a product of 64-bit positions may overflow
		return base.Ancestor
	}
	lo, hi, pos := base.Ancestor[0], base.Ancestor[1], cur.Of.Pos(cur.Level+1)
	p = l.B.Named("start_at", p)
	positions := ir.Greatest(ir.Minus(base.All[1], base.All[0]), ir.Int(1))
	guess := l.B.Named("row_guess", ir.Plus(lo, ir.Over(ir.Times(ir.Minus(p, base.All[0]),
		ir.Minus(hi, lo)), positions)))
	from := l.B.Named("near_from", ir.Greatest(lo, ir.Minus(guess, ir.Int(nearRows))))
	to := l.B.Named("near_to", ir.Least(hi, ir.Plus(guess, ir.Int(nearRows))))
	isNear := l.B.Named("is_near", ir.Both(ir.AtMost(ir.Coord(pos, from), p),
		ir.Less(p, ir.Coord(pos, to))))
	out := slices.Clone(base.Ancestor)
	out[0] = ir.Choose(isNear, from, lo)
	out[1] = ir.Choose(isNear, ir.Minus(to, ir.Int(1)), hi)
	return out
}

// narrowsInBlock reports whether a loop inside f divides the positions of each block among warps or
// threads. f is a loop over blocks, and the positions belong to component c.
func narrowsInBlock(f *cin.Forall, c *scope.Component) bool {
	found := false
	cin.Walk(f.Body, func(s cin.Stmt) {
		g, ok := s.(*cin.Forall)
		found = found || ok && g.Unit.OnGPU() && slices.Contains(c.Leaves, g.Var)
	})
	return found
}

// PositionsAmong returns the outermost of the intervals in frames that is a range of positions, not
// of coordinates. It returns nil if there is none.
func PositionsAmong(frames []scope.Frame) *scope.Interval {
	for k := range frames {
		if frames[k].Iv.Unit == scope.Positions {
			return &frames[k].Iv
		}
	}
	return nil
}

// Inside restricts the searches in block v to the rows of this block. An interval of positions has,
// for each fused level, the range of rows that a search covers. If iv is an interval of positions,
// Inside narrows its ranges. Otherwise Inside narrows the ranges of each interval of positions in
// frames. It returns the changed iv and frames. If r is nil, nothing changes.
func (r *blockRows) Inside(l *scope.Leaf, v ir.Expr, iv scope.Interval,
	frames []scope.Frame) (scope.Interval, []scope.Frame) {
	if r == nil {
		return iv, frames
	}
	narrow := func(iv scope.Interval) scope.Interval {
		iv.Ancestor = slices.Clone(iv.Ancestor)
		b := ir.Minus(v, r.first)
		for d, a := range r.arrays {
			if a != nil {
				iv.Ancestor[2*d-2] = l.B.Named(a.Name+"_from", ir.At(a, b))
				iv.Ancestor[2*d-1] = l.B.Named(a.Name+"_to", ir.At(a, ir.Plus(b, ir.Int(1))))
			}
		}
		return iv
	}
	if iv.Unit == scope.Positions {
		iv = narrow(iv)
		iv.RowsKnown, iv.AllRows = true, r.all
		return iv, frames
	}
	frames = slices.Clone(frames)
	for k := range frames {
		if frames[k].Iv.Unit == scope.Positions {
			frames[k].Iv = narrow(frames[k].Iv)
		}
	}
	return iv, frames
}

// Free frees the arrays after the loop.
func (r *blockRows) Free(l *scope.Leaf) {
	if r == nil {
		return
	}
	for _, a := range r.arrays {
		if a != nil {
			l.B.Free(a)
		}
	}
}
