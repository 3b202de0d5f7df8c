package simt

import (
	"fmt"
	"strings"

	"distaff/codegen/ir"
	"distaff/io/tensor"
)

// host translates the code of a leaf that is outside the loops of Blocks. This code runs on the
// host, and each loop of Blocks in it becomes a launch on the GPU.
type host struct {
	f        *ir.Func
	names    namer
	bounds   *bounds
	launches int
	loops    int // number of the host's loops around the current statement
	ids      ids
	refusal  *Refusal
}

// ids has the variables for four numbers: the number of the block, of the thread in the block, of
// the thread's warp, and of the thread in its warp. All launches use the same variables, with one
// exception: if the variable of a loop of Blocks equals the number of the block, the launch uses it
// as block.
type ids struct{ block, thread, warp, lane *ir.Var }

// refuse records why the leaf cannot run on a GPU. Only the first reason is kept. loop is the loop
// that is refused.
func (h *host) refuse(loop, format string, args ...any) {
	if h.refusal == nil {
		h.refusal = &Refusal{loop, fmt.Sprintf(format, args...)}
	}
}

// kernel returns the name of the next launch.
func (h *host) kernel() string {
	h.launches++
	return fmt.Sprintf("%s_%d", h.f.Name, h.launches)
}

// bound returns x if it reads no memory. Otherwise it appends the declaration of a new variable
// with the value of x, and returns the variable.
func (h *host) bound(name string, x ir.Expr, out *ir.Block) ir.Expr {
	if !reads(x) {
		return x
	}
	v := h.names.newVar(name, tensor.Int64)
	out.Append(&ir.Declare{V: v, Init: x})
	return v
}

// block returns the host's code for b. Consecutive statements that must run on the device become
// one launch.
func (h *host) block(b *ir.Block) *ir.Block {
	if b == nil {
		return nil
	}
	out := &ir.Block{}
	var run, free []ir.Stmt
	flush := func() {
		if len(run) > 0 {
			h.one(run, out)
			run = nil
		}
	}
	for _, s := range b.List {
		if scans := h.scan(s); scans != nil {
			flush()
			out.List = append(out.List, scans...)
			continue
		}
		if onDevice(s) {
			run = append(run, s)
			continue
		}
		flush()
		if s, ok := s.(*ir.Local); ok {
			out.Append(&ir.Alloc{A: s.A, Len: ir.Int(s.Len), Zero: !s.Undefined})
			free = append(free, &ir.Free{A: s.A})
			continue
		}
		h.stmt(s, out)
	}
	flush()
	out.List = append(out.List, free...)
	return out
}

// stmt appends the host's code for s.
func (h *host) stmt(s ir.Stmt, out *ir.Block) {
	switch s := s.(type) {
	case *ir.Block:
		out.Append(h.block(s))
	case *ir.If:
		out.Append(&ir.If{Cond: s.Cond, Then: h.block(s.Then), Else: h.block(s.Else)})
	case *ir.While:
		h.loops++
		out.Append(&ir.While{Cond: s.Cond, Body: h.block(s.Body)})
		h.loops--
	case *ir.For:
		h.loop(s, out)
	case *ir.Prefetch:
	default:
		if ir.RowOf(s).Traits&ir.OnHost != 0 {
			out.Append(s)
			return
		}
		h.refuse("", "%s can run neither on the host of a GPU nor on its threads",
			firstWord(s))
	}
}

// loop appends the host's code for a loop that is not inside a loop of Blocks. If it is a loop of
// Blocks itself, it becomes a launch. A serial, vectorized or unrolled loop runs on the host. Other
// kinds of loops are refused.
func (h *host) loop(s *ir.For, out *ir.Block) {
	switch s.Kind {
	case ir.Blocks:
		h.launch(s, out)
	case ir.Serial, ir.Vector, ir.Unrolled:
		h.loops++
		out.Append(&ir.For{V: s.V, Lo: s.Lo, Hi: s.Hi, Step: s.Step, Body: h.block(s.Body)})
		h.loops--
	default:
		h.refuse(s.V.Name, "a loop that is %s cannot run on the host of a GPU", s.Kind)
	}
}

// firstWord returns the first word of the statement's text.
func firstWord(s ir.Stmt) string {
	word, _, _ := strings.Cut(strings.TrimSpace(ir.PrintStmt(s)), " ")
	return word
}

// reads reports whether x reads memory.
func reads(x ir.Expr) bool {
	found := false
	ir.WalkExpr(x, func(x ir.Expr) { found = found || ir.ArrayOf(x) != nil })
	return found
}

