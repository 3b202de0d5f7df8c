package plan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"distaff/io/tensor"
)

// apartProblem returns the product of dense matrices with sizes of 1 to 9 on two by two ranks, with
// the given schedule and random placements.
func apartProblem(t *testing.T, r *rand.Rand, schedule string) (*Problem, *Given) {
	t.Helper()
	dims := []string{"x", "y", "*", "0", "1"}
	var placements []string
	for _, tensor := range []string{"B", "C"} {
		at := r.Perm(2)
		placed := []string{dims[at[0]], dims[at[1]]}
		if n := r.IntN(4); n < 2 {
			placed[n] = dims[2+r.IntN(3)]
		}
		placements = append(placements, fmt.Sprintf("%s(x,y) -> M(%s,%s)", tensor, placed[0], placed[1]))
	}
	g := given(t, product, schedule, placements...)
	g.Format = func(string) tensor.Format {
		return tensor.Format{Levels: []tensor.Kind{tensor.Dense, tensor.Dense}, Order: []int{0, 1}}
	}
	for _, v := range g.Norm.Vars {
		g.Sizes[v] = 1 + r.Int64N(9)
	}
	p, err := New(g)
	if err != nil {
		t.Fatalf("%s with %v: %v", schedule, placements, err)
	}
	return p, &g
}

// elements returns the number of elements in a box.
func elements(box [][2]int64) int64 {
	n := int64(1)
	for _, r := range box {
		n *= r[1] - r[0]
	}
	return n
}

// TestParts checks that the parts of a block cover it, that each part comes from its owner or from
// a rank that had it in the scope before, that no rank receives a part that it owns, and that sends
// match receives.
func TestParts(t *testing.T) {
	schedules := []string{grid, "distribute(i)",
		"distribute({i,j},{io,jo},{ii,ji},M), divide(k,ko,ki,2), reorder(io,jo,ko,ii,ji,ki), rotate(ko,{io,jo},kos), communicate({B,C},kos)", ""}
	apart, copied := 0, 0
	for seed := range uint64(400) {
		p, g := apartProblem(t, rand.New(rand.NewPCG(seed, 7)), schedules[seed%4])
		for k := range p.Operands {
			o := &p.Operands[k]
			if o.Parts == nil {
				continue
			}
			apart++
			if o.Parts.Copies != nil {
				copied++
			}
			sizes := g.modes(o.Vars)
			for b := range Block(o.Partition.Pieces()) {
				all, left := o.Partition.Box(b, sizes), elements(o.Partition.Box(b, sizes))
				for _, n := range o.PartsOf(b) {
					box := o.Parts.Box(n, sizes)
					left -= elements(box)
					for m, r := range box {
						if r[0] < all[m][0] || r[1] > all[m][1] || r[0] >= r[1] {
							t.Errorf("seed %d: block %v of %s has part %v", seed, all, o.Name, box)
						}
					}
				}
				if left != 0 {
					t.Errorf("seed %d: %d elements of block %v of %s are in no part", seed, left, all, o.Name)
				}
			}
			checkTravel(t, fmt.Sprint("seed ", seed, ": ", o.Name), p, k)
		}
	}
	if apart < 100 || copied < 20 {
		t.Errorf("%d operands lie in parts, %d of them with copies: want many of both", apart, copied)
	}
}

// checkTravel compares the arrivals of an operand that is stored in parts with the sends.
func checkTravel(t *testing.T, name string, p *Problem, operand int) {
	o := &p.Operands[operand]
	sent := map[string]int{}
	for rank := range p.Ranks {
		for _, s := range p.Sends(rank, operand) {
			for _, to := range s.List[1:] {
				sent[fmt.Sprint(s.T, s.Need.Block, rank, to)]++
			}
		}
	}
	for rank := range p.Ranks {
		reads := map[int64][]Block{} // by scope, in the order of steps
		for s := range p.EachStep(rank) {
			for _, need := range s.Need {
				if need.Operand == operand {
					reads[s.Instances[operand]] = append(reads[s.Instances[operand]], o.PartsOf(need.Block)...)
				}
			}
		}
		had := []Block{}
		last := int64(-1)
		for _, a := range p.Arrivals(rank, operand) {
			want := slices.Compact(slices.Sorted(slices.Values(reads[a.T])))
			if got := slices.Sorted(slices.Values(a.Blocks)); !slices.Equal(got, want) {
				t.Errorf("%s: rank %d has parts %v in scope %d, want %v", name, rank, got, a.T, want)
			}
			delete(reads, a.T)
			if a.T != last+1 {
				had = nil
			}
			for _, f := range a.Fetches {
				if home := slices.Contains(o.Parts.Ranks(f.Need.Block), rank); home != (f.From == rank) {
					t.Errorf("%s: part %d comes to rank %d from %d, and lives at %v", name, f.Need.Block, rank,
						f.From, o.Parts.Ranks(f.Need.Block))
				}
				if slices.Contains(had, f.Need.Block) {
					t.Errorf("%s: part %d comes to rank %d again in scope %d", name, f.Need.Block, rank, a.T)
				}
				if f.From == rank {
					continue
				}
				key := fmt.Sprint(a.T, f.Need.Block, f.From, rank)
				if sent[key]--; sent[key] == 0 {
					delete(sent, key)
				}
			}
			had, last = a.Blocks, a.T
		}
		for scope, parts := range reads {
			if len(parts) > 0 {
				t.Errorf("%s: rank %d has nothing in scope %d, and reads %v", name, rank, scope, parts)
			}
		}
	}
	if len(sent) > 0 {
		t.Errorf("%s: what is sent and what is received differ: %v", name, sent)
	}
}
