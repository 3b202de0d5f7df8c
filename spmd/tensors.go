package spmd

import (
	"distaff/io/memory"
	"distaff/io/tcs"
)

// Value is a type of values of a tensor in memory, and Index one of its positions and
// coordinates, of 32 or 64 bits.
type (
	Value = memory.Value
	Index = memory.Index
)

// A TensorOption changes how a tensor is made of slices.
type TensorOption = memory.Option

// Trusted is the option to leave out the pass over positions and coordinates of a tensor that
// is made of slices. One that is wrong then makes results wrong, or ends the program.
func Trusted() TensorOption { return memory.Trusted() }

// Dense is a tensor of all values of the given sizes, in row-major order: the last mode's
// coordinate changes fastest. Without sizes it is a scalar. As of all tensors that are made of
// slices, the memory stays the caller's: see the package comment.
func Dense[V Value](values []V, dims ...int64) (*tcs.Tensor, error) {
	return memory.Dense(values, dims...)
}

// CSR is a matrix in compressed rows (ds): the entries of row i are those from pos[i] to
// pos[i+1]-1, each with its column in crd, in increasing order, and its value.
func CSR[V Value, P, C Index](rows, cols int64, pos []P, crd []C, values []V,
	options ...TensorOption) (*tcs.Tensor, error) {
	return memory.CSR(rows, cols, pos, crd, values, options...)
}

// CSC is a matrix in compressed columns (ds:1,0): the entries of column j are those from
// pos[j] to pos[j+1]-1, each with its row in crd, in increasing order, and its value.
func CSC[V Value, P, C Index](rows, cols int64, pos []P, crd []C, values []V,
	options ...TensorOption) (*tcs.Tensor, error) {
	return memory.CSC(rows, cols, pos, crd, values, options...)
}

// COO is a tensor as a list of entries (s, uq, ucq, ...): entry q has the coordinate
// coords[m][q] in mode m, and the value values[q]. Entries are sorted by their coordinates,
// those of mode 0 first, and each coordinate is there once; otherwise the error names the entry.
func COO[V Value, I Index](dims []int64, coords [][]I, values []V,
	options ...TensorOption) (*tcs.Tensor, error) {
	return memory.COO(dims, coords, values, options...)
}

// CSF is a tensor in compressed sparse fibers (s for every level): a tree whose level l has
// the coordinates of mode order[l] (nil: modes in their order). The children of node p of the
// level above are those from pos[l][p] to pos[l][p+1]-1 in crd[l], whose coordinates
// increase; the root is the one node above level 0, and each node of the last level has a value.
func CSF[V Value, P, C Index](dims []int64, order []int, pos [][]P, crd [][]C, values []V,
	options ...TensorOption) (*tcs.Tensor, error) {
	return memory.CSF(dims, order, pos, crd, values, options...)
}

// Values are the values of t, in storage order, over its memory: they may be read and changed until
// t is closed. V must be the type of the tensor's values.
func Values[V Value](t *tcs.Tensor) ([]V, error) { return memory.Values[V](t) }

// Pos and Crd are the positions and the coordinates of a level of t, over its memory: they may
// be read until t is closed, and not changed. I must have the array's width, which is
// t.Levels[level].Pos.Width or t.Levels[level].Crd.Width bytes.
func Pos[I Index](t *tcs.Tensor, level int) ([]I, error) { return memory.Pos[I](t, level) }

// Crd is described at Pos.
func Crd[I Index](t *tcs.Tensor, level int) ([]I, error) { return memory.Crd[I](t, level) }
