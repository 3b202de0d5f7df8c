package tcsfile

import (
	"hash/crc32"
	"sync"
)

// zeroBytes returns matrices over GF(2). Matrix k computes the effect of 2^k zero bytes on a CRC-32
// register. Each word is a column of its matrix.
var zeroBytes = sync.OnceValue(func() *[63][32]uint32 {
	var m [63][32]uint32
	var step [32]uint32
	step[0] = crc32.IEEE // one zero bit
	for i := 1; i < 32; i++ {
		step[i] = 1 << (i - 1)
	}
	for range 3 {
		step = square(&step)
	}
	for k := range m {
		m[k] = step
		step = square(&step)
	}
	return &m
})

// times returns the product of a matrix over GF(2) and a vector.
func times(m *[32]uint32, v uint32) (s uint32) {
	for i := 0; v != 0; i, v = i+1, v>>1 {
		if v&1 != 0 {
			s ^= m[i]
		}
	}
	return s
}

func square(m *[32]uint32) (sq [32]uint32) {
	for i := range m {
		sq[i] = times(m, m[i])
	}
	return sq
}

// CombineCRC returns the CRC-32 of the concatenation of two byte strings. a and b are the checksums
// of the strings, and length is the number of bytes of the second string. CombineCRC advances the
// CRC register of a over zero bytes, whose number is length, and adds b to the result (by exclusive
// or).
func CombineCRC(a, b uint32, length int64) uint32 {
	m := zeroBytes()
	for k := 0; length != 0; k, length = k+1, length>>1 {
		if length&1 != 0 {
			a = times(&m[k], a)
		}
	}
	return a ^ b
}
