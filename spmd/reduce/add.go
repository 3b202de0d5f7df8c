package reduce

import (
	"sync"

	"distaff/io/tcs"
)

// number is a value type.
type number interface {
	float64 | float32 | int64 | int32 | complex128 | complex64
}

// apart runs f over [0, n) in pieces on threads, if that is worth it.
func apart(n, work int64, threads int, f func(lo, hi int64)) {
	const least = 1 << 16 // values a piece
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

// AddDense adds b's values to a's: blocks of dense levels, of one box and type.
func AddDense(a, b *tcs.Tensor, threads int) {
	if a.Type != b.Type || a.Vals.Len != b.Vals.Len {
		panic("BUG: reduce: blocks of different shapes are added")
	}
	switch a.Type {
	case tcs.Float64:
		addDense[float64](a, b, threads)
	case tcs.Float32:
		addDense[float32](a, b, threads)
	case tcs.Int64:
		addDense[int64](a, b, threads)
	case tcs.Int32:
		addDense[int32](a, b, threads)
	case tcs.Complex128:
		addDense[complex128](a, b, threads)
	case tcs.Complex64:
		addDense[complex64](a, b, threads)
	default:
		panic("BUG: reduce: blocks of an unknown type are added")
	}
}

func addDense[T number](a, b *tcs.Tensor, threads int) {
	x, y := tcs.Values[T](a), tcs.Values[T](b)
	apart(int64(len(x)), int64(len(x)), threads, func(lo, hi int64) {
		x, y := x[lo:hi], y[lo:hi]
		for i := range y {
			x[i] += y[i]
		}
	})
}

// Add adds the values of a block, one of the sources of the pattern that sum
// has, at the positions of the block's map (see Union).
func Add(sum, block, at *tcs.Tensor, threads int) {
	if sum.Type != block.Type {
		panic("BUG: reduce: blocks of different types are added")
	}
	switch sum.Type {
	case tcs.Float64:
		add[float64](sum, block, at, threads)
	case tcs.Float32:
		add[float32](sum, block, at, threads)
	case tcs.Int64:
		add[int64](sum, block, at, threads)
	case tcs.Int32:
		add[int32](sum, block, at, threads)
	case tcs.Complex128:
		add[complex128](sum, block, at, threads)
	case tcs.Complex64:
		add[complex64](sum, block, at, threads)
	default:
		panic("BUG: reduce: blocks of an unknown type are added")
	}
}

func add[T number](sum, block, at *tcs.Tensor, threads int) {
	if at.Levels[0].Size == 0 {
		return
	}
	crd := at.Levels[0].Crd.Sub(0, at.Levels[0].Size)
	x, y := tcs.Values[T](sum), tcs.Values[T](block)
	n := int64(len(y)) / crd.Len // values under a position
	if n*crd.Len != int64(len(y)) {
		panic("BUG: reduce: a map of another block's positions")
	}
	if crd.Width == 4 {
		addAt(x, y, tcs.Slice[int32](crd), n, threads)
	} else {
		addAt(x, y, tcs.Slice[int64](crd), n, threads)
	}
}

// addAt adds rows of n values; no two rows have one place.
func addAt[T number, I int32 | int64](x, y []T, at []I, n int64, threads int) {
	apart(int64(len(at)), int64(len(y)), threads, func(lo, hi int64) {
		if n == 1 {
			for p, q := range at[lo:hi] {
				if q < 0 {
					x[-1-q] = y[lo+int64(p)]
				} else {
					x[q] += y[lo+int64(p)]
				}
			}
			return
		}
		for p := lo; p < hi; p++ {
			q, row := int64(at[p]), y[p*n:][:n]
			if q < 0 {
				copy(x[(-1-q)*n:][:n], row)
				continue
			}
			to := x[q*n:][:n]
			for i := range row {
				to[i] += row[i]
			}
		}
	})
}

// Compose makes a map into a pattern one into the union of this pattern, as a
// source, with others: first is that source's map.
func Compose(at, first *tcs.Tensor) {
	a, b := at.Levels[0].Crd, first.Levels[0].Crd
	for i := range at.Levels[0].Size {
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
