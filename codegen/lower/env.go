package lower

import (
	"maps"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
)

// env has the facts that are known at a place in the nest. Each path of the lowering has its own
// copy.
type env struct {
	coord map[string]ir.Expr // of bound variables
	cur   map[string]*cursor // by access key
	temps map[string]value   // scalar temporaries
	res   resultCursor
	// ranges has the ranges of variables that are cut to a chunk or tile.
	ranges map[string]coordRange
	rows   map[string]row // the workspaces of tiles
	// tiles has the tiles of variables that run over a tile, or over the rest of one. lanes has the
	// place in the tile for variables that run over tiles.
	tiles map[string]tile
	lanes map[string]ir.Expr

	// The next fields are for scheduled statements. open and counts have the state of the
	// components whose loops are around this place. parts has restrictions of accesses to some of
	// their positions, by the key that place returns.
	open   map[string]*openLoops
	counts map[string]*counts
	parts  map[string][2]ir.Expr
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

// coordRange is the range of coordinates that a loop visits. If clip is true, operands may have
// coordinates outside it; if when is not nil, they have some only when it is true. If width is not
// 0, the range is a tile (tile.go) of this many coordinates. If size is not 0, it is hi-lo. For a
// row that may be cut (longrows_sparse.go), open is true if the row continues after the range.
type coordRange struct {
	lo, hi ir.Expr
	clip   bool
	when   ir.Expr
	width  int64
	size   int64
	open   ir.Expr
}

// clipped returns the positions between lo and hi whose coordinates, which crd stores, are in the
// range.
func (l *lowerer) clipped(s coordRange, name string, crd *ir.Array, lo, hi ir.Expr) (from,
	to ir.Expr) {
	find := func(key ir.Expr) ir.Expr { return &ir.Search{A: crd, Lo: lo, Hi: hi, Key: key} }
	if s.when == nil {
		return l.named(name+"_s", find(s.lo)), l.named(name+"_e", find(s.hi))
	}
	vlo, vhi := l.declare(name+"_s", lo), l.declare(name+"_e", hi)
	l.when(s.when, func() {
		l.set(vlo, find(s.lo))
		l.set(vhi, find(s.hi))
	})
	return vlo, vhi
}

// rangeOf returns v's range in e.
func (l *lowerer) rangeOf(e *env, v string) coordRange {
	if s, ok := e.ranges[v]; ok {
		return s
	}
	if n, ok := l.spec.Strategy.Trips[v]; ok {
		return coordRange{lo: ir.Int(0), hi: ir.Int(n)}
	}
	b := l.bounds[v]
	if l.hasDerivedVars() && !l.spec.Parts[l.sched.g.Original(v)] {
		return coordRange{lo: ir.Int(0), hi: b[1]}
	}
	return coordRange{lo: b[0], hi: b[1]}
}

func (e *env) clone() *env {
	c := *e
	c.coord, c.cur, c.temps = maps.Clone(e.coord), maps.Clone(e.cur), maps.Clone(e.temps)
	c.ranges, c.rows = maps.Clone(e.ranges), maps.Clone(e.rows)
	c.tiles, c.lanes = maps.Clone(e.tiles), maps.Clone(e.lanes)
	c.open, c.counts, c.parts = maps.Clone(e.open), maps.Clone(e.counts), maps.Clone(e.parts)
	return &c
}

// cursor says how far an access has been followed down its levels. A cursor is immutable.
type cursor struct {
	op    *operand
	vars  []string // the variable of each level
	level int      // the next level to enter
	// pos is the position at the level above. If end is not nil, the cursor is a run of positions
	// from pos to end.
	pos, end ir.Expr
	// If the next level is dense, base is added to its coordinate to give its position.
	base ir.Expr
	pres ir.Expr  // whether the positions exist
	val  ir.Expr  // the value, once all levels are entered; 0 if it is absent
	row  *rowCopy // a copy of the row in the last level, if there is one
}

// next returns the variable of the next level, or "".
func (c *cursor) next() string {
	if c.level == len(c.vars) {
		return ""
	}
	return c.vars[c.level]
}

// absent returns c with no entry.
func (c *cursor) absent() *cursor {
	return &cursor{op: c.op, vars: c.vars, level: len(c.vars), pres: ir.Truth(false)}
}

// levelVars returns the variable of each storage level of an access.
func (l *lowerer) levelVars(a *cin.Access) []string {
	key := a.Key()
	if vars, ok := l.levels[key]; ok {
		return vars
	}
	op := l.operandOf(a)
	vars := make([]string, len(a.Vars))
	for level, mode := range op.operand.Format.Order {
		vars[level] = a.Vars[mode]
	}
	l.levels[key] = vars
	return vars
}

func (l *lowerer) operandOf(a *cin.Access) *operand {
	op := l.ops[a.Name]
	if op == nil {
		panic("BUG: lower: no operand " + a.Name)
	}
	return op
}

// rootEnv returns the environment outside all loops.
func (l *lowerer) rootEnv(s cin.Stmt) *env {
	e := &env{coord: map[string]ir.Expr{}, cur: map[string]*cursor{}, temps: map[string]value{},
		res: resultCursor{pos: ir.Int(0), zeroed: l.spec.Adds}, ranges: map[string]coordRange{},
		tiles: map[string]tile{}, lanes: map[string]ir.Expr{}, rows: map[string]row{},
		open: map[string]*openLoops{}, counts: map[string]*counts{}, parts: map[string][2]ir.Expr{}}
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
		e.cur[key] = &cursor{op: l.operandOf(a), vars: l.levelVars(a), pos: ir.Int(0),
			pres: ir.Truth(true)}
	}
}

