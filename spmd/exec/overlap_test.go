package exec_test

import (
	"context"
	"testing"
	"time"

	"distaff/io/tcs"
	"distaff/spmd/comm"
	"distaff/spmd/comm/local"
	"distaff/spmd/plan"
)

// slow is a group whose ranks share no memory, and whose links take a time for
// every message of payload.
type slow struct {
	comm.Comm
	each time.Duration
}

func (s slow) OneProcess() bool { return false }

func (s slow) Irecv(b comm.Buf, from, tag int) (*comm.Request, error) {
	time.Sleep(s.each)
	return s.Comm.Irecv(b, from, tag)
}

// took is how long a job of 12 steps a rank takes whose blocks each take a time on the
// way and whose leaf computes for another.
func took(t *testing.T, link, compute time.Duration) time.Duration {
	t.Helper()
	p := problem(2, 2, 12, false, []int{0})
	// Rank 1 fetches a block of c for each of its steps of the second group.
	at := time.Now()
	err := local.Run(context.Background(), 2, func(c comm.Comm) error {
		r := rank(t, slow{c, link}, p)
		leaf := r.Leaf
		r.Leaf = func(s plan.Step, ops []*tcs.Tensor) (*tcs.Tensor, error) {
			done := c.Busy()
			time.Sleep(compute)
			done()
			return leaf(s, ops)
		}
		blocks, err := r.Compute()
		for _, b := range blocks {
			b.Close()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return time.Since(at)
}

// Blocks travel while others compute: a job takes less than its communication
// and its computation one after the other.
func TestBlocksTravelWhileOthersCompute(t *testing.T) {
	const each = 15 * time.Millisecond
	travel, compute, both := took(t, each, 0), took(t, 0, each), took(t, each, each)
	if sum := travel + compute; both > sum*8/10 {
		t.Errorf("took %v; communication alone %v, computation alone %v", both, travel, compute)
	}
}

// Messages carry the same blocks that shared memory does.
func TestBlocksOverMessages(t *testing.T) {
	for _, ranks := range []int{1, 2, 3, 5} {
		p := problem(ranks, 4, 3, true, []int{1, 0})
		got := make([]float64, rows)
		err := local.Run(context.Background(), ranks, func(c comm.Comm) error {
			before := c.Counters()
			blocks, err := rank(t, slow{Comm: c}, p).Compute()
			if err != nil {
				return err
			}
			for _, b := range blocks {
				v := tcs.Values[float64](b)
				b.Entries(func(c []int64, i int64) bool { got[c[0]] = v[i]; return true })
				b.Close()
			}
			return traffic(p, c, before)
		})
		if err != nil {
			t.Fatalf("%d ranks: %v", ranks, err)
		}
		for i := range got {
			if got[i] != want(int64(i)) {
				t.Fatalf("%d ranks: a(%d) = %v, want %v", ranks, i, got[i], want(int64(i)))
			}
		}
	}
}
