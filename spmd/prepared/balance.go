package prepared

import (
	"distaff/spmd/comm"
	"distaff/spmd/summary"
)

// Largest is the operand with most entries, of as many as are given for each: the first of equals,
// but a sparse one before a dense one. It is -1 where there is none. What += adds to does not count.
func Largest[N int64 | float64](k *Statement, entries []N) int {
	largest := -1
	dense := func(n int) bool { return k.Formats[k.Problem.Operands[n].Tensor].AllDense() }
	for n, o := range k.Problem.Operands {
		if o.Tensor == k.p.Result {
			continue
		}
		if largest < 0 || entries[n] > entries[largest] || entries[n] == entries[largest] && dense(largest) && !dense(n) {
			largest = n
		}
	}
	return largest
}

// Nonzeros counts the stored entries of the largest operand that this rank computes with: those
// of every block that its steps read, once, whichever rank it lives at. Collective.
func (k *Statement) Nonzeros() (int64, error) {
	c := k.Comm.Uncounted()
	all := make([]int64, len(k.Problem.Operands))
	for n, own := range k.exec.Own {
		for b, t := range own {
			if k.Problem.Operands[n].Before().OwnerOf(b) == c.Rank() {
				all[n] += summary.Entries(t)
			}
		}
	}
	if err := comm.Allreduce(c, all, comm.Sum); err != nil {
		return 0, err
	}
	largest := Largest(k, all)
	switch {
	case largest < 0:
		return 0, nil
	case k.Problem.Operands[largest].Gathered != nil:
		return all[largest], nil
	}
	blocks := make([]int64, k.Problem.Operands[largest].Partition.Pieces())
	part := k.Problem.Operands[largest].Partition
	for b, t := range k.exec.Own[largest] {
		if part.OwnerOf(b) == c.Rank() {
			blocks[b] = summary.Entries(t)
		}
	}
	if err := comm.Allreduce(c, blocks, comm.Sum); err != nil {
		return 0, err
	}
	var n int64
	for b := range k.Problem.Reads(c.Rank(), largest) {
		n += blocks[b]
	}
	return n, nil
}
