package check

import (
	"math/rand/v2"

	"distaff/codegen/reference"
	"distaff/io/tcs"
)

// sample compares coordinates that are drawn uniformly, and coordinates of entries of the result.
func (c *checker) sample(result *tcs.Tensor) error {
	look := &lookup{result}
	rnd := rand.New(rand.NewPCG(uint64(c.problem.Seed), 0x636865636b))
	dims := c.problem.Sizes.Dims[c.problem.Norm.LHS.Name]
	all := make([]int64, checkSample*len(dims))
	coord := func(k int) []int64 { return all[k*len(dims):][:len(dims)] }
	for k := range checkSample {
		// Every other coordinate is an entry of the result, because uniform coordinates hardly ever
		// hit one.
		if k%2 != 0 || result.Vals.Len == 0 || !look.entry(rnd.Int64N(result.Vals.Len), coord(k)) {
			for m, d := range dims {
				coord(k)[m] = rnd.Int64N(d)
			}
		}
	}
	points := make([]reference.Point, checkSample)
	if err := c.team.At(c.problem.Env.Ctx, checkSample, coord,
		func(k int, p reference.Point) { points[k] = p }); err != nil {
		return err
	}
	for k, p := range points {
		c.compare(&c.found, coord(k), p, look.at(coord(k)))
	}
	return nil
}
