package lower

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/emit"
	"distaff/codegen/lower/scope"
	"distaff/codegen/lower/units"
	"distaff/io/tensor"
)

// whereReduction lowers a where statement s whose temporary is the value of a reduction. a is the
// assignment of the producer that combines values, and loops are the loops around a.
//
// The producer combines the values that are present. If some coordinates may have no value, it also
// counts the values. If there are fewer values than coordinates, a zero is combined, too. The
// temporary is absent if there are coordinates but no values. MinStored and MaxStored always have a
// value.
func (l *lowerer) whereReduction(s *cin.Where, a *cin.Assign, loops []*cin.Forall, e *scope.Env,
	want bool) ir.Expr {
	name := a.LHS.Name
	r := l.newReducer(name, a, a.Op.Stored != a.Op && !isFull(a.RHS, e))
	outside := len(e.Coord.Names())+len(e.Open.Names())+len(e.Counts.Names()) == 0
	if l.spec.GPU && outside && !e.OnThread {
		l.reduceOnGPU(s.Producer, r, a, e)
	} else {
		l.stmt(s.Producer, e.Reducing(name, r), false)
	}
	pres := ir.Expr(ir.Truth(true))
	if r.Count != nil {
		zero := ir.Zero(r.Value.Typ)
		points := l.b.Named("points", pointsOf(loops, e))
		some := ir.Less(ir.Int(0), r.Count)
		l.b.When(ir.Less(r.Count, points), func() {
			l.b.Set(r.Value, ir.Choose(some, l.leaf.Combined(a.Op, r.Value, zero), zero))
		})
		pres = l.b.Named("some_"+name, ir.Either(some, ir.AtMost(points, ir.Int(0))))
	}
	in := e.Clone()
	in.Temps = in.Temps.With(name, scope.Value{Pres: pres, V: r.Value, Zeroed: true})
	return l.stmt(s.Consumer, in, want)
}

// reduceOnGPU lowers the producer of a reduction outside all loops, for a GPU. One thread runs the
// producer in order and hands its value and count over to r.
func (l *lowerer) reduceOnGPU(producer cin.Stmt, r *scope.Reducer, a *cin.Assign, e *scope.Env) {
	name := a.LHS.Name
	serial := cin.Map(producer, func(s cin.Stmt) cin.Stmt {
		if f, ok := s.(*cin.Forall); ok {
			return l.leaf.SerialCopy(f)
		}
		return s
	})
	value, count := l.b.Alloc(name+"_cell", r.Value.Typ, ir.Int(1), false), (*ir.Array)(nil)
	if r.Count != nil {
		count = l.b.Alloc(name+"_count", tensor.Int64, ir.Int(1), false)
	}
	body := l.b.InScope(func() {
		part := l.newReducer(name+"_part", a, r.Count != nil)
		in := e.Reducing(name, part)
		in.OnThread = true
		l.stmt(serial, in, false)
		l.b.Store(value, ir.Int(0), part.Value)
		if count != nil {
			l.b.Store(count, ir.Int(0), part.Count)
		}
	})
	l.b.Emit(&ir.For{V: l.b.Var("one"), Lo: ir.Int(0), Hi: ir.Int(1), Step: 1, Kind: ir.Blocks,
		Body: body})
	l.b.Set(r.Value, ir.At(value, ir.Int(0)))
	l.b.Free(value)
	if count != nil {
		l.b.Set(r.Count, ir.At(count, ir.Int(0)))
		l.b.Free(count)
	}
}

// newReducer declares the variables of the reduction that assignment a computes: its value, and the
// number of combined values if counts is true. name is the beginning of their names.
func (l *lowerer) newReducer(name string, a *cin.Assign, counts bool) *scope.Reducer {
	r := &scope.Reducer{Op: a.Op, Value: l.b.Local(name, ir.Literal(a.Op.Start(l.spec.Compute)))}
	if counts {
		r.Count = l.b.Declare(name+"_n", ir.Int(0))
	}
	return r
}

// pointsOf returns the number of coordinates of the variables that loops run over.
func pointsOf(loops []*cin.Forall, e *scope.Env) ir.Expr {
	n := ir.Expr(ir.Int(1))
	var roots []string
	for _, f := range loops {
		for _, v := range e.Leaf.Graph.Underived(f.Var) {
			if slices.Contains(roots, v) {
				continue
			}
			roots = append(roots, v)
			s := e.RangeOf(v)
			n = emit.Capped(n, ir.Greatest(ir.Minus(s.Hi, s.Lo), ir.Int(0)))
		}
	}
	return n
}

// isFull reports whether x certainly has a value at every coordinate.
func isFull(x cin.Expr, e *scope.Env) bool {
	switch x := x.(type) {
	case *cin.Lit:
		return true
	case *cin.Access:
		if t, ok := e.Temps.Get(x.Name); ok {
			return ir.Always(t.Pres)
		}
		op := e.Leaf.Ops[x.Name]
		return op != nil && op.Argument.Format.AllDense()
	case *cin.Neg:
		return isFull(x.X, e)
	case *cin.Call:
		if x.Func.NeedsAll {
			return !slices.ContainsFunc(x.Args, func(y cin.Expr) bool { return !isFull(y, e) })
		}
		return !x.Func.KeepsZero ||
			slices.ContainsFunc(x.Args, func(y cin.Expr) bool { return isFull(y, e) })
	case *cin.Binary:
		switch x.Op {
		case '*':
			return isFull(x.X, e) && isFull(x.Y, e)
		case '/':
			return isFull(x.X, e)
		}
		return isFull(x.X, e) || isFull(x.Y, e)
	}
	return false
}

// combine lowers assignment a, which combines the value x with the value of a reduction.
func (l *lowerer) combine(r *scope.Reducer, x scope.Value) {
	l.b.When(x.Pres, func() {
		l.b.Set(r.Value, l.leaf.Combined(r.Op, r.Value, x.V))
		if r.Count != nil {
			l.b.Incr(r.Count, ir.Int(1))
		}
	})
}

// parallelReduction lowers the parallel loop f, which computes a reduction that is not a sum. The
// loop is divided into n chunks. The values of the chunks are combined in their order.
func (l *lowerer) parallelReduction(f *cin.Forall, e *scope.Env, n int64) {
	name := cin.Target(f).Name
	a, _ := cin.Reduces(f)
	r := e.Reducer(name)
	parts := l.b.Alloc(name+"_parts", r.Value.Typ, ir.Int(n), false)
	var counts *ir.Array
	if r.Count != nil {
		counts = l.b.Alloc(name+"_counts", tensor.Int64, ir.Int(n), false)
	}
	units.NewWork(f, e, ir.Int(n)).Each(func(c *ir.Var, in *scope.Env) {
		part := l.newReducer(name+"_part", a, r.Count != nil)
		l.serial(f, in.Reducing(name, part), false)
		l.b.Store(parts, c, part.Value)
		if counts != nil {
			l.b.Store(counts, c, part.Count)
		}
	})
	l.b.Loop("chunk", ir.Int(0), ir.Int(n), func(k *ir.Var) {
		l.b.Set(r.Value, l.leaf.Combined(r.Op, r.Value, ir.At(parts, k)))
		if counts != nil {
			l.b.Incr(r.Count, ir.At(counts, k))
		}
	})
	l.b.Free(parts)
	if counts != nil {
		l.b.Free(counts)
	}
}
