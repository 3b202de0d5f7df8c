package main

import (
	"math"
	"sync"
)

// The results that all sides of a comparison are compared with, from plain loops on the cores of
// the machine.

// spmv returns A*x.
func (m *matrix) spmv(x []float64) []float64 {
	y := make([]float64, m.rows)
	parallel(m.rows, func(lo, hi int64) {
		for r := lo; r < hi; r++ {
			s := 0.0
			for p := m.pos[r]; p < m.pos[r+1]; p++ {
				s += m.vals[p] * x[m.crd[p]]
			}
			y[r] = s
		}
	})
	return y
}

// spmm returns A*B for a B of k columns.
func (m *matrix) spmm(b []float64, k int64) []float64 {
	c := make([]float64, m.rows*k)
	parallel(m.rows, func(lo, hi int64) {
		for r := lo; r < hi; r++ {
			row := c[r*k : (r+1)*k]
			for p := m.pos[r]; p < m.pos[r+1]; p++ {
				addTimes(row, b[int64(m.crd[p])*k:], m.vals[p])
			}
		}
	})
	return c
}

// addTimes adds v*src[c] to dst[c] for each index c of dst.
func addTimes(dst, src []float64, v float64) {
	src = src[:len(dst)]
	for c := range dst {
		dst[c] += v * src[c]
	}
}

// sddmm returns, for each entry of A, its value times the dot product of a row of x and a row of y.
func (m *matrix) sddmm(x, y []float64, k int64) []float64 {
	out := make([]float64, m.nnz())
	parallel(m.rows, func(lo, hi int64) {
		for r := lo; r < hi; r++ {
			a := x[r*k : (r+1)*k]
			for p := m.pos[r]; p < m.pos[r+1]; p++ {
				b := y[int64(m.crd[p])*k:][:len(a)]
				s := 0.0
				for c := range a {
					s += a[c] * b[c]
				}
				out[p] = m.vals[p] * s
			}
		}
	})
	return out
}

// mttkrp adds C(k,:)*D(l,:)*t(i,k,l) to row i of the result, which has the given number of columns.
// A slice can have too many fibres for one core, so cores process pieces of slices and add their
// sums under a lock.
func (t *tensor3) mttkrp(c, d []float64, columns int64) []float64 {
	a := make([]float64, t.dims[0]*columns)
	owner := make([]int32, t.fibres)
	for s := range t.slices {
		for f := t.pos1[s]; f < t.pos1[s+1]; f++ {
			owner[f] = t.crd0[s]
		}
	}
	var lock sync.Mutex
	parallel(t.fibres, func(lo, hi int64) {
		sum, fibre := make([]float64, columns), make([]float64, columns)
		flush := func(i int32) {
			lock.Lock()
			addTimes(a[int64(i)*columns:][:columns], sum, 1)
			lock.Unlock()
			clear(sum)
		}
		for f := lo; f < hi; f++ {
			clear(fibre)
			for p := t.pos2[f]; p < t.pos2[f+1]; p++ {
				addTimes(fibre, d[int64(t.crd2[p])*columns:], t.vals[p])
			}
			row := c[int64(t.crd1[f])*columns:]
			for j := range sum {
				sum[j] += fibre[j] * row[j]
			}
			if f+1 == hi || owner[f+1] != owner[f] {
				flush(owner[f])
			}
		}
	})
	return a
}

// difference returns the norm of got-want divided by the norm of want.
func difference(got, want []float64) float64 {
	if len(got) != len(want) {
		return math.Inf(1)
	}
	var lock sync.Mutex
	var off, all float64
	parallel(int64(len(want)), func(lo, hi int64) {
		var o, a float64
		for k := lo; k < hi; k++ {
			e := got[k] - want[k]
			o += e * e
			a += want[k] * want[k]
		}
		lock.Lock()
		off, all = off+o, all+a
		lock.Unlock()
	})
	if math.IsNaN(off) {
		return math.Inf(1)
	}
	if all == 0 {
		return math.Sqrt(off)
	}
	return math.Sqrt(off / all)
}
