package simt

import (
	"distaff/codegen/ir"
	"distaff/io/tensor"
)

// share turns a into an array of n elements in shared memory. It returns false if there is not
// enough shared memory.
func (l *launcher) share(a *ir.Array, n int64) bool {
	if size := a.Elem.Size(); n > (ir.MaxShared-l.bytes)/size {
		return false
	}
	l.bytes += n * a.Elem.Size()
	l.shared = append(l.shared, &ir.Shared{A: a, Len: n})
	l.made[a] = true
	return true
}

// memory appends to out the code for s, a statement that allocates, frees, fills or copies an
// array.
func (l *launcher) memory(s ir.Stmt, unitLevel level, out *ir.Block) {
	switch s := s.(type) {
	case *ir.Local:
		l.make(s.A, ir.Int(s.Len), !s.Undefined, unitLevel, out)
	case *ir.Alloc:
		l.make(s.A, s.Len, s.Zero, unitLevel, out)
	case *ir.Free: // arrays are freed by the launch's end, or by the host after it
	case *ir.Fill:
		k, v := l.h.names.newVar("k", tensor.Int64), l.rewriter.array(s.A)
		x := l.savedValue("x", l.rewriter.expr(s.X), out)
		lo, hi := ir.Plus(v.base, l.rewriter.expr(s.Lo)), ir.Plus(v.base, l.rewriter.expr(s.Hi))
		l.spreadOver(k, lo, hi, unitLevel, &ir.Store{A: v.a, Index: k, X: x}, out)
	case *ir.Copy:
		l.copy(s, unitLevel, out)
	default:
		l.refuse("%s cannot run on a GPU's threads", firstWord(s))
	}
}

// make makes array a with a separate instance for each thread, warp or block that runs the code. A
// small array of constant length is local to a thread, or in shared memory if there is room. Any
// other array is a part of one array that the host allocates before the launch.
func (l *launcher) make(a *ir.Array, length ir.Expr, zero bool, unitLevel level, out *ir.Block) {
	n, constant := length.(*ir.Lit)
	switch {
	case constant && n.I < 1:
		n = ir.Int(1)
		fallthrough
	case constant && unitLevel == ofThread && n.I <= ir.MaxLocal:
		l.own[a] = ofThread
		out.Append(&ir.Local{A: a, Len: n.I, Undefined: !zero})
		return
	case constant && unitLevel == ofBlock && l.share(a, n.I):
	case constant && unitLevel == ofWarp && n.I <= ir.MaxShared &&
		l.share(a, n.I*l.threads/ir.WarpSize):
		l.rewriter.views[a] = view{a, ir.Times(l.ids.warp, n)}
		l.own[a] = ofWarp
	default:
		length = l.hoist(a, length, unitLevel)
		if length == nil {
			return
		}
	}
	if zero {
		v := l.rewriter.array(a)
		k := l.h.names.newVar("k", tensor.Int64)
		l.spreadOver(k, v.base, ir.Plus(v.base, length), unitLevel,
			&ir.Store{A: v.a, Index: k, X: ir.Zero(a.Elem)}, out)
	}
}

// spreadOver appends code that runs s for k in [lo, hi). At the level ofThread each thread
// runs the whole range. At other levels the threads of the block or warp divide the range.
func (l *launcher) spreadOver(k *ir.Var, lo, hi ir.Expr, unitLevel level, s ir.Stmt,
	out *ir.Block) {
	if unitLevel == ofThread {
		out.Append(&ir.For{V: k, Lo: lo, Hi: hi, Step: 1, Body: ir.Seq(s)})
		return
	}
	lo, hi = l.savedValue("first", lo, out), l.savedValue("end", hi, out)
	n, width := l.number(unitLevel)
	var each ir.Stmt = &ir.For{V: k, Lo: ir.Plus(lo, n), Hi: hi, Step: width, Body: ir.Seq(s)}
	if most, known := l.h.bounds.atMost(ir.Minus(hi, lo)); known && most <= width {
		each = &ir.Block{List: []ir.Stmt{
			&ir.Declare{V: k, Init: ir.Plus(lo, n)}, &ir.If{Cond: ir.Less(k, hi), Then: ir.Seq(s)},
		}}
	}
	l.roles[each] = eachThread
	out.Append(each)
}

// copy divides a copy among the threads. The two arrays must be different, so that the ranges do
// not overlap.
func (l *launcher) copy(s *ir.Copy, unitLevel level, out *ir.Block) {
	if s.Dst == s.Src {
		l.refuse("a GPU cannot copy from %s to %[1]s itself", s.Dst.Name)
		return
	}
	k := l.h.names.newVar("k", tensor.Int64)
	dst, to := l.rewriter.place(s.Dst, s.DstLo)
	src, from := l.rewriter.place(s.Src, s.SrcLo)
	to, from = l.savedValue("to", to, out), l.savedValue("from", from, out)
	l.spreadOver(k, ir.Int(0), l.rewriter.expr(s.N), unitLevel,
		&ir.Store{A: dst, Index: ir.Plus(to, k), X: ir.At(src, ir.Plus(from, k))}, out)
}

