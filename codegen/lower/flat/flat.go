// Package flat lowers long sequences of contractions of dense tensors. A statement of this kind has
// a where for each intermediate. Each producer is a contraction: loops around a product of dense
// accesses. A contraction becomes a product of matrices (ir.Gemm), or plain loops if it is small or
// has another form. No strategy is needed, so the time is proportional to the number of
// contractions. Package lower makes faster code for short sequences.
//
// Intermediates are in two arrays, which are allocated once. An intermediate has its place from its
// own contraction until the contraction that reads it is done. No contraction reads and writes the
// same array, because an intermediate and the intermediates that its contraction reads are in
// different arrays. The code has no other allocations, because the time of a C compiler grows with
// the square of their number.
//
//	flat.go         the statement, places and sizes
//	contraction.go  one contraction
//	arena.go        the places of intermediates
package flat

import (
	"cmp"
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/emit"
	"distaff/codegen/lower/tree"
	"distaff/io/tensor"
)

// Problem describes a leaf.
type Problem struct {
	Name     string
	Stmt     cin.Stmt
	Vars     []string        // in the order of the leaf's bounds
	Operands []tree.Argument // Operands[0] is the result
	Compute  tensor.Type
	Size     func(v string) int64
	Whole    []string // variables whose whole range each call has
	Adds     bool     // the leaf adds to the values of the result
}

// Leaf is a lowered leaf.
type Leaf struct {
	Func *ir.Func
	// Outermost has the outermost loop of each contraction that is a product of matrices.
	Outermost map[cin.Stmt]bool
	Bytes     int64 // of the arrays that have the intermediates
}

// Accepts reports whether Lower can lower a statement, and returns the number of its intermediates.
func Accepts(s cin.Stmt, operands []tree.Argument, compute tensor.Type) (made int, ok bool) {
	for k, o := range operands {
		if !o.Format.AllDense() || k == 0 && o.Type != compute {
			return 0, false
		}
	}
	ok = true
	var walk func(s cin.Stmt)
	walk = func(s cin.Stmt) {
		switch s := s.(type) {
		case *cin.Where:
			made++
			walk(s.Producer)
			walk(s.Consumer)
		case *cin.Forall:
			ok = ok && s.Unit == cin.Serial && s.Unroll == 0
			walk(s.Body)
		case *cin.Assign:
			ok = ok && isProduct(s.RHS)
		default:
			ok = false
		}
	}
	walk(s)
	return made, ok
}

// isProduct reports whether an expression is a product of accesses and numbers.
func isProduct(x cin.Expr) bool {
	switch x := x.(type) {
	case *cin.Access, *cin.Lit:
		return true
	case *cin.Neg:
		return isProduct(x.X)
	case *cin.Binary:
		return x.Op == '*' && isProduct(x.X) && isProduct(x.Y)
	}
	return false
}

// Lower returns the leaf of a statement that Accepts accepts.
func Lower(p Problem) *Leaf {
	l := &lowerer{Problem: p, b: emit.New(), out: &Leaf{Outermost: map[cin.Stmt]bool{}},
		readers: readers(p.Stmt), bounds: map[string][2]ir.Expr{}, at: map[string]ir.Expr{},
		whole:   map[string]bool{},
		tensors: map[string]*dense{}}
	f := &ir.Func{Name: p.Name}
	for _, v := range p.Whole {
		l.whole[v] = true
	}
	for _, v := range p.Vars {
		b := [2]*ir.Var{l.b.Var(v + "_lo"), l.b.Var(v + "_hi")}
		f.Bounds = append(f.Bounds, b)
		l.bounds[v] = [2]ir.Expr{b[0], b[1]}
		if l.whole[v] {
			l.bounds[v] = [2]ir.Expr{ir.Int(0), ir.Int(p.Size(v))}
		}
	}
	args := &tree.Arguments{B: l.b}
	f.Body = l.b.Func(func() {
		f.Threads = l.b.Var("threads")
		for _, o := range p.Operands {
			o.Rows = false
			l.tensors[o.Name] = &dense{operand: tree.NewOperand(args, o)}
		}
		cin.Walk(p.Stmt, func(s cin.Stmt) {
			if s, ok := s.(*cin.Where); ok {
				t := target(s.Producer)
				l.tensors[t.Name] = &dense{vars: t.Vars, places: -1}
			}
		})
		for k := range l.arenas {
			l.arenas[k].alloc = &ir.Alloc{A: l.b.Array("w", p.Compute)}
			l.arenas[k].array = l.arenas[k].alloc.A
			l.b.Emit(l.arenas[k].alloc)
		}
		if !p.Adds {
			l.clear(target(p.Stmt))
		}
		l.stmt(p.Stmt)
		for k := range l.arenas {
			x := &l.arenas[k]
			x.alloc.Len = ir.Int(x.most)
			l.out.Bytes += x.most * int64(p.Compute.Size())
			l.b.Free(x.array)
		}
	})
	f.Params = args.Params
	slices.SortFunc(f.Params, func(p, q ir.Param) int {
		return cmp.Or(cmp.Compare(p.Slot.Arg, q.Slot.Arg), cmp.Compare(p.Slot.Level, q.Slot.Level),
			cmp.Compare(p.Slot.Field, q.Slot.Field))
	})
	l.out.Func = f
	return l.out
}

