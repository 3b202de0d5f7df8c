package c

import (
	"fmt"
	"strings"

	"distaff/codegen/emit/clike"
	"distaff/codegen/ir"
	"distaff/io/tensor"
)

// stmts prints statements. It leaves out statements that only set variables that are never read.
func (f *cfunc) stmts(list []ir.Stmt) {
	for _, s := range list {
		if !ir.IsDead(s, f.leaf.live) {
			f.stmt(s)
		}
	}
}

func (f *cfunc) stmt(s ir.Stmt) {
	switch s := s.(type) {
	case *ir.Block:
		f.Line("{")
		f.nested(s)
		f.Line("}")
	case *ir.Comment:
		f.Comment(s.Text)
	case *ir.Declare:
		constant := "const "
		if f.leaf.assigned[s.V] {
			constant = ""
		}
		init := f.expr(s.Init, 0)
		f.Line("%s%s %s = %s;", constant, ctype(s.V.Typ), f.Variable(s.V), init)
	case *ir.Assign:
		f.assign(s)
	case *ir.Store:
		f.store(s)
	case *ir.For:
		outer := f.inScalarLoop
		f.inScalarLoop = false
		f.loop(s)
		f.inScalarLoop = outer
	case *ir.While:
		f.Line("while (%s) {", f.expr(s.Cond, 0))
		if isTail(s) {
			f.leaf.file.need("alone")
			f.Scoped(func() { f.Line("dst_alone();") })
		}
		outer, outermost := f.inScalarLoop, f.outermost
		f.inScalarLoop, f.outermost = true, false
		f.nested(s.Body)
		f.inScalarLoop, f.outermost = outer, outermost
		f.Line("}")
	case *ir.If:
		f.Line("if (%s) {", f.expr(s.Cond, 0))
		f.nested(s.Then)
		if s.Else != nil {
			f.Line("} else {")
			f.nested(s.Else)
		}
		f.Line("}")
	case *ir.Ordered:
		f.ordered(s)
	case *ir.Fill:
		f.fill(s)
	case *ir.Copy:
		name := "copy"
		if s.Stream {
			name = "stream"
		}
		f.leaf.file.need(name)
		f.Line("dst_"+name+"(%s, %s, %s, %s, %s, sizeof(%s));", f.Array(s.Dst), f.expr(s.DstLo, 0),
			f.Array(s.Src), f.expr(s.SrcLo, 0), f.expr(s.N, 0), ctype(s.Dst.Elem))
	case *ir.Gemm:
		f.gemm(s)
	case *ir.Call:
		f.call(s)
	case *ir.Sort:
		f.Line("%s(%s, %s, %s);", f.leaf.file.helper("sort", s.A.Elem), f.Array(s.A), f.expr(s.Lo, 0),
			f.expr(s.Hi, 0))
	case *ir.Mark:
		f.leaf.file.need("bitmap")
		f.Line("dst_mark(%s, %s, &%s, %s);", f.Array(s.Bits), f.Array(s.Words), f.Variable(s.N),
			f.expr(s.At, 0))
	case *ir.Collect:
		f.leaf.file.need("bitmap")
		n := f.Variable(s.N)
		f.Line("%s = dst_collect(%s, %s, %s, %s, %s, %s, %s);", n, f.Array(s.List), f.Array(s.Words), n,
			f.Array(s.Bits), f.Array(s.Flags), f.expr(s.Len, 0), f.expr(s.Base, 0))
	case *ir.Union:
		f.union(s)
	case *ir.SortBy:
		f.sortBy(s)
	case *ir.Alloc:
		f.alloc(s)
	case *ir.Prefetch:
		f.prefetch(s)
	case *ir.Local:
		if f.leaf.used[s.A] {
			f.Line("%s %s[%d] = {0};", ctype(s.A.Elem), f.Array(s.A), s.Len)
			if !f.leaf.reads(s.A) { // a pass that counts entries fills workspaces and reads no value
				f.Line("(void)%s;", f.Array(s.A))
			}
		}
	case *ir.Grow:
		f.grow(s)
	case *ir.Free:
		f.releaseArray(s.A)
		f.Line("%s = 0;", f.Array(s.A))
	case *ir.AllocTable, *ir.Keep, *ir.Take, *ir.FreeTable:
		f.tableStmt(s)
	case *ir.Publish:
		f.publish(s)
	case *ir.Fail:
		for k, x := range s.Coord {
			f.Line("%s->fail_coord[%d] = %s;", f.fault, k, f.expr(x, 0))
		}
		if len(s.Coord) > 0 || f.piece {
			f.Line("%s->fail_ncoord = %d;", f.fault, len(s.Coord))
		}
		f.fail(fmt.Sprint(int(s.Code)))
	default:
		panic(fmt.Sprintf("BUG: emit/c: statement %T", s))
	}
}

