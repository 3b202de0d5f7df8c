package gen

import "math"

// uniform draws a fixed number of distinct coordinates, in sorted order, by splitting ranges. A
// range of coordinates of a mode must contain a certain number of entries. uniform halves the
// range, and draws the number of entries in the left half. This number has a hypergeometric
// distribution. If the range has many entries, a normal approximation is used. No half gets more
// entries than it has coordinates, so the total number is exact.
//
// The random numbers depend only on the range. So any range can be generated without the others,
// and nothing must be sorted or stored.
type uniform struct {
	g     *Generator
	at    []int64
	rest  []float64 // number of coordinates below one coordinate of mode m
	yield func([]int64) bool
}

func newUniform(g *Generator, at []int64, yield func([]int64) bool) *uniform {
	u := &uniform{g: g, at: at, rest: make([]float64, len(at)), yield: yield}
	p := 1.0
	for m := len(at) - 1; m >= 0; m-- {
		u.rest[m] = p
		p *= float64(g.dims[m])
	}
	return u
}

// run yields the entries whose mode 0 is in [lo, hi).
func (u *uniform) run(lo, hi int64) {
	u.node(0, 0, u.g.dims[0], lo, hi, u.g.Kind.nnz, u.g.key)
}

// node draws the n entries whose coordinate in mode m is in [a, b), and yields those whose
// coordinate in this mode is also in [lo, hi). prefix is the hash of the coordinates before mode m.
// node stops and returns false when yield returns false.
func (u *uniform) node(m int, a, b, lo, hi, n int64, prefix uint64) bool {
	if n == 0 || b <= lo || a >= hi {
		return true
	}
	if b-a == 1 {
		u.at[m] = a
		if m == len(u.at)-1 {
			return u.yield(u.at)
		}
		next := mix(prefix + phi*uint64(a+1))
		return u.node(m+1, 0, u.g.dims[m+1], 0, u.g.dims[m+1], n, next)
	}
	r := random(mix(prefix ^ mix(uint64(a)*phi+uint64(b)+uint64(m)<<56)))
	if n == 1 {
		c := a + r.below(b-a)
		if c < lo || c >= hi {
			return true
		}
		u.at[m] = c
		for k := m + 1; k < len(u.at); k++ {
			u.at[k] = r.below(u.g.dims[k])
		}
		return u.yield(u.at)
	}
	mid := a + (b-a)/2
	left := splitCount(&r, n, float64(mid-a)*u.rest[m], float64(b-mid)*u.rest[m])
	return u.node(m, a, mid, lo, hi, left, prefix) && u.node(m, mid, b, lo, hi, n-left, prefix)
}

// splitCount draws the number of coordinates in the left half of a range, out of n distinct
// coordinates in the range. left and right are the numbers of coordinates in the two halves.
func splitCount(r *random, n int64, left, right float64) int64 {
	if n <= 64 {
		got := int64(0)
		for range n {
			if r.float()*(left+right) <= left {
				left--
				got++
			} else {
				right--
			}
		}
		return got
	}
	total := left + right
	p := left / total
	variance := float64(n) * p * (1 - p) * max(0, (total-float64(n))/max(total-1, 1))
	got := math.Round(float64(n)*p + math.Sqrt(variance)*r.normal())
	low := math.Max(0, float64(n)-right)
	high := math.Min(float64(n), left)
	return int64(math.Min(math.Max(got, low), high))
}