// target returns the access that a statement assigns to.
func target(s cin.Stmt) *cin.Access {
	for {
		switch x := s.(type) {
		case *cin.Where:
			s = x.Consumer
		case *cin.Forall:
			s = x.Body
		case *cin.Assign:
			return x.LHS
		}
	}
}

// lowerer is the state of Lower.
type lowerer struct {
	Problem
	b       *emit.Builder
	out     *Leaf
	bounds  map[string][2]ir.Expr
	at      map[string]ir.Expr // the coordinates of variables whose loops are open
	whole   map[string]bool
	tensors map[string]*dense // operands and intermediates, by name
	arenas  [2]arena
	readers map[string]string // for each intermediate, the name of the tensor that it is read for
}

// dense is an operand of the leaf, or an intermediate.
type dense struct {
	operand *tree.Operand // nil if it is an intermediate
	// The rest is for an intermediate.
	vars   []string
	arena  *arena
	at     int64 // where its places begin
	places int64 // their number, or -1 until they are reserved
}

// stmt emits the code of a statement.
func (l *lowerer) stmt(s cin.Stmt) {
	switch s := s.(type) {
	case *cin.Where:
		l.stmt(s.Producer)
		l.stmt(s.Consumer)
		w := l.tensors[target(s.Producer).Name]
		w.arena.free(w.at, w.places)
	case *cin.Forall:
		var vars []string
		body := cin.Stmt(s)
		for f, ok := body.(*cin.Forall); ok; f, ok = body.(*cin.Forall) {
			vars, body = append(vars, f.Var), f.Body
		}
		if a, ok := body.(*cin.Assign); ok {
			if l.contraction(vars, a) {
				l.out.Outermost[s] = true
			}
			return
		}
		l.begin(target(s))
		l.loop(s.Var, func() { l.stmt(s.Body) })
	case *cin.Assign:
		l.contraction(nil, s)
	}
}

// extent returns the length of a variable's range.
func (l *lowerer) extent(v string) ir.Expr { return ir.Minus(l.bounds[v][1], l.bounds[v][0]) }

// loop emits a loop over a variable.
func (l *lowerer) loop(v string, body func()) {
	l.b.Loop(v, l.bounds[v][0], l.bounds[v][1], func(x *ir.Var) {
		l.at[v] = x
		body()
	})
	delete(l.at, v)
}

// coordinate returns the coordinate of v: the coordinate of its loop, or the first one if there is
// no open loop.
func (l *lowerer) coordinate(v string) ir.Expr {
	if x := l.at[v]; x != nil {
		return x
	}
	return l.bounds[v][0]
}

// place is an access to a dense array. at is the place of the first coordinate of each variable
// whose loop is not open.
type place struct {
	array *ir.Array
	at    ir.Expr
	by    map[string]ir.Expr // the stride of each variable
}

// place returns the place of an access.
func (l *lowerer) place(a *cin.Access) place {
	t := l.tensors[a.Name]
	p := place{at: ir.Int(0), by: map[string]ir.Expr{}}
	stride := ir.Expr(ir.Int(1))
	add := func(v string, offset, size ir.Expr) {
		p.at = ir.Plus(p.at, ir.Times(ir.Minus(l.coordinate(v), offset), stride))
		if by := p.by[v]; by != nil {
			p.by[v] = ir.Plus(by, stride)
		} else {
			p.by[v] = stride
		}
		stride = ir.Times(stride, size)
	}
	if t.operand == nil {
		for _, v := range slices.Backward(t.vars) {
			add(v, l.bounds[v][0], l.extent(v))
		}
		p.array, p.at = t.arena.array, ir.Plus(p.at, ir.Int(t.at))
		return p
	}
	p.array = t.operand.Vals()
	for level, mode := range slices.Backward(t.operand.Argument.Format.Order) {
		v := a.Vars[mode]
		if l.whole[v] {
			t.operand.Trips[level] = l.Size(v)
		}
		add(v, t.operand.Offset(level), t.operand.Size(level))
	}
	return p
}

// clear sets the values of the result to 0.
func (l *lowerer) clear(result *cin.Access) {
	vars := []string{}
	for _, mode := range l.Operands[0].Format.Order {
		vars = append(vars, result.Vars[mode])
	}
	var fill func(k int)
	fill = func(k int) {
		n, tail := ir.Expr(ir.Int(1)), true
		for j, v := range vars[k:] {
			n, tail = ir.Times(n, l.extent(v)), tail && (j == 0 || l.whole[v])
		}
		if tail { // the rest is one range
			p := l.place(result)
			l.b.Emit(&ir.Fill{A: p.array, Lo: p.at, Hi: ir.Plus(p.at, n), X: ir.Zero(p.array.Elem)})
			return
		}
		l.loop(vars[k], func() { fill(k + 1) })
	}
	fill(0)
}
