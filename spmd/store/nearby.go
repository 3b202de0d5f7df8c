package store

import (
	"distaff/io/tcs"
	"distaff/spmd/comm"
	"distaff/spmd/transfer"
)

// nearby returns a description of the same tensor that says that this rank has all blocks. The rank
// can then read the blocks of other ranks directly, and no messages are needed. nearby returns nil
// unless all ranks are in one process. The caller must call close. Until then the blocks stay open,
// even if their owners close them. Every rank must call nearby.
func (t *Blocks) nearby(c comm.Comm) (*Blocks, error) {
	if !c.OneProcess() {
		return nil, nil
	}
	there := make([]int64, len(t.Owners))
	for _, k := range t.numbers() {
		there[k] = 1
	}
	if err := c.Allreduce(comm.Of(there), comm.Sum); err != nil {
		return nil, err
	}
	near := *t
	near.Owners, near.Own = make([]int, len(t.Owners)), map[int]*tcs.Tensor{}
	for k, owner := range t.Owners {
		near.Owners[k] = c.Rank()
		if there[k] == 0 {
			continue
		}
		b, err := transfer.Bcast(c, t.Own[k], transfer.Like{}, owner, nil)
		if err != nil {
			near.close(t)
			return nil, err
		}
		near.Own[k] = b
	}
	return &near, nil
}

// close closes the blocks in near that belong to other ranks. t is the description from which
// nearby made near. Blocks in t.Own belong to this rank and stay open.
func (near *Blocks) close(t *Blocks) {
	for k, b := range near.Own {
		if t.Own[k] == nil {
			b.Close()
		}
	}
}

// allMine changes counts for a rank that reads the blocks of all ranks. For each window, it sets
// this rank's count to the sum of all ranks' counts, and the counts of the other ranks to 0.
func allMine(counts []int64, c comm.Comm) {
	for w := 0; w < len(counts); w += c.Size() {
		sum, here := int64(0), counts[w:w+c.Size()]
		for _, n := range here {
			sum += n
		}
		clear(here)
		here[c.Rank()] = sum
	}
}
