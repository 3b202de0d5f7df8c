package main

import (
	"fmt"
	"math"
	"runtime"
	"sort"
	"sync"
	"sync/atomic"

	"distaff/io/tcs"
	"distaff/io/tensor"
)

// matrix is a sparse matrix by rows.
type matrix struct {
	name       string
	rows, cols int64
	pos, crd   []int32
	vals       []float64
	most       int64 // number of entries of the longest row
}

func (m *matrix) nnz() int64 { return int64(len(m.vals)) }

// tensor3 is a tensor of order 3 with compressed levels: slices, their fibres, and entries.
type tensor3 struct {
	name             string
	dims             [3]int64
	pos0, crd0       []int32
	pos1, crd1       []int32
	pos2, crd2       []int32
	vals             []float64
	slices, fibres   int64
	perFibre, widest int64 // number of entries of each fibre, and of fibres of the widest slice
}

func (t *tensor3) nnz() int64 { return int64(len(t.vals)) }

// mix returns a pseudo-random number for each z. It is a step of splitmix64.
func mix(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// unit returns a pseudo-random number in [0, 1) for each z.
func unit(z uint64) float64 { return float64(mix(z)>>11) / (1 << 53) }

// parallel runs f over pieces of [0, n) on all cores.
func parallel(n int64, f func(lo, hi int64)) {
	const piece = 1 << 16
	var next atomic.Int64
	var wait sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for {
				lo := next.Add(piece) - piece
				if lo >= n {
					return
				}
				f(lo, min(lo+piece, n))
			}
		}()
	}
	wait.Wait()
}

func values(n int64, seed uint64) []float64 {
	v := make([]float64, n)
	parallel(n, func(lo, hi int64) {
		for k := lo; k < hi; k++ {
			v[k] = unit(uint64(k)^seed<<40) + 0.5
		}
	})
	return v
}

// positions returns the pos array of a level whose parents have the given numbers of children.
func positions(degree []int64) ([]int32, error) {
	pos := make([]int32, len(degree)+1)
	sum := int64(0)
	for k, d := range degree {
		if sum += d; sum > math.MaxInt32 {
			return nil, fmt.Errorf("more entries than 32 bits count")
		}
		pos[k+1] = int32(sum)
	}
	return pos, nil
}

// scattered returns the crd array of a level whose pos array is given. The coordinates are in [0,
// size), and increase strictly within each segment. For a segment of n coordinates, the range is
// divided into n equal parts, and each part contains one pseudo-random coordinate.
func scattered(pos []int32, size int64, seed uint64) []int32 {
	crd := make([]int32, pos[len(pos)-1])
	parallel(int64(len(crd)), func(lo, hi int64) {
		r := sort.Search(len(pos), func(r int) bool { return int64(pos[r]) > lo }) - 1
		for p := lo; p < hi; p++ {
			for int64(pos[r+1]) <= p {
				r++
			}
			d, t := int64(pos[r+1]-pos[r]), p-int64(pos[r])
			from, to := t*size/d, (t+1)*size/d
			crd[p] = int32(from + int64(mix(uint64(p)^seed<<40)%uint64(to-from)))
		}
	})
	return crd
}

// banded returns consecutive coordinates around the diagonal for each row.
func banded(pos []int32, size int64) []int32 {
	crd := make([]int32, pos[len(pos)-1])
	parallel(int64(len(pos)-1), func(lo, hi int64) {
		for r := lo; r < hi; r++ {
			d := int64(pos[r+1] - pos[r])
			first := min(max(r-d/2, 0), size-d)
			for t := range d {
				crd[int64(pos[r])+t] = int32(first + t)
			}
		}
	})
	return crd
}

// newMatrix makes a matrix with the given numbers of rows and columns. Row r has degree(r) entries,
// but at most cols. If band is true, the entries are near the diagonal. Otherwise they are
// scattered over the row (see scattered).
func newMatrix(name string, rows, cols int64, degree func(r int64) int64, band bool) (*matrix,
	error) {
	m := &matrix{name: name, rows: rows, cols: cols}
	degrees := make([]int64, rows)
	parallel(rows, func(lo, hi int64) {
		for r := lo; r < hi; r++ {
			degrees[r] = min(degree(r), cols)
		}
	})
	for _, d := range degrees {
		m.most = max(m.most, d)
	}
	var err error
	if m.pos, err = positions(degrees); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if band {
		m.crd = banded(m.pos, cols)
	} else {
		m.crd = scattered(m.pos, cols, 1)
	}
	m.vals = values(int64(len(m.crd)), 2)
	return m, nil
}

