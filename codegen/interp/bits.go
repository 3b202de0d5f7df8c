package interp

import (
	"math/bits"
	"slices"

	"distaff/codegen/ir"
)

func (c *compiler) mark(s *ir.Mark) stmtFn {
	set, words, n, at := c.array(s.Bits), c.array(s.Words), c.variable(s.N), c.int(s.At)
	setTracks, wordsTracks := c.tracks(s.Bits), c.tracks(s.Words)
	return func(fr *frame) {
		x := at(fr)
		if x < 0 {
			fr.errorf("mark %s: bit %d", s.Bits.Name, x)
		}
		m := fr.arrays[set]
		w, end := fr.span(m, x/64, x/64+1)
		fr.read(m, w, end, setTracks)
		if m.i64[w] == 0 {
			list := fr.arrays[words]
			// The check asks for one element more, because generated code may write past the end.
			k, _ := fr.span(list, fr.ints[n], fr.ints[n]+2)
			list.i32[k] = int32(x / 64)
			fr.wrote(list, k, k+1, wordsTracks)
			fr.ints[n]++
		}
		m.i64[w] |= 1 << (x % 64)
		fr.wrote(m, w, end, setTracks)
	}
}

func (c *compiler) collect(s *ir.Collect) stmtFn {
	set, words, flags, list := c.array(s.Bits), c.array(s.Words), c.array(s.Flags), c.array(s.List)
	n, length, base := c.variable(s.N), c.int(s.Len), c.int(s.Base)
	tracks := map[int][]int{set: c.tracks(s.Bits), words: c.tracks(s.Words), flags: c.tracks(s.Flags),
		list: c.tracks(s.List)}
	return func(fr *frame) {
		total, first := length(fr), base(fr)
		given, m, f := fr.arrays[words], fr.arrays[set], fr.arrays[flags]
		lo, hi := fr.span(given, 0, fr.ints[n])
		fr.read(given, lo, hi, tracks[words])
		with := slices.Clone(given.i32[lo:hi])
		slices.Sort(with)
		from, to := fr.span(f, 0, (total+63)/64*64)
		fr.read(f, from, to, tracks[flags])
		if slices.Contains(f.b[from:to], true) {
			fr.errorf("collect %s: a flag of %s is set, want none", m.name, f.name)
		}
		a, b := fr.span(m, 0, total)
		fr.read(m, a, b, tracks[set])
		var found []int32
		for _, w := range with {
			if int64(w) >= total || m.i64[a+int64(w)] == 0 {
				fr.errorf("collect %s: word %d of %d has no bits", m.name, w, total)
			}
			for x := uint64(m.i64[a+int64(w)]); x != 0; x &= x - 1 {
				found = append(found, int32(first+int64(w)*64+int64(bits.TrailingZeros64(x))))
			}
			m.i64[a+int64(w)] = 0
		}
		for w, x := range m.i64[a:b] {
			if x != 0 {
				fr.errorf("collect %s: word %d has bits, but is not in %s", m.name, w, given.name)
			}
		}
		out := fr.arrays[list]
		p, q := fr.span(out, 0, int64(len(found))+1) // generated code may write one more
		copy(out.i32[p:q], found)
		fr.wrote(out, p, q-1, tracks[list])
		fr.ints[n] = int64(len(found))
	}
}