func (f *cfunc) nested(b *ir.Block) {
	f.Scoped(func() { f.stmts(b.List) })
}

func (f *cfunc) assign(s *ir.Assign) {
	name := f.Variable(s.V)
	pair, split := f.split[s.V]
	switch {
	case !s.Accumulate:
		f.Line("%s = %s;", name, f.expr(s.X, 0))
	case split:
		x := f.Temps.Fresh(name + "_x")
		f.Line("const %s %s = %s;", ctype(s.V.Typ), x, f.expr(s.X, 0))
		f.Line("%s += __real__ %s;", pair[0], x)
		f.Line("%s += __imag__ %s;", pair[1], x)
	default:
		f.Line("%s;", f.added(name, s.X))
	}
}

// added returns the C assignment that adds x to target, a variable or an array element. In a vector
// loop, the addition is fused with the product if x is a product. In a serial loop, it is not
// fused. There, a sum usually waits for the previous sum, and a plain addition has less latency
// than a fused one.
func (f *cfunc) added(target string, x ir.Expr) string {
	if a, b, negative, ok := factors(x); ok && f.inVectorLoop {
		return target + " = " + f.fma(a, b, negative, target)
	}
	return target + " += " + f.expr(x, 0)
}

func (f *cfunc) store(s *ir.Store) {
	at := f.Array(s.A) + "[" + f.expr(s.Index, 0) + "]"
	x := f.expr(s.X, 0)
	if s.A.Elem == tensor.Int32 && s.X.Type() == tensor.Int64 {
		x = "(int32_t)" + f.expr(s.X, clike.PrecUnary)
	}
	op := "="
	if s.Accumulate {
		op = "+="
	}
	plain := fmt.Sprintf("%s %s %s;", at, op, x)
	if s.Accumulate && s.X.Type() == s.A.Elem {
		plain = f.added(at, s.X) + ";"
	}
	if !s.Atomic || !f.piece {
		f.Line("%s", plain)
		return
	}
	f.Line("if (shared) {")
	f.Scoped(func() { f.atomic(s, at, op, x) })
	f.Line("} else {")
	f.Line("    %s", plain)
	f.Line("}")
}

// atomic prints an atomic store. It stores a complex number as two parts, because OpenMP has no
// atomic operation for complex numbers.
func (f *cfunc) atomic(s *ir.Store, at, op, x string) {
	clause := "atomic"
	if !s.Accumulate {
		clause = "atomic write"
	}
	if !s.A.Elem.IsComplex() {
		f.pragma("omp %s", clause)
		f.Line("%s %s %s;", at, op, x)
		return
	}
	p := ctype(clike.Component(s.A.Elem))
	value, to := f.Temps.Fresh("atom"), f.Temps.Fresh("parts")
	f.Line("const %s %s = %s;", ctype(s.A.Elem), value, x)
	f.Line("%s *const %s = (%s *)&%s;", p, to, p, at)
	for k, of := range []string{"__real__", "__imag__"} {
		f.pragma("omp %s", clause)
		f.Line("%s[%d] %s %s %s;", to, k, op, of, value)
	}
}

