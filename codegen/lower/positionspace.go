package lower

import (
	"slices"
	"strings"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lattice"
	"distaff/codegen/lower/emit"
	"distaff/codegen/lower/tree"
	"distaff/codegen/strategy"
)

// positionSpace is a workspace with a place for each position of an operand in a tile. vals[p-lo]
// belongs to position p. Every position has a value, so the workspace has the operand's pattern and
// needs neither coordinates nor marks.
type positionSpace struct {
	name   string
	key    string // the key of the operand's access
	vals   *ir.Array
	lo, hi ir.Expr // the range of the tile's positions
	len    int64   // the largest number of positions in a tile
	each   bool    // the consumer is a loop over all places
	// own is the variable that the producer's loops over positions are derived from, if it differs
	// from the consumer's variable, or else "". tile has the data for entering the operand at a
	// position.
	own  string
	tile *placeLoop
	// at is the current place in a loop over places, or nil outside one.
	at *ir.Var
}

// add stores x, the only value at the current position.
func (w *positionSpace) add(l *lowerer, _ *cin.Access, x ir.Expr, e *env) {
	l.b.Store(w.vals, w.place(e.cur[w.key].Pos), x)
}

// place returns the place of position p.
func (w *positionSpace) place(p ir.Expr) ir.Expr {
	if w.at != nil {
		return w.at
	}
	return ir.Minus(p, w.lo)
}

// maxStackPlaces is the largest number of places of a workspace on the stack of a CPU's thread. On
// a GPU, the compiler decides where a thread's workspace is stored.
const maxStackPlaces = 64

// newPositionSpace returns the workspace for t. On a CPU, a large workspace is one array for all
// uses in a scope.
func (l *lowerer) newPositionSpace(t *cin.Access, form strategy.Form,
	tile interval) *positionSpace {
	w := &positionSpace{name: t.Name, key: form.Key, lo: tile.lo, hi: tile.hi, len: form.Len,
		each: form.Each}
	if form.Len <= maxStackPlaces || l.spec.GPU {
		w.vals = l.b.Array(t.Name, l.spec.Compute)
		l.b.Emit(&ir.Local{A: w.vals, Len: form.Len, Undefined: true})
		return w
	}
	w.vals = emit.Kept(l.b, t.Name+", array", func() *ir.Array {
		return l.b.AllocInScope(l.b.Array(t.Name, l.spec.Compute), ir.Int(form.Len), false)
	})
	return w
}

// wherePositions lowers a where whose workspace has a place for each position of a tile. The
// consumer reads the workspace as an operand with the level arrays of the operand that the
// positions belong to. The loops visit that operand's tile.
func (l *lowerer) wherePositions(s *cin.Where, t *cin.Access, e *env, want bool) ir.Expr {
	form := l.spec.Strategy.Spaces[t.Name].Form
	row := e.cur[form.Key]
	if ir.Never(row.Present) {
		if l.assigns(s.Consumer) {
			l.zero(e)
		}
		return ir.Truth(false)
	}
	c := l.sched.comps[t.Vars[0]]
	o := e.open.at(c.component.Top)
	tile := o.iv
	if len(o.frames) > 0 { // the frames are tiles inside the workspace's tile
		tile = o.frames[0].iv
	}
	if tile.unit != positions || tile.key != form.Key {
		panic("BUG: lower: " + t.Key() + " is not over a tile of positions of " + form.Key)
	}
	w := l.newPositionSpace(t, form, tile)
	in := e.clone().filling(t.Name, w)
	if w.own = l.ownVariable(s.Producer); w.own != "" {
		w.tile = &placeLoop{l: l, e: e, c: c, cur: row, iv: tile, w: w}
		w.fill(s.Producer, in)
	} else {
		l.stmt(s.Producer, in, false)
	}

	in = e.clone()
	cur := *row
	cur.Of = w.operand(l, t.Name, row.Of)
	in.cur[t.Key()] = &cur
	in.open = in.open.with(c.component.Top, o.withAccess(form.Key, t.Key()))
	shadowed := l.ops[t.Name]
	// These are the levels of the operand, not of the variables that the workspace is over.
	l.ops[t.Name], l.levels[t.Key()] = cur.Of, cur.Vars
	pres := l.stmt(s.Consumer, in, want)
	l.ops[t.Name] = shadowed
	delete(l.levels, t.Key())
	return pres
}

