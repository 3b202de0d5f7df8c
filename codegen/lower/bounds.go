package lower

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/tree"
	"distaff/codegen/provenance"
)

// bounds returns the interval's bounds and size as a range of forms.
func (iv interval) bounds() provenance.Range {
	return provenance.Range{Lo: form(iv.lo), Hi: form(iv.hi), Size: iv.size}
}

// within returns iv with the bounds and the size of r.
func (iv interval) within(r provenance.Range) interval {
	iv.lo, iv.hi, iv.size = code(r.Lo), code(r.Hi), r.Size
	return iv
}

// boundsLoop lowers a loop of a component whose loops are in natural order. The loop's bounds are
// computed from the bounds of the loops around it.
func (l *lowerer) boundsLoop(f *cin.Forall, e *env, c *component, want bool) ir.Expr {
	o := e.open.at(c.component.Top)
	if o == nil {
		iv := l.spaceOf(e, c)
		o = l.descend(nil, c.component.Top, iv, f, e)
	}
	if o.leaf != f.Var {
		panic("BUG: lower: loop over " + f.Var + " where " + o.leaf + " is next")
	}
	if o.iv.unit != numbers {
		return l.determine(f, e, c, o, want)
	}
	return l.tiles(f, e, c, o, want)
}

// spaceOf returns the interval of all values of a component's top variable.
func (l *lowerer) spaceOf(e *env, c *component) interval {
	roots := l.sched.g.Underived(c.component.Top)
	if len(roots) == 1 {
		s := l.rangeOf(e, roots[0])
		iv := interval{unit: coords, lo: s.Lo, hi: s.Hi, size: -1, whole: true}
		if s.Size > 0 {
			iv.size = s.Size
		}
		return iv
	}
	return interval{unit: coords, size: -1, whole: true, roots: roots, space: c.component.Top}
}

// counted returns iv with its bounds lo and hi. In a fused space, they are numbers of points, and
// the leaf fails at run time if there are too many points to number. Few schedules need these
// numbers: the coordinates and positions of a whole space do not.
func (l *lowerer) counted(iv interval, e *env) interval {
	if iv.lo != nil {
		return iv
	}
	l.checkCountable(iv.roots)
	if iv.rows == nil {
		n := code(provenance.Points(l.spanForms(e, iv.roots)))
		iv.lo, iv.hi = ir.Int(0), l.b.Named(iv.space+"_n", n)
		return iv
	}
	rows := l.counted(*iv.rows, e)
	n := provenance.Points(l.spanForms(e, iv.roots[len(rows.roots):]))
	return iv.within(rows.bounds().Times(n, iv.space, l.nameForm))
}

// widened returns the interval of the fused space that relation r makes. r fuses iv's variable with
// further variables. The interval has all points whose first variables are in iv.
func (l *lowerer) widened(r *provenance.Relation, iv interval, e *env) interval {
	rows := iv
	if iv.roots == nil {
		rows.roots = l.sched.g.Underived(r.From[0])
		first := l.rangeOf(e, rows.roots[0]).Lo
		rows.lo, rows.hi = ir.Minus(iv.lo, first), ir.Minus(iv.hi, first)
	}
	roots := slices.Concat(rows.roots, l.sched.g.Underived(r.From[1]))
	return interval{unit: coords, size: -1, whole: iv.whole, rows: &rows, roots: roots, space: r.To[0]}
}

// descend follows the schedule's relations from variable x, whose interval is iv, down to the next
// variable that has a loop. It returns the state of the component's loops there.
func (l *lowerer) descend(frames []frame, x string, iv interval, f *cin.Forall, e *env) *openLoops {
	for {
		r := l.sched.g.ReplacedBy(x)
		if r == nil {
			return &openLoops{leaf: x, iv: iv, frames: frames}
		}
		switch r.Kind {
		case provenance.Bound:
			iv = l.bounded(r, iv, e)
		case provenance.Pos:
			iv = l.toPositions(r, iv, e)
		case provenance.Coord:
			iv = l.toCoords(iv, e)
		case provenance.Split, provenance.Divide:
			iv = l.counted(iv, e)
			o := provenance.TileOptions{Positions: iv.unit == positions}
			o.Some = o.Positions && !l.canSkipEmpty(f, iv)
			t, all := r.Tile(iv.bounds(), o, l.nameForm)
			frames = append(slices.Clone(frames), frame{t, iv})
			iv = interval{unit: numbers, whole: true}.within(all)
		case provenance.Fuse:
			iv = l.widened(r, iv, e)
		}
		x = r.To[0]
	}
}

