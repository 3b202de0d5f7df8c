package load

import (
	"distaff/io/tcs"
	"distaff/io/tensor"
)

// Piece returns rank r's share of t: a range in storage order that has about 1/ranks of the bytes
// (SuperTaco (2019), section 4.4.1). To find the ends of the range, Piece reads only a few
// elements. The caller closes the share.
func Piece(t *tcs.Tensor, r, ranks int) (*tcs.Tensor, error) {
	s := newSizes(t)
	lo, hi := s.cut(int64(r), int64(ranks)), s.cut(int64(r)+1, int64(ranks))
	return t.View(tcs.Block{Cut: true, Level: -1, Lo: lo, Hi: hi})
}

// bytesBefore computes the number of bytes of a tensor before a position of its values. It finds
// the parents of the position, level by level up to the root. The number of bytes is the sum of the
// offsets of the position and its parents in the arrays of the tensor.
type bytesBefore struct {
	t          *tcs.Tensor
	from, to   int64 // positions of the values
	start, end int64 // bytes before them
}

func newSizes(t *tcs.Tensor) *bytesBefore {
	s := &bytesBefore{t: t, from: t.Vals.First, to: t.Vals.First + t.Vals.Len}
	s.start, s.end = s.at(s.from), s.at(s.to)
	return s
}

// at returns the number of bytes of the tensor before position p of its values.
func (s *bytesBefore) at(p int64) int64 {
	n := p * int64(s.t.Vals.Width)
	for l := len(s.t.Levels) - 1; l >= 0; l-- {
		lev := &s.t.Levels[l]
		if lev.Form() == tensor.Full {
			p /= max(lev.Size, 1)
			continue
		}
		n += p * int64(lev.Crd.Width)
		if !lev.Kind.IsSingle() {
			p = lastParent(s.t, l, p)
			n += p * int64(lev.Pos.Width)
		}
	}
	return n
}

// lastParent returns the last parent of level l whose segment starts at or before position q. If
// all segments end at or before q, it returns the number after the last parent. lastParent first
// guesses the parent as if all segments had the same length. It then searches around this guess, in
// a window that grows until the window contains the parent.
func lastParent(t *tcs.Tensor, l int, q int64) int64 {
	lev := &t.Levels[l]
	n := lev.Pos.Len - 1
	if n < 1 {
		return lev.Pos.First
	}
	ahead := func(i int64) bool { return t.PosAt(l, i) > q } // true from some i on
	guess := int64(0)
	if lev.Crd.Len > 0 {
		guess = min(max(int64(float64(q-lev.Crd.First)/float64(lev.Crd.Len)*float64(n)), 0), n)
	}
	lo, hi := int64(-1), n+1 // as if ahead were false at lo and true at hi
	for step := int64(1); ; step *= 4 {
		if ahead(guess) {
			hi = guess
			if guess -= step; guess <= lo {
				break
			}
		} else {
			lo = guess
			if guess += step; guess >= hi {
				break
			}
		}
	}
	for hi-lo > 1 {
		if mid := lo + (hi-lo)/2; ahead(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return lev.Pos.First + max(lo, 0)
}

// maxMiss is a distance in bytes. The search for a cut ends early at a position that is at most
// maxMiss from the ideal position, and at most half the size of a part. The second limit ensures
// that the next cut does not come before this one.
const maxMiss = 1 << 10

// cut returns a position such that about k/n of the tensor's bytes precede it. It is deterministic,
// so that all ranks compute the same cut.
func (s *bytesBefore) cut(k, n int64) int64 {
	if k == 0 {
		return s.from
	}
	if k == n {
		return s.to
	}
	want := s.start + int64(float64(s.end-s.start)/float64(n)*float64(k))
	miss := min(maxMiss, (s.end-s.start)/n/2)
	lo, hi := s.from, s.to // at(lo) <= want < at(hi)
	below, above := s.start, s.end
	for try := 0; hi-lo > 1 && want-below > miss && above > below; try++ {
		p := lo + (hi-lo)/2
		if try%3 != 2 { // interpolate, and bisect now and then in case the bytes are uneven
			p = lo + int64(float64(hi-lo)*(float64(want-below)/float64(above-below)))
			p = min(max(p, lo+1), hi-1)
		}
		if b := s.at(p); b <= want {
			lo, below = p, b
		} else {
			hi, above = p, b
		}
	}
	return lo
}
