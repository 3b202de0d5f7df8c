package prepared

import (
	"distaff/spmd/comm"
	"distaff/spmd/plan"
	"distaff/spmd/summary"
)

// Largest returns the index of the operand with the most entries, or -1 if there is none. entries
// holds the number of entries of each operand. Of equal numbers, it prefers a sparse operand to a
// dense one, and then the first. The old value of a += does not count.
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

// Balance says how many entries a statement's largest operand has, and with how many of them this
// rank computes.
type Balance struct {
	Entries int64 // number of stored entries over all ranks
	Sparse  bool
	// Here is the number of entries that this rank computes with: the entries of every block that
	// its steps read, each block once, whichever rank owns it.
	Here int64
}

// LargerThan reports whether the largest operand of b's statement is larger than the largest
// operand of o's statement, which is another statement. If the numbers of entries are equal, a
// sparse operand is larger than a dense one.
func (b Balance) LargerThan(o Balance) bool {
	return b.Entries > o.Entries || b.Entries == o.Entries && b.Sparse && !o.Sparse
}

// Balance counts the stored entries of the statement's largest operand. Every rank must call it.
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