// canSkipEmpty reports whether f has nothing to do if the interval iv has no positions. This
// requires that f has values only at entries of iv's access, and that no place of the result must
// be set to 0.
func (l *lowerer) canSkipEmpty(f *cin.Forall, iv interval) bool {
	if !drivenBy(f, iv.key) {
		return false
	}
	for _, r := range l.sched.comps[f.Var].component.Roots {
		if slices.Contains(l.resultVars, r) && l.assigns(f) &&
			!(len(l.sched.comps[f.Var].component.Roots) > 1) {
			return false
		}
	}
	return true
}

// bounded returns iv, narrowed to the bound of relation r if the bound is an exact maximum. It
// emits the check of the bound if a schedule made the variable. For other variables, checkBounds
// does.
func (l *lowerer) bounded(r *provenance.Relation, iv interval, e *env) interval {
	iv = l.counted(iv, e)
	if l.sched.g.MadeBy(r.From[0]) != nil {
		l.checkBound(r, code(iv.bounds().Extent()), e)
	}
	if r.Bound == provenance.MaxExact {
		iv = iv.within(r.Bounded(iv.bounds()))
		iv.rows, iv.rowsKnown = nil, false
	}
	return iv
}

// checkBound emits a test that makes the leaf fail if the extent of r's variable contradicts the
// bound.
func (l *lowerer) checkBound(r *provenance.Relation, extent ir.Expr, e *env) {
	n := ir.Int(r.N)
	var bad ir.Expr
	switch r.Bound {
	case provenance.MinExact:
		bad = ir.Truth(r.N != 0)
	case provenance.MinConstraint:
		bad = ir.Truth(r.N > 0)
	case provenance.MaxExact:
		bad = ir.Unequal(extent, n)
	case provenance.MaxConstraint:
		bad = ir.Less(n, extent)
	}
	l.b.When(bad, func() { l.b.Emit(&ir.Fail{Code: ir.FailBound, Coord: l.coords(e)}) })
}

// checkBounds emits, before all other code, the tests of the bounds of the statement's own
// variables.
func (l *lowerer) checkBounds(e *env) {
	for _, r := range l.sched.g.Relations() {
		if r.Kind == provenance.Bound && l.sched.g.MadeBy(r.From[0]) == nil {
			l.checkBound(&r, l.rangeOf(e, r.From[0]).Hi, e)
		}
	}
}

// tiles lowers a loop over tile numbers. Before the loop, the result is set to 0, unless each tile
// of the result is set to 0 inside.
func (l *lowerer) tiles(f *cin.Forall, e *env, c *component, o *openLoops, want bool) ir.Expr {
	// If nothing else is between this loop and the loop that determines the result's next variable,
	// that loop sets its own tile of the result to 0.
	inTiles := len(c.component.Roots) == 1 && e.res.level < len(l.resultVars) &&
		l.resultVars[e.res.level] == c.component.Roots[0]
	s := f.Body
	for _, leaf := range c.component.Leaves[slices.Index(c.component.Leaves, f.Var)+1:] {
		next, ok := s.(*cin.Forall)
		if inTiles = inTiles && ok && next.Var == leaf; !inTiles {
			break
		}
		s = next.Body
	}
	if l.assigns(f) && !inTiles {
		l.zero(e)
	}
	if some, ok := l.privateLoop(f, e, want); ok {
		return some
	}
	return l.tilesOf(f, e, c, o, want)
}

