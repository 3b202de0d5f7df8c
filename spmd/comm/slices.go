package comm

import "distaff/io/tensor"

// The functions below take Go slices. Each is like the method of Comm that has its name, but waits
// until the operation is done.

// Send sends s and waits until s may be written again.
func Send[T tensor.Element](c Comm, s []T, to, tag int) error {
	r, err := c.Isend(Of(s), to, tag)
	if err != nil {
		return err
	}
	return r.Wait()
}

// Recv receives exactly len(s) elements from rank `from`.
func Recv[T tensor.Element](c Comm, s []T, from, tag int) error {
	b := Of(s)
	r, err := c.Irecv(b, from, tag)
	if err != nil {
		return err
	}
	if err := r.Wait(); err != nil {
		return err
	}
	if r.Bytes() != b.Bytes() {
		return r.wrap(sizeError{r.Bytes(), b.Bytes()})
	}
	return nil
}

// Bcast copies root's s to every rank's s. All slices must have the same length.
func Bcast[T tensor.Element](c Comm, s []T, root int) error { return c.Bcast(Of(s), root) }

// Reduce combines the slices s of all ranks elementwise with op. It stores the result in the slice
// of the rank root.
func Reduce[T tensor.Element](c Comm, s []T, op Op,
	root int) error {
	return c.Reduce(Of(s), op, root)
}

// Allreduce combines the slices s of all ranks elementwise with op. It stores the result in the
// slice of every rank.
func Allreduce[T tensor.Element](c Comm, s []T, op Op) error { return c.Allreduce(Of(s), op) }

// AllreduceValue combines the values v of all ranks and returns the result at every rank.
func AllreduceValue[T tensor.Element](c Comm, v T, op Op) (T, error) {
	s := []T{v}
	err := c.Allreduce(Of(s), op)
	return s[0], err
}

// ExscanValue returns the combination of the values v of all lower ranks. At rank 0, it returns the
// neutral element of op.
func ExscanValue[T tensor.Element](c Comm, v T, op Op) (T, error) {
	s := []T{v}
	err := c.Exscan(Of(s), op)
	return s[0], err
}

// Allgather returns v of every rank, in order of rank.
func Allgather[T tensor.Element](c Comm, v T) ([]T, error) {
	all := make([]T, c.Size())
	err := c.Allgather(Of([]T{v}), Of(all))
	return all, err
}

// Allgatherv returns s of every rank, in order of rank. The slices may have different lengths,
// which are exchanged first.
func Allgatherv[T tensor.Element](c Comm, s []T) ([][]T, error) {
	counts, err := Allgather(c.Uncounted(), int64(len(s)))
	if err != nil {
		return nil, err
	}
	off, err := offsets(counts)
	if err != nil {
		return nil, err
	}
	flat := make([]T, off[len(counts)])
	if err := c.Allgatherv(Of(s), Of(flat), counts); err != nil {
		return nil, err
	}
	return split(flat, off), nil
}

// Gatherv returns s of every rank at root, and nil at other ranks. The lengths are sent first.
func Gatherv[T tensor.Element](c Comm, s []T, root int) ([][]T, error) {
	var counts []int64
	var flat []T
	var off []int64
	if c.Rank() == root {
		counts = make([]int64, c.Size())
	}
	if err := c.Uncounted().Gather(Of([]int64{int64(len(s))}), Of(counts), root); err != nil {
		return nil, err
	}
	if c.Rank() == root {
		var err error
		if off, err = offsets(counts); err != nil {
			return nil, err
		}
		flat = make([]T, off[len(counts)])
	}
	if err := c.Gatherv(Of(s), Of(flat), counts, root); err != nil || c.Rank() != root {
		return nil, err
	}
	return split(flat, off), nil
}

// Alltoallv sends parts[r] to rank r, and returns the part that each rank sent to this one. The
// lengths are exchanged first.
func Alltoallv[T tensor.Element](c Comm, parts [][]T) ([][]T, error) {
	p := c.Size()
	if len(parts) != p {
		return nil, &Error{Rank: c.WorldRank(c.Rank()), Op: "Alltoallv", Peer: -1, Tag: -1,
			Err: partsError{len(parts), p}}
	}
	sendCounts, recvCounts := make([]int64, p), make([]int64, p)
	var flat []T
	for r, s := range parts {
		sendCounts[r] = int64(len(s))
		flat = append(flat, s...)
	}
	if err := c.Uncounted().Alltoall(Of(sendCounts), Of(recvCounts)); err != nil {
		return nil, err
	}
	off, err := offsets(recvCounts)
	if err != nil {
		return nil, err
	}
	in := make([]T, off[p])
	if err := c.Alltoallv(Of(flat), sendCounts, Of(in), recvCounts); err != nil {
		return nil, err
	}
	return split(in, off), nil
}

func split[T any](flat []T, off []int64) [][]T {
	parts := make([][]T, len(off)-1)
	for i := range parts {
		parts[i] = flat[off[i]:off[i+1]:off[i+1]]
	}
	return parts
}
