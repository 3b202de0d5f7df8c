package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"distaff/spmd/comm"
	"distaff/spmd/comm/local"
	"distaff/spmd/store"
)

// TestRows writes results with a compressed last level, cut in any modes and in many windows, so
// that nodes of every level continue from window to window and from rank to rank.
func TestRows(t *testing.T) {
	dir := t.TempDir()
	taken, windows := 0, 0
	for _, kinds := range []string{"ds", "dds", "ss", "sss", "dss", "ddss", "dsss", "ssss"} {
		for seed := range uint64(40) {
			rng := rand.New(rand.NewPCG(seed, 77))
			whole := sample(t, rng, kinds)
			ranks := 1 + rng.IntN(6)
			x := &cut{way: rng.IntN(2), wide: rng.IntN(3) == 0, far: rng.IntN(2) == 0}
			x.part = problem(rng, whole.Header.Dims, ranks, -1)
			restore := store.SmallWindows([]int64{1, 3000, 15000, 40000, 80000}[rng.IntN(5)])
			what := fmt.Sprintf("%s, seed %d, %d ranks, way %d, wide %v, far %v, axes %v, sizes %v",
				whole.Format().String(), seed, ranks, x.way, x.wide, x.far, x.part.Axes, whole.Header.Dims)
			got, err := x.write(whole, ranks, filepath.Join(dir, "t.tcs"), store.Mode(rng.IntN(3)), nil)
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			same(t, what, got, oneRank(t, whole, "t.tcs"))
			err = local.Run(context.Background(), ranks, func(c comm.Comm) error {
				b, done, err := x.own(whole, c)
				if err != nil {
					return err
				}
				defer done()
				n, err := store.RowWindows(c, b)
				if c.Rank() == 0 && n > 0 {
					taken, windows = taken+1, windows+n
				}
				return err
			})
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			restore()
			whole.Close()
		}
	}
	if taken < 100 || windows < 3*taken {
		t.Errorf("%d results in %d windows were put together row by row", taken, windows)
	}
}