func (f *cfunc) fill(s *ir.Fill) {
	x := f.expr(s.X, 0)
	k := f.Temps.Fresh("k")
	_, isLit := s.X.(*ir.Lit)
	if !isLit {
		value := f.Temps.Fresh("value")
		f.Line("const %s %s = %s;", ctype(s.X.Type()), value, x)
		x = value
	}
	if s.A.Elem == tensor.Int32 && s.X.Type() == tensor.Int64 {
		x = "(int32_t)" + x
	}
	if n, ok := filled(s); ok {
		from := f.Temps.Fresh("from")
		f.Line("const int64_t %s = %s;", from, f.expr(s.Lo, 0))
		f.Line("for (int64_t %s = 0; %s < %d; %s++)", k, k, n, k)
		f.Line("    %s[%s + %s] = %s;", f.Array(s.A), from, k, x)
		return
	}
	end := f.end(s.Hi, k, &ir.Block{List: []ir.Stmt{s}})
	f.Line("for (int64_t %s = %s; %s < %s; %s++)", k, f.expr(s.Lo, 0), k, end, k)
	f.Line("    %s[%s] = %s;", f.Array(s.A), k, x)
}

// filled returns the number of elements that a fill sets, if its upper bound is its lower bound
// plus a constant greater than 1. Otherwise ok is false.
//
// A constant lets the C compiler emit stores. Without one, the compiler calls memset and must save
// registers before the call. The compiler may not find the constant by itself, for example if the
// bounds were computed by a negation.
func filled(s *ir.Fill) (n int64, ok bool) {
	b, ok := s.Hi.(*ir.Binary)
	if !ok || b.Op != ir.Add || !ir.Same(b.X, s.Lo) {
		return 0, false
	}
	if l, lit := b.Y.(*ir.Lit); lit && l.I > 1 {
		return l.I, true
	}
	return 0, false
}

func (f *cfunc) sortBy(s *ir.SortBy) {
	f.leaf.file.need("sort_by")
	keys := make([]string, len(s.Keys))
	for i, a := range s.Keys {
		keys[i] = f.Array(a)
	}
	list := f.Temps.Fresh("keys")
	f.Line("const int64_t *const %s[] = {%s};", list, strings.Join(keys, ", "))
	f.Line("if (dst_sort_by(env, %s, %s, %s, %s, %d)) {", f.Array(s.Perm), f.expr(s.Lo, 0),
		f.expr(s.Hi, 0), list, len(keys))
	f.failedAlloc()
}

func (f *cfunc) union(s *ir.Union) {
	n, t := f.Variable(s.N), s.Vals.Elem
	f.leaf.file.need("window")
	var of []string
	for _, g := range s.Of {
		of = append(of, fmt.Sprintf("{%s, %s, %s, %s, %s}", f.Array(g.Crd), f.Array(g.Vals),
			f.expr(g.Lo, 0), f.expr(g.Hi, 0), f.expr(g.Factor, 0)))
	}
	f.Line("%s = %s(%d, %s, %s, %s, (dst_segment_%s[]){%s});", n, f.leaf.file.helper("union", t),
		len(of), f.Array(s.Crd), f.Array(s.Vals), n, clike.Suffix(t), strings.Join(of, ", "))
}

