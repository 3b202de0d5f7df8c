package coo

import "math/bits"

// packer lays the coordinates of a tensor's levels side by side in words of 64
// bits, outermost first in the highest bits of word 0, so that the order of
// the words is the storage order. A level's bits do not straddle words.
type packer struct {
	bits  []uint // a level
	word  []int
	shift []uint
	words int
}

// newPacker packs levels of that many bits each.
func newPacker(width []uint) *packer {
	n := len(width)
	p := &packer{bits: append([]uint(nil), width...), word: make([]int, n), shift: make([]uint, n),
		words: 1}
	used := uint(0)
	for l := n - 1; l >= 0; l-- {
		if used+width[l] > 64 {
			p.words++
			used = 0
		}
		p.word[l], p.shift[l] = p.words, used
		used += width[l]
	}
	for l := range p.word { // counted from the last word; word 0 is the highest
		p.word[l] = p.words - max(p.word[l], 1)
	}
	return p
}

// bitsFor is how many bits coordinates below n take.
func bitsFor(n int64) uint {
	if n <= 1 {
		return 0
	}
	return uint(bits.Len64(uint64(n - 1)))
}

// fits reports whether all coordinates up to top, a level, can be packed.
func (p *packer) fits(top []int64) bool {
	for l, x := range top {
		if x >= 0 && uint(bits.Len64(uint64(x))) > p.bits[l] {
			return false
		}
	}
	return true
}

// grown is a packer for coordinates up to top, with room to grow: the outermost
// level gets all that its word has left.
func (p *packer) grown(top []int64) *packer {
	width := append([]uint(nil), p.bits...)
	for l, x := range top {
		if n := uint(bits.Len64(uint64(max(x, 0)))); n > width[l] {
			width[l] = min(n+1, 63)
		}
	}
	q := newPacker(width)
	if len(width) > 0 {
		if free := 64 - q.shift[0]; free > q.bits[0] {
			q.bits[0] = min(free, 63)
		}
	}
	return q
}

// same reports whether both pack alike: records of one are records of the other.
func (p *packer) same(q *packer) bool {
	if p.words != q.words {
		return false
	}
	for l := range p.word {
		if p.word[l] != q.word[l] || p.shift[l] != q.shift[l] {
			return false
		}
	}
	return true
}

// get is level l's coordinate in a record.
func (p *packer) get(rec []uint64, l int) int64 {
	return int64(rec[p.word[l]] >> p.shift[l] & (1<<p.bits[l] - 1))
}

// convert packs the record of q in src into dst by p; payload words follow.
func (p *packer) convert(dst, src []uint64, q *packer) {
	clear(dst[:p.words])
	for l := range p.word {
		dst[p.word[l]] |= uint64(q.get(src, l)) << p.shift[l]
	}
	copy(dst[p.words:], src[q.words:])
}
