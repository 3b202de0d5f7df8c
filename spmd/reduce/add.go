package reduce

import (
	"sync"

	"distaff/io/tcs"
	"distaff/io/tensor"
)

// number is a value type.
type number interface{ tensor.Element }

// parallel calls f on parts of [0, n). It uses several threads if there is enough work. work is the
// number of values to process.
func parallel(n, work int64, threads int, f func(lo, hi int64)) {
	const least = 1 << 16 // least number of values for each part
	if most := int(work / least); threads > most {
		threads = most
	}
	if threads < 2 {
		f(0, n)
		return
	}
	var wait sync.WaitGroup
	for k := range int64(threads) {
		wait.Go(func() { f(n*k/int64(threads), n*(k+1)/int64(threads)) })
	}
	wait.Wait()
}

// Clear sets the values of a block to 0.
func Clear(t *tcs.Tensor, threads int) {
	values := t.Vals.Bytes()
	parallel(int64(len(values)), int64(len(values))/int64(t.Vals.Width), threads,
		func(lo, hi int64) { clear(values[lo:hi]) })
}

// adder adds values of one type.
type adder interface {
	dense(a, b *tcs.Tensor, threads int)
	runs(to, from *tcs.Tensor, walk func(add func(to, from, n int64)))
	at(sum, block, at *tcs.Tensor, threads int)
}

// adderOf returns the adder for the type of two tensors.
func adderOf(a, b *tcs.Tensor) adder {
	if a.Header.Type != b.Header.Type {
		panic("BUG: reduce: tensors of different types are added")
	}
	switch a.Header.Type {
	case tensor.Float64:
		return of[float64]{}
	case tensor.Float32:
		return of[float32]{}
	case tensor.Int64:
		return of[int64]{}
	case tensor.Int32:
		return of[int32]{}
	case tensor.Bool:
		return of[tensor.Truth]{}
	case tensor.Int8:
		return of[int8]{}
	case tensor.Int16:
		return of[int16]{}
	case tensor.Uint8:
		return of[uint8]{}
	case tensor.Uint16:
		return of[uint16]{}
	case tensor.Uint32:
		return of[uint32]{}
	case tensor.Uint64:
		return of[uint64]{}
	case tensor.Complex128:
		return of[complex128]{}
	case tensor.Complex64:
		return of[complex64]{}
	}
	panic("BUG: reduce: tensors of an unknown type are added")
}

// of is the adder of values of type T.
type of[T number] struct{}

// AddDense adds b's values to a's. Both must be blocks of dense levels with the same box and type.
func AddDense(a, b *tcs.Tensor, threads int) {
	if a.Vals.Len != b.Vals.Len {
		panic("BUG: reduce: blocks of different shapes are added")
	}
	adderOf(a, b).dense(a, b, threads)
}

func (of[T]) dense(a, b *tcs.Tensor, threads int) {
	x, y := tcs.Values[T](a), tcs.Values[T](b)
	parallel(int64(len(x)), int64(len(x)), threads, func(lo, hi int64) { addTo(x[lo:hi], y[lo:hi]) })
}

// AddRuns adds runs of consecutive values of src to values of dst. Both tensors must have the same
// type. AddRuns calls the function walk, which must call add(to, from, n) once for each run. Each
// call adds n values of src to n values of dst. The first value has index `from` in src and index
// `to` in dst.
func AddRuns(dst, src *tcs.Tensor, walk func(add func(to, from, n int64))) {
	adderOf(dst, src).runs(dst, src, walk)
}

func (of[T]) runs(dst, src *tcs.Tensor, walk func(add func(to, from, n int64))) {
	x, y := tcs.Values[T](dst), tcs.Values[T](src)
	walk(func(q, p, n int64) { addTo(x[q:q+n], y[p:p+n]) })
}

// addTo adds the elements of y to the elements of x.
func addTo[T number](x, y []T) {
	x = x[:len(y)]
	if tensor.TypeOf[T]() == tensor.Bool {
		for i, v := range y {
			x[i] = or(x[i], v)
		}
		return
	}
	for i, v := range y {
		x[i] += v
	}
}

// or returns the sum of two bools: x if y is 0, and else y.
func or[T number](x, y T) T {
	var zero T
	if y == zero {
		return x
	}
	return y
}

// Add adds the values of block to sum. The pattern of sum is a union of patterns. mapping maps the
// positions of block to positions of this union (see Union). In the dense levels below the last
// compressed level, the box of block may be smaller than the box of sum. Outside the box of block,
// the values of block count as 0.
func Add(sum, block, mapping *tcs.Tensor,
	threads int) {
	adderOf(sum, block).at(sum, block, mapping, threads)
}

