package load

import (
	"distaff/io/tcs"
	"distaff/io/tcsfile"
	"distaff/spmd/comm"
	"distaff/spmd/plan"
)

// filePart is the part of a .tcs file that one rank reads: a piece or a block.
type filePart struct {
	owner int
	view  *tcs.Tensor // set at the owner only
}

// pieces returns one filePart for the piece of each rank. mine is this rank's piece.
func pieces(c comm.Comm, mine *tcs.Tensor) []filePart {
	list := make([]filePart, c.Size())
	for r := range list {
		list[r].owner = r
	}
	list[c.Rank()].view = mine
	return list
}

// viewParts returns one filePart for each block of the target. own holds this rank's blocks, which
// must be views of the file.
func (g *Target) viewParts(own map[plan.Block]*tcs.Tensor) []filePart {
	list := make([]filePart, g.Partition.Pieces())
	for b := range list {
		list[b] = filePart{g.Partition.OwnerOf(plan.Block(b)), own[plan.Block(b)]}
	}
	return list
}

// verify checks the file of t. Each rank reads the spans that it owns; together the spans cover the
// file. The ranks also read the chunks of a compressed file that no rank has read. If there is a
// fault, verify returns the fault that a single reader of the file would find first. To find it,
// rank 0 reads the whole file. Every rank must call verify.
func verify(c comm.Comm, t *tcs.Tensor, spans []filePart) error {
	at, err := spanStarts(c, t, spans)
	if err != nil {
		return err
	}
	var mine []int64 // checksums of this rank's spans
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
				break // its checksums belong to chunks
			}
			sum, err := tcsfile.SumPart(t, i, at[k][i], at[k+1][i])
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

// firstFault makes all ranks agree on whether a file has a fault, as Agree does for errors. fault
// is the fault that this rank found, or nil. If any rank found a fault, rank 0 reads the whole
// file, so that the message is the same as with a single reader.
func firstFault(c comm.Comm, t *tcs.Tensor, fault error) error {
	first, err := firstFailed(c, fault)
	if err != nil || first == c.Size() {
		return err
	}
	if c.Rank() == 0 {
		whole := t.Check()
		if whole == nil {
			whole = tcsfile.Verify(t)
		}
		if whole != nil {
			fault = whole
		}
	}
	return Agree(c, fault)
}

// spanStarts returns, for each span, the index of the span's first element in every array of the
// tensor. The indices of the first span are 0, so that the spans cover the whole arrays. After the
// spans, the result has the lengths of the arrays. spans holds the spans of all ranks. The result
// is the same at every rank. Every rank must call spanStarts.
func spanStarts(c comm.Comm, t *tcs.Tensor, spans []filePart) ([][]int64, error) {
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
	// The first span also covers what precedes it. In a damaged file starts may decrease.
	for i := range n {
		at[0][i] = 0
		for k := 1; k < len(at); k++ {
			at[k][i] = min(max(at[k][i], at[k-1][i]), at[len(spans)][i])
		}
	}
	return at, nil
}

// compareSums compares the checksums of the spans with the checksums in the file. Rank 0 alone
// combines and compares the spans' checksums. mine holds the checksums that this rank computed, and
// starts is the result of spanStarts. fault is the difference that rank 0 found, or nil. Every rank
// must call it.
func compareSums(c comm.Comm, t *tcs.Tensor, spans []filePart, starts [][]int64,
	mine []int64) (fault, err error) {
	all, err := comm.Allgatherv(c.Uncounted(), mine)
	if err != nil || c.Rank() != 0 {
		return nil, err
	}
	sums := make([][]uint32, len(spans))
	for k, s := range spans {
		for range starts[k] {
			part := all[s.owner]
			sums[k] = append(sums[k], uint32(part[0]))
			all[s.owner] = part[1:]
		}
	}
	return tcsfile.CheckSums(t, starts, sums), nil
}

// compareChunks checks all chunks of a compressed file: it compares their checksums with the
// checksums in the file. Chunks that no rank has read are divided among the ranks, which then
// compute the checksums of these chunks. fault says what is wrong with the file, or is nil. err is
// the error of communication. Every rank must call compareChunks.
func compareChunks(c comm.Comm, t *tcs.Tensor) (fault, err error) {
	sums := tcsfile.ChunkSums(t)
	if err := c.Uncounted().Allreduce(comm.Of(sums), comm.Max); err != nil {
		return nil, err
	}
	missing := int64(0)
	for k, sum := range sums {
		if sum != 0 {
			continue
		}
		if missing++; missing%int64(c.Size()) == int64(c.Rank()) && fault == nil {
			sums[k], fault = tcsfile.SumChunk(t, int64(k))
		}
	}
	if missing > 0 {
		if err := c.Uncounted().Allreduce(comm.Of(sums), comm.Max); err != nil {
			return nil, err
		}
	}
	if fault == nil {
		fault = tcsfile.CheckChunkSums(t, sums)
	}
	return fault, nil
}
