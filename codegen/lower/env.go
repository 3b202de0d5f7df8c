package lower

import (
	"maps"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/tree"
)

// env has the facts that are known at a place in the nest. Each path of the lowering has its own
// copy.
type env struct {
	coord *scoped[ir.Expr]        // of bound variables
	cur   map[string]*tree.Cursor // by access key
	temps *scoped[value]          // scalar temporaries that consumers read
	into  *scoped[filled]         // temporaries that producers add to
	// longRows has the long rows of the parallel loop around this place, if a workspace sums them.
	longRows *longProductRows
	res      resultCursor
	// ranges has the ranges of variables that are cut to a chunk or tile.
	ranges *scoped[tree.Range]
	rows   *scoped[row] // the workspaces of tiles
	// tiles has the tile of each variable that runs over a tile, or over the rest of a row. lanes
	// has the current place of each variable that runs over the places of a tile.
	tiles *scoped[tile]
	lanes *scoped[ir.Expr]

	// The next fields are for scheduled statements. open and counts have the state of the
	// components whose loops are around this place. parts has the ranges of positions that accesses
	// are restricted to, by the key that place returns.
	open   *scoped[*openLoops]
	counts *scoped[*counts]
	parts  *scoped[[2]ir.Expr]
	// If atomic is true, additions to the result are atomic. racing is the only component whose
	// loops require this, or nil if there are several. If own is not nil, an addition need not be
	// atomic when own is true, because no other thread adds to the same row.
	atomic bool
	racing *component
	own    ir.Expr
	// threads is true if the loops around this place run on threads that share the result, or a
	// private copy of the result.
	threads bool
	private *privateCopy
	piece   *pieceOf
	// predicates says for each access, by key, whether it is present at the current coordinate of a
	// predicated merge (predicated.go).
	predicates map[string]ir.Expr
}

// filled is a temporary that a producer adds to: a scalar, or a workspace.
type filled struct {
	sum   *ir.Var
	space adder
}

// summing returns e inside the producer of a scalar temporary.
func (e *env) summing(name string, sum *ir.Var) *env {
	in := *e
	in.into = e.into.with(name, filled{sum: sum})
	return &in
}

// filling returns e inside the producer of a workspace.
func (e *env) filling(name string, w adder) *env {
	in := *e
	in.into = e.into.with(name, filled{space: w})
	return &in
}

// sum returns the scalar temporary of the given name that producers around e add to, or nil.
func (e *env) sum(name string) *ir.Var { return e.into.at(name).sum }

// space returns the workspace of the given name that producers around e add to, or nil.
func (e *env) space(name string) adder { return e.into.at(name).space }

// rangeOf returns v's range in e.
func (l *lowerer) rangeOf(e *env, v string) tree.Range {
	if s, ok := e.ranges.get(v); ok {
		return s
	}
	if n, ok := l.spec.Strategy.Trips[v]; ok {
		return tree.Range{Lo: ir.Int(0), Hi: ir.Int(n)}
	}
	b := l.bounds[v]
	if l.hasDerivedVars() && !l.spec.Parts[l.sched.g.Original(v)] {
		return tree.Range{Lo: ir.Int(0), Hi: b[1]}
	}
	return tree.Range{Lo: b[0], Hi: b[1]}
}

// clone returns a copy of e. Changes of the copy do not change e.
func (e *env) clone() *env {
	c := *e
	c.cur = maps.Clone(e.cur)
	return &c
}

// levelVars returns the variable of each storage level of an access.
func (l *lowerer) levelVars(a *cin.Access) []string {
	key := a.Key()
	if vars, ok := l.levels[key]; ok {
		return vars
	}
	op := l.operandOf(a)
	vars := make([]string, len(a.Vars))
	for level, mode := range op.Argument.Format.Order {
		vars[level] = a.Vars[mode]
	}
	l.levels[key] = vars
	return vars
}

func (l *lowerer) operandOf(a *cin.Access) *tree.Operand {
	op := l.ops[a.Name]
	if op == nil {
		panic("BUG: lower: no operand " + a.Name)
	}
	return op
}

// rootEnv returns the environment outside all loops.
func (l *lowerer) rootEnv(s cin.Stmt) *env {
	e := &env{cur: map[string]*tree.Cursor{}, res: resultCursor{pos: ir.Int(0), zeroed: l.spec.Adds}}
	cin.Accesses(s, func(a *cin.Access) {
		if op := l.ops[a.Name]; op != nil {
			l.openCursor(a, e)
		}
	})
	l.enterAll(s, e)
	l.enterResult(e)
	return e
}

// openCursor puts a's cursor at its root.
func (l *lowerer) openCursor(a *cin.Access, e *env) {
	key := a.Key()
	if e.cur[key] == nil {
		e.cur[key] = &tree.Cursor{Of: l.operandOf(a), Vars: l.levelVars(a), Pos: ir.Int(0),
			Present: ir.Truth(true)}
	}
}

