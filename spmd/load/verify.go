package load

import (
	"distaff/io/tcs"
	"distaff/spmd/comm"
	"distaff/spmd/plan"
)

// filePart is the part of a .tcs file that one rank reads: a piece or a block.
type filePart struct {
	owner int
	view  *tcs.Tensor // at the owner
}

// pieces are the file parts of every rank's piece.
func pieces(c comm.Comm, mine *tcs.Tensor) []filePart {
	list := make([]filePart, c.Size())
	for r := range list {
		list[r].owner = r
	}
	list[c.Rank()].view = mine
	return list
}

// viewParts are the file parts of all blocks, which are views.
func (g *Target) viewParts(own map[plan.Block]*tcs.Tensor) []filePart {
	list := make([]filePart, g.Partition.Pieces())
	for b := range list {
		list[b] = filePart{g.Partition.OwnerOf(plan.Block(b)), own[plan.Block(b)]}
	}
	return list
}

// verify checks the file of t, of which every rank has the spans that it owns:
// together they cover it. Each rank reads its spans only. A fault is the one that
// a single reader finds first, which then reads it all. Collective.
func verify(c comm.Comm, t *tcs.Tensor, spans []filePart) error {
	at, err := fences(c, t, spans)
	if err != nil {
		return err
	}
	var mine []int64 // the checksums of this rank's spans
	var fault error
	for k, s := range spans {
		if s.owner != c.Rank() || fault != nil {
			continue
		}
		if fault = t.CheckPart(at[k], at[k+1]); fault != nil {
			break
		}
		for i := range at[k] {
			if t.Compressed() {
				break // its checksums are those of chunks
			}
			sum, err := t.SumPart(i, at[k][i], at[k+1][i])
			if err != nil {
				fault = err
			}
			mine = append(mine, int64(sum))
		}
	}
	first, err := firstFailed(c, fault)
	if err != nil {
		return err
	}
	if first == c.Size() {
		if t.Compressed() {
			fault, err = compareChunks(c, t)
		} else {
			fault, err = compareSums(c, t, spans, at, mine)
		}
		if err != nil {
			return err
		}
	}
	return firstFault(c, t, fault)
}

// firstFault is Agree for faults of a file that is not trusted: the message is
// that of a single reader of the whole, which the first rank becomes.
func firstFault(c comm.Comm, t *tcs.Tensor, fault error) error {
	first, err := firstFailed(c, fault)
	if err != nil || first == c.Size() {
		return err
	}
	if c.Rank() == 0 {
		whole := t.Check()
		if whole == nil {
			whole = t.Verify()
		}
		if whole != nil {
			fault = whole
		}
	}
	return Agree(c, fault)
}

// fences are where each span starts in every section, and after the last span
// the sections' lengths. Collective.
func fences(c comm.Comm, t *tcs.Tensor, spans []filePart) ([][]int64, error) {
	var mine []int64
	for k, s := range spans {
		if s.owner == c.Rank() {
			mine = append(append(mine, int64(k)), s.view.Starts()...)
		}
	}
	all, err := comm.Allgatherv(c.Uncounted(), mine)
	if err != nil {
		return nil, err
	}
	at := make([][]int64, len(spans)+1)
	at[len(spans)] = t.Lengths()
	n := len(at[len(spans)])
	for _, part := range all {
		for ; len(part) > 0; part = part[n+1:] {
			at[part[0]] = part[1 : n+1]
		}
	}
	// The first span has what lies before it. In a damaged file starts may go back.
	for i := range n {
		at[0][i] = 0
		for k := 1; k < len(at); k++ {
			at[k][i] = min(max(at[k][i], at[k-1][i]), at[len(spans)][i])
		}
	}
	return at, nil
}

// compareSums puts the checksums of all spans together, at rank 0: of many ranks
// each would do the same. Collective.
func compareSums(c comm.Comm, t *tcs.Tensor, spans []filePart, at [][]int64, mine []int64) (fault,
	err error) {
	all, err := comm.Allgatherv(c.Uncounted(), mine)
	if err != nil || c.Rank() != 0 {
		return nil, err
	}
	sums := make([][]uint32, len(spans))
	for k, s := range spans {
		for range at[k] {
			part := all[s.owner]
			sums[k] = append(sums[k], uint32(part[0]))
			all[s.owner] = part[1:]
		}
	}
	return t.CheckSums(at, sums), nil
}

// compareChunks puts the checksums of all chunks of a compressed file together;
// what nobody has looked at is dealt out. Collective.
func compareChunks(c comm.Comm, t *tcs.Tensor) (fault, err error) {
	sums := t.ChunkSums()
	if err := c.Uncounted().Allreduce(comm.Of(sums), comm.Max); err != nil {
		return nil, err
	}
	missing := int64(0)
	for k, sum := range sums {
		if sum != 0 {
			continue
		}
		if missing++; missing%int64(c.Size()) == int64(c.Rank()) && fault == nil {
			sums[k], fault = t.SumChunk(int64(k))
		}
	}
	if missing > 0 {
		if err := c.Uncounted().Allreduce(comm.Of(sums), comm.Max); err != nil {
			return nil, err
		}
	}
	if fault == nil {
		fault = t.CheckChunkSums(sums)
	}
	return fault, nil
}
