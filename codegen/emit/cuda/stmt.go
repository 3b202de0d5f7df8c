package cuda

import (
	"fmt"

	"distaff/codegen/emit/clike"
	"distaff/codegen/ir"
	"distaff/io/tensor"
)

func (k *kernel) stmts(list []ir.Stmt) {
	for _, s := range list {
		if !ir.IsDead(s, k.live) {
			k.stmt(s)
		}
	}
}

func (k *kernel) nested(b *ir.Block) {
	k.Scoped(func() { k.stmts(b.List) })
}

func (k *kernel) stmt(s ir.Stmt) {
	switch s := s.(type) {
	case *ir.Block:
		k.Line("{")
		k.nested(s)
		k.Line("}")
	case *ir.Comment:
		k.Comment(s.Text)
	case *ir.Declare:
		constant := "const "
		if k.assigned[s.V] {
			constant = ""
		}
		init := k.expr(s.Init, 0)
		k.declared[s.V] = k.loops
		k.Line("%s%s %s = %s;", constant, k.Type(s.V.Typ), k.Variable(s.V), init)
	case *ir.Assign:
		k.assign(s)
	case *ir.Store:
		k.store(s)
	case *ir.For:
		k.loop(s)
	case *ir.While:
		k.Line("while (%s) {", k.expr(s.Cond, 0))
		k.divergent(true, func() { k.nested(s.Body) })
		k.Line("}")
	case *ir.If:
		k.Line("if (%s) {", k.expr(s.Cond, 0))
		k.divergent(k.carried(s.Cond), func() {
			k.nested(s.Then)
			if s.Else != nil {
				k.Line("} else {")
				k.nested(s.Else)
			}
		})
		k.Line("}")
	case *ir.Local:
		if k.isAccessed(s.A) {
			zero := " = {}"
			if s.Undefined {
				zero = ""
			}
			k.Line("%s %s[%d]%s;", k.Type(s.A.Elem), k.Array(s.A), s.Len, zero)
		}
	case *ir.Shared:
		k.sharedArray(s)
	case *ir.Barrier:
		if s.Warp {
			k.Line("__syncwarp();")
		} else {
			k.Line("__syncthreads();")
		}
	case *ir.Shuffle:
		k.shuffle(s)
	case *ir.Fetch:
		name := "fetch_add"
		if s.Claim {
			name = "claim"
		}
		k.Line("%s = %s(&%s[%s], %s);", k.Variable(s.V), k.typed("fetch", name, s.A.Elem),
			k.Array(s.A), k.expr(s.Index, 0), k.expr(s.X, 0))
	case *ir.Prefetch: // prefetching hides no latency while other warps run
	case *ir.Fail:
		k.fail(s)
	default:
		panic(fmt.Sprintf("BUG: emit/cuda: statement %T in a launch", s))
	}
}

// isAccessed reports whether the kernel accesses the elements of an array, by a load or a store.
func (k *kernel) isAccessed(a *ir.Array) bool { return k.launch.Stores[a] || k.loads[a] }

func (k *kernel) sharedArray(s *ir.Shared) {
	t, name := k.Type(s.A.Elem), k.Array(s.A)
	switch {
	case !k.isAccessed(s.A):
	case k.offsets == nil:
		k.Line("__shared__ %s %s[%d];", t, name, s.Len)
	default:
		k.need("dynamic")
		k.Line("%s *const %s = (%s *)(dst_dynamic() + %d);", t, name, t, k.offsets[s.A])
	}
}

func (k *kernel) assign(s *ir.Assign) {
	if s.Accumulate && isValue(&ir.Binary{Op: ir.Add, X: s.V, Y: s.X}, k.file.values) {
		k.Line("%s = %s(%s, %s);", k.Variable(s.V), k.typed("wrap", "add", s.V.Typ), k.Variable(s.V),
			k.expr(s.X, 0))
		return
	}
	k.Line("%s %s %s;", k.Variable(s.V), operator(s.Accumulate), k.expr(s.X, 0))
}

func operator(accumulate bool) string {
	if accumulate {
		return "+="
	}
	return "="
}

