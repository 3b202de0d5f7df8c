package gen

import (
	"math"
	"math/big"
	"slices"
)

// walk calls yield, in order, with each coordinate in which any two components differ by at most
// width. at has the components before mode m. The component of mode m is in [lo, hi), and the
// components after it have no other limit. walk skips a component if it occurs in no such
// coordinate. It stops and returns false if yield returns false.
func (g *Generator) walk(at []int64, m int, lo, hi, width int64, yield func([]int64) bool) bool {
	for _, d := range g.dims[m+1:] {
		// A coordinate above d-1+width is too far from every coordinate of that mode.
		if width < hi-d {
			hi = d + width
		}
	}
	for c := lo; c < hi; c++ {
		at[m] = c
		if m == len(at)-1 {
			if !yield(at) {
				return false
			}
			continue
		}
		nlo, nhi := int64(0), g.dims[m+1]
		if width < math.MaxInt64 {
			low, high := at[0], at[0]
			for _, x := range at[1 : m+1] {
				low, high = min(low, x), max(high, x)
			}
			nlo = max(nlo, high-width)
			if low < nhi-1-width {
				nhi = low + width + 1
			}
		}
		if !g.walk(at, m+1, nlo, nhi, width, yield) {
			return false
		}
	}
	return true
}

// bandEntries returns the number of coordinates, within the sizes dims, in which any two components
// differ by at most width. It adds up, over all a, the number of such coordinates whose smallest
// component is a:
//
//	Π min(width+1, d-a) - Π min(width, d-a-1)    over all sizes d
//
// While no min changes from one of its arguments to the other, this number is a polynomial in a.
// The values of a where a min changes divide the range of a into intervals, and sumPolynomial sums
// each interval.
func bandEntries(dims []int64, width int64) float64 {
	if len(dims) == 0 {
		return 1
	}
	least := slices.Min(dims)
	ends := []int64{0, least}
	for _, d := range dims {
		if d-1 > width && d-1-width < least {
			ends = append(ends, d-1-width)
		}
	}
	slices.Sort(ends)
	begins := func(a int64) *big.Int {
		all, above := big.NewInt(1), big.NewInt(1)
		for _, d := range dims {
			n := d - a // coordinates of the mode from a that are in the band
			if width < n {
				n = width + 1
			}
			all.Mul(all, big.NewInt(n))
			above.Mul(above, big.NewInt(n-1))
		}
		return all.Sub(all, above)
	}
	sum := new(big.Int)
	for k, end := range ends[1:] {
		sum.Add(sum, sumPolynomial(begins, ends[k], end, len(dims)))
	}
	n, _ := new(big.Float).SetInt(sum).Float64()
	return n
}

// sumPolynomial returns the sum of f over [lo, hi). In this range, f must be a polynomial of at
// most the given degree. It uses Newton's forward differences, whose sums are binomial
// coefficients.
func sumPolynomial(f func(int64) *big.Int, lo, hi int64, degree int) *big.Int {
	sum := new(big.Int)
	var diffs []*big.Int
	for x := lo; x < hi && x <= lo+int64(degree); x++ {
		diffs = append(diffs, f(x))
	}
	for round := 1; round < len(diffs); round++ {
		for k := len(diffs) - 1; k >= round; k-- {
			diffs[k].Sub(diffs[k], diffs[k-1])
		}
	}
	choose := big.NewInt(hi - lo) // the binomial coefficient of hi-lo over k+1
	for k, d := range diffs {
		sum.Add(sum, new(big.Int).Mul(d, choose))
		choose.Mul(choose, big.NewInt(hi-lo-int64(k)-1))
		choose.Quo(choose, big.NewInt(int64(k)+2))
	}
	return sum
}
