package tcs

import (
	"distaff/io/tensor"
	"hash/crc32"
)

// Several readers can check a file's sections in parts. A part is a range of elements of
// every section: [lo[i], hi[i]) of section i. Consecutive parts cover the file.

// Starts returns, for each section of the file, the index of its first element that the view t
// shows.
func (t *Tensor) Starts() []int64 {
	var at []int64
	for _, sec := range t.file.header.sections {
		at = append(at, t.array(sec.section.Level, sec.section.Array).First)
	}
	return at
}

// Lengths returns the number of elements of each section of the file.
func (t *Tensor) Lengths() []int64 {
	var n []int64
	for _, sec := range t.file.header.sections {
		n = append(n, sec.section.Len)
	}
	return n
}

// CheckPart is Validate for a part of a file, which is mapped or decompressed on demand. It
// also checks that the part continues the part before it. If all parts pass, Validate of the
// whole tensor would pass. It reads the part and one more element of each section.
func (t *Tensor) CheckPart(lo, hi []int64) error {
	return t.guarded(func() error { return t.checkPart(lo, hi) })
}

func (t *Tensor) checkPart(lo, hi []int64) error {
	v := &Tensor{Header: t.Header, Levels: append([]Level(nil), t.Levels...), Vals: t.Vals,
		file: t.file, part: t.part, edges: true}
	first := make([]int64, len(t.Levels)) // for each level, the first position of the part
	for i, sec := range t.file.header.sections {
		a := v.array(sec.section.Level, sec.section.Array)
		from, to := lo[i], hi[i]
		if t.lazy != nil { // including the elements next to the part
			if err := t.lazy.want(i, from-1, to+2); err != nil {
				return err
			}
		}
		switch sec.section.Array {
		case PosArray:
			to = min(to+2, sec.section.Len) // include the end of a segment that the next part continues
		case CrdArray:
			first[sec.section.Level] = from
		}
		*a = a.Sub(from, max(from, to))
	}
	if err := v.checkArrays(); err != nil {
		return err
	}
	if err := t.checkPads(func(level int, part ArrayKind) (from, to int64) {
		for i, sec := range t.file.header.sections {
			if sec.section.Array != part || sec.section.Level != level {
				continue
			}
			if from, to = lo[i], max(lo[i], hi[i]); part == PosArray {
				to = max(from, min(to, sec.section.Len-1))
			}
		}
		return from, to
	}); err != nil {
		return err
	}
	depths := t.Format().Sharing()
	for l := range t.Levels {
		lev := &t.Levels[l]
		if lev.Form() != tensor.Segmented {
			continue
		}
		if err := t.checkEnds(l, v); err != nil {
			return err
		}
		q := first[l]
		if q == 0 || v.Levels[l].Crd.Len == 0 || v.Levels[l].Pos.Len == 0 ||
			v.Levels[l].Pos.Int(0) >= q {
			continue // the part starts with a new segment
		}
		end := l + 1
		for end < len(t.Levels) && t.Levels[end].Kind.IsSingle() {
			end++
		}
		if !t.grows(l, end, q, depths[l]) {
			return t.orderErr(l, q)
		}
	}
	return nil
}

// checkEnds checks the first and the last element of level l's pos array, if they are in the
// part v.
func (t *Tensor) checkEnds(l int, v *Tensor) error {
	pos, crd := &v.Levels[l].Pos, t.Levels[l].Crd.Len
	n := t.Levels[l].Pos.Len
	if pos.Len == 0 {
		return nil
	}
	if pos.First == 0 && pos.Int(0) != 0 || pos.First+pos.Len == n && pos.Int(pos.Len-1) != crd {
		return t.dataErr("positions of level %d do not go from 0 to its %s", l,
			tensor.Count(crd, "coordinate"))
	}
	return nil
}

// SumPart returns the checksum of elements [lo, hi) of section i of an uncompressed file.
func (t *Tensor) SumPart(i int, lo, hi int64) (sum uint32, err error) {
	sec := t.file.header.sections[i]
	err = t.guarded(func() error {
		a := t.file.mapped.Array(sec.section.Offset, sec.section.Len, sec.section.Width)
		sum = crc32.ChecksumIEEE(a.Sub(lo, hi).Bytes())
		return nil
	})
	return sum, err
}

// CheckSums compares the sections' checksums in the file with the combined checksums of parts,
// and checks that the bytes between sections are zero. sums[k][i] is the checksum of elements
// [at[k][i], at[k+1][i]) of section i.
func (t *Tensor) CheckSums(at [][]int64, sums [][]uint32) error {
	for i, sec := range t.file.header.sections {
		sum := uint32(0)
		for k := range sums {
			sum = CombineCRC(sum, sums[k][i], (at[k+1][i]-at[k][i])*int64(sec.section.Width))
		}
		if sum != sec.crc {
			return t.sumErr(i, sum)
		}
	}
	return t.checkGaps()
}
