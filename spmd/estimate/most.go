package estimate

import (
	"math"

	"distaff/io/tcs"
	"distaff/spmd/plan"
)

// counted is about how many there are of something, and how many are reckoned with.
type counted struct{ about, most float64 }

func (c counted) times(n float64) counted { return counted{n * c.about, n * c.most} }

// rarely is how seldom a block has more entries, or positions of a level, than are reckoned with,
// of entries that lie independently of one another: once in a billion.
const rarely = 1e-9

// count is of all of some things those that a block has, about so many, which has each with a
// probability of share: at most as many as Bernstein's inequality says of independent draws. It
// holds as well where one leaves less room for the others, as entries at distinct coordinates do,
// and prefixes that several entries share.
func count(about, share, all float64) counted {
	if about == 0 { // of an empty box
		return counted{}
	}
	if math.IsInf(all, 1) {
		share = 0
	}
	tail := -math.Log(rarely)
	most := about + tail/3 + math.Sqrt(tail*tail/9+2*tail*about*(1-share))
	return counted{about, max(about, min(most, all))}
}

// most is the most entries that the tensor has, infinite where Entries is an estimate.
func (t *Tensor) most() float64 {
	if t.Counted {
		return t.Entries
	}
	return math.Inf(1)
}

// sizer adds up a size that is estimated.
type sizer struct{ size plan.Size }

// add adds an array of about n elements.
func (z *sizer) add(n counted, width int64) {
	about := Round(n.about)
	z.size.Add(about, width)
	if most := ceil(n.most); width > 0 && most > about {
		if z.size.MoreBytes += (most - about) * width; about == 0 {
			z.size.MoreBytes += tcs.Align
		}
	}
}

// ceil is the least whole number that is no less, up to rounding, at most 2^62.
func ceil(x float64) int64 { return Round(math.Ceil(x - 1e-6)) }
