package exec_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"distaff/codegen/place"
	"distaff/io/tcs"
	"distaff/spmd/comm"
	"distaff/spmd/comm/local"
	"distaff/spmd/exec"
	"distaff/spmd/partition"
	"distaff/spmd/plan"
)

// TestGatheredRows checks that each rank receives the rows of a gathered operand that it reads,
// stores only rows of their range, and counts the rows of other ranks.
func TestGatheredRows(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		ranks := 1 + r.IntN(5)
		p := problem(ranks, int64(1+r.IntN(6)), 1, false, []int{0})
		cuts := place.EvenCuts(cols, int64(1+r.IntN(2*ranks)))
		owners := make([]int, len(cuts)-1)
		for b := range owners {
			owners[b] = r.IntN(ranks)
		}
		part := &partition.Partition{Order: 1, Axes: []partition.Axis{{Modes: []int{0}, Cuts: cuts}},
			Owner: func(at []int64) int { return owners[at[0]] }}
		p.Operands[2].Gathered = part
		want := make([]exec.Rows, ranks)
		for rank := range want {
			want[rank] = drawRows(r)
		}
		for _, moves := range []bool{false, true} {
			err := local.Run(context.Background(), ranks, func(c comm.Comm) error {
				return gathered(t, c, p, want[c.Rank()], moves)
			})
			if err != nil {
				t.Fatalf("seed %d, %d ranks, %v at %v, %+v, blocks may move: %v: %v", seed, ranks, cuts, owners,
					want, moves, err)
			}
		}
	}
}

// drawRows draws the rows that a rank reads.
func drawRows(r *rand.Rand) exec.Rows {
	a, b := r.Int64N(cols+1), r.Int64N(cols+1)
	rows := exec.Rows{Within: [2]int64{min(a, b), max(a, b)}}
	for row := rows.Within[0]; row < rows.Within[1]; row++ {
		if r.IntN(3) > 0 {
			rows.List = append(rows.List, row)
		}
	}
	if r.IntN(4) == 0 {
		return exec.Rows{All: true, Within: [2]int64{0, cols}}
	}
	return rows
}

// gathered runs a problem twice at one rank. It checks what its leaves read of operand 2, and
// whether the rank's own blocks of this operand were moved if moves is true.
func gathered(t *testing.T, c comm.Comm, p *plan.Problem, want exec.Rows, moves bool) error {
	part := p.Operands[2].Gathered
	r := rank(t, c, p)
	defer r.Close()
	r.Own[2] = map[plan.Block]*tcs.Tensor{}
	foreign, read := int64(0), map[int64]bool{}
	for _, row := range want.List {
		read[row] = true
	}
	for b := range plan.Block(part.Pieces()) {
		box := part.Box(b, sizes[2])
		if part.OwnerOf(b) == c.Rank() {
			r.Own[2][b] = dense(t, sizes[2], box, values[2])
			continue
		}
		for row := box[0][0]; row < box[0][1]; row++ {
			if want.All || read[row] {
				foreign++
			}
		}
	}
	r.Rows, r.Moves = func(int) exec.Rows { return want }, moves
	all := true // all of the rank's rows are stored in the array
	for b, block := range r.Own[2] {
		own := block.Header.Range(0)
		all = all && own[0] >= want.Within[0] && own[1] <= want.Within[1]
		if v := tcs.Values[float64](block); len(v) > 0 && v[0] != values[2]([]int64{own[0]}) {
			return fmt.Errorf("block %d: got %v", b, v)
		}
	}
	leaf := stepOf(r)
	onSteps(r, func(s plan.Step, ops []*tcs.Tensor) (*tcs.Tensor, error) {
		if ops[2] == nil {
			return leaf(s, ops)
		}
		if got := ops[2].Header.Range(0); got != want.Within || ops[2].Vals.Len != got[1]-got[0] {
			return nil, fmt.Errorf("rows %v are in memory", got)
		}
		for b, block := range r.Own[2] {
			if inside := block.Vals.Len > 0 && within(block.Vals, ops[2].Vals); block.Vals.Len > 0 &&
				inside != (moves && all) {
				return nil, fmt.Errorf("block %d lies among what is read: %v", b, inside)
			}
		}
		for k, v := range tcs.Values[float64](ops[2]) {
			row := want.Within[0] + int64(k)
			if w := values[2]([]int64{row}); (want.All || read[row]) && v != w {
				return nil, fmt.Errorf("row %d is %v, want %v", row, v, w)
			}
		}
		return dense(t, []int64{rows}, p.Result.Box(s.Partial.Result, []int64{rows}),
			func([]int64) float64 { return 0 }), nil
	})
	for run := range int64(2) {
		blocks, err := r.Compute(false)
		if err != nil {
			return err
		}
		for _, b := range blocks {
			b.Close()
		}
		if got := c.Counters().BytesReceived; got != (run+1)*8*foreign {
			return fmt.Errorf("%d bytes have come after run %d, want %d", got, run, (run+1)*8*foreign)
		}
	}
	return nil
}

// within reports whether an array is inside the memory of another one.
func within(a, b tcs.Array) bool {
	from, first := uintptr(a.Ptr), uintptr(b.Ptr)
	return from >= first && from+uintptr(a.Len)*uintptr(a.Width) <= first+uintptr(b.Len)*uintptr(
		b.Width)
}
