package spy

import (
	"math"
	"strconv"
	"strings"
)

// tick is a labelled coordinate on an axis.
type tick struct {
	at   float64 // distance from the start of the axis
	text string
}

// ticks returns labelled coordinates, counted from 1, for a mode of the given size on an axis of
// the given length. They are multiples of 1, 2 or 5 times a power of ten, at least gap apart.
func ticks(size int64, length, gap float64) []tick {
	if size == 0 {
		return nil
	}
	least := max(1, float64(size)*gap/length)
	step := math.Pow(10, math.Floor(math.Log10(least)))
	for _, k := range []float64{1, 2, 5, 10} {
		if k*step >= least*(1-1e-9) {
			step *= k
			break
		}
	}
	var out []tick
	for c := step; c <= float64(size); c += step {
		out = append(out, tick{(c - 0.5) / float64(size) * length, short(c)})
	}
	return out
}

// short formats a whole number with few digits: 20000, 300k, 1.2M.
func short(n float64) string {
	if n < 1e5 {
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	units := "kMGTPE"
	n /= 1000
	for n >= 1000 && len(units) > 1 {
		n /= 1000
		units = units[1:]
	}
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(n, 'f', 2, 64), "0"),
		".") + units[:1]
}
