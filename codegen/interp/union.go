package interp

import (
	"slices"

	"distaff/codegen/ir"
)

// entry is a coordinate of a union's segment, and its value times the factor.
type entry struct {
	crd int32
	val float64
}

// union computes the union aside, and writes it behind N. What the leaf must see to is checked: that coordinates ascend, that
// there is capacity for both segments, and that a segment in the arrays that are written begins far enough behind.
func (c *compiler) union(s *ir.Union) stmtFn {
	crd, vals, n, t := c.array(s.Crd), c.array(s.Vals), c.variable(s.N), s.Vals.Elem
	crdTracks, valTracks := c.tracks(s.Crd), c.tracks(s.Vals)
	var lo, hi [2]intFn
	var segments [2]func(fr *frame) []entry
	for k, g := range s.Of {
		lo[k], hi[k] = c.int(g.Lo), c.int(g.Hi)
		segments[k] = c.segment(g, lo[k], hi[k])
	}
	own := s.Of[0].Crd == s.Crd
	return func(fr *frame) {
		at := fr.ints[n]
		x, y := segments[0](fr), segments[1](fr)
		if first := lo[0](fr); own && len(x) > 0 && first < at+int64(len(y)) {
			fr.errorf("union at %s[%d]: its first segment begins at %d, before what is written", s.Crd.Name, at, first)
		}
		fr.span(fr.arrays[crd], at, at+int64(len(x)+len(y)))
		fr.span(fr.arrays[vals], at, at+int64(len(x)+len(y)))
		out := merged(x, y, t)
		m, v := fr.arrays[crd], fr.arrays[vals]
		from, end := fr.span(m, at, at+int64(len(out)))
		first, last := fr.span(v, at, at+int64(len(out)))
		for k, e := range out {
			m.i32[from+int64(k)] = e.crd
			if t == ir.Float32 {
				v.f32[first+int64(k)] = float32(e.val)
			} else {
				v.f64[first+int64(k)] = e.val
			}
		}
		fr.wrote(m, from, end, crdTracks)
		fr.wrote(v, first, last, valTracks)
		fr.ints[n] = at + int64(len(out))
	}
}

// segment reads a segment.
func (c *compiler) segment(g ir.Segment, lo, hi intFn) func(fr *frame) []entry {
	crd, vals, factor, t := c.array(g.Crd), c.array(g.Vals), c.float(g.Factor), g.Vals.Elem
	crdTracks, valTracks := c.tracks(g.Crd), c.tracks(g.Vals)
	return func(fr *frame) (list []entry) {
		m, v, f := fr.arrays[crd], fr.arrays[vals], factor(fr)
		from, end := fr.span(m, lo(fr), hi(fr))
		first, last := fr.span(v, lo(fr), hi(fr))
		fr.read(m, from, end, crdTracks)
		fr.read(v, first, last, valTracks)
		for k := range end - from {
			e := entry{crd: m.i32[from+k]}
			if t == ir.Float32 {
				e.val = float64(float32(f * float64(v.f32[first+k])))
			} else {
				e.val = f * v.f64[first+k]
			}
			if len(list) > 0 && list[len(list)-1].crd >= e.crd {
				fr.errorf("union of %s: coordinate %d behind %d", m.name, e.crd, list[len(list)-1].crd)
			}
			list = append(list, e)
		}
		return list
	}
}

// merged is the union of two segments.
func merged(x, y []entry, t ir.Type) []entry {
	out := slices.Concat(x, y) // those of x first, where both have a coordinate
	slices.SortStableFunc(out, func(a, b entry) int { return int(int64(a.crd) - int64(b.crd)) })
	k := 0
	for _, e := range out {
		if k > 0 && out[k-1].crd == e.crd {
			out[k-1].val += e.val
			if t == ir.Float32 {
				out[k-1].val = float64(float32(out[k-1].val))
			}
			continue
		}
		out[k] = e
		k++
	}
	return out[:k]
}
