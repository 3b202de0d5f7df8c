package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/bounds"
	"distaff/codegen/lower/emit"
	"distaff/codegen/lower/result"
	"distaff/codegen/lower/scope"
	"distaff/codegen/lower/space"
	"distaff/codegen/lower/tree"
	"distaff/codegen/provenance"
	"distaff/io/tensor"
)

// denseSpace is a workspace that is filled everywhere or nowhere. It is an array in row-major
// order. box has the range of coordinates of each variable, and the array has a place for each
// point of these ranges.
type denseSpace struct {
	box  space.Box
	vals *ir.Array
}

// Add adds x at a's coordinates.
func (w *denseSpace) Add(a *cin.Access, x ir.Expr, e *scope.Env) {
	e.Leaf.B.AddTo(w.vals, w.box.At(e.Point(a)), x)
}

func (*denseSpace) HasPlaces() {}

// Array returns the array and the box.
func (w *denseSpace) Array() (*ir.Array, space.Box) { return w.vals, w.box }

// newDenseSpace returns the workspace for the temporary t. All uses of t in a scope share one
// array. If t has one variable, and the loops around t choose a tile of this variable, the box is
// only this tile. If the tile is made by a split of coordinates, the array is also only as large as
// one tile.
func (l *lowerer) newDenseSpace(t *cin.Access, e *scope.Env) *denseSpace {
	w := &denseSpace{box: l.maker(e).Box(t.Vars)}
	size, v := w.box.Places(), t.Vars[0]
	if c := l.leaf.Comps[v]; c != nil && len(t.Vars) == 1 && len(c.Roots) == 1 &&
		e.Open.At(c.Top) != nil {
		o := e.Open.At(c.Top)
		iv := bounds.Coverage(o.Iv, o.Frames, e)
		w.box.Lo[0], w.box.Hi[0] = l.b.Named(t.Name+"_lo", iv.Lo), l.b.Named(t.Name+"_hi", iv.Hi)
		if r := l.leaf.Graph.MadeBy(o.Leaf); o.Iv.Unit == scope.Coords && r.Kind == provenance.Split &&
			r.To[1] == o.Leaf {
			size = ir.Least(size, ir.Int(r.N))
		}
	}
	w.vals = emit.ScopeValue(l.b, t.Name+", array", func() *ir.Array {
		return l.b.AllocInScope(l.b.Array(t.Name+"_vals", l.spec.Compute), size, false)
	})
	return w
}

// operand returns the workspace as its consumer reads it.
func (w *denseSpace) operand(l *lowerer, name string, e *scope.Env) *tree.Operand {
	op := tree.NewOperand(l.leaf.Args, tree.Argument{Name: name, Number: -1, Type: l.spec.Compute,
		Format: tensor.DenseOf(len(w.box.Lo))})
	op.SetArray(0, ir.Vals, w.vals)
	l.maker(e).DenseLevels(op, w.box, 0, len(w.box.Lo))
	return op
}

// whereDense lowers a where whose workspace is filled everywhere or nowhere. It lowers the consumer
// once for each of these cases that can occur, so that no loop of the consumer tests the case.
func (l *lowerer) whereDense(s *cin.Where, t *cin.Access, e *scope.Env, want bool) ir.Expr {
	w := l.newDenseSpace(t, e)
	op := w.operand(l, t.Name, e)
	l.b.Emit(&ir.Fill{A: w.vals, Lo: ir.Int(0), Hi: w.box.Places(), X: ir.Zero(l.spec.Compute)})
	some := l.stmt(s.Producer, e.Filling(t.Name, w), true)
	consume := func(pres bool) ir.Expr {
		in := e.Reading(t.Name, op)
		cin.Accesses(s.Consumer, func(a *cin.Access) {
			if a.Name == t.Name {
				in.Cur[a.Key()] = &tree.Cursor{Of: op, Vars: a.Vars, Pos: ir.Int(0), Present: ir.Truth(pres)}
			}
		})
		in.EnterAll(s.Consumer)
		if !pres && l.leaf.Assigns(s.Consumer) {
			result.ClearAbsent(l.assembly, in)
		}
		return l.stmt(s.Consumer, in, want)
	}
	return l.lowerBothCases(t.Name, some, want, consume)
}

// lowerBothCases lowers a consumer twice: for the case that the workspace has values, and for the
// case that it has none. filled is the condition of the first case. If it is a constant, the
// consumer is lowered only once. consume lowers the consumer for one of the cases. If want is true,
// lowerBothCases returns the condition that the consumer assigned a value.
func (l *lowerer) lowerBothCases(name string, filled ir.Expr, want bool,
	consume func(pres bool) ir.Expr) ir.Expr {
	if ir.Always(filled) || ir.IsFalse(filled) {
		return consume(ir.Always(filled))
	}
	var flag *ir.Var
	if want {
		flag = l.b.Local("some_"+name, ir.Truth(false))
	}
	got := ir.Expr(ir.Truth(false))
	side := func(pres bool) *ir.Block {
		return l.b.Within(func() {
			p := consume(pres)
			got = scope.AnyOf(got, p)
			if want && !ir.IsFalse(p) {
				l.b.Set(flag, p)
			}
		})
	}
	then := side(true)
	rest := side(false)
	if len(rest.List) == 0 {
		rest = nil
	}
	l.b.Emit(&ir.If{Cond: filled, Then: then, Else: rest})
	if ir.IsFalse(got) || !want {
		return got
	}
	return flag
}