// store prints a store. An atomic store that does not accumulate is printed as a plain store.
func (k *kernel) store(s *ir.Store) {
	at := k.Array(s.A) + "[" + k.expr(s.Index, 0) + "]"
	x := k.value(s.A, s.X)
	t := s.A.Elem
	switch {
	case s.Accumulate && s.Atomic && t.IsComplex():
		k.Line("%s(&%s, %s);", k.typed("atomic_c", "atomic_add", t), at, x)
	case s.Accumulate && s.Atomic && t.Size() < 4:
		k.Line("%s(&%s, %s);", k.typed("atomic_small", "atomic_add", t), at, x)
	case s.Accumulate && s.Atomic && k.alone && !clike.IsLit(s.X):
		k.Line("%s;", k.atomicAdd(t, at, x))
	case s.Accumulate && s.Atomic:
		k.Line("%s(&%s, %s);", k.typed("atomic", "atomic_add", t), at, x)
	case s.Accumulate && (t == tensor.Int32 || t == tensor.Int64):
		k.Line("%s = %s(%s, %s);", at, k.typed("wrap", "add", t), at, x)
	default:
		k.Line("%s %s %s;", at, operator(s.Accumulate), x)
	}
}

// atomicAdd returns the text of an atomic addition that each thread makes by itself, without the
// help of the warp's other threads.
func (k *kernel) atomicAdd(t tensor.Type, at, x string) string {
	if u := atomicType(t); u != ctype(t) {
		return fmt.Sprintf("atomicAdd((%s *)&%s, (%s)(%s))", u, at, u, x)
	}
	return fmt.Sprintf("atomicAdd(&%s, %s)", at, x)
}

// divergent calls print, which prints code. alone is true if the threads of a warp run this code at
// different times. In such code, an atomic addition does not look for other threads of the warp
// that add to the same place.
func (k *kernel) divergent(alone bool, print func()) {
	before := k.alone
	k.alone = before || alone
	print()
	k.alone = before
}

// carried reports whether a condition depends on variables that an earlier iteration of the
// surrounding loop assigned, such as the end of a thread's current row.
func (k *kernel) carried(cond ir.Expr) bool {
	found := false
	ir.WalkExpr(cond, func(x ir.Expr) {
		v, ok := x.(*ir.Var)
		at, known := k.declared[v]
		found = found || ok && known && k.assigned[v] && at < k.loops
	})
	return found
}

// value returns x as an element of a.
func (k *kernel) value(a *ir.Array, x ir.Expr) string {
	if a.Elem == tensor.Int32 && x.Type() == tensor.Int64 && !clike.IsLit(x) {
		return "(int)" + k.expr(x, clike.PrecUnary)
	}
	return k.expr(x, 0)
}

func (k *kernel) shuffle(s *ir.Shuffle) {
	v, x := k.Variable(s.V), k.expr(s.X, 0)
	t := s.V.Typ
	switch {
	case t.IsComplex():
		k.Line("%s = %s(%s, %d);", v, k.typed("shuffle_c", "shuffle", t), x, s.Mask)
	case t == tensor.Bool:
		k.Line("%s = __shfl_xor_sync(0xffffffffu, (int)%s, %d) != 0;", v, k.expr(s.X, clike.PrecUnary),
			s.Mask)
	case t.Size() < 4:
		k.Line("%s = (%s)__shfl_xor_sync(0xffffffffu, (int)%s, %d);", v, ctype(t),
			k.expr(s.X, clike.PrecUnary), s.Mask)
	default:
		k.Line("%s = __shfl_xor_sync(0xffffffffu, %s, %d);", v, x, s.Mask)
	}
}

// fail prints code that ends a thread because it fails.
func (k *kernel) fail(s *ir.Fail) {
	call := fmt.Sprintf("dst_fail(status, %d, %d)", s.Code, len(s.Coord))
	if len(s.Coord) == 0 {
		k.Line("%s;", call)
	} else {
		k.Line("if (%s) {", call)
		k.Scoped(func() {
			for i, x := range s.Coord {
				k.Line("status->coord[%d] = %s;", i, k.expr(x, 0))
			}
		})
		k.Line("}")
	}
	k.Line("return;")
}
