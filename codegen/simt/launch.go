package simt

import (
	"distaff/codegen/ir"
	"distaff/io/tensor"
)

// launcher makes the ir.Launch that replaces one loop of kind Blocks, or a launch in which a single
// thread runs statements.
type launcher struct {
	rewriter rewriter
	ids      ids
	h        *host
	loop     *ir.For
	threads  int64
	roles    map[ir.Stmt]role
	made     map[*ir.Array]bool  // arrays that only the launch uses
	own      map[*ir.Array]level // arrays with a separate part for each warp or thread
	strides  map[ir.Stmt]bool    // loops that run several iterations of Blocks, Warps or Lanes
	shared   []ir.Stmt           // the Shared arrays, which are declared at the start of the launch
	bytes    int64               // size of the shared arrays in bytes
	// declarations of where a thread's, warp's or block's part of a hoisted array begins
	bases   []ir.Stmt
	hoisted []hoisted
	inner   map[*ir.Var]bool // variables that are declared inside the loop
}

// level is the unit that runs a piece of code: a thread, a warp or a block.
type level uint8

const (
	ofBlock level = iota
	ofWarp
	ofThread
)

// newLauncher returns the launcher for a launch that runs loop, which is a loop of Blocks. threads
// is the number of threads of a block. If loop is nil, the launch runs statements that are in no
// loop of Blocks.
func (h *host) newLauncher(loop *ir.For, threads int64) *launcher {
	l := &launcher{
		rewriter: newRewriter(), h: h, loop: loop, threads: threads, roles: map[ir.Stmt]role{},
		made: map[*ir.Array]bool{}, own: map[*ir.Array]level{}, strides: map[ir.Stmt]bool{},
		ids: h.ids,
	}
	if l.isBlockNumber() {
		l.ids.block = loop.V
	}
	return l
}

// isBlockNumber reports whether the variable of the loop of Blocks equals the block's number.
func (l *launcher) isBlockNumber() bool {
	if l.loop == nil || l.loop.Step != 1 || len(l.hoisted) > 0 {
		return false
	}
	first, ok := l.loop.Lo.(*ir.Lit)
	return ok && first.I == 0
}

// launch appends to the host's code the launch of s, a loop of Blocks.
func (h *host) launch(s *ir.For, out *ir.Block) {
	l := h.newLauncher(s, threadsOf(s))
	l.inner = declaredIn(s)
	for _, v := range s.Reduce {
		l.rewriter.vars[v] = h.names.newVar(v.Name+"_block", v.Typ)
	}
	body := l.inside(s.Body, ofBlock)

	grid, free := l.grid(h.bound("blocks", count(s), out), out)
	lo := h.bound("first", s.Lo, out)
	parts := h.parts(s, grid, out)
	head := &ir.Block{}
	for _, v := range s.Reduce {
		head.Append(&ir.Declare{V: l.rewriter.vars[v], Init: ir.Zero(v.Typ)})
	}
	switch {
	case l.isBlockNumber():
		head.List = append(head.List, body.List...)
	case len(l.hoisted) == 0:
		head.Append(&ir.Declare{V: s.V, Init: ir.Plus(lo, ir.Times(l.ids.block, ir.Int(s.Step)))})
		head.List = append(head.List, body.List...)
	default:
		head.Append(l.strided(body, lo, count(s), grid))
	}
	for k, v := range s.Reduce {
		l.single(&ir.Store{A: parts[k], Index: l.ids.block, X: l.rewriter.vars[v]}, ofBlock, head)
	}
	l.finish(head, grid, out)
	out.List = append(out.List, free...)
	h.addParts(s, parts, grid, out)
}

// finish appends the launch of a body.
func (l *launcher) finish(body *ir.Block, grid ir.Expr, out *ir.Block) {
	l.barriers(body)
	warpSize := ir.Int(ir.WarpSize)
	head := ir.Seq(
		&ir.Declare{V: l.ids.warp, Init: ir.Over(l.ids.thread, warpSize)},
		&ir.Declare{V: l.ids.lane, Init: ir.Modulo(l.ids.thread, warpSize)})
	head.List = append(append(head.List, l.shared...), l.bases...)
	head.List = append(head.List, body.List...)
	out.Append(&ir.Launch{Name: l.h.kernel(), Grid: grid, Threads: l.threads, Block: l.ids.block,
		Thread: l.ids.thread, Body: head})
}