// bind returns the environment inside a loop over v at coordinate c, for the body s. cursors has
// the new cursors of the accesses that the loop iterates over.
func (l *lowerer) bind(e *env, s cin.Stmt, v string, c ir.Expr, cursors map[string]*cursor) *env {
	in := e.clone()
	in.coord[v] = c
	maps.Copy(in.cur, cursors)
	l.enterAll(s, in)
	return in
}

// enterAll moves the cursors of all accesses in s down through all levels whose variables are
// bound. It loads the value of each access that is through all its levels.
func (l *lowerer) enterAll(s cin.Stmt, e *env) {
	cin.Accesses(s, func(a *cin.Access) {
		key := a.Key()
		if c := e.cur[key]; c != nil {
			e.cur[key] = l.enter(c, e)
		}
	})
}

func (l *lowerer) enter(c *cursor, e *env) *cursor {
	for c.level < len(c.vars) {
		at, bound := e.coord[c.next()]
		dense := c.op.caps(c.level).CanLocate()
		switch {
		case dense && !bound:
			if c.base != nil {
				return c
			}
			d := *c
			d.base = l.named(c.op.prefix()+"_b", l.denseBase(c))
			return &d
		case dense:
			c = l.locateDense(c, at)
		case !bound:
			return c
		default:
			c = l.locateSearch(c, at)
		}
	}
	if c.val == nil && !never(c.pres) {
		d := *c
		d.val = l.load(c, e)
		c = &d
	}
	return c
}

// load reads the value at a cursor that is through all its levels.
func (l *lowerer) load(c *cursor, e *env) ir.Expr {
	t := l.spec.Compute
	at := func(p ir.Expr) ir.Expr {
		if c.op.valueAt != nil {
			p = c.op.valueAt(p, e.coord[c.vars[len(c.vars)-1]])
		}
		return ir.Convert(t, ir.At(c.op.vals(), p))
	}
	name := c.op.prefix() + "_v"
	if c.row != nil {
		return l.named(name, ir.Convert(t, ir.At(c.row.a, c.row.at(e))))
	}
	if c.end == nil && always(c.pres) {
		return l.named(name, at(c.pos))
	}
	if c.end == nil {
		v := ir.NewVar(l.fresh(name), t)
		l.emit(&ir.Declare{V: v, Init: ir.Zero(t)})
		l.when(c.pres, func() { l.set(v, at(c.pos)) })
		return v
	}
	// The repeats of a coordinate are summed in the tensor's own type.
	v := ir.NewVar(l.fresh(name), c.op.operand.Type)
	l.emit(&ir.Declare{V: v, Init: ir.Zero(v.Typ)})
	l.when(c.pres, func() {
		p := l.newVar(c.op.prefix() + "_p")
		l.emit(&ir.For{V: p, Lo: c.pos, Hi: c.end, Step: 1, Body: l.within(func() {
			l.incr(v, ir.At(c.op.vals(), p))
		})})
	})
	if t == c.op.operand.Type {
		return v
	}
	return l.named(name, ir.Convert(t, v))
}
