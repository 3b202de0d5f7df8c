package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/provenance"
	"distaff/io/tensor"
)

// denseSpace is a workspace that is filled everywhere or nowhere: an array, in rows, with a place
// for each coordinate of box.
type denseSpace struct {
	box  box
	vals *ir.Array
}

// add adds x at a's coordinates.
func (w *denseSpace) add(l *lowerer, a *cin.Access, x ir.Expr, e *env) {
	l.emit(&ir.Store{A: w.vals, Index: w.box.at(a, e), Accumulate: true, X: x})
}

// segment returns the array for a user's function that adds to access a.
func (w *denseSpace) segment(n *externNest, a *cin.Access) segment {
	s := segment{name: a.Name, a: w.vals, at: ir.Int(0)}
	for m, v := range a.Vars {
		s.dense(w.box.size(m), w.box.lo[m], v, n.known(v))
	}
	return s
}

// newDenseSpace returns the workspace for t: one array for all uses in a scope. If it is inside
// loops over tiles of its variable, it stores a tile.
func (l *lowerer) newDenseSpace(t *cin.Access, e *env) *denseSpace {
	w := &denseSpace{box: l.newBox(t), vals: l.dense[t.Name]}
	size, v := w.box.places(), t.Vars[0]
	if c := l.sched.comps[v]; c != nil && len(t.Vars) == 1 && len(c.component.Roots) == 1 &&
		e.open[c.component.Top] != nil {
		o := e.open[c.component.Top]
		iv := l.coverage(o.iv, o.frames, e)
		w.box.lo[0], w.box.hi[0] = l.named(t.Name+"_lo", iv.lo), l.named(t.Name+"_hi", iv.hi)
		if r := l.sched.g.MadeBy(o.leaf); o.iv.unit == coords && r.Kind == provenance.Split &&
			r.To[1] == o.leaf {
			size = ir.Least(size, ir.Int(r.N))
		}
	}
	if w.vals == nil {
		w.vals = l.newArray(t.Name+"_vals", l.spec.Compute)
		l.pre.Append(&ir.Alloc{A: w.vals, Len: size})
		l.post.Append(&ir.Free{A: w.vals})
		l.dense[t.Name] = w.vals
	}
	return w
}

// operand returns the workspace as its consumer reads it.
func (w *denseSpace) operand(l *lowerer, name string) *operand {
	op := newOperand(l, Operand{Name: name, Arg: -1, Type: l.spec.Compute,
		Format: tensor.DenseOf(len(w.box.lo))})
	op.arrays[ir.Slot{Arg: -1, Field: ir.Vals}] = w.vals
	l.denseLevels(op, w.box, 0, len(w.box.lo))
	return op
}

// whereDense lowers a where whose workspace is filled everywhere or nowhere. It lowers the consumer
// twice, once for each case, so that no loop of the consumer tests the presence.
func (l *lowerer) whereDense(s *cin.Where, t *cin.Access, e *env, want bool) ir.Expr {
	w := l.newDenseSpace(t, e)
	op := w.operand(l, t.Name)
	l.emit(&ir.Fill{A: w.vals, Lo: ir.Int(0), Hi: w.box.places(), X: ir.Zero(l.spec.Compute)})
	outer, shadowed := l.spaces[t.Name], l.ops[t.Name]
	l.spaces[t.Name] = w
	some := l.stmt(s.Producer, e, true)
	l.spaces[t.Name] = outer
	consume := func(pres bool) ir.Expr {
		in := e.clone()
		l.ops[t.Name] = op
		cin.Accesses(s.Consumer, func(a *cin.Access) {
			if a.Name == t.Name {
				in.cur[a.Key()] = &cursor{op: op, vars: a.Vars, pos: ir.Int(0), pres: ir.Truth(pres)}
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

// lowerBothCases lowers a consumer twice: for the case that the workspace has values, which is
// condition some, and for the other case. It returns the condition under which the consumer
// assigned.
func (l *lowerer) lowerBothCases(name string, some ir.Expr, want bool,
	consume func(pres bool) ir.Expr) ir.Expr {
	if always(some) || never(some) {
		return consume(always(some))
	}
	var flag *ir.Var
	if want {
		flag = ir.NewVar(l.fresh("some_"+name), tensor.Bool)
		l.emit(&ir.Declare{V: flag, Init: ir.Truth(false)})
	}
	got := ir.Expr(ir.Truth(false))
	side := func(pres bool) *ir.Block {
		return l.within(func() {
			p := consume(pres)
			got = anyOf(got, p)
			if want && !never(p) {
				l.set(flag, p)
			}
		})
	}
	then := side(true)
	rest := side(false)
	if len(rest.List) == 0 {
		rest = nil
	}
	l.emit(&ir.If{Cond: some, Then: then, Else: rest})
	if never(got) || !want {
		return got
	}
	return flag
}
