package gen

import (
	"math"
	"math/bits"
)

// phi is 2^64 over the golden ratio: multiples of it are well spread.
const phi = 0x9e3779b97f4a7c15

// mix is the finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): a
// bijection of 64 bits whose output bits depend on all input bits.
func mix(z uint64) uint64 {
	z ^= z >> 30
	z *= 0xbf58476d1ce4e5b9
	z ^= z >> 27
	z *= 0x94d049bb133111eb
	return z ^ z>>31
}

// unit maps a hash to (0, 1].
func unit(h uint64) float64 { return float64(h>>11+1) * 0x1p-53 }

// random is a small stream of random numbers, fixed by its state.
type random uint64

func (r *random) next() uint64 {
	*r += phi
	return mix(uint64(*r))
}

// float is uniform in (0, 1].
func (r *random) float() float64 { return unit(r.next()) }

// below is uniform in [0, n).
func (r *random) below(n int64) int64 {
	hi, _ := bits.Mul64(r.next(), uint64(n))
	return int64(hi)
}

// normal is a standard normal deviate (Box and Muller).
func (r *random) normal() float64 {
	return math.Sqrt(-2*math.Log(r.float())) * math.Cos(2*math.Pi*r.float())
}

// shuffle is a bijection of [0, n) fixed by key: a Feistel network on the next
// even number of bits, walked until it lands below n.
func shuffle(key uint64, n, x int64) int64 {
	half := (bits.Len64(uint64(n-1)) + 1) / 2
	mask := uint64(1)<<half - 1
	for {
		l, r := uint64(x)>>half, uint64(x)&mask
		for round := range uint64(4) {
			l, r = r, l^(mix(key+round*phi+r)&mask)
		}
		x = int64(l<<half | r)
		if x < n {
			return x
		}
	}
}

// unshuffle is the inverse of shuffle.
func unshuffle(key uint64, n, x int64) int64 {
	half := (bits.Len64(uint64(n-1)) + 1) / 2
	mask := uint64(1)<<half - 1
	for {
		l, r := uint64(x)>>half, uint64(x)&mask
		for round := uint64(4); round > 0; round-- {
			l, r = r^(mix(key+(round-1)*phi+l)&mask), l
		}
		x = int64(l<<half | r)
		if x < n {
			return x
		}
	}
}