// fill lowers a producer whose loops are derived from w.own, and not from the consumer's variable.
// If one of the loops is unrolled, there is a separate copy for whole tiles, with constant trip
// counts.
func (w *positionSpace) fill(producer cin.Stmt, e *env) {
	l := w.tile.l
	over := func(hi ir.Expr, size int64) *ir.Block {
		return l.b.Within(func() {
			in := e.clone()
			in.ranges = in.ranges.with(w.own, tree.Range{Lo: w.lo, Hi: hi, Size: size})
			l.stmt(producer, in, false)
		})
	}
	unrolled := false
	cin.Walk(producer, func(s cin.Stmt) {
		f, ok := s.(*cin.Forall)
		unrolled = unrolled || ok && f.Unroll != 0
	})
	rest := over(w.hi, 0)
	if !unrolled {
		l.b.Append(rest)
		return
	}
	whole := ir.Equal(ir.Minus(w.hi, w.lo), ir.Int(w.len))
	l.b.Emit(&ir.If{Cond: whole, Then: over(ir.Plus(w.lo, ir.Int(w.len)), w.len), Else: rest})
}

// ownVariable returns the variable that the loops of a producer are derived from, if the producer
// and the consumer visit a tile of positions in different ways. Otherwise it returns "".
func (l *lowerer) ownVariable(producer cin.Stmt) string {
	f, ok := producer.(*cin.Forall)
	if !ok {
		return ""
	}
	if v := l.sched.g.Underived(f.Var)[0]; l.sched.g.TileOf(v) != "" {
		return v
	}
	return ""
}

// arrive returns the environment for the assignment a to w. e has only the position that the
// producer is at. If a reads coordinates of the rows that contain this position, arrive emits the
// search for the rows.
func (w *positionSpace) arrive(a *cin.Assign, e *env) *env {
	p := *w.tile
	p.f, p.reads = &cin.Forall{Var: w.own, Body: a}, p.l.rootsRead(a, p.c, w.key)
	at := e.coord.at(w.own)
	in := e.clone()
	if !p.branchless() {
		above := p.cur.Pos
		for d, q := range p.cur.Ancestors(p.iv.ancestor, len(p.c.component.Roots), at) {
			if p.reads[d] {
				in.coord = in.coord.with(p.c.component.Roots[d], p.l.b.Named(p.c.component.Roots[d],
					p.cur.CoordAt(d, above, q)))
			}
			above = q
		}
	}
	return p.in(in, at)
}

// operand returns the workspace as its consumer reads it, with the level arrays of pattern.
func (w *positionSpace) operand(l *lowerer, name string, pattern *tree.Operand) *tree.Operand {
	op := tree.NewOperand(l.args, pattern.Argument)
	op.Argument.Name, op.Argument.Number, op.Argument.Type = name, -1, l.spec.Compute
	op.Pattern = pattern
	l.positionSpaces[op] = w
	op.Give(0, ir.Vals, w.vals)
	op.ValueAt = func(p, _ ir.Expr) ir.Expr { return w.place(p) }
	return op
}

