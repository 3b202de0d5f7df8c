package workload

import "math"

// Segments describes the segments of a level. A segment has the entries below one position of the
// level above, its parent.
type Segments struct {
	Empty   int64 // the number of parents without entries
	Longest int64 // the number of entries of the longest segment
}

// lengths is a model of the segment lengths of a level, a power law. The segments are ranked by
// length, and rank 1 is the longest. The segment of rank r has longest * r^-power entries. If all
// segments have the same length, power is 0. Lengths that follow Zipf's law have power 1.
type lengths struct{ longest, count, power float64 }

// lengths returns a model of the segment lengths of a level: they follow a power law. parents is
// the number of segments, including empty ones, and entries is their total length. lengths searches
// for the power that gives this total.
func (x Segments) lengths(parents, entries float64) lengths {
	l := lengths{longest: float64(x.Longest), count: parents - float64(x.Empty)}
	low, high := 0.0, 64.0
	for range 60 {
		l.power = (low + high) / 2
		if l.sum(1) > entries {
			low = l.power
		} else {
			high = l.power
		}
	}
	return l
}

// sum returns the sum of the n-th powers of the lengths. It approximates the sum over ranks by an
// integral.
func (l lengths) sum(n float64) float64 {
	if l.count < 1 {
		return 0
	}
	x := 1 - n*l.power
	ranks := math.Log(l.count)
	if math.Abs(x) > 1e-9 {
		ranks = math.Expm1(x*ranks) / x // the integral of rank^(x-1) from rank 1 to count
	}
	return math.Pow(l.longest, n) * (ranks + (1+math.Pow(l.count, x-1))/2)
}

// weighted returns the mean length if each segment is weighted by the n-th power of its length.
func (l lengths) weighted(n float64) float64 {
	if all := l.sum(n); all > 0 {
		return l.sum(n+1) / all
	}
	return 0
}
