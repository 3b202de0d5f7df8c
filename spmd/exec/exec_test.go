package exec_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"distaff/codegen/place"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd/comm"
	"distaff/spmd/comm/local"
	"distaff/spmd/exec"
	"distaff/spmd/partition"
	"distaff/spmd/plan"
	"distaff/spmd/transfer"
)

const rows, cols = 10, 7

// dense returns a block of box with dense levels and the value f at each coordinate.
func dense(t *testing.T, dims []int64, box [][2]int64, f func(c []int64) float64) *tcs.Tensor {
	t.Helper()
	kinds := strings.Repeat("d", len(dims))
	b,
		err := tcs.New(&tcs.Shape{Header: tcs.Header{Dims: dims, Box: box, Type: tensor.Float64},
		Format: tensor.FormatOf(kinds, tensor.Identity(len(dims)))}, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	vals := tcs.Values[float64](b)
	b.Entries(func(c []int64, i int64) bool { vals[i] = f(c); return true })
	return b
}

// problem is a(i) = d(i) + B(i,j)*c(j) over ni by nj blocks.
func problem(ranks int, ni, nj int64, extend bool, mapping []int) *plan.Problem {
	p := &plan.Problem{
		Blocking: &place.Blocking{
			Vars: []place.BlockVar{
				{Name: "i", Cuts: place.EvenCuts(rows, ni)},
				{Name: "j", Cuts: place.EvenCuts(cols, nj), Reduction: true, Extended: extend},
			},
			Map:    mapping,
			Groups: []place.Group{{Terms: []int{0}}, {Terms: []int{1}, Held: []int{1}}},
		},
		Ranks: ranks,
		Operands: []plan.Operand{{Tensor: "d", Groups: []int{0}}, {Tensor: "B", Groups: []int{1}},
			{Tensor: "c", Groups: []int{1}}},
	}
	p.Nest = p.Blocking.Nest()
	p.Result, p.ResultCut = p.Partition([]int{0})
	for k, modes := range [][]int{{0}, {0, 1}, {1}} {
		p.Operands[k].Partition, p.Operands[k].Cut = p.Partition(modes)
		p.Operands[k].Scope = len(p.Nest.Loops)
	}
	return p
}

var sizes = [][]int64{{rows}, {rows, cols}, {cols}}

var values = []func(c []int64) float64{
	func(c []int64) float64 { return float64(100 * c[0]) },
	func(c []int64) float64 { return float64(c[0] + 10*c[1]) },
	func(c []int64) float64 { return float64(1 + c[0]) },
}

// rank returns a rank of the problem with the blocks that it owns.
func rank(t *testing.T, c comm.Comm, p *plan.Problem) *exec.Rank {
	r := &exec.Rank{Comm: c, Plan: p, Alloc: transfer.Pages(nil),
		Result: transfer.Like{Name: "a",
			Layout: tensor.Layout{Dims: []int64{rows}, Type: tensor.Float64,
				Format: tensor.FormatOf("d", []int{0})}}}
	for k, o := range p.Operands {
		own := map[plan.Block]*tcs.Tensor{}
		for b := range plan.Block(o.Partition.Pieces()) {
			if o.Partition.OwnerOf(b) == c.Rank() {
				own[b] = dense(t, sizes[k], o.Partition.Box(b, sizes[k]), values[k])
			}
		}
		r.Own = append(r.Own, own)
		kinds := strings.Repeat("d", o.Partition.Order)
		r.Like = append(r.Like, transfer.Like{Name: o.Tensor,
			Layout: tensor.Layout{Dims: sizes[k], Type: tensor.Float64,
				Format: tensor.FormatOf(kinds, tensor.Identity(o.Partition.Order))}})
	}
	r.Call = func(c exec.Call) (*tcs.Tensor, error) {
		a, b := c.Blocks[0], c.Blocks[1]
		x, y := tcs.Values[float64](a), tcs.Values[float64](b)
		for i := range x {
			x[i] += y[i]
		}
		return a, nil
	}
	onSteps(r, func(s plan.Step, ops []*tcs.Tensor) (*tcs.Tensor, error) {
		box := p.Result.Box(s.Partial.Result, []int64{rows})
		at := func(k int, c ...int64) float64 {
			b := ops[k]
			v := tcs.Values[float64](b)
			var i int64
			for m, x := range c {
				i = i*b.Levels[m].Size + x - b.Levels[m].Offset
			}
			return v[i]
		}
		return dense(t, []int64{rows}, box, func(c []int64) float64 {
			if s.Group == 0 {
				return at(0, c[0])
			}
			sum := 0.0
			cuts := p.Blocking.Vars[1].Cuts
			for j := cuts[s.Tuple[1]]; j < cuts[s.Tuple[1]+1]; j++ {
				sum += at(1, c[0], j) * at(2, j)
			}
			return sum
		}), nil
	})
	return r
}

// stepOf returns the function that calls the leaf of a step of r.
func stepOf(r *exec.Rank) func(plan.Step, []*tcs.Tensor) (*tcs.Tensor, error) {
	call := r.Call
	return func(s plan.Step, ops []*tcs.Tensor) (*tcs.Tensor, error) {
		return call(exec.Call{Step: s, Blocks: ops})
	}
}

// onSteps makes f compute the steps of r.
func onSteps(r *exec.Rank, f func(s plan.Step, ops []*tcs.Tensor) (*tcs.Tensor, error)) {
	call := r.Call
	r.Call = func(c exec.Call) (*tcs.Tensor, error) {
		if c.Leaf != exec.StepLeaf {
			return call(c)
		}
		return f(c.Step, c.Blocks)
	}
}

func want(i int64) float64 {
	s := values[0]([]int64{i})
	for j := range int64(cols) {
		s += values[1]([]int64{i, j}) * values[2]([]int64{j})
	}
	return s
}

func TestBlocksGiveTheWholeResult(t *testing.T) {
	for _, ranks := range []int{1, 2, 3, 4, 6, 8} {
		for _, extend := range []bool{false, true} {
			for _, mapping := range [][]int{{0}, {1}, {0, 1}, {1, 0}, {}} {
				for _, n := range [][2]int64{{1, 1}, {3, 2}, {2, 5}, {12, 9}} {
					name := fmt.Sprintf("%d ranks, %v blocks, map %v, extend %v", ranks, n, mapping, extend)
					p := problem(ranks, n[0], n[1], extend, mapping)
					got := make([]float64, rows)
					err := local.Run(context.Background(), ranks, func(c comm.Comm) error {
						r := rank(t, c, p)
						for range 2 { // a second run finds the blocks in the same place
							before := c.Counters()
							blocks, err := r.Compute(false)
							if err != nil {
								return err
							}
							if err := traffic(p, c, before); err != nil {
								return err
							}
							for _, b := range blocks {
								v := tcs.Values[float64](b)
								b.Entries(func(c []int64, i int64) bool { got[c[0]] = v[i]; return true })
								b.Close()
							}
						}
						return nil
					})
					if err != nil {
						t.Fatalf("%s: %v", name, err)
					}
					for i := range got {
						if got[i] != want(int64(i)) {
							t.Fatalf("%s: a(%d) = %v, want %v", name, i, got[i], want(int64(i)))
						}
					}
				}
			}
		}
	}
}

// TestCopiesOfTheResult checks that result blocks with copies are sent to all their ranks as
// forecast, and that Close releases a rank's copies.
func TestCopiesOfTheResult(t *testing.T) {
	p := problem(3, 2, 3, true, []int{0, 1})
	p.Result.Copies = func(at []int64) []int {
		owner := p.Result.Owner(at)
		return []int{owner, (owner + 1) % 3}
	}
	err := local.Run(context.Background(), 3, func(c comm.Comm) error {
		var limit tcs.Limit
		r := rank(t, apart{c, nil}, p)
		r.Alloc = transfer.Pages(&limit)
		want := int64(0) // blocks of other ranks that this rank has a copy of
		for b := range plan.Block(p.Result.Pieces()) {
			if slices.Contains(p.Result.Ranks(b)[1:], c.Rank()) {
				want++
			}
		}
		for range 2 {
			before := c.Counters()
			blocks, err := r.Compute(false)
			if err != nil {
				return err
			}
			if err := traffic(p, c, before); err != nil {
				return err
			}
			for _, b := range blocks {
				b.Close()
			}
			if (limit.Used() > 0) != (want > 0) {
				t.Errorf("rank %d: copies of %d blocks take %d bytes", c.Rank(), want, limit.Used())
			}
		}
		r.Close()
		r.Close()
		if limit.Used() != 0 {
			t.Errorf("rank %d: %d bytes are left", c.Rank(), limit.Used())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// traffic compares the messages of a rank with the forecast.
func traffic(p *plan.Problem, c comm.Comm, before comm.Counters) error {
	sized := func(part *partition.Partition, dims []int64) plan.Sizes {
		return func(b plan.Block) (z plan.Size) {
			z.Entries = 1
			for _, r := range part.Box(b, dims) {
				z.Entries *= r[1] - r[0]
			}
			z.Add(z.Entries, 8)
			return z
		}
	}
	f := &exec.Forecast{Plan: p, Result: sized(p.Result, []int64{rows})}
	for k, o := range p.Operands {
		f.Operands = append(f.Operands, sized(o.Partition, sizes[k]))
	}
	cost, err := f.Cost(context.Background())
	if err != nil {
		return err
	}
	got, r := c.Counters().Sub(before), c.Rank()
	if got.BytesReceived != cost.Received[r] || got.BytesSent != cost.Sent[r] ||
		got.MessagesSent != cost.Messages[r] {
		return fmt.Errorf(
			"rank %d received %d bytes and sent %d in %d messages; %d, %d and %d are forecast",
			r, got.BytesReceived, got.BytesSent, got.MessagesSent, cost.Received[r], cost.Sent[r],
			cost.Messages[r])
	}
	return nil
}

func TestAFailedLeafEndsEveryRank(t *testing.T) {
	p := problem(4, 4, 3, true, []int{0, 1})
	err := local.Run(context.Background(), 4, func(c comm.Comm) error {
		r := rank(t, c, p)
		leaf := stepOf(r)
		onSteps(r, func(s plan.Step, ops []*tcs.Tensor) (*tcs.Tensor, error) {
			if c.Rank() == 2 {
				return nil, errors.New("no luck")
			}
			return leaf(s, ops)
		})
		_, err := r.Compute(false)
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "no luck") ||
		!strings.Contains(err.Error(), "[2]") {
		t.Errorf("got %v, want rank 2's message", err)
	}
}

// TestBlocksThatComeComplete checks the memory of a rank that owns result blocks which other ranks
// compute: at the end it stores all of them, and the forecast must include them.
func TestBlocksThatComeComplete(t *testing.T) {
	p := problem(2, 4, 1, false, []int{0})
	p.Result.Owner = func([]int64) int { return 1 }
	size := func(b plan.Block) (z plan.Size) {
		r := p.Result.Box(b, []int64{rows})[0]
		z.Entries = r[1] - r[0]
		z.Add(z.Entries, 8)
		return z
	}
	f := &exec.Forecast{Plan: p, Result: size}
	for range p.Operands {
		f.Operands = append(f.Operands, func(plan.Block) plan.Size { return plan.Size{} })
	}
	cost, err := f.Cost(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	all, made := int64(0), 0
	for b := range plan.Block(p.Result.Pieces()) {
		all += size(b).Memory()
	}
	for range p.Made(0) {
		made++
	}
	// The blocks of operands are empty, but each occupies the smallest block size.
	if most, _ := cost.Memory(1, exec.Making{Dense: true, InPlace: true, Value: 8}, 0, 0); made < 2 ||
		most < all {
		t.Errorf("rank 0 makes %d of 4 blocks, and rank 1, which holds %d bytes at last, is foretold %d",
			made, all, most)
	}
}
