package exec_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"distaff/codegen/place"
	"distaff/io/tcs"
	"distaff/spmd/comm"
	"distaff/spmd/comm/local"
	"distaff/spmd/exec"
	"distaff/spmd/partition"
	"distaff/spmd/plan"
)

// commonFrom sets exec.MinCommon until the test ends.
func commonFrom(t *testing.T, bytes int64) {
	old := exec.MinCommon.Swap(bytes)
	t.Cleanup(func() { exec.MinCommon.Store(old) })
}

// commonCase describes the rows that ranks on several nodes own and read.
type commonCase struct {
	ranks    int
	nodes    []int
	owners   []int // by piece
	cuts     []int64
	reads    []exec.Rows
	moves    bool
	apart    bool // the ranks are different processes
	refused  bool // shared memory cannot be allocated
	problem  *plan.Problem
	pointers []unsafe.Pointer // by rank, the array that its leaf reads
	limits   []*tcs.Limit     // by rank
}

func drawCommon(r *rand.Rand) *commonCase {
	k := &commonCase{ranks: 2 + r.IntN(5), moves: r.IntN(2) == 0, apart: r.IntN(3) == 0,
		refused: r.IntN(8) == 0}
	k.problem = problem(k.ranks, int64(k.ranks)*int64(1+r.IntN(3)), 1, false, []int{0})
	k.cuts = place.EvenCuts(cols, int64(1+r.IntN(2*k.ranks)))
	for range len(k.cuts) - 1 {
		k.owners = append(k.owners, r.IntN(k.ranks))
	}
	nodes := 1 + r.IntN(3)
	for range k.ranks {
		k.limits = append(k.limits, tcs.NewLimit(0))
		if k.refused {
			k.limits[len(k.limits)-1] = tcs.NewLimit(1)
		}
		k.nodes = append(k.nodes, r.IntN(nodes))
		rows := drawRows(r)
		switch {
		case r.IntN(2) == 0:
			rows = exec.Rows{All: true, Within: [2]int64{0, cols}}
		case r.IntN(4) == 0:
			rows = exec.Rows{}
		}
		k.reads = append(k.reads, rows)
	}
	k.problem.Operands[2].Gathered = &partition.Partition{Order: 1,
		Axes:  []partition.Axis{{Modes: []int{0}, Cuts: k.cuts}},
		Owner: func(at []int64) int { return k.owners[at[0]] }}
	k.pointers = make([]unsafe.Pointer, k.ranks)
	return k
}

func (k *commonCase) String() string {
	return fmt.Sprintf(
		"nodes %v, owners %v of rows cut at %v, reading %+v, moving %v, apart %v, refused %v", k.nodes,
		k.owners, k.cuts, k.reads, k.moves, k.apart, k.refused)
}

// count returns the number of rows that a rank reads.
func (k *commonCase) count(rank int) int {
	if k.reads[rank].All {
		return cols
	}
	return len(k.reads[rank].List)
}

// common reports whether the ranks of a rank's node must share the rows: together they read at
// least 1.5 times all rows.
func (k *commonCase) common(rank int) bool {
	sum, readers := 0, 0
	for q, node := range k.nodes {
		if n := k.count(q); node == k.nodes[rank] && n > 0 {
			sum, readers = sum+n, readers+1
		}
	}
	return !k.refused && readers > 1 && 2*sum >= 3*cols
}

// lingering is a group whose ranks pause for a moment after they have started to send.
type lingering struct{ comm.Comm }

func (l lingering) Isend(b comm.Buf, to, tag int) (*comm.Request, error) {
	r, err := l.Comm.Isend(b, to, tag)
	time.Sleep(time.Duration(rand.IntN(100)) * time.Microsecond)
	return r, err
}

func (l lingering) Uncounted() comm.Comm { return lingering{l.Comm.Uncounted()} }

// value returns the value of a row in a run. It does not change if blocks are moved.
func (k *commonCase) value(run int, row int64) float64 {
	if k.moves {
		run = 0
	}
	return float64(100*run) + float64(row) + 1
}

// run runs the problem several times at a rank, with other values each time, and checks what its
// leaves read and the counters.
func (k *commonCase) run(t *testing.T, c comm.Comm) error {
	me := c.Rank()
	c = lingering{c}
	if k.apart {
		c = apart{Comm: c}
	}
	r := rank(t, c, k.problem)
	r.Limit, r.Nodes, r.Shares, r.Moves = k.limits[me], k.nodes, true, k.moves
	err := k.runs(t, c, r, me)
	r.Close()
	tcs.CloseAll(r.Own[2])
	return err
}

