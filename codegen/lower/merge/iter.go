package merge

import (
	"slices"

	"distaff/codegen/ir"
	"distaff/codegen/lower/scope"
	"distaff/codegen/lower/tree"
	"distaff/codegen/lower/units"
	"distaff/io/tensor"
)

// Iter walks the segment of a sparse level below a cursor.
type Iter struct {
	Key     string
	number  int // index in the lattice
	Cur     *tree.Cursor
	Crd     *ir.Array
	Lo, Hi  ir.Expr
	P       *ir.Var // the position
	here    ir.Expr // whether the iterator is at the current coordinate
	c       *ir.Var // the coordinate at P
	run     *ir.Var // the end of the run of positions with the coordinate, if the level has runs
	repeats bool
	Padded  bool
	span    tree.Range
}

func (p *Loop) newIter(number int, c *tree.Cursor) *Iter {
	it := &Iter{Key: p.Lat.Iters[number], number: number, Cur: c, Crd: c.Of.Crd(c.Level)}
	it.repeats = c.Of.Argument.Format.HasRepeats(c.Level)
	it.Padded = c.Of.Kind(c.Level).IsPadded()
	if part, ok := p.E.Parts.Get(scope.PlaceKey(it.Key, p.V())); ok {
		it.Lo, it.Hi = part[0], part[1]
		return it
	}
	it.Lo, it.Hi = c.Segment()
	it.span = p.E.RangeOf(p.V())
	it.span.Clip = it.span.Clip || p.passesChunk()
	if it.span.Clip && !it.Padded {
		it.Lo, it.Hi = it.span.Clipped(p.E.Leaf.B, it.Name(), it.Crd, it.Lo, it.Hi)
	}
	return it
}

// passesChunk reports whether the loop's iterators may reach coordinates outside the range of the
// loop's variable. This may be so if a call gets only a chunk of one operand's entries. The range
// then has only the coordinates of these entries. A loop that walks this operand stays in the
// range, but a loop that walks only other operands may leave it.
func (p *Loop) passesChunk() bool {
	l := p.E.Leaf
	return l.HasChunk(p.V()) &&
		!slices.ContainsFunc(p.Lat.Iters, func(key string) bool { return l.IsChunked(p.E.Cur[key]) })
}

// At returns an iterator at the current position of a span.
func At(s scope.Span) *Iter { return &Iter{Key: s.Key, Cur: s.Cur, P: s.P} }

func (it *Iter) Name() string { return it.Cur.Of.Prefix() }

// At returns the coordinate at position p.
func (it *Iter) At(p ir.Expr) ir.Expr { return ir.Coord(it.Crd, p) }

// Enter returns the cursor below the iterator's position. pres is the condition that the cursor is
// present.
func (it *Iter) Enter(pres ir.Expr) *tree.Cursor {
	d := *it.Cur
	d.Level++
	d.Pos, d.End, d.Base, d.Present = it.P, nil, nil, pres
	if it.repeats {
		d.End = it.run
	}
	return &d
}

// start declares the positions of all iterators, and returns the iterators.
func (p *Loop) start() []*Iter {
	its := p.Subset(p.Lat.All())
	for _, it := range its {
		Start(p.E.Leaf, it)
	}
	return its
}

// Start declares the iterator's position at the segment's start.
func Start(l *scope.Leaf, it *Iter) {
	it.P = l.B.Declare(it.Name()+"_p", it.Lo)
	skipPadding(l, it)
}

func skipPadding(l *scope.Leaf, it *Iter) {
	if it.Padded {
		l.B.While(ir.Both(ir.Less(it.P, it.Hi), ir.Inverse(it.entry(it.At(it.P)))),
			func() { l.B.Incr(it.P, ir.Int(1)) })
	}
}

func (it *Iter) live() ir.Expr { return ir.Less(it.P, it.Hi) }

// current returns the coordinate at the iterator's position.
func (it *Iter) current() ir.Expr { return it.At(it.P) }

// declareRunEnd declares the end of a run. A run has the positions from it.P on with coordinate c.
// it.here is the condition that it.P has the coordinate c. If it.here is false, the run is empty
// and its end is it.P. If it.here is true, the search for the end starts at it.P+1, so that GCC
// knows that the run is not empty. If the search started at it.P, GCC would make copies of the
// loops over the run that are never executed, and warn about these copies.
func declareRunEnd(l *scope.Leaf, it *Iter, c ir.Expr) {
	if !it.repeats {
		return
	}
	it.run = l.B.Declare(it.Name()+"_r", ir.Plus(it.P, ir.Convert(tensor.Int64, it.here)))
	l.B.While(ir.Both(ir.Less(it.run, it.Hi), ir.Equal(it.At(it.run), c)),
		func() { l.B.Incr(it.run, ir.Int(1)) })
}

// advance moves the iterators that are at the current coordinate past it.
func advance(l *scope.Leaf, its []*Iter) {
	for _, it := range its {
		if it.repeats {
			l.B.Set(it.P, it.run)
			continue
		}
		l.B.Incr(it.P, ir.Convert(tensor.Int64, it.here))
		skipPadding(l, it)
	}
}

// singleLoop emits the loop over the segment of the only iterator.
func (p *Loop) singleLoop() ir.Expr {
	l := p.E.Leaf
	it := p.Iters[p.Lat.All().First()]
	if it.repeats {
		if p.onUnits() {
			l.Refuse(p.V(), "the loop over %s steps over repeated coordinates of %s, so it cannot be "+
				"parallel; split or divide it, and parallelize the loop over tiles", p.V(), it.Key)
		}
		return p.MergeLoops()
	}
	p.CountAssigned()
	var always ir.Expr
	if p.Want && !it.Padded {
		always = ir.Less(it.Lo, it.Hi)
	}
	return p.Collect(always, func() (some ir.Expr) {
		p.split(it, func(lo, hi ir.Expr) {
			it.P = l.B.Var(it.Name() + "_p")
			stream := p.streamed(it)
			body := units.BodyOf(l, p.F, func() {
				c := l.B.Declare(p.V(), it.current())
				stream()
				p.Prefetch(it)
				l.B.When(it.entry(c), func() { some = p.iteration(c, []*Iter{it}, false) })
			})
			l.B.Emit(units.SetKind(p.F, p.E, segmentLoop(l, &ir.For{V: it.P, Lo: lo, Hi: hi, Step: 1,
				Body: body}, it.Key, p.V())))
		})
		return some
	})
}

// entry returns the condition that c, the coordinate at the iterator's position, must be visited.
// The condition is true unless the level is padded. In a padded level, it excludes padding. It also
// excludes coordinates outside the loop's range, because a padded level cannot be searched for the
// first coordinate in the range.
func (it *Iter) entry(c ir.Expr) ir.Expr {
	switch {
	case !it.Padded:
		return ir.Truth(true)
	case it.span.Clip:
		return ir.Both(ir.AtLeast(c, it.span.Lo), ir.Less(c, it.span.Hi))
	}
	return ir.AtLeast(c, ir.Int(0))
}

// segmentLoop records that f runs in lanes, if the strategy says so, and returns f. f is the loop
// over variable v in a segment of the access with the given key.
func segmentLoop(l *scope.Leaf, f *ir.For, key, v string) *ir.For {
	if l.Spec.Strategy.Gather(key, v) {
		l.Lanes.Segments[f] = v
	}
	return f
}
