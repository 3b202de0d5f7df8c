package store

import (
	"math"
	"sync"
	"unsafe"

	"distaff/io/tcs"
	"distaff/io/tensor"
)

// Unsign replaces -0 by 0 in this rank's values if the values are sums (t.Sums). Without Unsign,
// the sign of a zero could depend on how a sum is divided: the sum of several -0 is -0, but the sum
// of several -0 and a 0 is 0.
func (t *Blocks) Unsign(threads int) {
	if !t.Sums {
		return
	}
	for _, b := range t.Own {
		switch t.Layout.Type {
		case tensor.Float64, tensor.Complex128:
			unsign(parts[float64](b.Vals), threads)
		case tensor.Float32, tensor.Complex64:
			unsign(parts[float32](b.Vals), threads)
		}
	}
}

// parts returns the memory of an array of values as a slice of real numbers. A real value is one
// number, and a complex value is two.
func parts[T float64 | float32](a tcs.Array) []T {
	if a.Len == 0 {
		return nil
	}
	var z T
	return unsafe.Slice((*T)(a.Ptr), a.Len*int64(a.Width)/int64(unsafe.Sizeof(z)))
}

// unsign removes the sign of zeros in x. It writes to no other element.
func unsign[T float64 | float32](x []T, threads int) {
	const least = 1 << 18 // least number of values for a thread
	n := max(min(threads, len(x)/least), 1)
	var wait sync.WaitGroup
	for k := range n {
		part := x[len(x)*k/n : len(x)*(k+1)/n]
		wait.Go(func() {
			for i, v := range part {
				if v == 0 && math.Signbit(float64(v)) {
					part[i] = 0
				}
			}
		})
	}
	wait.Wait()
}
