// Package positions lowers loops over the positions of a tile, which a schedule has cut from the
// entries of a tensor.
//
//	space.go     a workspace with a place for each position of an operand in a tile, which
//	sums.go      a consumer may sum in one loop
//	walk.go      walks over the rows of fused variables
//	kept.go      the last row of a walk on a GPU, which is added where threads meet
//	allrows.go   tiles that store every row of a result
//	rowlanes.go  the rows of a tile, which a GPU's threads share
package positions

import (
	"slices"
	"strings"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lattice"
	"distaff/codegen/lower/emit"
	"distaff/codegen/lower/merge"
	"distaff/codegen/lower/scope"
	"distaff/codegen/lower/tree"
	"distaff/codegen/lower/units"
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

// Add stores x, the only value at the current position.
func (w *positionSpace) Add(_ *cin.Access, x ir.Expr, e *scope.Env) {
	e.Leaf.B.Store(w.vals, w.place(e.Cur[w.key].Pos), x)
}

func (*positionSpace) HasPlaces() {}

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
func newPositionSpace(l *scope.Leaf, t *cin.Access, form strategy.Form,
	tile scope.Interval) *positionSpace {
	w := &positionSpace{name: t.Name, key: form.Key, lo: tile.Lo, hi: tile.Hi, len: form.Len,
		each: form.Each}
	if form.Len <= maxStackPlaces || l.Spec.GPU {
		w.vals = l.B.Array(t.Name, l.Spec.Compute)
		l.B.Emit(&ir.Local{A: w.vals, Len: form.Len, Undefined: true})
		return w
	}
	w.vals = emit.ScopeValue(l.B, t.Name+", array", func() *ir.Array {
		return l.B.AllocInScope(l.B.Array(t.Name, l.Spec.Compute), ir.Int(form.Len), false)
	})
	return w
}

// Where lowers a where statement with workspace t. The workspace has a place for each position in a
// tile of an operand, and the loops of the statement visit this tile. The consumer reads t like an
// operand that has the level arrays of that operand and t's values. If want is true, the result is
// the condition that the statement assigned something.
func Where(s *cin.Where, t *cin.Access, e *scope.Env, want bool) ir.Expr {
	l := e.Leaf
	form := l.Spec.Strategy.Spaces[t.Name].Form
	row := e.Cur[form.Key]
	if ir.IsFalse(row.Present) {
		if l.Assigns(s.Consumer) {
			merge.Zero(e)
		}
		return ir.Truth(false)
	}
	c := l.Comps[t.Vars[0]]
	o := e.Open.At(c.Top)
	tile := o.Iv
	if len(o.Frames) > 0 { // the frames are tiles inside the workspace's tile
		tile = o.Frames[0].Iv
	}
	if tile.Unit != scope.Positions || tile.Key != form.Key {
		panic("BUG: lower: " + t.Key() + " is not over a tile of positions of " + form.Key)
	}
	w := newPositionSpace(l, t, form, tile)
	in := e.Clone().Filling(t.Name, w)
	if w.own = ownVariable(l, s.Producer); w.own != "" {
		w.tile = &placeLoop{e: e, c: c, cur: row, iv: tile, w: w}
		w.fill(s.Producer, in)
	} else {
		l.Stmt(s.Producer, in, false)
	}

	cur := *row
	cur.Of = w.operand(l, t.Name, row.Of)
	in = e.Reading(t.Name, cur.Of).Filling(t.Name, w)
	in.Cur[t.Key()] = &cur
	in.Open = in.Open.With(c.Top, o.WithAccess(form.Key, t.Key()))
	return l.Stmt(s.Consumer, in, want)
}

// fill lowers a producer that has a loop variable of its own, w.own, instead of the consumer's
// variable. The producer's loops are derived from w.own. If one of these loops is unrolled, fill
// emits two copies of the loops. One copy is for whole tiles and has constant trip counts, and the
// other is for shorter tiles.
func (w *positionSpace) fill(producer cin.Stmt, e *scope.Env) {
	l := w.tile.e.Leaf
	over := func(hi ir.Expr, size int64) *ir.Block {
		return l.B.Within(func() {
			in := e.Clone()
			in.Ranges = in.Ranges.With(w.own, tree.Range{Lo: w.lo, Hi: hi, Size: size})
			l.Stmt(producer, in, false)
		})
	}
	unrolled := false
	cin.Walk(producer, func(s cin.Stmt) {
		f, ok := s.(*cin.Forall)
		unrolled = unrolled || ok && f.Unroll != 0
	})
	rest := over(w.hi, 0)
	if !unrolled {
		l.B.Append(rest)
		return
	}
	whole := ir.Equal(ir.Minus(w.hi, w.lo), ir.Int(w.len))
	l.B.Emit(&ir.If{Cond: whole, Then: over(ir.Plus(w.lo, ir.Int(w.len)), w.len), Else: rest})
}

// ownVariable returns the variable of a producer for a tile of positions, if the schedule gave the
// producer a separate variable. The producer's loops are derived from this variable. If the
// producer and the consumer use the same variable, it returns "".
func ownVariable(l *scope.Leaf, producer cin.Stmt) string {
	f, ok := producer.(*cin.Forall)
	if !ok {
		return ""
	}
	if v := l.Graph.Underived(f.Var)[0]; l.Graph.TileOf(v) != "" {
		return v
	}
	return ""
}

// readPlaces returns the workspace by position that the operand op reads. If op is not such a
// workspace, it returns nil.
func readPlaces(e *scope.Env, op *tree.Operand) *positionSpace {
	w, _ := e.Space(op.Argument.Name).(*positionSpace)
	return w
}

// Arrive returns the environment for lowering the assignment a. This is e, with one exception. If a
// fills a workspace by position, the producer of the workspace may have a separate variable for the
// tile (see ownVariable). In that case e has only the current position of the producer's loop.
// Arrive then returns an environment that also has the coordinates that a reads.
func Arrive(a *cin.Assign, e *scope.Env) *scope.Env {
	if w, ok := e.Space(a.LHS.Name).(*positionSpace); ok && w.own != "" {
		return w.arrive(a, e)
	}
	return e
}

// arrive returns the environment for lowering the assignment a, which fills the workspace w. The
// given environment e has only the position of the producer's loop. If the assignment also reads
// coordinates of the rows above this position, arrive emits the search for these rows.
func (w *positionSpace) arrive(a *cin.Assign, e *scope.Env) *scope.Env {
	p := *w.tile
	p.f, p.reads = &cin.Forall{Var: w.own, Body: a}, rootsRead(p.e.Leaf, a, p.c, w.key)
	at := e.Coord.At(w.own)
	in := e.Clone()
	if !p.branchless() {
		rows := p.cur.Ancestors(p.iv.Ancestor, len(p.c.Roots), at)
		p.bind(in, rows, func(d int) bool { return p.reads[d] })
	}
	return p.in(in, at)
}

// operand returns the workspace as its consumer reads it, with the level arrays of pattern.
func (w *positionSpace) operand(l *scope.Leaf, name string, pattern *tree.Operand) *tree.Operand {
	op := tree.NewOperand(l.Args, pattern.Argument)
	op.Argument.Name, op.Argument.Number, op.Argument.Type = name, -1, l.Spec.Compute
	op.Pattern = pattern
	op.SetArray(0, ir.Vals, w.vals)
	op.ValueAt = func(p, _ ir.Expr) ir.Expr { return w.place(p) }
	return op
}

// placeLoop describes a loop over an interval of positions. The interval is a tile or a part of a
// tile. w is the workspace that has a place for each position in the tile, or nil if there is none.
type placeLoop struct {
	f *cin.Forall
	e *scope.Env
	c *scope.Component
	// a cursor of the access that the positions belong to, at the first of the component's levels
	cur   *tree.Cursor
	iv    scope.Interval
	w     *positionSpace
	reads []bool // which of the component's variables the body needs
}

// Fill lowers the loop f as one loop over positions. f must fill a workspace over an interval of
// these positions. The loop loads coordinates only if the body reads them. Fill returns false and
// emits nothing if f fills no such workspace. It does the same if the body reads the coordinate of
// a level that has other positions than the last level, because this coordinate cannot be found
// from the position alone.
func Fill(f *cin.Forall, e *scope.Env, o *scope.OpenLoops) bool {
	c := o.Of
	l := e.Leaf
	w, ok := e.Space(cin.Target(f).Name).(*positionSpace)
	if !ok || w.key != o.Iv.Key {
		return false
	}
	p := &placeLoop{f, e, c, e.Cur[w.key], o.Iv, w, rootsRead(l, f.Body, c, w.key)}
	if !p.branchless() {
		return false
	}
	p.emit(func(at ir.Expr) { l.Stmt(f.Body, p.in(e, at), false) })
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

// in returns the environment of the loop's body for the iteration at one position, which is called
// place. The environment is a copy of e that also has the coordinates that the body reads. The
// method emits loads for the coordinates that are not known yet.
func (p *placeLoop) in(e *scope.Env, place ir.Expr) *scope.Env {
	in := e.Clone()
	here := *p.cur
	here.Level, here.Pos, here.End, here.Base, here.Present = p.cur.Of.Order(), place, nil, nil,
		ir.Truth(true)
	for d, root := range p.c.Roots {
		if p.reads[d] && in.Coord.At(root) == nil {
			in.Coord = in.Coord.With(root,
				p.e.Leaf.B.Declare(root, ir.Coord(p.cur.Of.Crd(p.cur.Level+d), place)))
		}
	}
	in.Cur[p.iv.Key] = &here
	in.EnterAll(p.f.Body)
	return in
}

// bind adds coordinates to the environment of an iteration. at has positions of the component's
// levels, from the first level on. The coordinate of level number d is the one at position at[d].
// It is added if need(d) is true.
func (p *placeLoop) bind(in *scope.Env, at []ir.Expr, need func(d int) bool) {
	above := p.cur.Pos
	for d, q := range at {
		if root := p.c.Roots[d]; need(d) {
			in.Coord = in.Coord.With(root, p.e.Leaf.B.Named(root, p.cur.CoordAt(d, above, q)))
		}
		above = q
	}
}

// emit emits the loop over the places of a tile. A loop that is completely unrolled has a copy for
// a whole tile. This copy has a constant trip count, so that each place is a constant. Unless the
// tile is known to be whole, the loop also has a copy for a shorter tile. That copy is usually a
// plain loop. If all places must be constants, it has the constant trip count too, and skips the
// places after the tile's end.
func (p *placeLoop) emit(body func(at ir.Expr)) {
	l, iv, w := p.e.Leaf, p.iv, p.w
	last := len(p.c.Roots) - 1
	above, cur := p.e.Clone(), *p.cur
	cur.Level += last
	above.Cur[iv.Key] = &cur
	defer l.Used.Enter(strings.Join(p.c.Roots, ", "),
		lattice.Loop(p.c.Roots[last], p.f.Body, merge.Entered(above)))()
	f := *p.f
	// lowering identifies loops by the variable that they determine
	f.Var = p.c.Roots[last]
	name := cur.Of.Prefix() + "_p"
	plain := func() {
		at := l.B.Var(name)
		l.B.Emit(units.SetKind(&f, p.e, &ir.For{V: at, Lo: iv.Lo, Hi: iv.Hi, Step: 1,
			Body: l.B.Within(func() { body(at) })}))
	}
	if !w.unrolls(&f, iv) {
		plain()
		return
	}
	f.Unroll = w.len
	places := func(when func(at ir.Expr) ir.Expr) {
		w.at = l.B.Var(f.Var + "_place")
		l.B.Emit(units.SetKind(&f, p.e, &ir.For{V: w.at, Lo: ir.Int(0), Hi: ir.Int(w.len), Step: 1,
			Body: l.B.Within(func() {
				at := l.B.Named(name, ir.Plus(iv.Lo, w.at))
				l.B.When(when(at), func() { body(at) })
			})}))
		w.at = nil
	}
	all := func() { places(func(ir.Expr) ir.Expr { return ir.Truth(true) }) }
	if iv.Size == w.len {
		all()
		return
	}
	s := &ir.If{Cond: ir.Equal(ir.Minus(iv.Hi, iv.Lo), ir.Int(w.len)), Then: l.B.Within(all)}
	s.Else = l.B.Within(func() {
		if w.each {
			places(func(at ir.Expr) ir.Expr { return ir.Less(at, iv.Hi) })
			return
		}
		f.Unroll = 0
		plain()
	})
	l.B.Emit(s)
}

// rootsRead reports, for each root of component c, whether the statement s needs the root's
// coordinate. A root is an original variable of the component. s needs the roots that the right
// sides of its assignments read. The access with the given key does not count, because its values
// are found by position. If s divides integers, s needs all roots, because the error message shows
// their values.
func rootsRead(l *scope.Leaf, s cin.Stmt, c *scope.Component, key string) []bool {
	reads := make([]bool, len(c.Roots))
	divides := false
	cin.Accesses(s, func(a *cin.Access) {
		for d, root := range c.Roots {
			reads[d] = reads[d] || a.Key() != key && slices.Contains(a.Vars, root)
		}
	})
	cin.Paths(s, func(_ []*cin.Forall, a *cin.Assign) {
		divides = divides ||
			merge.HasQuotient(a.RHS)
	})
	for d := range reads {
		reads[d] = reads[d] || divides && l.Spec.Compute.IsInt()
	}
	return reads
}

// maxUnrolledPlaces is the largest number of places in a tile for which a loop over it is unrolled
// completely.
const maxUnrolledPlaces = 64

// unrolls reports whether the loop f over interval iv is unrolled completely, with one copy of the
// body for each place of w. The interval must be the whole tile, and the tile must be small
// (maxUnrolledPlaces). In addition, either the schedule unrolls f completely, or the schedule does
// not unroll f and the consumer has a copy of its body for each place.
func (w *positionSpace) unrolls(f *cin.Forall, iv scope.Interval) bool {
	all := f.Unroll == cin.AllIterations || f.Unroll >= w.len || f.Unroll == 0 && w.each
	return all && w.len <= maxUnrolledPlaces && iv.Lo == w.lo && iv.Hi == w.hi
}
