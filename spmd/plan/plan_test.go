package plan_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"distaff/codegen/place"
	"distaff/spmd/plan"
)

func blockVar(name string, size, n int64, reduction, extended bool) place.BlockVar {
	return place.BlockVar{Name: name, Cuts: place.EvenCuts(size, n), Reduction: reduction,
		Extended: extended}
}

// spmv is a(i) = d(i) + B(i,j)*c(j), with i cut into ni ranges and j into nj.
func spmv(ranks int, ni, nj int64, extend bool) *plan.Problem {
	p := &plan.Problem{
		Blocking: &place.Blocking{
			Vars: []place.BlockVar{blockVar("i", 10, ni, false, false),
				blockVar("j", 7, nj, true, extend)},
			Map:    []int{0},
			Groups: []place.Group{{Terms: []int{0}}, {Terms: []int{1}, Held: []int{1}}},
		},
		Ranks: ranks,
		Operands: []plan.Operand{{Tensor: "d", Groups: []int{0}}, {Tensor: "B", Groups: []int{1}},
			{Tensor: "c", Groups: []int{1}}},
	}
	remap(p, 0)
	p.Result, p.ResultCut = p.Partition([]int{0})
	for k, modes := range [][]int{{0}, {0, 1}, {1}} {
		p.Operands[k].Partition, p.Operands[k].Cut = p.Partition(modes)
		p.Operands[k].Scope = len(p.Nest.Loops)
	}
	return p
}

// remap makes other variables determine the rank of a block.
func remap(p *plan.Problem, vars ...int) {
	p.Blocking.Map = vars
	p.Nest = p.Blocking.Nest()
}

func TestEveryTermRunsOnceAtEveryBlockThatItHolds(t *testing.T) {
	for ranks := 1; ranks <= 5; ranks++ {
		p := spmv(ranks, 3, 4, ranks%2 == 0)
		count := map[string]int{}
		for r := range ranks {
			for s := range p.Steps(r) {
				count[string(rune('0'+s.Group))+string(rune('0'+s.Tuple[0]))+string(rune('0'+s.Tuple[1]))]++
			}
		}
		want := 3 + 3*4 // d at each i and the first j; B*c at each i and j
		if len(count) != want {
			t.Errorf("%d ranks: %d runs of leaves, want %d", ranks, len(count), want)
		}
		for k, n := range count {
			if n != 1 || (k[0] == '0' && k[2] != '0') {
				t.Errorf("%d ranks: group %c at block (%c,%c) ran %d times", ranks, k[0], k[1], k[2], n)
			}
		}
	}
}

func TestRowBlocksSendTheVectorAlone(t *testing.T) {
	p := spmv(4, 4, 1, false)
	for r := range 4 {
		for k, o := range p.Operands {
			for _, a := range p.Arrivals(r, k) {
				for _, f := range a.Fetches {
					if o.Tensor != "c" && f.From != r {
						t.Errorf("rank %d fetches %s from rank %d", r, o.Tensor, f.From)
					}
				}
			}
		}
	}
	n := 0
	for k, o := range p.Operands {
		for range p.Sends(0, k) {
			if o.Tensor != "c" {
				t.Errorf("rank 0 sends %s", o.Tensor)
			}
			n++
		}
	}
	if n != 3 {
		t.Errorf("rank 0 sends %d blocks, want the vector to 3 ranks", n)
	}
}

func TestSendsAreTheFetchesOfOthers(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		p := spmv(1+rng.IntN(6), 1+rng.Int64N(5), 1+rng.Int64N(5), rng.IntN(2) == 0)
		if rng.IntN(2) == 0 {
			remap(p, 1, 0)
		}
		var sent, fetched []string
		for r := range p.Ranks {
			for k := range p.Operands {
				for _, s := range p.Sends(r, k) {
					for _, to := range s.List[1:] {
						sent = append(sent, fmt.Sprint(s.Need, s.T, r, to))
					}
				}
				for _, a := range p.Arrivals(r, k) {
					for _, f := range a.Fetches {
						if f.List != nil {
							fetched = append(fetched, fmt.Sprint(f.Need, a.T, f.From, r))
						}
					}
				}
			}
		}
		slices.Sort(sent)
		slices.Sort(fetched)
		if !slices.Equal(sent, fetched) {
			t.Fatalf("sent %v, fetched %v", sent, fetched)
		}
	}
}

func TestTreeSumTakesEveryPartialOnce(t *testing.T) {
	for _, n := range []int64{1, 2, 3, 5, 8} {
		p := spmv(4, 2, n, true)
		remap(p, 1)
		made := map[plan.Partial]bool{}
		for r := range 4 {
			for s := range p.Steps(r) {
				if s.First == made[s.Partial] {
					t.Errorf("partial %v: First is %v", s.Partial, s.First)
				}
				made[s.Partial] = true
			}
		}
		for _, sum := range p.Sums() {
			left := map[plan.Partial]bool{}
			for part := range made {
				if part.Result == sum.Result {
					left[part] = true
				}
			}
			for _, a := range sum.Adds {
				if !left[a.From] || !left[a.To] {
					t.Fatalf("add %v: a partial is gone", a)
				}
				delete(left, a.From)
			}
			if len(left) != 1 || !left[sum.Root] {
				t.Errorf("result block %d: %v left, want the root alone", sum.Result, left)
			}
		}
	}
}

func TestBoxesTileTheTensor(t *testing.T) {
	p := spmv(3, 3, 4, false)
	part, cut := p.Partition([]int{0, 1})
	if !slices.Equal(cut, []int{0, 1}) {
		t.Errorf("the axes are of variables %v", cut)
	}
	cover := map[[2]int64]int{}
	for b := range plan.Block(part.Pieces()) {
		box := part.Box(b, []int64{10, 7})
		for i := box[0][0]; i < box[0][1]; i++ {
			for j := box[1][0]; j < box[1][1]; j++ {
				cover[[2]int64{i, j}]++
			}
		}
	}
	if len(cover) != 70 {
		t.Errorf("blocks cover %d of 70 points", len(cover))
	}
	for at, n := range cover {
		if n != 1 {
			t.Errorf("%v is in %d blocks", at, n)
		}
	}
}
