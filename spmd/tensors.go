package spmd

import (
	"distaff/io/memory"
	"distaff/io/tcs"
)

// Value is a type of values of tensors in memory. Index is a type of positions and coordinates, of
// 32 or 64 bits.
type (
	Value = memory.Value
	Index = memory.Index
)

// A TensorOption changes how a tensor is made from slices.
type TensorOption = memory.Option

// Trusted is the option to skip the check of positions and coordinates when a tensor is made from
// slices. If they are wrong, results are wrong or the program crashes.
func Trusted() TensorOption { return memory.Trusted() }

// Dense makes a tensor that stores all values, in row-major order: the coordinate of the last mode
// changes fastest. dims has the sizes; without sizes the tensor is a scalar. The tensor uses the
// memory of values without a copy. This also holds for the slices of CSR, CSC, COO and CSF. The
// package comment says how long the caller must keep the slices.
func Dense[V Value](values []V, dims ...int64) (*tcs.Tensor, error) {
	return memory.Dense(values, dims...)
}

// CSR makes a matrix in compressed rows (format ds). Row i has the entries pos[i] to pos[i+1]-1.
// Entry q has the column crd[q] and the value values[q]; the columns of a row increase.
func CSR[V Value, P, C Index](rows, cols int64, pos []P, crd []C, values []V,
	options ...TensorOption) (*tcs.Tensor, error) {
	return memory.CSR(rows, cols, pos, crd, values, options...)
}

// CSC makes a matrix in compressed columns (format ds:1,0). Column j has the entries pos[j] to
// pos[j+1]-1. Entry q has the row crd[q] and the value values[q]; the rows of a column increase.
func CSC[V Value, P, C Index](rows, cols int64, pos []P, crd []C, values []V,
	options ...TensorOption) (*tcs.Tensor, error) {
	return memory.CSC(rows, cols, pos, crd, values, options...)
}

// COO makes a tensor from a list of entries (formats s, uq, ucq, ...). Entry q has the coordinate
// coords[m][q] in mode m, and the value values[q]. Entries must be sorted by their coordinates,
// mode 0 first, without duplicates; otherwise the error names the entry, unless Trusted is given.
func COO[V Value, I Index](dims []int64, coords [][]I, values []V,
	options ...TensorOption) (*tcs.Tensor, error) {
	return memory.COO(dims, coords, values, options...)
}

// CSF makes a tensor in compressed sparse fibers (format s for every level). It is a tree: its
// level l has the coordinates of mode order[l], or of mode l if order is nil. The children of node
// p of the level above are the nodes from pos[l][p] to pos[l][p+1]-1, whose coordinates in crd[l]
// increase. Above level 0 there is one node, the root. Each node of the last level has a value.
func CSF[V Value, P, C Index](dims []int64, order []int, pos [][]P, crd [][]C, values []V,
	options ...TensorOption) (*tcs.Tensor, error) {
	return memory.CSF(dims, order, pos, crd, values, options...)
}

// Values returns the values of t in storage order. The slice is t's own memory. It may be read
// until t is closed. Between runs it may also be written, unless t was opened from a file: the
// memory of a large file is mapped and cannot be written, and a write then ends the process. V must
// be the type of the tensor's values.
func Values[V Value](t *tcs.Tensor) ([]V, error) { return memory.Values[V](t) }

// Pos returns the positions of a compressed level of t. The slice is t's own memory; it may be read
// until t is closed, and must not be changed. I must have the array's width, which is
// t.Levels[level].Pos.Width bytes.
func Pos[I Index](t *tcs.Tensor, level int) ([]I, error) { return memory.Pos[I](t, level) }

// Crd returns the coordinates of a level of t, as Pos returns the positions. I must have a width of
// t.Levels[level].Crd.Width bytes.
func Crd[I Index](t *tcs.Tensor, level int) ([]I, error) { return memory.Crd[I](t, level) }
