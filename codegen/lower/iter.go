package lower

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/io/tensor"
)

// iter walks the segment of a sparse level below a cursor.
type iter struct {
	key     string
	number  int // index in the lattice
	cur     *cursor
	crd     *ir.Array
	lo, hi  ir.Expr
	p       *ir.Var // the position; declared by start
	here    ir.Expr // in a predicated body: whether the iterator is at the current coordinate
	c       *ir.Var // the coordinate at p
	run     *ir.Var // the end of the run of positions with the coordinate, if the level has runs
	repeats bool
	padded  bool
	span    coordRange
}

func (l *lowerer) newIter(p *loop, number int, c *cursor) *iter {
	it := &iter{key: p.lat.Iters[number], number: number, cur: c, crd: c.op.crd(c.level)}
	it.repeats = c.op.hasRepeats(c.level)
	it.padded = c.op.caps(c.level).IsPadded()
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

// passesChunk reports whether the iterators of a loop may reach coordinates outside its variable's
// range, because a call has only a chunk of one operand's entries. If the loop walks that operand
// too, it does not reach them, because the operand stores none there.
func (l *lowerer) passesChunk(p *loop) bool {
	return l.hasChunk(p.v()) &&
		!slices.ContainsFunc(p.lat.Iters, func(key string) bool { return l.isChunked(p.e.cur[key]) })
}

// isChunked reports whether a call has only a chunk of the entries of a cursor's operand.
func (l *lowerer) isChunked(c *cursor) bool { return c.op.operand.Name == l.spec.Chunked }

// hasChunk reports whether the operand that calls get in chunks has an access with v.
func (l *lowerer) hasChunk(v string) (has bool) {
	if l.spec.Chunked != "" {
		cin.Accesses(l.spec.Stmt, func(a *cin.Access) {
			has = has || a.Name == l.spec.Chunked && slices.Contains(a.Vars, l.sched.g.Original(v))
		})
	}
	return has
}

func (it *iter) name() string { return it.cur.op.prefix() }

// at returns the coordinate at position p.
func (it *iter) at(p ir.Expr) ir.Expr { return ir.Coord(it.crd, p) }

// enter returns the cursor below the iterator's position. pres is its presence.
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

// declareRunEnd declares the end of the run of positions with coordinate c that starts at p. The
// end is p itself if the run is empty. here is the condition that c is the coordinate at p. The
// search for the end starts at p+1 if here is true, so that GCC knows that the run is not empty.
// Otherwise GCC would make copies of the loops over the run that are never executed, and warn about
// them.
func (l *lowerer) declareRunEnd(it *iter, c, here ir.Expr) {
	if !it.repeats {
		return
	}
	it.run = l.declare(it.name()+"_r", ir.Plus(it.p, ir.Convert(tensor.Int64, here)))
	l.while(ir.Both(ir.Less(it.run, it.hi), ir.Equal(it.at(it.run), c)),
		func() { l.incr(it.run, ir.Int(1)) })
}

// advance moves the iterator past the current coordinate if here is true.
func (l *lowerer) advance(it *iter, here ir.Expr) {
	if it.repeats {
		l.set(it.p, it.run)
		return
	}
	l.incr(it.p, ir.Convert(tensor.Int64, here))
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

// entry returns the condition that coordinate c, at the iterator's position, must be visited.
// Padding is not visited. In a padded level the range cannot be searched for, so coordinates
// outside the range are also skipped here.
func (it *iter) entry(c ir.Expr) ir.Expr {
	switch {
	case !it.padded:
		return ir.Truth(true)
	case it.span.clip:
		return ir.Both(ir.AtLeast(c, it.span.lo), ir.Less(c, it.span.hi))
	}
	return ir.AtLeast(c, ir.Int(0))
}
