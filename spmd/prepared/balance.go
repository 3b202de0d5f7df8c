package prepared

import (
	"distaff/spmd/comm"
	"distaff/spmd/plan"
	"distaff/spmd/summary"
)

// Balance has the number of entries of a statement's largest operand, in total and for this rank.
type Balance struct {
	Entries int64 // number of stored entries over all ranks
	Sparse  bool
	// Here is the number of entries that this rank computes with: the entries of every block that
	// its steps read, each block once, whichever rank owns it. If the operand is gathered, it is
	// Entries.
	Here int64
}

// LargerThan compares the largest operands of two statements, and reports whether the operand of b
// is larger than the operand of o. If the numbers of entries are equal, a sparse operand is larger
// than a dense one.
func (b Balance) LargerThan(o Balance) bool {
	return b.Entries > o.Entries || b.Entries == o.Entries && b.Sparse && !o.Sparse
}

// Balance counts the stored entries of the statement's largest operand. Every rank must call it.
func (x *Operands) Balance() (Balance, error) {
	c := x.p.Reader.Env.Comm.Uncounted()
	all := make([]int64, len(x.p.Problem.Operands))
	for n, own := range x.rank.Own {
		for b, t := range own {
			if x.p.Problem.Operands[n].Before().OwnerOf(b) == c.Rank() {
				all[n] += summary.Entries(t)
			}
		}
	}
	if err := comm.Allreduce(c, all, comm.Sum); err != nil {
		return Balance{}, err
	}
	largest := Largest(x.p, all)
	if largest < 0 {
		return Balance{}, nil
	}
	o := &x.p.Problem.Operands[largest]
	out := Balance{Entries: all[largest], Sparse: !x.p.Reader.Formats[o.Tensor].AllDense(),
		Here: all[largest]}
	if o.Gathered != nil {
		return out, nil
	}
	part := o.Before()
	blocks := make([]int64, part.Pieces())
	for b, t := range x.rank.Own[largest] {
		if part.OwnerOf(b) == c.Rank() {
			blocks[b] = summary.Entries(t)
		}
	}
	if err := comm.Allreduce(c, blocks, comm.Sum); err != nil {
		return Balance{}, err
	}
	out.Here = 0
	for b := range x.p.Problem.Reads(c.Rank(), largest) {
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