// failedAlloc prints the body and the closing brace of an if statement whose condition is that an
// allocation failed.
func (f *cfunc) failedAlloc() {
	f.Scoped(func() { f.fail("1") })
	f.Line("}")
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (f *cfunc) alloc(s *ir.Alloc) {
	f.leaf.file.need("alloc")
	f.Line("%s = %s;", f.lens[s.A], f.expr(s.Len, 0))
	f.Line("%s = dst_alloc(env, %s, sizeof(%s), %d);", f.Array(s.A), f.lens[s.A], ctype(s.A.Elem),
		truth(s.Zero))
	f.Line("if (!%s) {", f.Array(s.A))
	f.failedAlloc()
}

func (f *cfunc) grow(s *ir.Grow) {
	f.leaf.file.need("grow")
	a, n, capacity := f.Array(s.A), f.lens[s.A], f.Variable(s.Cap)
	f.Line("if (%s > %s) {", f.expr(s.Need, clike.PrecSum), capacity)
	f.Scoped(func() {
		more, size := f.Temps.Fresh(a+"_more"), f.Temps.Fresh(a+"_size")
		f.Line("const int64_t %s = dst_grown(%s, %s);", size, capacity, f.expr(s.Need, 0))
		f.Line("%s *const %s = dst_grow(env, %s, %s, %s, sizeof(%s));", ctype(s.A.Elem), more, a, n, size,
			ctype(s.A.Elem))
		f.Line("if (!%s) {", more)
		f.failedAlloc()
		f.Line("%s = %s;", a, more)
		f.Line("%s = %s = %s;", n, capacity, size)
	})
	f.Line("}")
}

func (f *cfunc) tableStmt(s ir.Stmt) {
	switch s := s.(type) {
	case *ir.AllocTable:
		f.leaf.file.need("alloc")
		t, n := f.table(s.T), f.tlens[s.T]
		f.Line("%s = %s;", n, f.expr(s.Len, 0))
		f.Line("%s = dst_alloc(env, %s, sizeof(dst_array), 1);", t, n)
		f.Line("if (!%s) {", t)
		f.failedAlloc()
	case *ir.Keep:
		at := f.Temps.Fresh("entry")
		f.Line("dst_array *const %s = &%s[%s];", at, f.table(s.T), f.expr(s.Index, 0))
		f.Line("%s->ptr = %s;", at, f.Array(s.A))
		f.Line("%s->len = %s;", at, f.lens[s.A])
		f.Line("%s = 0;", f.Array(s.A))
	case *ir.Take:
		at := f.Temps.Fresh("entry")
		f.Line("dst_array *const %s = &%s[%s];", at, f.table(s.T), f.expr(s.Index, 0))
		f.Line("%s = %s->ptr;", f.Array(s.A), at)
		f.Line("%s = %s->len;", f.lens[s.A], at)
		f.Line("%s->ptr = 0;", at)
	case *ir.FreeTable:
		f.leaf.file.need("free_table")
		f.Line("dst_free_table(env, %s, %s, sizeof(%s));", f.table(s.T), f.tlens[s.T], ctype(s.T.Elem))
		f.Line("%s = 0;", f.table(s.T))
	}
}

func (f *cfunc) publish(s *ir.Publish) {
	a := f.Array(s.A)
	target := slotExpr(s.Slot)
	if !f.leaf.tail {
		out := f.leaf.slots[s.Slot]
		target = out.name
		f.Line("%s = %s;", out.len, f.lens[s.A])
	}
	f.Line("%s = (dst_array){%s, %s, 0};", target, a, f.expr(s.Len, 0))
	f.Line("%s = 0;", a)
}

// declareLate declares C variables for the arrays that the function publishes. The variables hold
// the arrays until no later statement can fail. Only then are the arrays stored in the result. If
// no statement after the first Publish may fail, declareLate declares nothing.
func (f *cfunc) declareLate() {
	if f.leaf.tail {
		return
	}
	f.leaf.slots = map[ir.Slot]lateSlot{}
	outer(f.leaf.fn.Body, func(s ir.Stmt) {
		p, ok := s.(*ir.Publish)
		if !ok || f.leaf.slots[p.Slot].name != "" {
			return
		}
		out := lateSlot{f.Temps.Fresh("out"), f.Temps.Fresh("out_len")}
		f.leaf.slots[p.Slot] = out
		f.leaf.order = append(f.leaf.order, p)
		f.Line("dst_array %s = {0, 0, 0};", out.name)
		f.Line("int64_t %s = 0;", out.len)
	})
}

// publishLate prints the transfer of the published arrays to the tensors. If the leaf failed, the
// arrays are released instead.
func (f *cfunc) publishLate() {
	for _, p := range f.leaf.order {
		out := f.leaf.slots[p.Slot]
		f.leaf.file.need("release")
		f.Line("if (rc)")
		f.Line("    dst_release(env, %s.ptr, %s, sizeof(%s));", out.name, out.len, ctype(p.A.Elem))
		f.Line("else if (%s.ptr)", out.name)
		f.Line("    %s = %s;", slotExpr(p.Slot), out.name)
	}
}

// lineBytes is the size of a cache line.
const lineBytes = 64

func (f *cfunc) prefetch(s *ir.Prefetch) {
	from := f.Array(s.A) + " + " + f.expr(s.Index, 5)
	switch bytes := s.Len * s.A.Elem.Size(); {
	case bytes > lineBytes:
		f.leaf.file.need("fetch")
		name := "dst_fetch"
		if s.Far {
			name = "dst_fetch_far"
		}
		f.Line("%s(%s, %d);", name, from, bytes)
	case s.Far:
		f.Line("__builtin_prefetch(%s, 0, 2);", from) // for reading, into the second-level cache
	default:
		f.Line("__builtin_prefetch(%s);", from)
	}
}