// tilesOf emits a loop over tile numbers. If e belongs to a piece of the loop, it emits only the
// part that the piece runs.
func (l *lowerer) tilesOf(f *cin.Forall, e *env, c *component, o *openLoops, want bool) ir.Expr {
	if f.Unit == cin.CPUThread && l.assigns(f) && l.assembly.inOrder() {
		l.tilePieces(f, e, c, o)
		return ir.Truth(true)
	}
	p := &loop{l: l, f: f, e: e, want: want}
	done := p.countAssigned()
	from, to := l.pieceRange(e, f.Var, o.iv.lo, o.iv.hi)
	rows := l.findBlockRows(f, e, c, o)
	v := l.b.Var(f.Var)
	var some ir.Expr
	p.inFlag(func() {
		body := l.bodyOf(f, func() {
			in := l.atomicEnv(f, e.clone())
			x, iv, frames := l.tile(o, v, in)
			iv, frames = rows.inside(l, v, iv, frames)
			in.open = in.open.with(c.component.Top, l.descend(frames, x, iv, f, in))
			l.findRows(f, in, c)
			some = l.stmt(f.Body, in, p.want || p.count != nil)
			p.noteAssigned(some)
		})
		l.b.Emit(l.setKind(f, e, &ir.For{V: v, Lo: from, Hi: to, Step: 1, Body: body}))
	}, func() bool { return ir.Never(some) })
	rows.free(l)
	if done != nil {
		return done()
	}
	return p.result(some)
}

// tilePieces emits a parallel loop over tile numbers. Each iteration makes a piece of a result that
// grows.
func (l *lowerer) tilePieces(f *cin.Forall, e *env, c *component, o *openLoops) {
	l.assembly.chunks(ir.Minus(o.iv.hi, o.iv.lo),
		func(open func(c, lo ir.Expr), closeAt func(c, hi ir.Expr)) {
			v := l.b.Var(f.Var)
			body := l.bodyOf(f, func() {
				in := l.atomicEnv(f, e.clone())
				x, iv, frames := l.tile(o, v, in)
				span := l.coverage(iv, frames, e)
				number := ir.Minus(v, o.iv.lo)
				open(number, span.lo)
				in.open = in.open.with(c.component.Top, l.descend(frames, x, iv, f, in))
				l.stmt(f.Body, in, false)
				closeAt(number, span.hi)
			})
			l.b.Emit(l.setKind(f, e, &ir.For{V: v, Lo: o.iv.lo, Hi: o.iv.hi, Step: 1, Body: body}))
		})
}

// tile enters tile v of the innermost open split. It returns the variable x inside the tile, the
// interval of x that remains there, and the frames without this split.
func (l *lowerer) tile(o *openLoops, v ir.Expr, e *env) (x string, iv interval, frames []frame) {
	fr := o.frames[len(o.frames)-1]
	x, iv = fr.tiling.Rel.To[1], fr.iv.within(fr.tiling.At(form(v), l.nameForm))
	iv.rows, iv.rowsKnown = nil, false
	if from := l.pastRepeats(iv, iv.lo, e); from != iv.lo {
		iv.lo, iv.hi, iv.size = from, l.pastRepeats(iv, iv.hi, e), -1
	}
	iv.whole = false
	if iv.first != nil {
		iv.first = ir.Both(fr.iv.first, ir.Equal(v, ir.Int(0)))
	}
	return x, iv, o.frames[:len(o.frames)-1]
}

// coverage converts an interval to the range of coordinates that it represents.
func (l *lowerer) coverage(iv interval, frames []frame, e *env) interval {
	return l.toCoords(l.inPositions(iv, frames, e), e)
}

// inPositions returns the range of positions or coordinates that an interval of tiles represents.
func (l *lowerer) inPositions(iv interval, frames []frame, e *env) interval {
	for ; iv.unit == numbers; frames = frames[:len(frames)-1] {
		fr := frames[len(frames)-1]
		at := func(n ir.Expr) ir.Expr { return code(fr.tiling.Edge(form(n))) }
		sub := fr.iv
		sub.rows = nil
		sub.lo, sub.hi, sub.size, sub.whole = l.pastRepeats(sub, at(iv.lo), e),
			l.pastRepeats(sub, at(iv.hi), e), -1, false
		if sub.first != nil {
			sub.first = ir.Both(sub.first, ir.Equal(iv.lo, ir.Int(0)))
		}
		iv = sub
	}
	return iv
}

