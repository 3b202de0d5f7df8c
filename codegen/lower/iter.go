package lower

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
)

// iter walks the segment of a sparse level below a cursor.
type iter struct {
	key     string
	number  int // in the lattice
	cur     *cursor
	crd     *ir.Array
	lo, hi  ir.Expr
	p       *ir.Var // the position; declared by start
	here    ir.Expr // of a predicated body: whether the iterator stands at the coordinate
	c       *ir.Var // the coordinate at p
	run     *ir.Var // the end of the run of positions with the coordinate, where the level has runs
	repeats bool
	padded  bool
	span    coordRange
}

func (l *lowerer) newIter(p *loop, number int, c *cursor) *iter {
	it := &iter{key: p.lat.Iters[number], number: number, cur: c, crd: c.op.crd(c.level)}
	it.repeats = c.op.hasRepeats(c.level)
	it.padded = c.op.caps(c.level).Padded
	if part, ok := p.e.parts[place(it.key, p.v())]; ok {
		it.lo, it.hi = part[0], part[1]
		return it
	}
	it.lo, it.hi = l.segment(c)
	it.span = l.rangeOf(p.e, p.v())
	it.span.clip = it.span.clip || l.passesChunk(p)
	if it.span.clip && !it.padded {
		it.lo, it.hi = l.clipped(it.span, it.name(), it.crd, it.lo, it.hi)
	}
	return it
}

// passesChunk tells whether the iterators of a loop may come to coordinates outside of its
// variable's range, since a call has a chunk of one operand's entries: that operand stores none,
// and keeps a loop that walks it too from what others store.
func (l *lowerer) passesChunk(p *loop) bool {
	return l.hasChunk(p.v()) &&
		!slices.ContainsFunc(p.lat.Iters, func(key string) bool { return l.isChunked(p.e.cur[key]) })
}

// isChunked tells whether a call has a chunk of the entries of a cursor's operand.
func (l *lowerer) isChunked(c *cursor) bool { return c.op.operand.Name == l.spec.Chunked }

// hasChunk tells whether the operand of whose entries a call has a chunk is accessed at v.
func (l *lowerer) hasChunk(v string) (has bool) {
	if l.spec.Chunked != "" {
		cin.Accesses(l.spec.Stmt, func(a *cin.Access) {
			has = has || a.Name == l.spec.Chunked && slices.Contains(a.Vars, l.sched.g.Original(v))
		})
	}
	return has
}

func (it *iter) name() string { return it.cur.op.prefix() }

// at is the coordinate at position p.
func (it *iter) at(p ir.Expr) ir.Expr { return ir.Coord(it.crd, p) }

// enter is the cursor below the iterator's position.
func (it *iter) enter(pres ir.Expr) *cursor {
	d := *it.cur
	d.level++
	d.pos, d.end, d.base, d.pres = it.p, nil, nil, pres
	if it.repeats {
		d.end = it.run
	}
	return &d
}

// start declares the iterator's position at the segment's start.
func (l *lowerer) start(it *iter) {
	it.p = l.declare(it.name()+"_p", it.lo)
	l.skipPadding(it)
}

func (l *lowerer) skipPadding(it *iter) {
	if it.padded {
		l.while(ir.Both(ir.Less(it.p, it.hi), ir.Inverse(it.entry(it.at(it.p)))),
			func() { l.incr(it.p, ir.Int(1)) })
	}
}

func (it *iter) live() ir.Expr { return ir.Less(it.p, it.hi) }

// findRun declares the end of the run of positions with coordinate c from p
// on: p itself where there is none. here says whether c is the coordinate at p: a run that begins
// behind p has no form without positions, in which GCC would make copies of the loops over it
// that never run, and warn of them.
func (l *lowerer) findRun(it *iter, c, here ir.Expr) {
	if !it.repeats {
		return
	}
	it.run = l.declare(it.name()+"_r", ir.Plus(it.p, ir.Convert(ir.Int64, here)))
	l.while(ir.Both(ir.Less(it.run, it.hi), ir.Equal(it.at(it.run), c)),
		func() { l.incr(it.run, ir.Int(1)) })
}

// advance moves the iterator past coordinate c, if it is there: here says so.
func (l *lowerer) advance(it *iter, here ir.Expr) {
	if it.repeats {
		l.set(it.p, it.run)
		return
	}
	l.incr(it.p, ir.Convert(ir.Int64, here))
	l.skipPadding(it)
}

// singleLoop runs over one iterator's segment.
func (l *lowerer) singleLoop(p *loop) ir.Expr {
	it := p.iters[p.lat.All().First()]
	if it.repeats {
		if l.onUnits(p) {
			l.refuse(p.v(),
				"the loop over %s steps from a coordinate of %s to the next, past its repeats; strip-mine it with split or divide, and run the tiles in parallel", p.v(), it.key)
		}
		return l.mergeLoops(p)
	}
	done := l.countAssigned(p)
	var some ir.Expr
	over := func(lo, hi ir.Expr) {
		it.p = l.newVar(it.name() + "_p")
		stream := l.streamed(p, it)
		body := l.bodyOf(p.f, func() {
			c := l.declare(p.v(), it.at(it.p))
			stream()
			l.prefetch(p, it)
			l.when(it.entry(c), func() {
				some = l.iteration(p, c, []*iter{it}, nil)
				l.noteAssigned(p, some)
			})
		})
		l.emit(l.setKind(p.f, l.segmentLoop(&ir.For{V: it.p, Lo: lo, Hi: hi, Step: 1, Body: body}, it.key,
			p.v())))
	}
	l.inFlag(p, func() { l.split(p, it, over) },
		func() bool { return never(some) || always(some) && !it.padded })
	if done != nil {
		return done()
	}
	if p.want && always(some) && !it.padded {
		return ir.Less(it.lo, it.hi)
	}
	return p.result(some)
}

// entry tells whether coordinate c, at the iterator's position, is one to
// visit: no padding, and, among padding, where the order is not searched, not
// outside the range.
func (it *iter) entry(c ir.Expr) ir.Expr {
	switch {
	case !it.padded:
		return ir.Truth(true)
	case it.span.clip:
		return ir.Both(ir.AtLeast(c, it.span.lo), ir.Less(c, it.span.hi))
	}
	return ir.AtLeast(c, ir.Int(0))
}
