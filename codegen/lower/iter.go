package lower

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/tree"
	"distaff/io/tensor"
)

// iter walks the segment of a sparse level below a cursor.
type iter struct {
	key     string
	number  int // index in the lattice
	cur     *tree.Cursor
	crd     *ir.Array
	lo, hi  ir.Expr
	p       *ir.Var // the position; declared by start
	here    ir.Expr // in a predicated body: whether the iterator is at the current coordinate
	c       *ir.Var // the coordinate at p
	run     *ir.Var // the end of the run of positions with the coordinate, if the level has runs
	repeats bool
	padded  bool
	span    tree.Range
}

func (p *loop) newIter(number int, c *tree.Cursor) *iter {
	l := p.l
	it := &iter{key: p.lat.Iters[number], number: number, cur: c, crd: c.Of.Crd(c.Level)}
	it.repeats = c.Of.HasRepeats(c.Level)
	it.padded = c.Of.Kind(c.Level).IsPadded()
	if part, ok := p.e.parts.get(place(it.key, p.v())); ok {
		it.lo, it.hi = part[0], part[1]
		return it
	}
	it.lo, it.hi = c.Segment()
	it.span = l.rangeOf(p.e, p.v())
	it.span.Clip = it.span.Clip || p.passesChunk()
	if it.span.Clip && !it.padded {
		it.lo, it.hi = it.span.Clipped(l.b, it.name(), it.crd, it.lo, it.hi)
	}
	return it
}

// passesChunk reports whether the loop's iterators may reach coordinates outside its variable's
// range. This can happen if a call has only a chunk of one operand's entries, and the loop does not
// walk that operand, whose entries are all in the range.
func (p *loop) passesChunk() bool {
	l := p.l
	return l.hasChunk(p.v()) &&
		!slices.ContainsFunc(p.lat.Iters, func(key string) bool { return l.isChunked(p.e.cur[key]) })
}

// isChunked reports whether a call has only a chunk of the entries of a cursor's operand.
func (l *lowerer) isChunked(c *tree.Cursor) bool { return c.Of.Argument.Name == l.spec.Chunked }

// hasChunk reports whether the operand that calls get in chunks has an access with v.
func (l *lowerer) hasChunk(v string) (has bool) {
	if l.spec.Chunked != "" {
		cin.Accesses(l.spec.Stmt, func(a *cin.Access) {
			has = has || a.Name == l.spec.Chunked && slices.Contains(a.Vars, l.sched.g.Original(v))
		})
	}
	return has
}

func (it *iter) name() string { return it.cur.Of.Prefix() }

// at returns the coordinate at position p.
func (it *iter) at(p ir.Expr) ir.Expr { return ir.Coord(it.crd, p) }

// enter returns the cursor below the iterator's position. pres is the condition that the cursor is
// present.
func (it *iter) enter(pres ir.Expr) *tree.Cursor {
	d := *it.cur
	d.Level++
	d.Pos, d.End, d.Base, d.Present = it.p, nil, nil, pres
	if it.repeats {
		d.End = it.run
	}
	return &d
}

// start declares the iterator's position at the segment's start.
func (l *lowerer) start(it *iter) {
	it.p = l.b.Declare(it.name()+"_p", it.lo)
	l.skipPadding(it)
}

func (l *lowerer) skipPadding(it *iter) {
	if it.padded {
		l.b.While(ir.Both(ir.Less(it.p, it.hi), ir.Inverse(it.entry(it.at(it.p)))),
			func() { l.b.Incr(it.p, ir.Int(1)) })
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
	it.run = l.b.Declare(it.name()+"_r", ir.Plus(it.p, ir.Convert(tensor.Int64, here)))
	l.b.While(ir.Both(ir.Less(it.run, it.hi), ir.Equal(it.at(it.run), c)),
		func() { l.b.Incr(it.run, ir.Int(1)) })
}

// advance moves the iterator past the current coordinate if here is true.
func (l *lowerer) advance(it *iter, here ir.Expr) {
	if it.repeats {
		l.b.Set(it.p, it.run)
		return
	}
	l.b.Incr(it.p, ir.Convert(tensor.Int64, here))
	l.skipPadding(it)
}

// singleLoop emits the loop over the segment of the only iterator.
func (p *loop) singleLoop() ir.Expr {
	l := p.l
	it := p.iters[p.lat.All().First()]
	if it.repeats {
		if p.onUnits() {
			l.refuse(p.v(),
				"the loop over %s steps over repeated coordinates of %s, so it cannot be "+
					"parallel; split or divide it, and parallelize the loop over tiles",
				p.v(), it.key)
		}
		return p.mergeLoops()
	}
	done := p.countAssigned()
	var some ir.Expr
	over := func(lo, hi ir.Expr) {
		it.p = l.b.Var(it.name() + "_p")
		stream := p.streamed(it)
		body := l.bodyOf(p.f, func() {
			c := l.b.Declare(p.v(), it.at(it.p))
			stream()
			p.prefetch(it)
			l.b.When(it.entry(c), func() {
				some = p.iteration(c, []*iter{it}, nil)
				p.noteAssigned(some)
			})
		})
		l.b.Emit(l.setKind(p.f, p.e, l.segmentLoop(&ir.For{V: it.p, Lo: lo, Hi: hi, Step: 1, Body: body},
			it.key, p.v())))
	}
	p.inFlag(func() { p.split(it, over) },
		func() bool { return ir.Never(some) || ir.Always(some) && !it.padded })
	if done != nil {
		return done()
	}
	if p.want && ir.Always(some) && !it.padded {
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
	case it.span.Clip:
		return ir.Both(ir.AtLeast(c, it.span.Lo), ir.Less(c, it.span.Hi))
	}
	return ir.AtLeast(c, ir.Int(0))
}

// segmentLoop records that f runs in lanes, if the strategy says so, and returns f. f is the loop
// over variable v in a segment of the access with the given key.
func (l *lowerer) segmentLoop(f *ir.For, key, v string) *ir.For {
	if l.spec.Strategy.Gather(key, v) {
		l.lanes.Segments[f] = v
	}
	return f
}