// changeable reports whether x reads memory that the leaf may store to.
func changeable(x ir.Expr) bool {
	found := false
	ir.WalkExpr(x, func(x ir.Expr) {
		a := ir.ArrayOf(x)
		found = found || a != nil && !a.Const
	})
	return found
}

// scan returns s as prefix sums of arrays, if it is the loop for k in lo : hi { a[k + 1] += a[k] }
// over one or more arrays of integers. Otherwise it returns nil. It also returns nil if the loop is
// inside another loop, or if its bounds read one of the arrays.
func (h *host) scan(s ir.Stmt) []ir.Stmt {
	loop, ok := s.(*ir.For)
	if !ok || h.loops > 0 || loop.Kind != ir.Serial || loop.Step != 1 {
		return nil
	}
	var scans []ir.Stmt
	seen := map[*ir.Array]bool{}
	for _, t := range loop.Body.List {
		if _, ok := t.(*ir.Comment); ok {
			continue
		}
		t, ok := t.(*ir.Store)
		if !ok || !t.Accumulate || t.Atomic || !t.A.Elem.IsInt() || seen[t.A] {
			return nil
		}
		x, ok := t.X.(*ir.Load)
		if !ok || x.A != t.A {
			return nil
		}
		at := linear{}.plus(x.Index, 1).plus(loop.V, -1)
		step := linear{}.plus(t.Index, 1).plus(x.Index, -1)
		if len(at.terms) > 0 || len(step.terms) > 0 || step.n != 1 {
			return nil
		}
		seen[t.A] = true
		scans = append(scans, &ir.Scan{A: t.A, Lo: ir.Plus(loop.Lo, ir.Int(at.n)),
			Hi: ir.Plus(loop.Hi, ir.Int(at.n+1))})
	}
	for a := range seen {
		if uses(loop.Lo, a) || uses(loop.Hi, a) {
			return nil // the scan of one array would change the bounds of the next scan
		}
	}
	return scans
}

// uses reports whether x reads a.
func uses(x ir.Expr, a *ir.Array) bool {
	found := false
	ir.WalkExpr(x, func(x ir.Expr) { found = found || ir.ArrayOf(x) == a })
	return found
}

// parts appends the allocation of arrays for the partial sums of the blocks. There is one array for
// each variable that the loop reduces.
func (h *host) parts(s *ir.For, grid ir.Expr, out *ir.Block) []*ir.Array {
	var parts []*ir.Array
	for _, v := range s.Reduce {
		a := h.names.newArray(v.Name+"_parts", v.Typ)
		out.Append(&ir.Alloc{A: a, Len: grid})
		parts = append(parts, a)
	}
	return parts
}

// sumThreads is the number of threads that add the blocks' partial sums.
const sumThreads = 256

// addParts appends a launch of one block that adds up partial sums. Each array in parts belongs to
// one variable that loop s sums into, and has a partial sum for each block of the grid. The host
// then adds the totals to these variables.
func (h *host) addParts(s *ir.For, parts []*ir.Array, grid ir.Expr, out *ir.Block) {
	if len(parts) == 0 {
		return
	}
	one, k := h.names.newVar("one", tensor.Int64), h.names.newVar("k", tensor.Int64)
	lanes := &ir.For{V: k, Lo: ir.Int(0), Hi: grid, Step: 1, Kind: ir.Lanes, Width: sumThreads,
		Body: &ir.Block{}}
	body, after := &ir.Block{}, &ir.Block{}
	var stores []ir.Stmt
	for n, v := range s.Reduce {
		total := h.names.newVar(v.Name+"_total", v.Typ)
		cell := h.names.newArray(v.Name+"_cell", v.Typ)
		body.Append(&ir.Declare{V: total, Init: ir.Zero(v.Typ)})
		lanes.Reduce = append(lanes.Reduce, total)
		lanes.Body.Append(&ir.Assign{V: total, Accumulate: true, X: ir.At(parts[n], k)})
		stores = append(stores, &ir.Store{A: cell, Index: ir.Int(0), X: total})
		out.Append(&ir.Alloc{A: cell, Len: ir.Int(1)})
		after.Append(&ir.Assign{V: v, Accumulate: true, X: ir.At(cell, ir.Int(0))})
		after.Append(&ir.Free{A: cell})
		after.Append(&ir.Free{A: parts[n]})
	}
	body.Append(lanes)
	body.List = append(body.List, stores...)
	h.launch(&ir.For{V: one, Lo: ir.Int(0), Hi: ir.Int(1), Step: 1, Kind: ir.Blocks, Body: body}, out)
	out.List = append(out.List, after.List...)
}