// strided returns the loop in which a block runs its share of the iterations of the launched loop.
// The block begins with the iteration that has the block's own number, and advances by grid, the
// number of blocks. blocks is the number of iterations of the launched loop, and lo is the first
// value of its variable. body is the loop's body.
func (l *launcher) strided(body *ir.Block, lo, blocks, grid ir.Expr) ir.Stmt {
	s, turn := l.loop, l.h.names.newVar("turn", tensor.Int64)
	turns := ir.Over(ir.Minus(ir.Plus(blocks, ir.Minus(grid, ir.Int(1))), l.ids.block), grid)
	at := ir.Plus(l.ids.block, ir.Times(turn, grid))
	first := &ir.Declare{V: s.V, Init: ir.Plus(lo, ir.Times(at, ir.Int(s.Step)))}
	body.List = append([]ir.Stmt{first}, body.List...)
	loop := &ir.For{V: turn, Lo: ir.Int(0), Hi: turns, Step: 1, Body: body}
	l.strides[loop] = true
	return loop
}

// count returns the number of iterations of a loop.
func count(s *ir.For) ir.Expr {
	n := ir.Minus(s.Hi, s.Lo)
	if s.Step > 1 {
		n = ir.Over(ir.Plus(n, ir.Int(s.Step-1)), ir.Int(s.Step))
	}
	if b, ok := n.(*ir.Binary); ok && b.Op == ir.Max {
		if least, ok := b.Y.(*ir.Lit); ok && least.I >= 0 {
			return n
		}
	}
	return ir.Greatest(n, ir.Int(0))
}

// threadsOf returns the number of threads that a block needs for the Warps and Lanes in s.
func threadsOf(s *ir.For) int64 {
	n := int64(ir.WarpSize)
	inWarps := map[*ir.For]bool{}
	ir.Walk(s.Body, func(t ir.Stmt) {
		t2, ok := t.(*ir.For)
		if !ok {
			return
		}
		switch {
		case t2.Kind == ir.Warps:
			n = max(n, t2.Width*ir.WarpSize)
			ir.Walk(t2.Body, func(u ir.Stmt) {
				if u, ok := u.(*ir.For); ok {
					inWarps[u] = true
				}
			})
		case t2.Kind == ir.Lanes && !inWarps[t2]:
			n = max(n, (t2.Width+ir.WarpSize-1)/ir.WarpSize*ir.WarpSize)
		}
	})
	return n
}

// declaredIn returns the variables that are declared in s, including loop variables.
func declaredIn(s *ir.For) map[*ir.Var]bool {
	in := map[*ir.Var]bool{}
	ir.WalkRows(s, func(_ ir.Stmt, r *ir.Row) {
		for v, role := range r.Vars() {
			in[v] = in[v] || role == ir.Declares
		}
	})
	return in
}

// savedValue returns an expression for the value that x has after the code in out. If x reads
// memory that the leaf may store to, another thread could change the value too early. In this case,
// savedValue appends the declaration of a new variable with the value of x to out, and returns the
// variable. name is the wanted name of the variable.
func (l *launcher) savedValue(name string, x ir.Expr, out *ir.Block) ir.Expr {
	if !changeable(x) {
		return x
	}
	v := l.h.names.newVar(name, x.Type())
	out.Append(&ir.Declare{V: v, Init: x})
	return v
}

// refuse records why the loop of this launch is refused. Only the first reason is kept.
func (l *launcher) refuse(format string, args ...any) {
	loop := ""
	if l.loop != nil {
		loop = l.loop.V.Name
	}
	l.h.refuse(loop, format, args...)
}

// number returns the variable that numbers the threads of a unit, and the number of threads of the
// unit. If unitLevel is ofWarp, the unit is a warp. Otherwise the unit is a block.
func (l *launcher) number(unitLevel level) (n *ir.Var, width int64) {
	if unitLevel == ofWarp {
		return l.ids.lane, ir.WarpSize
	}
	return l.ids.thread, l.threads
}