// toPositions returns the interval of the positions of r's access whose coordinates are in iv. It
// is empty if the access is absent.
func (l *lowerer) toPositions(r *provenance.Relation, iv interval, e *env) interval {
	c := e.cur[r.Access]
	if c == nil {
		panic("BUG: lower: " + r.Access + " is not in scope")
	}
	among := iv
	out := interval{unit: positions, size: -1, key: r.Access, among: &among, whole: iv.whole,
		roots: iv.roots, first: ir.Truth(true)}
	if ir.Never(c.Present) {
		out.lo, out.hi = ir.Int(0), ir.Int(0)
		out.all = [2]ir.Expr{ir.Int(0), ir.Int(0)}
		return out
	}
	if iv.roots != nil {
		return l.fusedPositions(out, c, e)
	}
	lo, hi := c.Segment()
	if !iv.whole || l.hasChunk(r.From[0]) && !l.isChunked(c) {
		find := func(key ir.Expr) ir.Expr {
			return l.b.Named(r.To[0]+"_at", &ir.Search{A: c.Of.Crd(c.Level), Lo: lo, Hi: hi, Key: key})
		}
		lo, hi = find(iv.lo), find(iv.hi)
	}
	out.lo, out.hi, out.all = lo, hi, [2]ir.Expr{lo, hi}
	return out
}

// toCoords returns the interval of coordinates that an interval of positions represents. In a fused
// space these are the numbers of its points.
func (l *lowerer) toCoords(iv interval, e *env) interval {
	if iv.unit != positions {
		return iv
	}
	c := e.cur[iv.key]
	if iv.whole {
		return *iv.among
	}
	out := l.counted(*iv.among, e)
	out.rows = nil
	if ir.Never(c.Present) { // without positions, the first interval has all coordinates
		out.lo, out.whole, out.size = l.b.Named("from", ir.Choose(iv.first, out.lo, out.hi)), false, -1
		return out
	}
	at := func(p ir.Expr) ir.Expr {
		if iv.roots != nil {
			return l.numberAt(c, iv, p, e)
		}
		return ir.Choose(ir.Less(p, iv.all[1]), ir.Coord(c.Of.Crd(c.Level), p), out.hi)
	}
	out.lo = l.b.Named("from", ir.Choose(iv.first, out.lo, at(iv.lo)))
	out.hi = l.b.Named("to", at(iv.hi))
	out.size, out.whole = -1, false
	return out
}

// determine lowers f, the last loop of component c, as loops over the component's original
// variables. They run within the interval that remains in o.
func (l *lowerer) determine(f *cin.Forall, e *env, c *component, o *openLoops, want bool) ir.Expr {
	if n := l.loopStrategy(f).RowLanes; n > 0 {
		l.shareRows(f, e, c, o, n)
		return ir.Less(o.iv.lo, o.iv.hi)
	}
	if l.fillPlaces(f, e, c, o) || l.sumPlaces(f, e, c, o) {
		return ir.Less(o.iv.lo, o.iv.hi)
	}
	if len(c.component.Roots) > 1 {
		return l.determineFused(f, e, c, o, want)
	}
	root := c.component.Roots[0]
	in := e.clone()
	iv := l.toCoords(o.iv, e)
	in.ranges = in.ranges.with(root, tree.Range{Lo: iv.lo, Hi: iv.hi, Clip: !iv.whole})
	if o.iv.unit == positions && !o.iv.whole && !ir.Never(e.cur[o.iv.key].Present) {
		in.parts = in.parts.with(place(o.iv.key, root), [2]ir.Expr{o.iv.lo, o.iv.hi})
	}
	g := *f
	g.Var = root
	return l.forall(&g, in, want)
}