func (of[T]) at(sum, block, mapping *tcs.Tensor, threads int) {
	if mapping.Levels[0].Size == 0 {
		return
	}
	crd := mapping.Levels[0].Crd.Sub(0, mapping.Levels[0].Size)
	x, y := tcs.Values[T](sum), tcs.Values[T](block)
	b := below(sum, block)
	if b.blockLen*crd.Len != int64(len(y)) {
		panic("BUG: reduce: a map of another block's positions")
	}
	if crd.Width == 4 {
		addAt(x, y, tcs.Slice[int32](crd), b, threads)
	} else {
		addAt(x, y, tcs.Slice[int64](crd), b, threads)
	}
}

// values describes the values below one position of the last compressed level, in a sum and in a
// block. sumLen is the number of values in the sum, and blockLen the number in the block. overlaps
// lists the runs of values that both have.
type values struct {
	sumLen, blockLen int64
	overlaps         []overlap
}

// overlap is a run of n values that is contiguous in the sum and in the block.
type overlap struct{ to, from, n int64 }

// below describes the values that a sum and a block have below each position of their last
// compressed level. It computes their numbers, and the runs of values that both have.
func below(sum, block *tcs.Tensor) values {
	v := values{sumLen: 1, blockLen: 1, overlaps: []overlap{{0, 0, 1}}}
	for l := len(sum.Levels) - 1; l >= 0 && sum.Levels[l].Form() == tensor.Full; l-- {
		a, b := &sum.Levels[l], &block.Levels[l]
		if one := v.overlaps[0]; v.blockLen == v.sumLen && one.n == v.sumLen {
			v.overlaps = []overlap{{v.sumLen * (b.Offset - a.Offset), 0, one.n * b.Size}}
		} else {
			inner := v.overlaps
			v.overlaps = make([]overlap, 0, int64(len(inner))*b.Size)
			for c := range b.Size {
				for _, r := range inner {
					v.overlaps = append(v.overlaps,
						overlap{(c+b.Offset-a.Offset)*v.sumLen + r.to, c*v.blockLen + r.from, r.n})
				}
			}
		}
		v.sumLen, v.blockLen = v.sumLen*a.Size, v.blockLen*b.Size
	}
	return v
}

// addAt adds row i of a block to row targets[i] of a sum, for each i (see addRow). y holds the
// values of the block, and x the values of the sum. b describes the rows of the block and of the
// sum. The rows of the sum must all differ, so that threads need no locks.
func addAt[T number, I int32 | int64](x, y []T, targets []I, b values, threads int) {
	parallel(int64(len(targets)), int64(len(y)), threads, func(lo, hi int64) {
		if b.sumLen == 1 {
			logic := tensor.TypeOf[T]() == tensor.Bool
			for p, q := range targets[lo:hi] {
				switch {
				case q < 0:
					x[-1-q] = y[lo+int64(p)]
				case logic:
					x[q] = or(x[q], y[lo+int64(p)])
				default:
					x[q] += y[lo+int64(p)]
				}
			}
			return
		}
		for p := lo; p < hi; p++ {
			addRow(x, y[p*b.blockLen:][:b.blockLen], int64(targets[p]), b)
		}
	})
}

// addRow adds a row of a block to a row of the sum x. b says which values of the two rows
// correspond. position is the number of x's row. If position is negative, the number is
// -1-position, and x's row has no values yet. addRow then copies the block's row to x's row, and
// sets other values of x's row to 0.
func addRow[T number](x, row []T, position int64, b values) {
	if position < 0 {
		to := x[(-1-position)*b.sumLen:][:b.sumLen]
		if b.blockLen < b.sumLen {
			clear(to)
		}
		for _, r := range b.overlaps {
			copy(to[r.to:][:r.n], row[r.from:])
		}
		return
	}
	to := x[position*b.sumLen:][:b.sumLen]
	for _, r := range b.overlaps {
		addTo(to[r.to:][:r.n], row[r.from:][:r.n])
	}
}

// Compose changes the map inner so that it maps directly into a larger union. Before the call,
// inner maps positions of a block to positions of a pattern, and outer maps positions of this
// pattern to positions of the union. After the call, inner maps positions of the block to positions
// of the union.
func Compose(inner, outer *tcs.Tensor) {
	a, b := inner.Levels[0].Crd, outer.Levels[0].Crd
	for i := range inner.Levels[0].Size {
		q := a.Int(i)
		set := q < 0
		if set {
			q = -1 - q
		}
		if q = b.At(q); q < 0 {
			q = -1 - q
		}
		if set {
			q = -1 - q
		}
		a.SetInt(i, q)
	}
}