func (k *commonCase) runs(t *testing.T, c comm.Comm, r *exec.Rank, me int) error {
	r.Rows = func(int) exec.Rows { return k.reads[me] }
	r.Own[2] = map[plan.Block]*tcs.Tensor{}
	received := int64(0) // rows of other ranks that are read
	read := slices.Clone(k.reads[me].List)
	for b, owner := range k.owners {
		for row := k.cuts[b]; row < k.cuts[b+1]; row++ {
			if k.reads[me].All {
				read = append(read, row)
			}
			if owner != me && slices.Contains(read, row) {
				received++
			}
		}
		if owner == me {
			r.Own[2][plan.Block(b)] = dense(t, sizes[2], [][2]int64{{k.cuts[b], k.cuts[b+1]}},
				func(at []int64) float64 { return k.value(0, at[0]) })
		}
	}
	for run := range 4 {
		for b, block := range r.Own[2] {
			for n, v := range tcs.Values[float64](block) {
				row := k.cuts[b] + int64(n)
				if run > 0 && v != k.value(run-1, row) {
					return fmt.Errorf("the rank's own row %d is %v before run %d", row, v, run)
				}
				tcs.Values[float64](block)[n] = k.value(run, row)
			}
		}
		onSteps(r, func(s plan.Step, ops []*tcs.Tensor) (*tcs.Tensor, error) {
			if ops[2] != nil {
				if err := k.look(me, run, ops[2], read); err != nil {
					return nil, err
				}
			}
			return dense(t, []int64{rows}, k.problem.Result.Box(s.Partial.Result, []int64{rows}),
				func([]int64) float64 { return 0 }), nil
		})
		blocks, err := r.Compute(false)
		if err != nil {
			return err
		}
		tcs.CloseAll(blocks)
		if got := c.Counters().BytesReceived; got != int64(run+1)*8*received {
			return fmt.Errorf("%d bytes have come after run %d, want %d", got, run, int64(run+1)*8*received)
		}
	}
	return nil
}

// look checks the values that a leaf reads, at its start and at its end.
func (k *commonCase) look(me, run int, t *tcs.Tensor, read []int64) error {
	within := t.Header.Range(0)
	if want := k.reads[me].Within; k.common(me) && within != [2]int64{0, cols} ||
		!k.common(me) && within != want {
		return fmt.Errorf("rows %v are in memory", within)
	}
	for range 2 {
		for _, row := range read {
			if v := tcs.Values[float64](t)[row-within[0]]; v != k.value(run, row) {
				return fmt.Errorf("row %d is %v in run %d, want %v", row, v, run, k.value(run, row))
			}
		}
		time.Sleep(time.Duration(rand.IntN(200)) * time.Microsecond)
	}
	k.pointers[me] = t.Vals.Ptr
	return nil
}

// TestRowsInCommon checks that ranks of a node share gathered rows if together they read at least
// 1.5 times all rows. A rank must read the values of the current run, which no other rank may
// overwrite meanwhile, and must count the rows of other ranks that it reads.
func TestRowsInCommon(t *testing.T) {
	commonFrom(t, 0)
	shared := 0
	for seed := range uint64(150) {
		k := drawCommon(rand.New(rand.NewPCG(seed, 2)))
		err := local.Run(context.Background(), k.ranks, func(c comm.Comm) error { return k.run(t, c) })
		if err != nil {
			t.Fatalf("seed %d: %v: %v", seed, k, err)
		}
		for q := range k.ranks {
			if n := k.limits[q].Used(); n != 0 {
				t.Errorf("seed %d: %v: rank %d has not given back %d bytes", seed, k, q, n)
			}
			for o := range q {
				if k.apart || k.pointers[q] == nil || k.pointers[o] == nil {
					continue
				}
				want := k.nodes[q] == k.nodes[o] && k.common(q)
				if got := k.pointers[q] == k.pointers[o]; got != want {
					t.Errorf("seed %d: %v: ranks %d and %d have one array: %v", seed, k, o, q, got)
				}
				if want {
					shared++
				}
			}
		}
	}
	if shared < 50 {
		t.Errorf("%d pairs of ranks have an array in common, want 50", shared)
	}
}

// TestRowsInCommonFail checks that the job ends if a leaf fails while other ranks wait for
// notifications of its rank.
func TestRowsInCommonFail(t *testing.T) {
	commonFrom(t, 0)
	for failing := range 3 {
		for _, nodes := range [][]int{{0, 0, 0, 0}, {0, 0, 1, 1}} {
			k := &commonCase{ranks: 4, nodes: nodes, owners: []int{0, 1, 2, 3},
				cuts: place.EvenCuts(cols, 4), problem: problem(4, 4, 1, false, []int{0})}
			k.problem.Operands[2].Gathered = &partition.Partition{Order: 1,
				Axes:  []partition.Axis{{Modes: []int{0}, Cuts: k.cuts}},
				Owner: func(at []int64) int { return k.owners[at[0]] }}
			err := local.Run(context.Background(), 4, func(c comm.Comm) error {
				r := rank(t, c, k.problem)
				defer r.Close()
				r.Nodes, r.Shares = nodes, true
				r.Rows = func(int) exec.Rows { return exec.Rows{All: true, Within: [2]int64{0, cols}} }
				r.Own[2] = map[plan.Block]*tcs.Tensor{
					plan.Block(c.Rank()): dense(t, sizes[2], [][2]int64{{k.cuts[c.Rank()], k.cuts[c.Rank()+1]}},
						values[2])}
				leaf := stepOf(r)
				onSteps(r, func(s plan.Step, ops []*tcs.Tensor) (*tcs.Tensor, error) {
					if c.Rank() == failing && ops[2] != nil {
						return nil, errors.New("no luck")
					}
					return leaf(s, ops)
				})
				blocks, err := r.Compute(false)
				tcs.CloseAll(blocks)
				return err
			})
			if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("[%d]", failing)) ||
				!strings.Contains(err.Error(), "no luck") {
				t.Errorf("nodes %v, rank %d fails: got %v", nodes, failing, err)
			}
		}
	}
}