// shuffled returns the image of row r in a permutation of n rows. Afterwards rows of similar
// lengths are not neighbours.
func shuffled(r, n int64) int64 {
	step := int64(2654435761 % uint64(n))
	for gcd(step, n) != 1 {
		step++
	}
	return r * step % n
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// rounded rounds x up or down, pseudo-randomly with seed r, so that the mean over many seeds is x.
func rounded(x float64, r int64) int64 {
	n := math.Floor(x)
	if unit(uint64(r)) < x-n {
		n++
	}
	return int64(n)
}

// A shape makes a matrix at a scale.
type shape struct {
	name string
	make func(name string, scale float64) (*matrix, error)
}

// scaled shrinks a size or a count.
func scaled(n int64, scale float64) int64 { return max(int64(float64(n)*scale), 64) }

// uniform returns a function that makes a matrix with rows of equal length in pseudo-random
// columns.
func uniform(rows, cols, degree int64) func(string, float64) (*matrix, error) {
	return func(name string, scale float64) (*matrix, error) {
		return newMatrix(name, scaled(rows, scale), scaled(cols, scale),
			func(int64) int64 { return degree }, false)
	}
}

// powerLaw returns a function that makes a matrix whose row lengths follow Zipf's law with exponent
// 1, in a shuffled order.
func powerLaw(rows, nnz int64) func(string, float64) (*matrix, error) {
	return func(name string, scale float64) (*matrix, error) {
		n := scaled(rows, scale)
		longest := float64(nnz) * scale / (math.Log(float64(n)) + 0.5772)
		return newMatrix(name, n, n, func(r int64) int64 {
			return rounded(
				longest/float64(shuffled(r, n)+1), r)
		}, false)
	}
}

// bands returns a function that makes a matrix with 10 to 20 entries per row around the diagonal.
func bands(rows int64) func(string, float64) (*matrix, error) {
	return func(name string, scale float64) (*matrix, error) {
		n := scaled(rows, scale)
		return newMatrix(name, n, n, func(r int64) int64 { return 10 + int64(mix(uint64(r))%11) },
			true)
	}
}

// hugeRow returns a function that makes a matrix with half of its entries in one row, and the other
// half in short rows.
func hugeRow(rows, cols, degree int64) func(string, float64) (*matrix, error) {
	return func(name string, scale float64) (*matrix, error) {
		n := scaled(rows, scale)
		return newMatrix(name, n, scaled(cols, scale), func(r int64) int64 {
			if r == n/3 {
				return n * degree
			}
			return degree
		}, false)
	}
}

// skewed returns a function that makes the matrix of figure 8-7 in Senanayake's thesis (2020). The
// lengths of its rows decrease geometrically: the row with number i has k/c^i entries, and the rows
// are then shuffled. k is chosen so that the matrix has nnz entries. A larger c makes the rows more
// uneven.
func skewed(rows, cols, nnz int64, c float64) func(string, float64) (*matrix, error) {
	return func(name string, scale float64) (*matrix, error) {
		n := scaled(rows, scale)
		longest := float64(nnz) * scale / float64(n)
		if c > 1 {
			longest = float64(nnz) * scale * (1 - 1/c) / (1 - math.Pow(c, -float64(n)))
		}
		return newMatrix(name, n, scaled(cols, scale), func(r int64) int64 {
			return rounded(longest*math.Pow(c, -float64(shuffled(r, n))), r)
		}, false)
	}
}

// newTensor3 makes a tensor. fibres is the average number of fibres per slice. Each fibre has
// perFibre entries. share is the part of all fibres that is in one slice in the middle; 0 means
// that all slices have the same number.
func newTensor3(name string, dims [3]int64, fibres, perFibre int64, share float64) (*tensor3,
	error) {
	t := &tensor3{name: name, dims: dims, slices: dims[0], perFibre: perFibre}
	all := dims[0] * fibres
	if all*perFibre > math.MaxInt32 {
		return nil, fmt.Errorf("%s: more entries than 32 bits count", name)
	}
	degrees := make([]int64, dims[0])
	for s := range degrees {
		degrees[s] = fibres - int64(share*float64(fibres))
		if share > 0 && int64(s) == dims[0]/2 {
			degrees[s] = min(int64(share*float64(all)), dims[1])
		}
		t.widest = max(t.widest, degrees[s])
	}
	var err error
	if t.pos1, err = positions(degrees); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	t.pos0, t.crd0 = []int32{0, int32(dims[0])}, make([]int32, dims[0])
	for s := range t.crd0 {
		t.crd0[s] = int32(s)
	}
	t.crd1 = scattered(t.pos1, dims[1], 3)
	t.fibres = int64(len(t.crd1))
	t.pos2 = make([]int32, t.fibres+1)
	for f := range t.pos2 {
		t.pos2[f] = int32(int64(f) * perFibre)
	}
	t.crd2 = scattered(t.pos2, dims[2], 4)
	t.vals = values(int64(len(t.crd2)), 5)
	return t, nil
}

func compressed(mode int, size int64, pos, crd []int32) tcs.Level {
	return tcs.Level{Kind: 's', Mode: mode, Size: size, Pos: tcs.Of(pos), Crd: tcs.Of(crd)}
}

func dense(vals []float64, dims ...int64) *tcs.Tensor {
	t := &tcs.Tensor{Header: tcs.Header{Dims: dims, Type: tensor.Float64}, Vals: tcs.Of(vals)}
	for m, d := range dims {
		t.Levels = append(t.Levels, tcs.Level{Kind: 'd', Mode: m, Size: d})
	}
	return t
}

// tensor returns the matrix as a tensor in format ds. The tensor uses the matrix's arrays without
// copying them.
func (m *matrix) tensor() *tcs.Tensor {
	return &tcs.Tensor{Header: tcs.Header{Dims: []int64{m.rows, m.cols}, Type: tensor.Float64},
		Vals:   tcs.Of(m.vals),
		Levels: []tcs.Level{{Kind: 'd', Size: m.rows}, compressed(1, m.cols, m.pos, m.crd)}}
}

// tensor returns t as a tensor in format sss. The result uses the arrays of t without copying them.
func (t *tensor3) tensor() *tcs.Tensor {
	return &tcs.Tensor{Header: tcs.Header{Dims: t.dims[:], Type: tensor.Float64}, Vals: tcs.Of(t.vals),
		Levels: []tcs.Level{compressed(0, t.dims[0], t.pos0, t.crd0),
			compressed(1, t.dims[1], t.pos1, t.crd1), compressed(2, t.dims[2], t.pos2, t.crd2)}}
}