// bind returns the environment of an iteration of a loop over v, at coordinate c. s is the loop's
// body. cursors has the new cursors of the accesses that the loop iterates over.
func (l *lowerer) bind(e *env, s cin.Stmt, v string, c ir.Expr,
	cursors map[string]*tree.Cursor) *env {
	in := e.clone()
	in.coord = in.coord.with(v, c)
	maps.Copy(in.cur, cursors)
	l.enterAll(s, in)
	return in
}

// enterAll moves the cursors of all accesses in s down through all levels whose variables are
// bound. It loads the value of each access that has passed all its levels.
func (l *lowerer) enterAll(s cin.Stmt, e *env) {
	cin.Accesses(s, func(a *cin.Access) {
		key := a.Key()
		if c := e.cur[key]; c != nil {
			e.cur[key] = l.enter(c, e)
		}
	})
}

func (l *lowerer) enter(c *tree.Cursor, e *env) *tree.Cursor {
	for c.Level < len(c.Vars) {
		at, bound := e.coord.get(c.Next())
		dense := c.Of.Kind(c.Level).CanLocate()
		switch {
		case dense && !bound:
			if c.Base != nil {
				return c
			}
			d := *c
			d.Base = l.b.Named(c.Of.Prefix()+"_b", c.DenseBase())
			return &d
		case dense:
			c = c.LocateDense(at)
		case !bound:
			return c
		default:
			c = c.LocateSearch(at)
		}
	}
	if c.Value == nil && !ir.Never(c.Present) {
		d := *c
		d.Value = l.load(c, e)
		c = &d
	}
	return c
}

// inCopy returns the index, in the copy of a cursor's row, of the last level's coordinate.
func (e *env) inCopy(c *tree.Cursor) ir.Expr {
	v := c.Vars[len(c.Vars)-1]
	if x, ok := e.lanes.get(v); ok {
		return x
	}
	return ir.Minus(e.coord.at(v), c.Row.Lo)
}

// load emits code that reads the value at a cursor that has passed all its levels.
func (l *lowerer) load(c *tree.Cursor, e *env) ir.Expr {
	t := l.spec.Compute
	at := func(p ir.Expr) ir.Expr {
		if c.Of.ValueAt != nil {
			p = c.Of.ValueAt(p, e.coord.at(c.Vars[len(c.Vars)-1]))
		}
		return ir.Convert(t, ir.At(c.Of.Vals(), p))
	}
	name := c.Of.Prefix() + "_v"
	if c.Row != nil {
		return l.b.Named(name, ir.Convert(t, ir.At(c.Row.A, e.inCopy(c))))
	}
	if c.End == nil && ir.Always(c.Present) {
		return l.b.Named(name, at(c.Pos))
	}
	if c.End == nil {
		v := ir.NewVar(l.b.Fresh(name), t)
		l.b.Emit(&ir.Declare{V: v, Init: ir.Zero(t)})
		l.b.When(c.Present, func() { l.b.Set(v, at(c.Pos)) })
		return v
	}
	// The repeats of a coordinate are summed in the tensor's own type.
	v := ir.NewVar(l.b.Fresh(name), c.Of.Argument.Type)
	l.b.Emit(&ir.Declare{V: v, Init: ir.Zero(v.Typ)})
	l.b.When(c.Present, func() {
		p := l.b.Var(c.Of.Prefix() + "_p")
		l.b.Emit(&ir.For{V: p, Lo: c.Pos, Hi: c.End, Step: 1, Body: l.b.Within(func() {
			l.b.Incr(v, ir.At(c.Of.Vals(), p))
		})})
	})
	if t == c.Of.Argument.Type {
		return v
	}
	return l.b.Named(name, ir.Convert(t, v))
}

// place returns the key in env.parts for the positions of an access in the loop over v.
func place(key, v string) string { return key + " at " + v }

// value is the value of an expression. v is valid if pres is true. If zeroed is true, v is also
// valid if pres is false: it is then 0.
type value struct {
	pres   ir.Expr
	v      ir.Expr
	zeroed bool
}

// tile has the start of a tile of a row, and its number of places.
type tile struct {
	lo    ir.Expr
	width int64
}

// row is a row workspace as a consumer reads it.
type row struct {
	sums *ir.Array
	pres ir.Expr
}

// lane returns the place of v's coordinate in its tile.
func (e *env) lane(v string) ir.Expr {
	if x, ok := e.lanes.get(v); ok {
		return x
	}
	return ir.Minus(e.coord.at(v), e.tiles.at(v).lo)
}

// adder is a temporary over index variables that sums values at random coordinates.
type adder interface {
	// add adds x at the coordinates of access a in e.
	add(l *lowerer, a *cin.Access, x ir.Expr, e *env)
}

// absentValue is the value of an expression that is absent.
var absentValue = value{pres: ir.Truth(false)}
