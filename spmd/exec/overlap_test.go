package exec_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"distaff/io/tcs"
	"distaff/spmd/comm"
	"distaff/spmd/comm/local"
	"distaff/spmd/exec"
	"distaff/spmd/partition"
	"distaff/spmd/plan"
)

// apart is a group whose ranks share no memory. If came is not nil, it receives a token for each
// payload that has arrived.
type apart struct {
	comm.Comm
	came chan struct{}
}

func (a apart) OneProcess() bool { return false }

func (a apart) Irecv(b comm.Buf, from, tag int) (*comm.Request, error) {
	r, err := a.Comm.Irecv(b, from, tag)
	if err == nil && a.came != nil {
		err = r.Wait()
		a.came <- struct{}{}
	}
	return r, err
}

// TestBlocksTravelWhileOthersCompute checks that the block of the next step arrives while a leaf
// runs, and that no other block is fetched meanwhile. The leaf returns only after the block has
// arrived.
func TestBlocksTravelWhileOthersCompute(t *testing.T) {
	const steps = cols
	p := problem(2, 2, steps, false, []int{0})
	err := local.Run(context.Background(), 2, func(c comm.Comm) error {
		blocks := 0 // that the rank fetches: one of c for each of its steps of the second group
		for k := range p.Operands {
			for _, a := range p.Arrivals(c.Rank(), k) {
				for _, f := range a.Fetches {
					if f.List != nil {
						blocks++
					}
				}
			}
		}
		if want := []int{0, steps}[c.Rank()]; blocks != want {
			t.Errorf("rank %d fetches %d blocks, want %d", c.Rank(), blocks, want)
		}
		came := make(chan struct{}, blocks)
		r := rank(t, apart{c, came}, p)
		leaf := stepOf(r)
		step, arrived := 0, 0
		onSteps(r, func(s plan.Step, ops []*tcs.Tensor) (*tcs.Tensor, error) {
			if s.Group == 1 {
				for ; arrived < min(step+2, blocks); arrived++ {
					select {
					case <-came:
					case <-time.After(time.Minute):
						return nil,
							fmt.Errorf("step %d: the next block does not come while this one is computed with", step)
					}
				}
				if len(came) > 0 {
					t.Errorf("step %d: %d blocks too many have come", step, len(came))
				}
				step++
			}
			return leaf(s, ops)
		})
		blocksOut, err := r.Compute(false)
		for _, b := range blocksOut {
			b.Close()
		}
		if c.Rank() == 1 && step != steps {
			t.Errorf("%d steps, want %d", step, steps)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestBlocksOverMessages checks that messages carry the same blocks as shared memory.
func TestBlocksOverMessages(t *testing.T) {
	for _, ranks := range []int{1, 2, 3, 5} {
		p := problem(ranks, 4, 3, true, []int{1, 0})
		got := make([]float64, rows)
		err := local.Run(context.Background(), ranks, func(c comm.Comm) error {
			before := c.Counters()
			blocks, err := rank(t, apart{Comm: c}, p).Compute(false)
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

// late is a group that sends no rows of a gathered operand before told is closed.
type late struct {
	comm.Comm
	tag  int
	told <-chan struct{}
}

func (l late) Isend(b comm.Buf, to, tag int) (*comm.Request, error) {
	if tag == l.tag {
		select {
		case <-l.told:
		case <-time.After(time.Minute):
			return nil, fmt.Errorf("rank %d waits for rows that no step reads yet", to)
		}
	}
	return l.Comm.Isend(b, to, tag)
}

// TestRowsTravelWhileOthersCompute checks that a rank runs its steps before the rows of another
// rank arrive, up to the first step that reads these rows, and that this step reads the right
// values.
func TestRowsTravelWhileOthersCompute(t *testing.T) {
	const c = 2 // index of the operand
	p := problem(2, 4, 1, false, []int{0})
	half := int64(cols / 2)
	p.Operands[c].Gathered = &partition.Partition{Order: 1,
		Axes:  []partition.Axis{{Modes: []int{0}, Cuts: []int64{0, half, cols}}},
		Owner: func(at []int64) int { return int(at[0]) }}
	told := make(chan struct{})
	err := local.Run(context.Background(), 2, func(g comm.Comm) error {
		me := g.Rank()
		if me == 0 {
			g = late{g, 2 * c, told}
		}
		r := rank(t, g, p)
		defer r.Close()
		own := [2]int64{[]int64{0, half}[me], []int64{half, cols}[me]}
		r.Own[c] = map[plan.Block]*tcs.Tensor{
			plan.Block(me): dense(t, sizes[c], [][2]int64{own}, values[c])}
		reading := 3 // the step that reads all rows; earlier steps read this rank's rows
		spans := [][2]int64{{}, own, {}, {0, cols}}
		r.Rows = func(int) exec.Rows {
			return exec.Rows{All: true, Within: [2]int64{0, cols},
				Spans: spans}
		}
		step := 0
		onSteps(r, func(s plan.Step, ops []*tcs.Tensor) (*tcs.Tensor, error) {
			if step == reading-1 && me == 1 {
				close(told)
			}
			if step == reading {
				for row, v := range tcs.Values[float64](ops[c]) {
					if w := values[c]([]int64{int64(row)}); v != w {
						t.Errorf("rank %d: row %d is %v, want %v", me, row, v, w)
					}
				}
			}
			step++
			return dense(t, []int64{rows}, p.Result.Box(s.Partial.Result, []int64{rows}),
				func([]int64) float64 { return 0 }), nil
		})
		blocks, err := r.Compute(false)
		tcs.CloseAll(blocks)
		if step != len(spans) {
			t.Errorf("rank %d ran %d steps, want %d", me, step, len(spans))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// receives is a group that counts the receives of this rank.
type receives struct {
	comm.Comm
	n *atomic.Int64
}

func (r receives) Uncounted() comm.Comm { return receives{r.Comm.Uncounted(), r.n} }

func (r receives) Irecv(b comm.Buf, from, tag int) (*comm.Request, error) {
	r.n.Add(1)
	return r.Comm.Irecv(b, from, tag)
}

// TestBlocksOfOneProcess checks that ranks of one process take a block when they read it. A
// goroutine that received the next block while the leaf runs would only take a processor from a
// leaf.
func TestBlocksOfOneProcess(t *testing.T) {
	const steps = cols
	p := problem(2, 2, steps, false, []int{0})
	err := local.Run(context.Background(), 2, func(c comm.Comm) error {
		var n atomic.Int64
		r := rank(t, receives{c, &n}, p)
		leaf := stepOf(r)
		step := int64(0)
		onSteps(r, func(s plan.Step, ops []*tcs.Tensor) (*tcs.Tensor, error) {
			if s.Group == 1 && c.Rank() == 1 {
				step++
				// time for a goroutine that would receive the next block
				time.Sleep(time.Millisecond)
				if got := n.Load(); got != step {
					t.Errorf("step %d: %d blocks were received, want one for each step", step, got)
				}
			}
			return leaf(s, ops)
		})
		blocks, err := r.Compute(false)
		tcs.CloseAll(blocks)
		if c.Rank() == 1 && step != steps {
			t.Errorf("%d steps, want %d", step, steps)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
