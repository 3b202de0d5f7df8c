package spy

import (
	"fmt"
	"math"

	"distaff/io/bins"
)

// class is a range of counts, from low to high inclusive.
type class struct{ low, high int64 }

func (c class) text(dash string) string {
	if c.low == c.high {
		return fmt.Sprint(c.low)
	}
	return fmt.Sprintf("%d%s%d", c.low, dash, c.high)
}

// entries formats the class as text, for example "2-5 entries". dash is the text between the two
// numbers.
func (c class) entries(dash string) string {
	if c.high == 1 {
		return "1 entry"
	}
	return c.text(dash) + " entries"
}

// scale divides the counts of a grid into classes, in ascending order. It has no classes if all
// bins are empty.
type scale struct {
	classes []class
	log     bool
	skipped int // classes of equal width below the first, which contain no count
}

// newScale divides the counts above 0 into classes. most is the largest number of classes. The
// first class begins at the smallest count, and the last class ends at the largest count. If the
// largest count is more than 100 times the smallest, the classes have nearly equal ratios.
// Otherwise they have equal widths, counted from 0, so that nearly equal counts look nearly equal.
// The first and the last of these classes may be narrower.
func newScale(g *bins.Grid, most int) scale {
	low, high := int64(math.MaxInt64), int64(0)
	for _, n := range g.Counts {
		if n > 0 {
			low, high = min(low, n), max(high, n)
		}
	}
	if high == 0 {
		return scale{}
	}
	if high/100 > low || high/100 == low && high%100 > 0 {
		return scale{classes: ratios(low, high, most), log: true}
	}
	step := niceStep(high, most)
	if step == 1 {
		s := scale{skipped: int(low - 1)}
		for n := low; n <= high; n++ {
			s.classes = append(s.classes, class{n, n})
		}
		return s
	}
	s := scale{skipped: int(low / step)}
	for n := low / step * step; n <= high; n += step {
		s.classes = append(s.classes, class{max(n, low), min(n+step-1, high)})
	}
	return s
}

// niceStep returns the smallest of 1, 2, 5, 10, 20, ... for which a scale from 0 to n has at most
// maxSteps steps. n must be below 2^60.
func niceStep(n int64, maxSteps int) int64 {
	for ten := int64(1); ; ten *= 10 {
		for _, k := range []int64{1, 2, 5} {
			step := k * ten
			if step == 1 && n <= int64(maxSteps) || step > 1 && n/step < int64(maxSteps) {
				return step
			}
		}
	}
}

// ratios returns at most maxClasses classes for the counts from low to high. The first class starts
// at low. The starts of the other classes are taken from the first series that does not give too
// many classes:
//
//   - 1, 2, 5, 10, 20, 50, ...
//   - 1, 3, 10, 30, ...
//   - the powers of ten
//   - every second power of ten, then every third, and so on
func ratios(low, high int64, maxClasses int) []class {
	for every := 1; ; every++ {
		for _, leads := range [][]int64{{1, 2, 5}, {1, 3}, {1}} {
			if every > 1 && len(leads) > 1 {
				continue
			}
			var starts []int64
			ten := int64(1)
			for power := 0; power < 19; power++ {
				for _, k := range leads {
					if power%every == 0 && ten <= math.MaxInt64/k && k*ten <= high {
						starts = append(starts, k*ten)
					}
				}
				if ten <= math.MaxInt64/10 {
					ten *= 10
				}
			}
			var out []class
			for k, from := range starts {
				to := high
				if k+1 < len(starts) {
					to = starts[k+1] - 1
				}
				if to >= low {
					out = append(out, class{max(from, low), min(to, high)})
				}
			}
			if len(out) <= maxClasses {
				return out
			}
		}
	}
}

// of returns the index of the class that contains the count n, or -1 if n is 0.
func (s *scale) of(n int64) int {
	if n == 0 {
		return -1
	}
	k := 0
	for n > s.classes[k].high {
		k++
	}
	return k
}

// at returns the position of class k on the color scale, from 0 to 1.
func (s *scale) at(k int) float64 {
	all := s.skipped + len(s.classes)
	if all == 1 {
		return 0.6
	}
	return float64(s.skipped+k) / float64(all-1)
}
