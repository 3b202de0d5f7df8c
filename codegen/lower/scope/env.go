package scope

import (
	"maps"

	"distaff/codegen/algebra"
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/space"
	"distaff/codegen/lower/tree"
)

// Env has what is known at one place in the nest of loops, for example which variables are bound.
// Lowering makes a copy of it for each branch of the nest, so that facts of one branch do not reach
// another branch.
type Env struct {
	Leaf  *Leaf
	Coord *List[ir.Expr]          // of bound variables
	Cur   map[string]*tree.Cursor // by access key
	Temps *List[Value]            // scalar temporaries that consumers read
	Into  *List[filled]           // temporaries that producers add to
	Made  *List[*tree.Operand]    // workspaces that consumers read
	// Precomputed, if it is not nil, lowers a where if some of its rows are computed before the
	// loop around this place. ok is false if s is another statement.
	Precomputed func(s *cin.Where, e *Env) (some ir.Expr, ok bool)
	Res         ResultCursor
	// Ranges has the ranges of variables that are cut to a chunk or tile.
	Ranges *List[tree.Range]
	Rows   *List[Row]  // the workspaces of tiles
	Spans  *List[Span] // the positions of the spans around this place, by name
	// Owned has the ranges of variables that belong to the current thread. Workspaces have places
	// only for the coordinates in a range.
	Owned *List[tree.Range]
	// Tiles has the tile of each variable that runs over a tile, or over the rest of a row. Lanes
	// has the current place of each variable that runs over the places of a tile.
	Tiles *List[tile]
	Lanes *List[ir.Expr]

	// The next fields are for scheduled statements. Open and Counts have the state of the
	// components whose loops are around this place. Parts has the ranges of positions that accesses
	// are restricted to, by the key that PlaceKey returns.
	Open   *List[*OpenLoops]
	Counts *List[*Counts]
	Parts  *List[[2]ir.Expr]
	// If Atomic is true, additions to the result are atomic. Racing is the only component whose
	// loops require this, or nil if other loops require it too. If Own is not nil, an addition need
	// not be atomic when Own is true, because no other thread adds to the same row.
	Atomic bool
	Racing *Component
	Own    ir.Expr
	// Threads is true if the schedule runs loops around this place on threads, not in chunks of
	// equal work, and these threads share the result, or a private copy of the result.
	Threads bool
	Warps   int // the number of loops on a GPU's warps around the place
	// OnThread is true inside a loop on a GPU's threads.
	OnThread bool
	Private  *PrivateCopy
	Piece    *PieceOf
	// Predicates says for each access, by key, whether it is present at the current coordinate of a
	// predicated merge (merge/predicated.go).
	Predicates map[string]ir.Expr
	// Early is for a loop that is split in two because inner loops fetch rows ahead. It has the
	// keys of the loops that do so, among them the split loop (see PlaceKey). A value is true in
	// the first part, where no fetch reads past the operand's end.
	Early *List[bool]
}

// filled is a temporary that a producer adds to: a scalar, or a workspace. Or it is the value of a
// reduction that a producer combines values with.
type filled struct {
	sum     *ir.Var
	space   Adder
	reducer *Reducer
}

// Reducer has the variables of a reduction that is not a sum. Count is the number of values that
// were combined, or nil if every coordinate has a value.
type Reducer struct {
	Op           *algebra.Reduction
	Value, Count *ir.Var
}

// Summing returns the environment for the producer of the scalar temporary called name: a copy of e
// that lets assignments to the temporary add to the variable sum.
func (e *Env) Summing(name string, sum *ir.Var) *Env {
	in := *e
	in.Into = e.Into.With(name, filled{sum: sum})
	return &in
}

// Reducing returns the environment for the producer of the scalar temporary called name: a copy of e
// that lets assignments to the temporary combine values with r.
func (e *Env) Reducing(name string, r *Reducer) *Env {
	in := *e
	in.Into = e.Into.With(name, filled{reducer: r})
	return &in
}

// Reducer returns the reduction whose value is the scalar temporary of the given name, if the place
// of e is inside the producer of this temporary. Otherwise it returns nil.
func (e *Env) Reducer(name string) *Reducer { return e.Into.At(name).reducer }

// Filling returns the environment for the producer of the workspace called name: a copy of e in
// which assignments to the workspace add to w.
func (e *Env) Filling(name string, w Adder) *Env {
	in := *e
	in.Into = e.Into.With(name, filled{space: w})
	return &in
}

