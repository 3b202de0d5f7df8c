package codegen

import "math"

// Segments is what is known of a level's segments.
type Segments struct {
	Empty   int64 // parents without one
	Longest int64 // entries of the longest
}

// lengths are those of segments. They are taken to fall with a power of their rank, so that with
// the longest as it is they have their entries together: where that is as long as the average one
// all are equal, and of Zipf's law those are found which it has.
type lengths struct{ longest, count, power float64 }

// lengths are those of the segments of so many parents, with so many entries together.
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

// sum is the sum of a power of the lengths.
func (l lengths) sum(n float64) float64 {
	if l.count < 1 {
		return 0
	}
	x := 1 - n*l.power
	ranks := math.Log(l.count)
	if math.Abs(x) > 1e-9 {
		ranks = math.Expm1(x*ranks) / x // of rank^(x-1), the integral from the first to the last
	}
	return math.Pow(l.longest, n) * (ranks + (1+math.Pow(l.count, x-1))/2)
}

// weighted is the mean length, where each counts as often as a power of itself says.
func (l lengths) weighted(n float64) float64 {
	if all := l.sum(n); all > 0 {
		return l.sum(n+1) / all
	}
	return 0
}
