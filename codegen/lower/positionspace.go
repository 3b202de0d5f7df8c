package lower

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/strategy"
)

// positionSpace is a workspace with a place for each position of an operand that a tile
// has: vals[p-lo] belongs to position p. Every position holds a value, so that the
// workspace has the operand's pattern and needs neither coordinates nor marks.
type positionSpace struct {
	key    string // of the operand's access
	vals   *ir.Array
	lo, hi ir.Expr // the tile's positions
	len    int64   // how many there are at most
	// at is the place at hand in a loop over places, nil elsewhere.
	at ir.Expr
}

// add stores x, the only value at the position at hand.
func (w *positionSpace) add(l *lowerer, _ *cin.Access, x ir.Expr, e *env) {
	at := w.at
	if at == nil {
		at = ir.Minus(e.cur[w.key].pos, w.lo)
	}
	l.store(w.vals, at, x)
}

// maxStackPlaces is the largest workspace that lies on the stack of a CPU's thread, where
// it is set to 0 at each use. A GPU's is what its threads keep it in.
const maxStackPlaces = 64

// newPositionSpace is the workspace for t: on CPUs one array for all uses in a scope, where
// it is large.
func (l *lowerer) newPositionSpace(t *cin.Access, form strategy.Form, tile interval) *positionSpace {
	w := &positionSpace{key: form.Key, vals: l.dense[t.Name], lo: tile.lo, hi: tile.hi, len: form.Len}
	switch {
	case w.vals != nil:
	case form.Len <= maxStackPlaces || l.spec.GPU:
		w.vals = l.newArray(t.Name, l.spec.Compute)
		l.emit(&ir.Local{A: w.vals, Len: form.Len})
	default:
		w.vals = l.newArray(t.Name, l.spec.Compute)
		l.pre.Append(&ir.Alloc{A: w.vals, Len: ir.Int(form.Len)})
		l.post.Append(&ir.Free{A: w.vals})
		l.dense[t.Name] = w.vals
	}
	return w
}

// wherePositions lowers a where whose workspace has a place for each position of a tile. Its
// consumer reads it as an operand with the level arrays of the one whose positions they
// are, of which the loops visit the tile.
func (l *lowerer) wherePositions(s *cin.Where, t *cin.Access, e *env, want bool) ir.Expr {
	form := l.spec.Strategy.Spaces[t.Name].Form
	row := e.cur[form.Key]
	if never(row.pres) {
		if l.assigns(s.Consumer) {
			l.zero(e)
		}
		return ir.Truth(false)
	}
	c := l.sched.comps[t.Vars[0]]
	o := e.open[c.Top]
	tile := o.iv
	if len(o.frames) > 0 { // of tiles inside the workspace's
		tile = o.frames[0].iv
	}
	if tile.unit != positions || tile.key != form.Key {
		panic("BUG: lower: " + t.Key() + " is not over a tile of positions of " + form.Key)
	}
	w := l.newPositionSpace(t, form, tile)
	outer := l.spaces[t.Name]
	l.spaces[t.Name] = w
	l.stmt(s.Producer, e.clone(), false)
	l.spaces[t.Name] = outer

	in := e.clone()
	cur := *row
	cur.op = w.operand(l, t.Name, row.op)
	in.cur[t.Key()] = &cur
	in.open[c.Top] = o.along(form.Key, t.Key())
	shadowed := l.ops[t.Name]
	l.ops[t.Name] = cur.op
	pres := l.stmt(s.Consumer, in, want)
	l.ops[t.Name] = shadowed
	return pres
}

// operand is the workspace as its consumer reads it, with the level arrays of another.
func (w *positionSpace) operand(l *lowerer, name string, pattern *operand) *operand {
	op := newOperand(l, pattern.Operand)
	op.Name, op.Arg, op.Type, op.pattern = name, -1, l.spec.Compute, pattern
	op.arrays[ir.Slot{Arg: -1, Field: ir.Vals}] = w.vals
	op.valueAt = func(p, _ ir.Expr) ir.Expr {
		if w.at != nil {
			return w.at
		}
		return ir.Minus(p, w.lo)
	}
	return op
}

// along is how far the loops have come over the positions of one access, for another
// with the same level arrays.
func (o *opened) along(key, other string) *opened {
	out := *o
	rename := func(iv interval) interval {
		if iv.key == key {
			iv.key = other
		}
		return iv
	}
	out.iv = rename(o.iv)
	out.frames = slices.Clone(o.frames)
	for k := range out.frames {
		out.frames[k].iv = rename(out.frames[k].iv)
	}
	return &out
}