// Sum returns the scalar temporary of the given name, if the place of e is inside a producer that
// adds to this temporary. Otherwise it returns nil.
func (e *Env) Sum(name string) *ir.Var { return e.Into.At(name).sum }

// Space returns the workspace of the given name, if the place of e is inside a producer that adds
// to this workspace. Otherwise it returns nil.
func (e *Env) Space(name string) Adder { return e.Into.At(name).space }

// RangeOf returns v's range in e.
func (e *Env) RangeOf(v string) tree.Range {
	l := e.Leaf
	if s, ok := e.Ranges.Get(v); ok {
		return s
	}
	if n, ok := l.Spec.Strategy.Trips[v]; ok {
		return tree.Range{Lo: ir.Int(0), Hi: ir.Int(n)}
	}
	b := l.Bounds[v]
	if l.HasDerivedVars() && !l.Spec.Parts[l.Graph.Original(v)] {
		return tree.Range{Lo: ir.Int(0), Hi: b[1]}
	}
	return tree.Range{Lo: b[0], Hi: b[1]}
}

// OwnedRange returns a part of v's range: the part for which the current thread's workspaces have
// places.
func (e *Env) OwnedRange(v string) tree.Range {
	return (&Env{Leaf: e.Leaf, Ranges: e.Owned}).RangeOf(v)
}

// Clone returns a copy of e. Changes of the copy do not change e.
func (e *Env) Clone() *Env {
	c := *e
	c.Cur = maps.Clone(e.Cur)
	return &c
}

// LevelVars returns the variable of each storage level of an access to op.
func LevelVars(a *cin.Access, op *tree.Operand) []string {
	vars := make([]string, len(a.Vars))
	for level, mode := range op.Argument.Format.Order {
		vars[level] = a.Vars[mode]
	}
	return vars
}

// Operand returns the operand with the given name: a workspace that a consumer reads in e, or an
// operand of the leaf. It returns nil if the name belongs to a scalar temporary, or to a workspace
// that no consumer reads in e.
func (e *Env) Operand(name string) *tree.Operand {
	if op, ok := e.Made.Get(name); ok {
		return op
	}
	return e.Leaf.Ops[name]
}

// Reading returns a copy of e for lowering the consumer of workspace op. In the copy, accesses to
// the given name read op.
func (e *Env) Reading(name string, op *tree.Operand) *Env {
	in := e.Clone()
	in.Made = e.Made.With(name, op)
	return in
}

// OpenCursors adds a cursor to e for each access in s to an operand, unless the access has a cursor
// already. The new cursor is above the operand's first level.
func (e *Env) OpenCursors(s cin.Stmt) {
	cin.Accesses(s, func(a *cin.Access) {
		if op, key := e.Operand(a.Name), a.Key(); op != nil && e.Cur[key] == nil {
			e.Cur[key] = &tree.Cursor{Of: op, Vars: LevelVars(a, op), Pos: ir.Int(0),
				Present: ir.Truth(true)}
		}
	})
}

// Bind returns the environment of an iteration of a loop over v, at coordinate c. s is the loop's
// body. cursors has the new cursors of the accesses that the loop iterates over.
func (e *Env) Bind(s cin.Stmt, v string, c ir.Expr, cursors map[string]*tree.Cursor) *Env {

	in := e.Clone()
	in.Coord = in.Coord.With(v, c)
	maps.Copy(in.Cur, cursors)
	in.EnterAll(s)
	return in
}

// EnterAll moves the cursors of all accesses in s down to the first level whose variable is not
// bound. It loads the value of each access that has passed all its levels, unless the value is
// known to be absent.
func (e *Env) EnterAll(s cin.Stmt) {

	cin.Accesses(s, func(a *cin.Access) {
		key := a.Key()
		if c := e.Cur[key]; c != nil {
			e.Cur[key] = e.Enter(c)
		}
	})
}

// Enter returns c at the first level whose variable is not bound. It loads the value if c has
// passed its last level and is not known to be absent.
func (e *Env) Enter(c *tree.Cursor) *tree.Cursor {
	for c.Level < len(c.Vars) {
		at, bound := e.Coord.Get(c.Next())
		dense := c.Of.Kind(c.Level).CanLocate()
		switch {
		case dense && !bound:
			if c.Base != nil {
				return c
			}
			d := *c
			d.Base = e.Leaf.B.Named(c.Of.Prefix()+"_b", c.DenseBase())
			return &d
		case dense:
			c = c.LocateDense(at)
		case !bound:
			return c
		default:
			c = c.LocateSearch(at)
		}
	}
	if c.Value == nil && !ir.IsFalse(c.Present) {
		d := *c
		d.Value = e.load(c)
		if c.Of.Mark != nil {
			d.Present = ir.At(c.Of.Mark, c.Pos)
		}
		c = &d
	}
	return c
}

