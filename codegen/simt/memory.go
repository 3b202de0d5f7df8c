package simt

import "distaff/codegen/ir"

// share makes a an array of n elements that a block shares; false where it has no room for it.
func (l *launcher) share(a *ir.Array, n int64) bool {
	if size := a.Elem.Size(); n > (ir.MaxShared-l.bytes)/size {
		return false
	}
	l.bytes += n * a.Elem.Size()
	l.shared = append(l.shared, &ir.Shared{A: a, Len: n})
	l.made[a] = true
	return true
}

// memory appends a statement about a whole array.
func (l *launcher) memory(s ir.Stmt, at level, out *ir.Block) {
	switch s := s.(type) {
	case *ir.Local:
		l.make(s.A, ir.Int(s.Len), !s.Undefined, at, out)
	case *ir.Alloc:
		l.make(s.A, s.Len, s.Zero, at, out)
	case *ir.Free: // of what the launch makes, or the host before and frees behind it
	case *ir.Fill:
		k, v := l.h.names.newVar("k", ir.Int64), l.rewriter.array(s.A)
		x := l.before("x", l.rewriter.expr(s.X), out)
		lo, hi := ir.Plus(v.base, l.rewriter.expr(s.Lo)), ir.Plus(v.base, l.rewriter.expr(s.Hi))
		l.spreadOver(k, lo, hi, at, &ir.Store{A: v.a, Index: k, X: x}, out)
	case *ir.Copy:
		l.copy(s, at, out)
	default:
		l.refuse("%s cannot be done in the threads of a GPU", firstWord(s))
	}
}

// make makes a where the threads, warps or blocks that run this each have one: in registers or
// shared memory where its length is constant and small, else as a part of one array that is made
// before the launch.
func (l *launcher) make(a *ir.Array, length ir.Expr, zero bool, at level, out *ir.Block) {
	n, constant := length.(*ir.Lit)
	switch {
	case constant && n.I < 1:
		n = ir.Int(1)
		fallthrough
	case constant && at == ofThread && n.I <= ir.MaxLocal:
		l.own[a] = ofThread
		out.Append(&ir.Local{A: a, Len: n.I, Undefined: !zero})
		return
	case constant && at == ofBlock && l.share(a, n.I):
	case constant && at == ofWarp && n.I <= ir.MaxShared && l.share(a, n.I*l.threads/ir.WarpSize):
		l.rewriter.views[a] = view{a, ir.Times(l.ids.warp, n)}
		l.own[a] = ofWarp
	default:
		length = l.hoist(a, length, at)
		if length == nil {
			return
		}
	}
	if zero {
		v := l.rewriter.array(a)
		k := l.h.names.newVar("k", ir.Int64)
		l.spreadOver(k, v.base, ir.Plus(v.base, length), at,
			&ir.Store{A: v.a, Index: k, X: ir.Zero(a.Elem)}, out)
	}
}

// spreadOver has the threads of the block or warp, or the one thread, run s for k from lo to hi.
func (l *launcher) spreadOver(k *ir.Var, lo, hi ir.Expr, at level, s ir.Stmt, out *ir.Block) {
	if at == ofThread {
		out.Append(&ir.For{V: k, Lo: lo, Hi: hi, Step: 1, Body: ir.Seq(s)})
		return
	}
	lo, hi = l.before("first", lo, out), l.before("end", hi, out)
	n, width := l.number(at)
	var each ir.Stmt = &ir.For{V: k, Lo: ir.Plus(lo, n), Hi: hi, Step: width, Body: ir.Seq(s)}
	if most, known := l.h.bounds.atMost(ir.Minus(hi, lo)); known && most <= width {
		each = &ir.Block{List: []ir.Stmt{
			&ir.Declare{V: k, Init: ir.Plus(lo, n)}, &ir.If{Cond: ir.Less(k, hi), Then: ir.Seq(s)},
		}}
	}
	l.roles[each] = eachThread
	out.Append(each)
}

// copy spreads a copy over the threads. Its two ranges do not overlap where the arrays are two.
func (l *launcher) copy(s *ir.Copy, at level, out *ir.Block) {
	if s.Dst == s.Src {
		l.refuse("%s is copied within itself, which cannot be done in the threads of a GPU", s.Dst.Name)
		return
	}
	k := l.h.names.newVar("k", ir.Int64)
	dst, to := l.rewriter.place(s.Dst, s.DstLo)
	src, from := l.rewriter.place(s.Src, s.SrcLo)
	to, from = l.before("to", to, out), l.before("from", from, out)
	l.spreadOver(k, ir.Int(0), l.rewriter.expr(s.N), at,
		&ir.Store{A: dst, Index: ir.Plus(to, k), X: ir.At(src, ir.Plus(from, k))}, out)
}

// hoisted is an array of which every thread, warp or block that runs at once has a part.
type hoisted struct {
	a      *ir.Array
	length *ir.Var // of a part
	init   ir.Expr // which is this
	units  int64   // parts of a block
}

// hoist makes a a part of an array that the host makes, and returns the part's length; nil where
// that depends on what only the launch knows.
func (l *launcher) hoist(a *ir.Array, length ir.Expr, at level) ir.Expr {
	length = l.outside(length)
	if length == nil {
		l.refuse("the length of %s is not known before the loop begins", a.Name)
		return nil
	}
	t := hoisted{
		a: l.h.names.newArray(a.Name+"_all", a.Elem), length: l.h.names.newVar(a.Name+"_len", ir.Int64),
		init: ir.Greatest(length, ir.Int(0)), units: 1,
	}
	l.ids.block = l.h.ids.block // and no longer the loop's variable, of which a block has several
	unit := ir.Expr(l.ids.block)
	switch at {
	case ofWarp:
		t.units = l.threads / ir.WarpSize
		unit = ir.Plus(ir.Times(unit, ir.Int(t.units)), l.ids.warp)
	case ofThread:
		t.units = l.threads
		unit = ir.Plus(ir.Times(unit, ir.Int(t.units)), l.ids.thread)
	}
	base := l.h.names.newVar(a.Name+"_at", ir.Int64)
	l.bases = append(l.bases, &ir.Declare{V: base, Init: ir.Times(unit, t.length)})
	l.rewriter.views[a] = view{t.a, base}
	l.made[t.a] = true
	if at != ofBlock {
		l.own[t.a] = at
	}
	l.hoisted = append(l.hoisted, t)
	return t.length
}

// outside is x in variables that are visible outside of the loop of Blocks; nil where it has none
// such form.
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

// maxHoisted is the number of bytes beyond which the hoisted arrays of a launch make its grid
// smaller: its blocks then run several iterations each.
const maxHoisted = 1 << 30

// grid is the number of blocks of the launch. It makes the hoisted arrays before it, and frees them
// behind it.
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
	v := l.h.names.newVar("grid", ir.Int64)
	out.Append(&ir.Declare{V: v, Init: ir.Least(blocks, most)})
	for _, t := range l.hoisted {
		out.Append(&ir.Alloc{A: t.a, Len: ir.Times(ir.Times(v, ir.Int(t.units)), t.length)})
		free = append(free, &ir.Free{A: t.a})
	}
	return v, free
}
