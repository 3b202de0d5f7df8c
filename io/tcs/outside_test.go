package tcs

import (
	"distaff/io/tensor"
	"math"
	"math/rand/v2"
	"testing"
)

// TestOutside compares outside, which looks at eight coordinates at once, with one look at each,
// over ranges and coordinates to the ends of their types.
func TestOutside(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		testOutside(t, rng, []int32{math.MinInt32, math.MinInt32 + 1, -2, -1, 0, 1, 7,
			math.MaxInt32 - 1, math.MaxInt32}, math.MaxInt32)
		testOutside(t, rng, []int64{math.MinInt64, math.MinInt64 + 1, -2, -1, 0, 1, 7, tensor.MaxSize - 1,
			tensor.MaxSize, math.MaxInt64}, tensor.MaxSize)
	}
}

func testOutside[T int32 | int64](t *testing.T, rng *rand.Rand, ends []T, most int64) {
	bounds := []int64{0, 1, 7, most / 2, most - 1, most}
	r := [2]int64{bounds[rng.IntN(len(bounds))], bounds[rng.IntN(len(bounds))]}
	s := make([]T, rng.IntN(40))
	for i := range s {
		if s[i] = T(r[0]); r[0] < r[1] {
			s[i] = T(r[0] + rng.Int64N(r[1]-r[0]))
		}
		if rng.IntN(20) == 0 {
			s[i] = ends[rng.IntN(len(ends))]
		}
	}
	want := int64(-1)
	for i, x := range s {
		if int64(x) < r[0] || int64(x) >= r[1] {
			want = int64(i)
			break
		}
	}
	if got := outside(s, r); got != want {
		t.Fatalf("outside(%v, %v) = %d, want %d", s, r, got, want)
	}
}