// inCopy returns an index in the private copy of a row: the index of the current coordinate of the
// last level. c is the cursor of the row that was copied.
func (e *Env) inCopy(c *tree.Cursor) ir.Expr {
	v := c.Vars[len(c.Vars)-1]
	if x, ok := e.Lanes.Get(v); ok {
		return x
	}
	return ir.Minus(e.Coord.At(v), c.Row.Lo)
}

// load emits code that reads the value at a cursor that has passed all its levels.
func (e *Env) load(c *tree.Cursor) ir.Expr {
	l := e.Leaf
	t := l.Spec.Compute
	at := func(p ir.Expr) ir.Expr {
		if c.Of.ValueAt != nil {
			p = c.Of.ValueAt(p, e.Coord.At(c.Vars[len(c.Vars)-1]))
		}
		return ir.Convert(t, ir.At(c.Of.Vals(), p))
	}
	name := c.Of.Prefix() + "_v"
	if c.Row != nil {
		return l.B.Named(name, ir.Convert(t, ir.At(c.Row.A, e.inCopy(c))))
	}
	if c.End == nil && (ir.Always(c.Present) || c.Of.Mark != nil) {
		return l.B.Named(name, at(c.Pos))
	}
	if c.End == nil {
		v := l.B.Local(name, ir.Zero(t))
		l.B.When(c.Present, func() { l.B.Set(v, at(c.Pos)) })
		return v
	}
	// The repeats of a coordinate are summed in the tensor's own type.
	v := l.B.Local(name, ir.Zero(c.Of.Argument.Type))
	l.B.When(c.Present, func() {
		l.B.Loop(c.Of.Prefix()+"_p", c.Pos, c.End, func(p *ir.Var) {
			l.B.Incr(v, ir.At(c.Of.Vals(), p))
		})
	})
	if t == c.Of.Argument.Type {
		return v
	}
	return l.B.Named(name, ir.Convert(t, v))
}

// PlaceKey returns a key for the maps Env.Parts and Env.Early. The parameter key is the key of an
// access, and v is the variable of a loop over positions of this access.
func PlaceKey(key, v string) string { return key + " at " + v }

// Value is the value of an expression. Pres is the condition that the value is present. If Pres is
// true, V is the value. If Pres is false, V is 0 if Zeroed is true, and has no meaning otherwise.
// Found is true for a value of a table, and for products with such a value. Zeroed is then true as
// well, and no branch should depend on Pres, because a processor could not predict it.
type Value struct {
	Pres   ir.Expr
	V      ir.Expr
	Zeroed bool
	Found  bool
}

// tile describes a tile of a row, or the shorter rest at the end of a row. lo is the coordinate
// where it starts. Width is the number of values of a whole tile.
type tile struct {
	lo    ir.Expr
	Width int64
}

// Row describes a workspace that a consumer reads. The workspace holds one tile of a row, or the
// rest of a row. Sums is the array of the sums. Pres is the condition that the sums are present.
type Row struct {
	Sums *ir.Array
	Pres ir.Expr
}

// Lane returns the place of v's coordinate in its tile.
func (e *Env) Lane(v string) ir.Expr {
	if x, ok := e.Lanes.Get(v); ok {
		return x
	}
	return ir.Minus(e.Coord.At(v), e.Tiles.At(v).lo)
}

// Adder is a temporary over index variables. It stores the values that assignments add to the
// temporary.
type Adder interface {
	// Add adds x at the coordinates of access a in e.
	Add(a *cin.Access, x ir.Expr, e *Env)
}

// Placed is a temporary that is an array with a place for each coordinate or position, and needs no
// other bookkeeping.
type Placed interface {
	Adder
	HasPlaces()
}

// absentValue is the value of an expression that is absent.
var absentValue = Value{Pres: ir.Truth(false)}

// Point returns the coordinates of an access.
func (e *Env) Point(a *cin.Access) space.Point {
	return func(m int) ir.Expr { return e.Coord.At(a.Vars[m]) }
}

// InTile sets the range of v to s. s is a tile of a row, or the rest of a row, which is shorter
// than a tile.
func (e *Env) InTile(v string, s tree.Range) {
	e.Ranges = e.Ranges.With(v, s)
	e.Tiles = e.Tiles.With(v, tile{lo: s.Lo, Width: max(s.Width, -s.Width)})
}
