package gen

import (
	"math"
	"math/bits"
)

// phi is 2^64 divided by the golden ratio. Its multiples are well distributed.
const phi = 0x9e3779b97f4a7c15

// mix maps 64 bits one to one to 64 bits. Each bit of the result depends on all bits of z. mix is
// the finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
func mix(z uint64) uint64 {
	z ^= z >> 30
	z *= 0xbf58476d1ce4e5b9
	z ^= z >> 27
	z *= 0x94d049bb133111eb
	return z ^ z>>31
}

// unit maps a hash to (0, 1].
func unit(h uint64) float64 { return float64(h>>11+1) * 0x1p-53 }

// random is a generator of random numbers. Its state determines the numbers that follow.
type random uint64

func (r *random) next() uint64 {
	*r += phi
	return mix(uint64(*r))
}

// float returns a number that is uniformly distributed in (0, 1].
func (r *random) float() float64 { return unit(r.next()) }

// below returns an integer that is uniformly distributed in [0, n).
func (r *random) below(n int64) int64 {
	hi, _ := bits.Mul64(r.next(), uint64(n))
	return int64(hi)
}

// normal returns a number with the standard normal distribution (Box and Muller).
func (r *random) normal() float64 {
	return math.Sqrt(-2*math.Log(r.float())) * math.Cos(2*math.Pi*r.float())
}

// shuffle returns the image of x under a pseudo-random permutation of [0, n). key selects the
// permutation. shuffle applies a Feistel network on an even number of bits, again and again until
// the result is less than n.
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
