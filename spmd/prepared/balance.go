package prepared

import (
	"distaff/spmd/comm"
	"distaff/spmd/plan"
	"distaff/spmd/summary"
)

// Largest is the operand with most entries, of as many as are given for each: the first of equals,
// but a sparse one before a dense one. It is -1 where there is none. What += adds to does not
// count.
func Largest[N int64 | float64](k *Statement, entries []N) int {
	largest := -1
	dense := func(n int) bool { return k.Reader.Formats[k.Problem.Operands[n].Tensor].AllDense() }
	for n, o := range k.Problem.Operands {
		if o.Tensor == k.p.Result {
			continue
		}
		if largest < 0 || entries[n] > entries[largest] ||
			entries[n] == entries[largest] && dense(largest) && !dense(n) {
			largest = n
		}
	}
	return largest
}

// Balance is what there is of a statement's largest operand.
type Balance struct {
	Entries int64 // that are stored, over all ranks
	Sparse  bool
	// of the entries, those that this rank computes with: of every block that its steps read, once,
	// whichever rank it lives at
	Here int64
}

// Over tells whether a statement's largest operand is larger than another's: of equals, a sparse
// one than a dense one.
func (b Balance) Over(o Balance) bool {
	return b.Entries > o.Entries || b.Entries == o.Entries && b.Sparse && !o.Sparse
}

// Balance counts the stored entries of the largest operand. Collective.
func (k *Statement) Balance() (Balance, error) {
	c := k.Reader.Env.Comm.Uncounted()
	all := make([]int64, len(k.Problem.Operands))
	for n, own := range k.exec.Own {
		for b, t := range own {
			if k.Problem.Operands[n].Before().OwnerOf(b) == c.Rank() {
				all[n] += summary.Entries(t)
			}
		}
	}
	if err := comm.Allreduce(c, all, comm.Sum); err != nil {
		return Balance{}, err
	}
	largest := Largest(k, all)
	if largest < 0 {
		return Balance{}, nil
	}
	out := Balance{Entries: all[largest],
		Sparse: !k.Reader.Formats[k.Problem.Operands[largest].Tensor].AllDense(), Here: all[largest]}
	o := &k.Problem.Operands[largest]
	if o.Gathered != nil {
		return out, nil
	}
	part := o.Before()
	blocks := make([]int64, part.Pieces())
	for b, t := range k.exec.Own[largest] {
		if part.OwnerOf(b) == c.Rank() {
			blocks[b] = summary.Entries(t)
		}
	}
	if err := comm.Allreduce(c, blocks, comm.Sum); err != nil {
		return Balance{}, err
	}
	out.Here = 0
	for b := range k.Problem.Reads(c.Rank(), largest) {
		list := []plan.Block{b}
		if o.Parts != nil {
			list = o.PartsOf(b)
		}
		for _, n := range list {
			out.Here += blocks[n]
		}
	}
	return out, nil
}
