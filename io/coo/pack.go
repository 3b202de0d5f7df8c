package coo

import "math/bits"

// packer packs the coordinates of an entry into words of 64 bits, the outermost level in the
// highest used bits of word 0. Comparing the words therefore compares entries in storage order. The
// bits of a level never cross a word boundary.
type packer struct {
	bits  []uint // by level
	word  []int
	shift []uint
	words int
}

// newPacker returns a packer for levels with coordinates of width[l] bits.
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
	for l := range p.word { // words were counted from the last one; word 0 is the highest
		p.word[l] = p.words - max(p.word[l], 1)
	}
	return p
}

// bitsFor returns the number of bits that hold coordinates below n.
func bitsFor(n int64) uint {
	if n <= 1 {
		return 0
	}
	return uint(bits.Len64(uint64(n - 1)))
}

// canPack reports whether the packer has enough bits for coordinates up to top[l] in each level l.
func (p *packer) canPack(top []int64) bool {
	for l, x := range top {
		if x >= 0 && uint(bits.Len64(uint64(x))) > p.bits[l] {
			return false
		}
	}
	return true
}

// widened returns a packer for coordinates up to top[l] in each level l, with room to grow. The
// outermost level gets all remaining bits of its word, but at most 63.
func (p *packer) widened(top []int64) *packer {
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

// isSame reports whether p and q pack an entry into the same record.
func (p *packer) isSame(q *packer) bool {
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

// get returns the coordinate of level l in a record.
func (p *packer) get(rec []uint64, l int) int64 {
	return int64(rec[p.word[l]] >> p.shift[l] & (1<<p.bits[l] - 1))
}

// convert repacks a record. src is the record in the packing of q, and convert writes it to dst in
// the packing of p. The words of the value are copied unchanged.
func (p *packer) convert(dst, src []uint64, q *packer) {
	clear(dst[:p.words])
	for l := range p.word {
		dst[p.word[l]] |= uint64(q.get(src, l)) << p.shift[l]
	}
	copy(dst[p.words:], src[q.words:])
}

// lowBit returns the lowest of the key's bits that belong to the first n levels, or 0 if n is 0.
func (p *packer) lowBit(n int) int {
	if n == 0 || n >= len(p.word) {
		return 0
	}
	return (p.words-1-p.word[n-1])*64 + int(min(p.shift[n-1], 63))
}
