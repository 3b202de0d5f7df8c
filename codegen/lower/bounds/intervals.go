// Package bounds finds the ranges of a schedule's loops. It converts the symbolic integers of
// package provenance to code. An interval is narrowed from loop to loop, between coordinates,
// positions and tile numbers.
//
//	intervals.go  intervals of a variable that is divided again and again
//	fused.go      intervals of fused variables, and their positions
//	counting.go   loops that count, if they are not in natural order
//	repeats.go    tiles that end only after all repeats of a coordinate
//	points.go     products of sizes, which are checked for overflow
//	forms.go      package provenance's forms as code
package bounds

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lattice"
	"distaff/codegen/lower/scope"
	"distaff/codegen/provenance"
)

// boundsOf returns the interval's bounds and size as a range of forms.
func boundsOf(iv scope.Interval) provenance.Range {
	return provenance.Range{Lo: Form(iv.Lo), Hi: Form(iv.Hi), Size: iv.Size}
}

// withBounds returns iv with the bounds and the size of r.
func withBounds(iv scope.Interval, r provenance.Range) scope.Interval {
	iv.Lo, iv.Hi, iv.Size = Code(r.Lo), Code(r.Hi), r.Size
	return iv
}

// SpaceOf returns the interval of all values of a component's top variable.
func SpaceOf(e *scope.Env, c *scope.Component) scope.Interval {
	roots := e.Leaf.Graph.Underived(c.Top)
	if len(roots) == 1 {
		s := e.RangeOf(roots[0])
		iv := scope.Interval{Unit: scope.Coords, Lo: s.Lo, Hi: s.Hi, Size: -1, Whole: true}
		if s.Size > 0 {
			iv.Size = s.Size
		}
		return iv
	}
	return scope.Interval{Unit: scope.Coords, Size: -1, Whole: true, Roots: roots, Space: c.Top}
}

// counted returns iv with its bounds, which it computes if iv has none. Without bounds, iv is an
// interval of a fused space. Its bounds are numbers of points, and the leaf fails at run time if
// there are too many points to number. A loop over a whole space does not need the bounds.
func counted(iv scope.Interval, e *scope.Env) scope.Interval {
	l := e.Leaf
	if iv.Lo != nil {
		return iv
	}
	checkCountable(l, iv.Roots)
	if iv.Rows == nil {
		n := Code(provenance.Points(spanForms(e, iv.Roots)))
		iv.Lo, iv.Hi = ir.Int(0), l.B.Named(iv.Space+"_n", n)
		return iv
	}
	rows := counted(*iv.Rows, e)
	n := provenance.Points(spanForms(e, iv.Roots[len(rows.Roots):]))
	return withBounds(iv, boundsOf(rows).Times(n, iv.Space, NameForm(l.B)))
}

// widened returns an interval of the space that relation r makes: r fuses iv's variable with a
// second variable. The interval has all points of this space whose value of iv's variable is in iv.
func widened(r *provenance.Relation, iv scope.Interval, e *scope.Env) scope.Interval {
	l := e.Leaf
	rows := iv
	if iv.Roots == nil {
		rows.Roots = l.Graph.Underived(r.From[0])
		first := e.RangeOf(rows.Roots[0]).Lo
		rows.Lo, rows.Hi = ir.Minus(iv.Lo, first), ir.Minus(iv.Hi, first)
	}
	roots := slices.Concat(rows.Roots, l.Graph.Underived(r.From[1]))
	return scope.Interval{Unit: scope.Coords, Size: -1, Whole: iv.Whole, Rows: &rows, Roots: roots,
		Space: r.To[0]}
}

// Descend follows the schedule's relations from variable x down to the next variable that has a
// loop. iv is the interval of x. frames has the splits whose outer loops are open, innermost last.
// Descend returns the variable of the next loop, the interval that the loop must visit, and the
// open splits.
func Descend(frames []scope.Frame, x string, iv scope.Interval, f *cin.Forall,
	e *scope.Env) *scope.OpenLoops {
	l := e.Leaf
	for {
		r := l.Graph.ReplacedBy(x)
		if r == nil {
			return &scope.OpenLoops{Of: e.Leaf.Comps[x], Leaf: x, Iv: iv, Frames: frames}
		}
		switch r.Kind {
		case provenance.Bound:
			iv = bounded(r, iv, e)
		case provenance.Pos:
			iv = toPositions(r, iv, e)
		case provenance.Coord:
			iv = ToCoords(iv, e)
		case provenance.Split, provenance.Divide:
			iv = counted(iv, e)
			o := provenance.TileOptions{Positions: iv.Unit == scope.Positions}
			o.Some = o.Positions && !canSkipEmpty(l, f, iv)
			t, all := r.Tile(boundsOf(iv), o, NameForm(l.B))
			frames = append(slices.Clone(frames), scope.Frame{Tiling: t, Iv: iv})
			iv = withBounds(scope.Interval{Unit: scope.Numbers, Whole: true}, all)
		case provenance.Fuse:
			iv = widened(r, iv, e)
		}
		x = r.To[0]
	}
}