// hoisted is an array with a separate part for each thread, warp or block that runs at the same
// time.
type hoisted struct {
	a      *ir.Array
	length *ir.Var // length of a part
	init   ir.Expr // the value of length
	units  int64   // parts for each block
}

// hoist replaces array with a part of a larger array that the host allocates. It returns the length
// of the part. If the length is known only inside the launch, it refuses the loop and returns nil.
func (l *launcher) hoist(array *ir.Array, length ir.Expr, unitLevel level) ir.Expr {
	length = l.outside(length)
	if length == nil {
		l.refuse("the length of array %s must be known before the loop begins", array.Name)
		return nil
	}
	t := hoisted{
		a:      l.h.names.newArray(array.Name+"_all", array.Elem),
		length: l.h.names.newVar(array.Name+"_len", tensor.Int64),
		init:   ir.Greatest(length, ir.Int(0)), units: 1,
	}
	// a block runs several iterations, so the block number is not the loop's variable now
	l.ids.block = l.h.ids.block
	unit := ir.Expr(l.ids.block)
	switch unitLevel {
	case ofWarp:
		t.units = l.threads / ir.WarpSize
		unit = ir.Plus(ir.Times(unit, ir.Int(t.units)), l.ids.warp)
	case ofThread:
		t.units = l.threads
		unit = ir.Plus(ir.Times(unit, ir.Int(t.units)), l.ids.thread)
	}
	base := l.h.names.newVar(array.Name+"_at", tensor.Int64)
	l.bases = append(l.bases, &ir.Declare{V: base, Init: ir.Times(unit, t.length)})
	l.rewriter.views[array] = view{t.a, base}
	l.made[t.a] = true
	if unitLevel != ofBlock {
		l.own[t.a] = unitLevel
	}
	l.hoisted = append(l.hoisted, t)
	return t.length
}

// outside returns x in terms of variables that are visible outside the loop of Blocks, or nil if
// this is impossible.
func (l *launcher) outside(x ir.Expr) ir.Expr {
	known := true
	var expand func(x ir.Expr) ir.Expr
	expand = func(x ir.Expr) ir.Expr {
		switch x := x.(type) {
		case *ir.Lit:
			return x
		case *ir.Var:
			if !l.inner[x] {
				return x
			}
			if init := l.h.bounds.stands[x]; init != nil {
				return expand(init)
			}
		case *ir.Binary:
			return ir.Bin(x.Op, expand(x.X), expand(x.Y))
		case *ir.Select:
			return ir.Choose(expand(x.Cond), expand(x.X), expand(x.Y))
		}
		known = false
		return ir.Zero(x.Type())
	}
	if y := expand(x); known {
		return y
	}
	return nil
}

// mostThreads is the largest number of threads of a launch with hoisted arrays. A GPU runs fewer at
// a time, so more blocks would need memory and not be faster.
const mostThreads = 1 << 19

// maxHoisted is the largest size in bytes of the hoisted arrays of a launch. A launch that would
// need more gets a smaller grid, and its blocks run several iterations each. The arrays of a grid
// of one block may be larger.
const maxHoisted = 1 << 30

// grid returns the number of blocks of the launch. The launch has the given number of blocks, or
// fewer if the hoisted arrays of all blocks would be too large. grid also appends to out the
// allocation of these arrays. The result free has the statements that free the arrays after the
// launch.
func (l *launcher) grid(blocks ir.Expr, out *ir.Block) (grid ir.Expr, free []ir.Stmt) {
	if len(l.hoisted) == 0 {
		return blocks, nil
	}
	perBlock := ir.Expr(ir.Int(0))
	for _, t := range l.hoisted {
		out.Append(&ir.Declare{V: t.length, Init: t.init})
		perBlock = ir.Plus(perBlock, ir.Times(t.length, ir.Int(t.units*t.a.Elem.Size())))
	}
	most := ir.Greatest(ir.Over(ir.Int(maxHoisted), ir.Greatest(perBlock, ir.Int(1))), ir.Int(1))
	most = ir.Least(most, ir.Int(mostThreads/l.threads))
	v := l.h.names.newVar("grid", tensor.Int64)
	out.Append(&ir.Declare{V: v, Init: ir.Least(blocks, most)})
	for _, t := range l.hoisted {
		out.Append(&ir.Alloc{A: t.a, Len: ir.Times(ir.Times(v, ir.Int(t.units)), t.length)})
		free = append(free, &ir.Free{A: t.a})
	}
	return v, free
}
