package interp

import (
	"slices"

	"distaff/codegen/ir"
	"distaff/io/tensor"
)

// entry is one element of a segment: its coordinate, and its value times the segment's factor.
type entry struct {
	crd int32
	val float64
}

// union compiles a Union statement. The compiled statement collects all entries before it writes
// any. It checks conditions that the leaf must guarantee: coordinates ascend, and the arrays have
// room for all entries. If the first segment is in the arrays that are written, there is a third
// condition: in-place code must not overwrite an entry of this segment before reading it.
func (c *compiler) union(s *ir.Union) stmtFn {
	crd, vals, n, t := c.array(s.Crd), c.array(s.Vals), c.variable(s.N), s.Vals.Elem
	crdTracks, valTracks := c.tracks(s.Crd), c.tracks(s.Vals)
	first := c.int(s.Of[0].Lo)
	var segments []func(fr *frame) []entry
	for _, g := range s.Of {
		segments = append(segments, c.segment(g))
	}
	inPlace := s.Of[0].Crd == s.Crd
	return func(fr *frame) {
		at := fr.ints[n]
		var all []entry
		own := 0 // the number of entries of the first segment
		for k, segment := range segments {
			all = append(all, segment(fr)...)
			if k == 0 {
				own = len(all)
			}
		}
		if begin := first(fr); inPlace && own > 0 && begin < at+int64(len(all)-own) {
			fr.errorf(
				"union at %s[%d]: its first segment begins at %d, which may already be "+
					"overwritten", s.Crd.Name,
				at, begin)
		}
		fr.span(fr.arrays[crd], at, at+int64(len(all)))
		fr.span(fr.arrays[vals], at, at+int64(len(all)))
		out := merged(all, t)
		m, v := fr.arrays[crd], fr.arrays[vals]
		from, end := fr.span(m, at, at+int64(len(out)))
		start, last := fr.span(v, at, at+int64(len(out)))
		for k, e := range out {
			m.i32[from+int64(k)] = e.crd
			if t == tensor.Float32 {
				v.f32[start+int64(k)] = float32(e.val)
			} else {
				v.f64[start+int64(k)] = e.val
			}
		}
		fr.wrote(m, from, end, crdTracks)
		fr.wrote(v, start, last, valTracks)
		fr.ints[n] = at + int64(len(out))
	}
}

// segment returns a closure that reads the entries of a segment.
func (c *compiler) segment(g ir.Segment) func(fr *frame) []entry {
	crd, vals, lo, hi, factor, t := c.array(g.Crd), c.array(g.Vals), c.int(g.Lo), c.int(g.Hi),
		c.float(g.Factor), g.Vals.Elem
	crdTracks, valTracks := c.tracks(g.Crd), c.tracks(g.Vals)
	return func(fr *frame) (list []entry) {
		m, v, f := fr.arrays[crd], fr.arrays[vals], factor(fr)
		from, end := fr.span(m, lo(fr), hi(fr))
		first, last := fr.span(v, lo(fr), hi(fr))
		fr.read(m, from, end, crdTracks)
		fr.read(v, first, last, valTracks)
		for k := range end - from {
			e := entry{crd: m.i32[from+k]}
			if t == tensor.Float32 {
				e.val = float64(float32(f * float64(v.f32[first+k])))
			} else {
				e.val = f * v.f64[first+k]
			}
			if len(list) > 0 && list[len(list)-1].crd >= e.crd {
				fr.errorf(
					"union of %s: coordinate %d comes after %d, want increasing coordinates",
					m.name, e.crd, list[len(list)-1].crd)
			}
			list = append(list, e)
		}
		return list
	}
}

// merged sorts entries by coordinate, adds up entries with equal coordinates and returns the
// result. entries has the entries of all segments, one segment after another.
func merged(entries []entry, t tensor.Type) []entry {
	// The sort is stable: for equal coordinates, entries of earlier segments come first.
	slices.SortStableFunc(entries, func(a, b entry) int { return int(int64(a.crd) - int64(b.crd)) })
	k := 0
	for _, e := range entries {
		if k > 0 && entries[k-1].crd == e.crd {
			entries[k-1].val += e.val
			if t == tensor.Float32 {
				entries[k-1].val = float64(float32(entries[k-1].val))
			}
			continue
		}
		entries[k] = e
		k++
	}
	return entries[:k]
}