// canSkipEmpty reports whether f has nothing to do if the interval iv has no positions. This is
// true if f computes values only at entries of iv's access, and need not set elements of the result
// to 0.
func canSkipEmpty(l *scope.Leaf, f *cin.Forall, iv scope.Interval) bool {
	if !DrivenBy(f, iv.Key) {
		return false
	}
	for _, r := range l.Comps[f.Var].Roots {
		if slices.Contains(l.ResultVars, r) && l.Assigns(f) &&
			!(len(l.Comps[f.Var].Roots) > 1) {
			return false
		}
	}
	return true
}

// bounded returns iv with its bounds. If the bound relation r is an exact maximum, iv is also
// restricted to r's bound. If another relation made r's variable, bounded emits the test that the
// bound holds at run time. If r's variable is a variable of the statement, CheckBounds emits this
// test.
func bounded(r *provenance.Relation, iv scope.Interval, e *scope.Env) scope.Interval {
	iv = counted(iv, e)
	if e.Leaf.Graph.MadeBy(r.From[0]) != nil {
		checkBound(r, Code(boundsOf(iv).Extent()), e)
	}
	if r.Bound == provenance.MaxExact {
		iv = withBounds(iv, r.Bounded(boundsOf(iv)))
		iv.Rows, iv.RowsKnown, iv.AllRows = nil, false, false
	}
	return iv
}

// checkBound emits a test of a bound command. r is the relation that the command made, and extent
// is the variable's actual extent. The leaf fails if the extent contradicts a maximum, or if a
// minimum contradicts the smallest value, which is 0.
func checkBound(r *provenance.Relation, extent ir.Expr, e *scope.Env) {
	l := e.Leaf
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
	l.B.When(bad, func() { l.B.Emit(&ir.Fail{Code: ir.FailBound, Coord: e.Coords()}) })
}

// CheckBounds emits the tests of bound commands that are for variables of the statement. It is
// called before the loops are lowered.
func CheckBounds(e *scope.Env) {
	l := e.Leaf
	for _, r := range l.Graph.Relations() {
		if r.Kind == provenance.Bound && l.Graph.MadeBy(r.From[0]) == nil {
			checkBound(&r, e.RangeOf(r.From[0]).Hi, e)
		}
	}
}

// Tile enters tile number v of the innermost split in o. It returns the split's inner variable x,
// the interval of x that belongs to this tile, and the splits of o without the innermost one.
func Tile(o *scope.OpenLoops, v ir.Expr, e *scope.Env) (x string, iv scope.Interval,
	frames []scope.Frame) {
	fr := o.Frames[len(o.Frames)-1]
	x, iv = fr.Tiling.Rel.To[1], withBounds(fr.Iv, fr.Tiling.At(Form(v), NameForm(e.Leaf.B)))
	iv.Rows, iv.RowsKnown, iv.AllRows = nil, false, false
	if from := pastRepeats(iv, iv.Lo, e); from != iv.Lo {
		iv.Lo, iv.Hi, iv.Size = from, pastRepeats(iv, iv.Hi, e), -1
	}
	iv.Whole = false
	if iv.First != nil {
		iv.First = ir.Both(fr.Iv.First, ir.Equal(v, ir.Int(0)))
	}
	return x, iv, o.Frames[:len(o.Frames)-1]
}

// Coverage returns the interval of coordinates that iv represents. iv may be an interval of
// coordinates, positions or tile numbers. frames are the open splits, innermost last.
func Coverage(iv scope.Interval, frames []scope.Frame, e *scope.Env) scope.Interval {

	return ToCoords(InPositions(iv, frames, e), e)
}

