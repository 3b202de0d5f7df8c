package cuda

import (
	"fmt"

	"distaff/codegen/emit/clike"
	"distaff/codegen/ir"
	"distaff/io/tensor"
)

// kernel is a kernel while it is printed.
type kernel struct {
	file *file
	*clike.Function
	launch   Kernel
	live     map[*ir.Var]bool    // variables that something reads
	assigned map[*ir.Var]bool    // variables that change after their declaration
	loads    map[*ir.Array]bool  // arrays that are read
	streamed map[*ir.Load]bool   // loads of elements that the launch reads once
	used     []any               // variables and arrays, in the order of their first use
	offsets  map[*ir.Array]int64 // by shared array: its offset in dynamic shared memory
	inShared int64               // the size of all shared arrays in bytes
	declared map[*ir.Var]int     // the number of loops around a variable's declaration
	loops    int                 // the number of loops around the printed place
	alone    bool                // the printed code is run by diverged threads
	waits    bool                // threads wait for each other
}

func (f *file) newKernel(l *ir.Launch) *kernel {
	k := &kernel{
		file: f, launch: Kernel{Launch: l, Stores: map[*ir.Array]bool{}},
		Function: clike.NewFunction(f.names),
		live:     ir.Reads(l.Body), assigned: clike.Assigned(l.Body), loads: map[*ir.Array]bool{},
		declared: map[*ir.Var]int{},
	}
	k.streamed = f.streamed(l, k.assigned)
	k.launch.Name = f.names.Fresh(clike.Symbol(l.Name, "_kernel"))
	k.parameters()
	k.shared()
	return k
}

// parameters sets the kernel's parameters: the variables and arrays that the body uses and does not
// declare itself.
func (k *kernel) parameters() {
	seen, inside := map[any]bool{},
		map[any]bool{k.launch.Launch.Block: true, k.launch.Launch.Thread: true}
	use := func(x any) {
		if !seen[x] {
			seen[x] = true
			k.used = append(k.used, x)
		}
	}
	array := func(a *ir.Array, stored bool) {
		use(a)
		if stored {
			k.launch.Stores[a] = true
		} else {
			k.loads[a] = true
		}
	}
	expr := func(x ir.Expr) {
		if v, ok := x.(*ir.Var); ok {
			use(v)
		}
		if a := ir.ArrayOf(x); a != nil {
			array(a, false)
		}
	}
	ir.WalkRows(k.launch.Launch.Body, func(s ir.Stmt, r *ir.Row) {
		if r.IsDead(k.live) {
			return
		}
		k.launch.Fails = k.launch.Fails || r.Traits&ir.Ends != 0
		k.waits = k.waits || r.Traits&ir.Waits != 0
		if _, ok := s.(*ir.Fetch); ok {
			k.alone = true // the sums of a hash table
		}
		if f, ok := s.(*ir.For); ok {
			use(f.V)
		}
		for v, role := range r.Vars() {
			inside[v] = inside[v] || role == ir.Declares
		}
		for a, role := range r.Arrays() {
			switch role {
			case ir.Stores, ir.Updates:
				array(a, true)
				if role == ir.Updates && !isAtomic(s) {
					array(a, false)
				}
			case ir.MakesLocal, ir.MakesShared:
				inside[a] = true
			case ir.Hints:
				return // not printed
			}
		}
		for x := range r.Exprs() {
			ir.WalkExpr(x, expr)
		}
	})
	for _, x := range k.used {
		if inside[x] {
			continue
		}
		switch x := x.(type) {
		case *ir.Array:
			k.launch.Arrays = append(k.launch.Arrays, x)
		case *ir.Var:
			k.launch.Vars = append(k.launch.Vars, x)
		}
	}
}

// isAtomic reports whether s changes an element by one atomic operation, without reading the
// element separately.
func isAtomic(s ir.Stmt) bool {
	switch s := s.(type) {
	case *ir.Store:
		return s.Atomic
	case *ir.Fetch:
		return true
	}
	return false
}

