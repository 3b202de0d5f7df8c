package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/emit"
	"distaff/codegen/lower/space"
	"distaff/codegen/lower/tree"
	"distaff/codegen/provenance"
	"distaff/io/tensor"
)

// denseSpace is a workspace that is filled everywhere or nowhere. It is an array, in row-major
// order, with a place for each coordinate of box.
type denseSpace struct {
	box  space.Box
	vals *ir.Array
}

// add adds x at a's coordinates.
func (w *denseSpace) add(l *lowerer, a *cin.Access, x ir.Expr, e *env) {
	l.b.Emit(&ir.Store{A: w.vals, Index: w.box.At(e.point(a)), Accumulate: true, X: x})
}

// segment returns the array as an argument of a user's function, which adds to access a.
func (w *denseSpace) segment(n *externNest, a *cin.Access) segment {
	s := segment{name: a.Name, a: w.vals, at: ir.Int(0)}
	for m, v := range a.Vars {
		s.dense(w.box.Size(m), w.box.Lo[m], v, n.known(v))
	}
	return s
}

// newDenseSpace returns the workspace for t. All uses in a scope share one array. Inside loops over
// tiles of its variable, the workspace has places for one tile only.
func (l *lowerer) newDenseSpace(t *cin.Access, e *env) *denseSpace {
	w := &denseSpace{box: l.maker.Box(t.Vars)}
	size, v := w.box.Places(), t.Vars[0]
	if c := l.sched.comps[v]; c != nil && len(t.Vars) == 1 && len(c.component.Roots) == 1 &&
		e.open.at(c.component.Top) != nil {
		o := e.open.at(c.component.Top)
		iv := l.coverage(o.iv, o.frames, e)
		w.box.Lo[0], w.box.Hi[0] = l.b.Named(t.Name+"_lo", iv.lo), l.b.Named(t.Name+"_hi", iv.hi)
		if r := l.sched.g.MadeBy(o.leaf); o.iv.unit == coords && r.Kind == provenance.Split &&
			r.To[1] == o.leaf {
			size = ir.Least(size, ir.Int(r.N))
		}
	}
	w.vals = emit.Kept(l.b, t.Name+", array", func() *ir.Array {
		return l.b.AllocInScope(l.b.Array(t.Name+"_vals", l.spec.Compute), size, false)
	})
	return w
}

// operand returns the workspace as its consumer reads it.
func (w *denseSpace) operand(l *lowerer, name string) *tree.Operand {
	op := tree.NewOperand(l.args, tree.Argument{Name: name, Number: -1, Type: l.spec.Compute,
		Format: tensor.DenseOf(len(w.box.Lo))})
	op.Give(0, ir.Vals, w.vals)
	l.maker.DenseLevels(op, w.box, 0, len(w.box.Lo))
	return op
}

// whereDense lowers a where whose workspace is filled everywhere or nowhere. It lowers the consumer
// once for each of these cases, so that no loop of the consumer tests which case it is.
func (l *lowerer) whereDense(s *cin.Where, t *cin.Access, e *env, want bool) ir.Expr {
	w := l.newDenseSpace(t, e)
	op := w.operand(l, t.Name)
	l.b.Emit(&ir.Fill{A: w.vals, Lo: ir.Int(0), Hi: w.box.Places(), X: ir.Zero(l.spec.Compute)})
	shadowed := l.ops[t.Name]
	some := l.stmt(s.Producer, e.filling(t.Name, w), true)
	consume := func(pres bool) ir.Expr {
		in := e.clone()
		l.ops[t.Name] = op
		cin.Accesses(s.Consumer, func(a *cin.Access) {
			if a.Name == t.Name {
				in.cur[a.Key()] = &tree.Cursor{Of: op, Vars: a.Vars, Pos: ir.Int(0), Present: ir.Truth(pres)}
			}
		})
		l.enterAll(s.Consumer, in)
		if !pres && l.assigns(s.Consumer) {
			l.clearAbsent(in)
		}
		got := l.stmt(s.Consumer, in, want)
		l.ops[t.Name] = shadowed
		return got
	}
	return l.lowerBothCases(t.Name, some, want, consume)
}

// lowerBothCases lowers a consumer twice: for the case that the workspace has values, under
// condition some, and for the other case. It returns the condition that the consumer assigned.
func (l *lowerer) lowerBothCases(name string, some ir.Expr, want bool,
	consume func(pres bool) ir.Expr) ir.Expr {
	if ir.Always(some) || ir.Never(some) {
		return consume(ir.Always(some))
	}
	var flag *ir.Var
	if want {
		flag = ir.NewVar(l.b.Fresh("some_"+name), tensor.Bool)
		l.b.Emit(&ir.Declare{V: flag, Init: ir.Truth(false)})
	}
	got := ir.Expr(ir.Truth(false))
	side := func(pres bool) *ir.Block {
		return l.b.Within(func() {
			p := consume(pres)
			got = anyOf(got, p)
			if want && !ir.Never(p) {
				l.b.Set(flag, p)
			}
		})
	}
	then := side(true)
	rest := side(false)
	if len(rest.List) == 0 {
		rest = nil
	}
	l.b.Emit(&ir.If{Cond: some, Then: then, Else: rest})
	if ir.Never(got) || !want {
		return got
	}
	return flag
}