// InPositions converts an interval of tile numbers to the interval of positions or coordinates in
// these tiles. It returns any other interval unchanged. frames are the open splits, innermost last.
func InPositions(iv scope.Interval, frames []scope.Frame, e *scope.Env) scope.Interval {

	for ; iv.Unit == scope.Numbers; frames = frames[:len(frames)-1] {
		fr := frames[len(frames)-1]
		at := func(n ir.Expr) ir.Expr { return Code(fr.Tiling.Edge(Form(n))) }
		sub := fr.Iv
		sub.Rows = nil
		sub.Lo, sub.Hi, sub.Size, sub.Whole = pastRepeats(sub, at(iv.Lo), e),
			pastRepeats(sub, at(iv.Hi), e), -1, false
		if sub.First != nil {
			sub.First = ir.Both(sub.First, ir.Equal(iv.Lo, ir.Int(0)))
		}
		iv = sub
	}
	return iv
}

// toPositions returns the interval of the positions of r's access whose coordinates are in iv. It
// is empty if the access is absent.
func toPositions(r *provenance.Relation, iv scope.Interval, e *scope.Env) scope.Interval {
	l := e.Leaf
	c := e.Cur[r.Access]
	if c == nil {
		panic("BUG: lower: " + r.Access + " is not in scope")
	}
	among := iv
	out := scope.Interval{Unit: scope.Positions, Size: -1, Key: r.Access, Among: &among,
		Whole: iv.Whole,
		Roots: iv.Roots, First: ir.Truth(true)}
	if ir.IsFalse(c.Present) {
		out.Lo, out.Hi = ir.Int(0), ir.Int(0)
		out.All = [2]ir.Expr{ir.Int(0), ir.Int(0)}
		return out
	}
	if iv.Roots != nil {
		return fusedPositions(out, c, e)
	}
	lo, hi := c.Segment()
	if !iv.Whole || l.HasChunk(r.From[0]) && !l.IsChunked(c) {
		find := func(key ir.Expr) ir.Expr {
			return l.B.Named(r.To[0]+"_at", &ir.Search{A: c.Of.Crd(c.Level), Lo: lo, Hi: hi, Key: key})
		}
		lo, hi = find(iv.Lo), find(iv.Hi)
	}
	out.Lo, out.Hi, out.All = lo, hi, [2]ir.Expr{lo, hi}
	return out
}

// ToCoords returns the interval of coordinates that an interval of positions represents. In a fused
// space these are the numbers of its points.
func ToCoords(iv scope.Interval, e *scope.Env) scope.Interval {
	l := e.Leaf
	if iv.Unit != scope.Positions {
		return iv
	}
	c := e.Cur[iv.Key]
	if iv.Whole {
		return *iv.Among
	}
	out := counted(*iv.Among, e)
	out.Rows = nil
	if ir.IsFalse(c.Present) { // without positions, the first interval has all coordinates
		out.Lo, out.Whole, out.Size = l.B.Named("from", ir.Choose(iv.First, out.Lo, out.Hi)), false, -1
		return out
	}
	at := func(p ir.Expr) ir.Expr {
		if iv.Roots != nil {
			return numberAt(c, iv, p, e)
		}
		return ir.Choose(ir.Less(p, iv.All[1]), ir.Coord(c.Of.Crd(c.Level), p), out.Hi)
	}
	out.Lo = l.B.Named("from", ir.Choose(iv.First, out.Lo, at(iv.Lo)))
	out.Hi = l.B.Named("to", at(iv.Hi))
	out.Size, out.Whole = -1, false
	return out
}

// ReadSchedule sets the leaf's graph and components from the relations of s, if it has any.
func ReadSchedule(l *scope.Leaf, s cin.Stmt) {
	l.Graph, l.Comps = &provenance.Graph{}, map[string]*scope.Component{}
	t, ok := s.(*cin.SuchThat)
	if !ok {
		return
	}
	l.Graph = t.Relations
	for _, r := range t.Relations.Relations() {
		if r.Kind == provenance.Precompute {
			continue
		}
		for _, v := range slices.Concat(r.From, r.To) {
			if l.Comps[v] != nil {
				continue
			}
			c := t.Relations.Component(v)
			k := l.Comps[c.Roots[0]]
			if k == nil {
				k = &scope.Component{Roots: c.Roots, Leaves: c.Leaves, Top: c.Top,
					Natural: cin.Natural(t, t.Relations, c)}
			}
			for _, u := range slices.Concat(c.Roots, c.Leaves, []string{v}) {
				l.Comps[u] = k
			}
		}
	}
}

// DrivenBy reports whether a statement has values only at entries of the access with the given key.
// If the statement contains a where, DrivenBy returns false.
func DrivenBy(s cin.Stmt, key string) bool {
	driven := true
	cin.Walk(s, func(t cin.Stmt) {
		switch t := t.(type) {
		case *cin.Where:
			driven = false
		case *cin.Assign:
			driven = driven && lattice.Annihilates(t.RHS, key)
		}
	})
	return driven
}
