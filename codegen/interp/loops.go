package interp

import "distaff/codegen/ir"

// loop compiles a For.
func (c *compiler) loop(s *ir.For) stmtFn {
	v := c.variable(s.V)
	lo, hi, step := c.int(s.Lo), c.int(s.Hi), s.Step
	if d := c.track(s); d >= 0 {
		defer func() { c.loops = c.loops[:d] }()
		switch {
		case s.Kind == ir.Vector:
			return tracked(v, lo, hi, step, d, c.block(s.Body))
		case ir.OrderedOf(s) != nil:
			return ordered(v, lo, hi, step, d, c.parts(s), c.ownOf(s.Body))
		}
		return shuffled(v, lo, hi, step, d, s.Kind, c.block(s.Body))
	}
	body := c.block(s.Body)
	return func(fr *frame) {
		fr.inLoops = append(fr.inLoops, v)
		for i, end := lo(fr), hi(fr); i < end; i += step {
			fr.step()
			fr.ints[v] = i
			body(fr)
			if i > end-step {
				break
			}
		}
		fr.inLoops = fr.inLoops[:len(fr.inLoops)-1]
	}
}

// orderedSection compiles an ordered section. If its loop has no track, because it is inside
// another Parallel loop, the section is compiled like any other block.
func (c *compiler) orderedSection(s *ir.Ordered) stmtFn {
	body := c.block(s.Body)
	for d, l := range c.loops {
		if l.ordered == s {
			return func(fr *frame) {
				fr.tracks[d].inOrdered = true
				body(fr)
				fr.tracks[d].inOrdered = false
			}
		}
	}
	return body
}

// track opens a track for a loop whose iterations must not race, and returns the track's number. In
// three cases it opens no track and returns -1: for a serial or unrolled loop, for a loop inside a
// Vector loop, and for a loop inside another loop of the same kind. Nested Blocks, Warps and Lanes
// loops have one track each. An element may thus be passed from one Lanes loop to the next one of
// the same warp, but not to another warp.
func (c *compiler) track(s *ir.For) int {
	if s.Kind == ir.Serial || s.Kind == ir.Unrolled {
		return -1
	}
	for _, l := range c.loops {
		if l.kind == s.Kind || l.kind == ir.Vector {
			return -1
		}
	}
	d := len(c.loops)
	c.loops = append(c.loops,
		trackedLoop{kind: s.Kind, written: written(s.Body), ordered: ir.OrderedOf(s)})
	c.p.tracks = max(c.p.tracks, d+1)
	return d
}

// tracked returns the closure of a loop that runs its iterations in order and checks for races
// between them. d is the number of the loop's track, which counts the iterations.
func tracked(v int, lo, hi intFn, step int64, d int, body stmtFn) stmtFn {
	return func(fr *frame) {
		fr.inLoops = append(fr.inLoops, v)
		t := &fr.tracks[d]
		t.epoch++
		t.kind = ir.Vector
		t.iter = 0
		for i, end := lo(fr), hi(fr); i < end; i += step {
			fr.step()
			t.iter++
			fr.ints[v] = i
			body(fr)
			if i > end-step {
				break
			}
		}
		fr.inLoops = fr.inLoops[:len(fr.inLoops)-1]
	}
}

// shuffled returns the closure of a loop that runs its iterations in a random order and checks for
// races between them. d is the number of the loop's track, which has the current iteration.
func shuffled(v int, lo, hi intFn, step int64, d int, kind ir.ForKind, body stmtFn) stmtFn {
	return func(fr *frame) {
		first := lo(fr)
		n := fr.enter(v, first, hi(fr), step, d, kind)
		for _, k := range fr.rng.Perm(n) {
			fr.step()
			fr.tracks[d].iter = int32(k) + 1
			fr.ints[v] = first + int64(k)*step
			body(fr)
		}
		fr.inLoops = fr.inLoops[:len(fr.inLoops)-1]
	}
}

// enter begins a loop whose iterations run in any order, and returns the number of iterations.
func (fr *frame) enter(v int, first, end, step int64, d int, kind ir.ForKind) int {
	fr.inLoops = append(fr.inLoops, v)
	t := &fr.tracks[d]
	t.epoch++
	t.kind = kind
	if first >= end {
		return 0
	}
	n := uint64(end-first-1)/uint64(step) + 1
	if n > uint64(fr.steps) {
		fr.errorf("too many loop iterations: the leaf does not end")
	}
	return int(n)
}
