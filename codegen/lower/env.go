package lower

import (
	"maps"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
)

// env is what is known at a place in the nest. It is copied where paths part.
type env struct {
	coord map[string]ir.Expr // of bound variables
	cur   map[string]*cursor // by access key
	temps map[string]value   // scalar temporaries
	res   resultCursor
	// ranges are those of variables whose range is cut to a chunk or tile.
	ranges map[string]coordRange
	rows   map[string]row // workspaces of tiles
	// tiles are those of variables whose range is one, or what loops around leave of one; lanes
	// are the places in them of such variables.
	tiles map[string]tile
	lanes map[string]ir.Expr

	// Of a scheduled statement: open and counts are the components that the
	// loops around are over, parts the restrictions of accesses to some
	// positions, by place.
	open   map[string]*opened
	counts map[string]*counts
	parts  map[string][2]ir.Expr
	// atomic: additions to the result are, as loops of the component racing
	// alone ask (nil: of several), but where own says that they are to a row that
	// no other thread adds to.
	atomic bool
	racing *component
	own    ir.Expr
	// threads: the loops around run on threads, which share the result, or
	// the private copy of it.
	threads bool
	private *privateCopy
	piece   *pieceOf
	// predicates tells of accesses, by key, whether they are present at the coordinate of a
	// predicated merge (predicated.go).
	predicates map[string]ir.Expr
}

// coordRange is the range of coordinates that a loop visits. clip says that operands may hold
// coordinates outside it, and when, if not nil, where alone they may; width, if not 0, that it is a
// tile (tile.go) of that many; size, if not 0, is hi-lo. Of a row that may be cut
// (longrows_sparse.go), open tells whether it goes on behind the range.
type coordRange struct {
	lo, hi ir.Expr
	clip   bool
	when   ir.Expr
	width  int64
	size   int64
	open   ir.Expr
}

// clipped are the positions of lo up to hi, which crd belongs to, with coordinates in the range.
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

// rangeOf is v's range in e.
func (l *lowerer) rangeOf(e *env, v string) coordRange {
	if s, ok := e.ranges[v]; ok {
		return s
	}
	if t, ok := l.spec.Strategy.Trips[v]; ok {
		return coordRange{lo: ir.Int(0), hi: ir.Int(t.N)}
	}
	b := l.bounds[v]
	if l.derives() && !l.spec.Parts[l.sched.g.Original(v)] {
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

// cursor is how far an access has come down its levels. It is not changed once
// made.
type cursor struct {
	op    *operand
	vars  []string // of each level
	level int      // the next level to enter
	// pos is the position at the level above, and end, where it is not nil,
	// the end of the run of positions that starts there.
	pos, end ir.Expr
	// base, where the next level is dense, is what its coordinate is added to
	// to give its position.
	base ir.Expr
	pres ir.Expr  // whether the positions exist
	val  ir.Expr  // the value, once all levels are entered; 0 where absent
	row  *rowCopy // of the last level, where it has been copied
}

// next is the variable of the next level, or "".
func (c *cursor) next() string {
	if c.level == len(c.vars) {
		return ""
	}
	return c.vars[c.level]
}

// absent is c with nothing there.
func (c *cursor) absent() *cursor {
	return &cursor{op: c.op, vars: c.vars, level: len(c.vars), pres: ir.Truth(false)}
}

// levelVars is the variable of each storage level of an access.
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

// rootEnv is the environment outside all loops.
func (l *lowerer) rootEnv(s cin.Stmt) *env {
	e := &env{coord: map[string]ir.Expr{}, cur: map[string]*cursor{}, temps: map[string]value{},
		res: resultCursor{pos: ir.Int(0), zeroed: l.spec.Adds}, ranges: map[string]coordRange{},
		tiles: map[string]tile{}, lanes: map[string]ir.Expr{}, rows: map[string]row{},
		open: map[string]*opened{}, counts: map[string]*counts{}, parts: map[string][2]ir.Expr{}}
	cin.Accesses(s, func(a *cin.Access) {
		if op := l.ops[a.Name]; op != nil {
			l.openCursor(a, e)
		}
	})
	l.enterAll(s, e)
	l.enterResult(e)
	return e
}

// openCursor starts a's cursor at its root.
func (l *lowerer) openCursor(a *cin.Access, e *env) {
	key := a.Key()
	if e.cur[key] == nil {
		e.cur[key] = &cursor{op: l.operandOf(a), vars: l.levelVars(a), pos: ir.Int(0),
			pres: ir.Truth(true)}
	}
}

// bind makes the environment inside a loop over v at coordinate c, with the
// cursors of the accesses that the loop iterates, for the body s.
func (l *lowerer) bind(e *env, s cin.Stmt, v string, c ir.Expr, cursors map[string]*cursor) *env {
	in := e.clone()
	in.coord[v] = c
	maps.Copy(in.cur, cursors)
	l.enterAll(s, in)
	return in
}

// enterAll moves the cursors of all accesses in s down as far as the bound
// variables allow, and loads the values of those that are through.
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
		dense := c.op.caps(c.level).Locate
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
	// The repeats of a coordinate are one value, of the tensor's own type.
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