// withAccess returns a copy of the loops' state o in which positions of one access become positions
// of another access. src is the key of the first access, and dst is the key of the second. Both
// accesses have the same level arrays.
func (o *openLoops) withAccess(src, dst string) *openLoops {
	out := *o
	rename := func(iv interval) interval {
		if iv.key == src {
			iv.key = dst
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

// placeLoop is a loop over the positions of an interval of a workspace's tile.
type placeLoop struct {
	l *lowerer
	f *cin.Forall
	e *env
	c *component
	// a cursor of the access that the positions belong to, at the first of the component's levels
	cur   *tree.Cursor
	iv    interval
	w     *positionSpace
	reads []bool // which of the component's variables the body needs
}

// fillPlaces lowers the loop f, which fills a workspace over an interval of positions, as one loop
// over these positions. It loads coordinates only if the body reads them. It returns false if the
// body reads a coordinate of a level above that belongs to several positions.
func (l *lowerer) fillPlaces(f *cin.Forall, e *env, c *component, o *openLoops) bool {
	w, ok := e.space(cin.Target(f).Name).(*positionSpace)
	if !ok || w.key != o.iv.key {
		return false
	}
	p := &placeLoop{l, f, e, c, e.cur[w.key], o.iv, w, l.rootsRead(f.Body, c, w.key)}
	if !p.branchless() {
		return false
	}
	p.emit(func(at ir.Expr) { l.stmt(f.Body, p.in(e, at), false) })
	return true
}

// branchless reports whether the body can read its coordinates without a walk over rows: all levels
// that it reads have the same positions as the component's last level.
func (p *placeLoop) branchless() bool {
	for d, read := range p.reads {
		for k := d + 1; read && k < len(p.reads); k++ {
			if !p.cur.Of.Kind(p.cur.Level + k).IsSingle() {
				return false
			}
		}
	}
	return true
}

// in returns e inside the body at position at. It loads the coordinates that the body reads and
// that are not known yet.
func (p *placeLoop) in(e *env, at ir.Expr) *env {
	in := e.clone()
	here := *p.cur
	here.Level, here.Pos, here.End, here.Base, here.Present = p.cur.Of.Order(), at, nil, nil,
		ir.Truth(true)
	for d, root := range p.c.component.Roots {
		if p.reads[d] && in.coord.at(root) == nil {
			in.coord = in.coord.with(root, p.l.b.Declare(root, ir.Coord(p.cur.Of.Crd(p.cur.Level+d), at)))
		}
	}
	in.cur[p.iv.key] = &here
	p.l.enterAll(p.f.Body, in)
	return in
}

// emit emits the loop. A completely unrolled loop has two copies. The copy for a whole tile has a
// constant trip count and constant places. The copy for a shorter tile is a plain loop or, if all
// places must be constant, a loop that tests each place.
func (p *placeLoop) emit(body func(at ir.Expr)) {
	l, iv, w := p.l, p.iv, p.w
	last := len(p.c.component.Roots) - 1
	above, cur := p.e.clone(), *p.cur
	cur.Level += last
	above.cur[iv.key] = &cur
	defer l.used.Enter(strings.Join(p.c.component.Roots, ", "),
		lattice.Loop(p.c.component.Roots[last], p.f.Body, l.place(above)))()
	f := *p.f
	// lowering identifies loops by the variable that they determine
	f.Var = p.c.component.Roots[last]
	name := cur.Of.Prefix() + "_p"
	plain := func() {
		at := l.b.Var(name)
		l.b.Emit(l.setKind(&f, p.e, &ir.For{V: at, Lo: iv.lo, Hi: iv.hi, Step: 1,
			Body: l.b.Within(func() { body(at) })}))
	}
	if !w.unrolls(&f, iv) {
		plain()
		return
	}
	f.Unroll = w.len
	places := func(when func(at ir.Expr) ir.Expr) {
		w.at = l.b.Var(f.Var + "_place")
		l.b.Emit(l.setKind(&f, p.e, &ir.For{V: w.at, Lo: ir.Int(0), Hi: ir.Int(w.len), Step: 1,
			Body: l.b.Within(func() {
				at := l.b.Named(name, ir.Plus(iv.lo, w.at))
				l.b.When(when(at), func() { body(at) })
			})}))
		w.at = nil
	}
	all := func() { places(func(ir.Expr) ir.Expr { return ir.Truth(true) }) }
	if iv.size == w.len {
		all()
		return
	}
	s := &ir.If{Cond: ir.Equal(ir.Minus(iv.hi, iv.lo), ir.Int(w.len)), Then: l.b.Within(all)}
	s.Else = l.b.Within(func() {
		if w.each {
			places(func(at ir.Expr) ir.Expr { return ir.Less(at, iv.hi) })
			return
		}
		f.Unroll = 0
		plain()
	})
	l.b.Emit(s)
}

// rootsRead returns, for each original variable of a component, whether s needs its coordinates. s
// is a statement that fills a workspace. It needs the variables of all accesses except the one with
// the given key. If a division may fail, it needs all variables, because the error names them.
func (l *lowerer) rootsRead(s cin.Stmt, c *component, key string) []bool {
	reads := make([]bool, len(c.component.Roots))
	divides := false
	cin.Accesses(s, func(a *cin.Access) {
		for d, root := range c.component.Roots {
			reads[d] = reads[d] || a.Key() != key && slices.Contains(a.Vars, root)
		}
	})
	cin.Paths(s, func(_ []*cin.Forall, a *cin.Assign) { divides = divides || hasQuotient(a.RHS) })
	for d := range reads {
		reads[d] = reads[d] || divides && l.spec.Compute.IsInt()
	}
	return reads
}

// hasQuotient reports whether an expression contains a quotient.
func hasQuotient(x cin.Expr) bool {
	switch x := x.(type) {
	case *cin.Neg:
		return hasQuotient(x.X)
	case *cin.Binary:
		return x.Op == '/' || hasQuotient(x.X) || hasQuotient(x.Y)
	}
	return false
}

// maxUnrolledPlaces is the largest number of places in a tile for which a loop over it is unrolled
// completely.
const maxUnrolledPlaces = 64

// unrolls reports whether the loop f over an interval is unrolled for all of w's places. The
// interval must be the whole tile. Either f's schedule says so, or the places must be known because
// the consumer is a loop over each place.
func (w *positionSpace) unrolls(f *cin.Forall, iv interval) bool {
	all := f.Unroll == cin.AllIterations || f.Unroll >= w.len || f.Unroll == 0 && w.each
	return all && w.len <= maxUnrolledPlaces && iv.lo == w.lo && iv.hi == w.hi
}
