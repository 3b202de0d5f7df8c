package estimate

import (
	"math"

	"distaff/io/tcs"
	"distaff/spmd/plan"
)

// counted is an estimate of a number. about is the expected value. most is an upper bound that the
// number exceeds only with probability excessProbability.
type counted struct{ about, most float64 }

func (c counted) times(n float64) counted { return counted{n * c.about, n * c.most} }

// excessProbability is the accepted probability that an upper bound is exceeded: the bound of the
// number of entries of a block, of positions of a level, or of the extent of a block. It is
// computed for independent entries.
const excessProbability = 1e-9

// count estimates the number of items in a block and gives an upper bound of this number. Items are
// entries or positions. expected is the expected number of items in the block. chance is the
// probability that an item of the tensor is in the block. total is the number of items in the whole
// tensor. If total is infinite, chance is not used.
//
// The bound is Bernstein's inequality for independent draws. It also holds if an item in the block
// makes other items in the block less likely. Examples are entries, whose coordinates are distinct,
// and prefixes that several entries share.
func count(expected, chance, total float64) counted {
	if expected == 0 { // the box is empty
		return counted{}
	}
	if math.IsInf(total, 1) {
		chance = 0
	}
	tail := -math.Log(excessProbability)
	most := expected + tail/3 + math.Sqrt(tail*tail/9+2*tail*expected*(1-chance))
	return counted{expected, max(expected, min(most, total))}
}

// most returns an upper bound of the number of the tensor's entries. It is infinite if Entries is
// only an estimate, because no bound is known then.
func (t *Tensor) most() float64 {
	if t.Counted {
		return t.Entries
	}
	return math.Inf(1)
}

// sizer sums up an estimated size.
type sizer struct{ size plan.Size }

// add adds an array to the size. The array has n elements of width bytes each. The bytes of the
// expected number of elements are added to Bytes. If the upper bound of the number of elements is
// larger, the bytes of the difference are added to MoreBytes.
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
