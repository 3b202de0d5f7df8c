package estimate

import (
	"math"

	"distaff/io/tcs"
	"distaff/spmd/plan"
)

// counted is an uncertain number: its expected value and its upper bound, which it exceeds with a
// probability of excessProbability.
type counted struct{ about, most float64 }

func (c counted) times(n float64) counted { return counted{n * c.about, n * c.most} }

// excessProbability is the probability that the entries of a block, or the positions of a level,
// exceed their upper bound if entries are independent.
const excessProbability = 1e-9

// count returns the expected number of items in a block and an upper bound. Items are entries or
// positions. about is the expected number, share the probability that an item is in the block, and
// all the number of items in the whole tensor. The bound is Bernstein's inequality for independent
// draws. It also holds if one item leaves less room for the others, as entries at distinct
// coordinates do, or prefixes that several entries share. If all is infinite, share is not used.
func count(about, share, all float64) counted {
	if about == 0 { // the box is empty
		return counted{}
	}
	if math.IsInf(all, 1) {
		share = 0
	}
	tail := -math.Log(excessProbability)
	most := about + tail/3 + math.Sqrt(tail*tail/9+2*tail*about*(1-share))
	return counted{about, max(about, min(most, all))}
}

// most returns the upper bound of the tensor's entries, which is infinite if Entries is an
// estimate.
func (t *Tensor) most() float64 {
	if t.Counted {
		return t.Entries
	}
	return math.Inf(1)
}

// sizer sums up an estimated size.
type sizer struct{ size plan.Size }

// add adds to the size an array of n elements of width bytes each. The upper bound of n goes into
// MoreBytes.
func (z *sizer) add(n counted, width int64) {
	about := Round(n.about)
	z.size.Add(about, width)
	if most := ceil(n.most); width > 0 && most > about {
		if z.size.MoreBytes += (most - about) * width; about == 0 {
			z.size.MoreBytes += tcs.Align
		}
	}
}

// ceil rounds x up to an integer, at most 2^62. It ignores an excess of 1e-6, which may be a
// rounding error.
func ceil(x float64) int64 { return Round(math.Ceil(x - 1e-6)) }