// shared decides where shared arrays are. If they are too large together for static shared memory,
// each gets an offset in dynamic shared memory.
func (k *kernel) shared() {
	offsets, size := map[*ir.Array]int64{}, int64(0)
	ir.Walk(k.launch.Launch.Body, func(s ir.Stmt) {
		if s, ok := s.(*ir.Shared); ok {
			offsets[s.A] = size
			size += (s.Len*s.A.Elem.Size() + 15) / 16 * 16
		}
	})
	if k.inShared = size; size > MostStatic {
		k.offsets, k.launch.SharedBytes = offsets, size
	}
}

// text returns the kernel's text.
func (k *kernel) text() string {
	for _, a := range k.launch.Arrays {
		k.Array(a)
	}
	for _, v := range k.launch.Vars {
		k.Variable(v)
	}
	for _, x := range k.used {
		switch x := x.(type) {
		case *ir.Array:
			k.Array(x)
		case *ir.Var:
			k.Variable(x)
		}
	}
	l := k.launch.Launch
	for _, n := range []struct {
		v  *ir.Var
		is string
	}{{l.Block, "blockIdx.x"}, {l.Thread, "threadIdx.x"}} {
		if k.reads(n.v) {
			k.Line("const long long %s = %s;", k.Variable(n.v), n.is)
		}
	}
	k.stmts(l.Body.List)
	head := ""
	if !k.Names.Unnamed() {
		head = fmt.Sprintf("// %s blocks of %d threads.\n", clike.Comment(ir.PrintExpr(l.Grid)),
			l.Threads)
	}
	return head + k.prototype() + " {\n" + k.Text() + "}\n"
}

func (k *kernel) reads(v *ir.Var) bool {
	for _, x := range k.used {
		if x == v {
			return true
		}
	}
	return false
}

// prototype returns the kernel's head, in lines of at most about 110 characters.
func (k *kernel) prototype() string {
	bounds := fmt.Sprint(k.launch.Launch.Threads)
	if len(k.streamed) > 0 && k.holdsAll() {
		k.need("resident")
		bounds += ", DST_RESIDENT / " + bounds
	}
	s := fmt.Sprintf("extern \"C\" __global__ void __launch_bounds__(%s)\n", bounds)
	line := k.launch.Name + "("
	for i, p := range k.params() {
		switch {
		case i == 0:
		case len(line)+len(p) > 110:
			s += line + ",\n"
			line = "        "
		default:
			line += ", "
		}
		line += p
	}
	return s + line + ")"
}

// holdsAll reports whether the shared memory of a multiprocessor holds the shared arrays of as many
// blocks as its threads can run.
func (k *kernel) holdsAll() bool {
	const threads, bytes = 2048, 160 << 10 // an A100 has 164 KiB, and a block needs 1 KiB
	return k.inShared*(threads/k.launch.Launch.Threads) <= bytes
}

// params returns the declarations of the parameters, in the order that Kernel documents.
func (k *kernel) params() []string {
	var list []string
	for _, a := range k.launch.Arrays {
		list = append(list, k.arrayParam(a))
	}
	for _, v := range k.launch.Vars {
		list = append(list, k.Type(v.Typ)+" "+k.Variable(v))
	}
	if k.launch.Fails {
		k.need("fail")
		list = append(list, "dst_status *status")
	}
	return list
}

// arrayParam returns the declaration of the parameter for the array a. If the kernel does not store
// to a, the parameter is const and restrict, so that a is loaded through the read-only path. If the
// kernel both stores to a and loads it, the parameter is not restrict. The reason is that a
// compiler may assume of a restrict pointer that other threads do not change the array, but they
// may have done so before a barrier.
func (k *kernel) arrayParam(a *ir.Array) string {
	t, name := k.Type(a.Elem), k.Array(a)
	switch {
	case !k.launch.Stores[a]:
		return "const " + t + " *__restrict__ " + name
	case k.loads[a]:
		return t + " *" + name
	}
	return t + " *__restrict__ " + name
}

func (k *kernel) need(name string) { k.file.needs[name] = true }

// typed adds the given helper for type t to the file. It returns the full name of one of the
// helper's functions. name is this function's name without the prefix dst_ and without the suffix
// of the type.
func (k *kernel) typed(helper, name string, t tensor.Type) string {
	k.need(helper + ":" + t.String())
	return "dst_" + name + "_" + clike.Suffix(t)
}