// fillPlaces lowers the loop f that fills a workspace over an interval of positions, as one
// loop over these: coordinates are loaded where the body reads them. It returns false where that
// takes coordinates of which a level above has one for several positions.
func (l *lowerer) fillPlaces(f *cin.Forall, e *env, c *component, o *opened) bool {
	w, ok := l.spaces[cin.Target(f).Name].(*positionSpace)
	if !ok || w.key != o.iv.key {
		return false
	}
	cur := e.cur[w.key]
	reads := l.rootsRead(f.Body, c, w.key)
	last := len(c.Roots) - 1
	for d, read := range reads {
		for k := d + 1; read && k <= last; k++ {
			if !cur.op.caps(cur.level + k).Branchless {
				return false
			}
		}
	}
	g := *f
	g.Var = c.Roots[last]
	l.overPlaces(&g, cur.op.prefix(), o.iv, w, func(p ir.Expr) {
		in := e.clone()
		here := *cur
		here.level, here.pos, here.end, here.base, here.pres = cur.op.order(), p, nil, nil, ir.Truth(true)
		for d, root := range c.Roots {
			if reads[d] {
				in.coord[root] = l.declare(root, ir.Coord(cur.op.crd(cur.level+d), p))
			}
		}
		in.cur[w.key] = &here
		l.enterAll(f.Body, in)
		l.stmt(f.Body, in, false)
	})
	return true
}

// rootsRead tells which of a component's variables a statement needs that fills a
// workspace: those of its accesses but that of a key, or all where a division that may
// fail names them.
func (l *lowerer) rootsRead(s cin.Stmt, c *component, key string) []bool {
	reads := make([]bool, len(c.Roots))
	divides := false
	cin.Accesses(s, func(a *cin.Access) {
		for d, root := range c.Roots {
			reads[d] = reads[d] || a.Key() != key && slices.Contains(a.Vars, root)
		}
	})
	cin.Paths(s, func(_ []*cin.Forall, a *cin.Assign) { divides = divides || hasQuotient(a.RHS) })
	for d := range reads {
		reads[d] = reads[d] || divides && l.spec.Compute.IsInt()
	}
	return reads
}

func hasQuotient(x cin.Expr) bool {
	switch x := x.(type) {
	case *cin.Neg:
		return hasQuotient(x.X)
	case *cin.Binary:
		return x.Op == '/' || hasQuotient(x.X) || hasQuotient(x.Y)
	}
	return false
}

// overPlaces emits the loop f over the positions of an interval of w's tile. One that is
// unrolled completely has a copy for a whole tile, whose number of iterations is
// constant, and a plain one for what is less.
func (l *lowerer) overPlaces(f *cin.Forall, name string, iv interval, w *positionSpace, body func(p ir.Expr)) {
	if !w.unrolls(f, iv) {
		p := l.newVar(name + "_p")
		l.emit(l.setKind(f, &ir.For{V: p, Lo: iv.lo, Hi: iv.hi, Step: 1, Body: l.within(func() { body(p) })}))
		return
	}
	whole := ir.Expr(ir.Truth(iv.size == w.len))
	if iv.size < 0 {
		whole = ir.Equal(ir.Minus(iv.hi, iv.lo), ir.Int(w.len))
	}
	all := l.within(func() {
		t := l.newVar(f.Var + "_place")
		w.at = t
		l.emit(l.setKind(f, &ir.For{V: t, Lo: ir.Int(0), Hi: ir.Int(w.len), Step: 1, Body: l.within(func() {
			body(l.named(name+"_p", ir.Plus(iv.lo, t)))
		})}))
		w.at = nil
	})
	if always(whole) {
		l.blk.List = append(l.blk.List, all.List...)
		return
	}
	rest := l.within(func() {
		g := *f
		g.Unroll = 0
		l.overPlaces(&g, name, iv, w, body)
	})
	l.emit(&ir.If{Cond: whole, Then: all, Else: rest})
}

// maxUnrolledPlaces is how many places a loop over a tile has at most for all to be
// unrolled.
const maxUnrolledPlaces = 64

// unrolls tells whether a loop over an interval is unrolled for all of w's places.
func (w *positionSpace) unrolls(f *cin.Forall, iv interval) bool {
	all := f.Unroll == cin.AllIterations || f.Unroll >= w.len
	return all && w.len <= maxUnrolledPlaces && iv.lo == w.lo && iv.hi == w.hi
}
