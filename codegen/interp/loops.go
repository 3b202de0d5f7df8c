package interp

import (
	"slices"

	"distaff/codegen/ir"
)

func (c *compiler) loop(s *ir.For) stmtFn {
	v := c.variable(s.V)
	lo, hi, step := c.int(s.Lo), c.int(s.Hi), s.Step
	if d := c.track(s); d >= 0 {
		body := c.block(s.Body)
		c.loops = c.loops[:d]
		if s.Kind == ir.Parallel {
			return shuffled(v, lo, hi, step, d, body, ir.TurnOf(s) != nil)
		}
		return tracked(v, lo, hi, step, d, body)
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

// turn compiles a Turn. In a loop without a track, which is inside another Parallel
// one, it is a block as any.
func (c *compiler) turn(s *ir.Turn) stmtFn {
	body := c.block(s.Body)
	for d, l := range c.loops {
		if l.turn == s {
			return func(fr *frame) {
				fr.tracks[d].inTurn = true
				body(fr)
				fr.tracks[d].inTurn = false
			}
		}
	}
	return body
}

// track opens a track for a loop whose iterations must not race, and is its
// number; -1 for a serial loop.
func (c *compiler) track(s *ir.For) int {
	if s.Kind != ir.Parallel && s.Kind != ir.Vector {
		return -1
	}
	for _, l := range c.loops {
		if l.kind == s.Kind || l.kind == ir.Vector {
			return -1
		}
	}
	d := len(c.loops)
	c.loops = append(c.loops, trackedLoop{kind: s.Kind, written: written(s.Body), turn: ir.TurnOf(s)})
	c.p.tracks = max(c.p.tracks, d+1)
	return d
}

// tracked runs the iterations in order and watches for races.
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

// shuffled runs the iterations in a random order, or in their own where they take
// turns, and watches for races.
func shuffled(v int, lo, hi intFn, step int64, d int, body stmtFn, turns bool) stmtFn {
	return func(fr *frame) {
		first, end := lo(fr), hi(fr)
		if first >= end {
			return
		}
		n := uint64(end-first-1)/uint64(step) + 1
		if n > uint64(fr.steps) {
			fr.errorf("too many loop iterations: the leaf does not end")
		}
		fr.inLoops = append(fr.inLoops, v)
		t := &fr.tracks[d]
		t.epoch++
		t.kind = ir.Parallel
		order := fr.rng.Perm(int(n))
		if turns {
			slices.Sort(order)
		}
		for _, k := range order {
			fr.step()
			t.iter = int32(k) + 1
			fr.ints[v] = first + int64(k)*step
			body(fr)
		}
		fr.inLoops = fr.inLoops[:len(fr.inLoops)-1]
	}
}
