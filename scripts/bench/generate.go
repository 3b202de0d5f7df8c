package main

import (
	"fmt"
	"math"
	"runtime"
	"sort"
	"strings"
	"sync"
	"sync/atomic"

	"distaff/io/tcs"
	"distaff/io/tensor"
)

// mix returns a pseudo-random number for each z. It is a step of splitmix64.
func mix(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// unit returns a pseudo-random number in [0, 1) for each z.
func unit(z uint64) float64 { return float64(mix(z)>>11) / (1 << 53) }

// stream returns a number that makes the pseudo-random numbers mix(k^stream) differ between
// tensors, and between a tensor's values (level 0) and the coordinates of its levels.
func stream(name string, level int) uint64 { return mix(31*uint64(seed(name)) + uint64(level)) }

// parallel runs f over pieces of [0, n) on all cores.
func parallel(n int64, f func(lo, hi int64)) {
	piece := min(n/256+1, 1<<16)
	var next atomic.Int64
	var wait sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for {
				lo := next.Add(piece) - piece
				if lo >= n {
					return
				}
				f(lo, min(lo+piece, n))
			}
		})
	}
	wait.Wait()
}

// full makes a dense tensor.
func full(name string, dims ...int64) *tcs.Tensor {
	return must(shaped(name, strings.Repeat("d", len(dims)), dims, dims...))
}

// shaped makes a tensor with random values. counts has the number of stored coordinates of each
// level, which is the number of entries for the last level. The levels are in the order of the
// modes. The caller stores the levels' arrays. shaped returns an error if the number of entries
// does not fit 32 bits.
func shaped(name, format string, dims []int64, counts ...int64) (*tcs.Tensor, error) {
	if counts[len(counts)-1] > math.MaxInt32 {
		return nil, fmt.Errorf("%s: more entries than 32 bits count", name)
	}
	t := must(tcs.New(&tcs.Shape{Header: tcs.Header{Dims: dims, Type: tensor.Float64},
		Format: tensor.FormatOf(format, tensor.Identity(len(dims))), Counts: counts}, nil, name))
	v, s := vals(t), stream(name, 0)
	parallel(int64(len(v)), func(lo, hi int64) {
		for k := lo; k < hi; k++ {
			v[k] = unit(uint64(k)^s) + 0.5
		}
	})
	return t, nil
}

func pos(t *tcs.Tensor, level int) []int32 { return tcs.Slice[int32](t.Levels[level].Pos) }
func crd(t *tcs.Tensor, level int) []int32 { return tcs.Slice[int32](t.Levels[level].Crd) }

// count stores the pos array of a level whose parents have the given numbers of children.
func count(pos []int32, degrees []int64) {
	sum := int64(0)
	for k, d := range degrees {
		sum += d
		pos[k+1] = int32(sum)
	}
}

// scatter stores the crd array of a level whose pos array is given. The coordinates increase
// strictly within each segment. For a segment of n coordinates, the range of the mode is divided
// into n equal parts, and each part contains one pseudo-random coordinate.
func scatter(name string, t *tcs.Tensor, level int) {
	pos, crd, size, s := pos(t, level), crd(t, level), t.Levels[level].Size, stream(name, level)
	parallel(int64(len(crd)), func(lo, hi int64) {
		r := sort.Search(len(pos), func(r int) bool { return int64(pos[r]) > lo }) - 1
		for p := lo; p < hi; p++ {
			for int64(pos[r+1]) <= p {
				r++
			}
			d, t := int64(pos[r+1]-pos[r]), p-int64(pos[r])
			from, to := t*size/d, (t+1)*size/d
			crd[p] = int32(from + int64(mix(uint64(p)^s)%uint64(to-from)))
		}
	})
}

// byRows makes a matrix in CSR. Row r has degree(r) entries, but at most one for each column. If
// band is true, the entries are neighbours around the diagonal. Otherwise they are scattered over
// the row (see scatter).
func byRows(name string, dims []int64, degree func(r int64) int64, band bool) *tcs.Tensor {
	degrees, nnz := make([]int64, dims[0]), int64(0)
	parallel(dims[0], func(lo, hi int64) {
		for r := lo; r < hi; r++ {
			degrees[r] = min(degree(r), dims[1])
		}
	})
	for _, d := range degrees {
		nnz += d
	}
	t := must(shaped(name, "ds", dims, dims[0], nnz))
	pos, crd := pos(t, 1), crd(t, 1)
	count(pos, degrees)
	if !band {
		scatter(name, t, 1)
		return t
	}
	for r, d := range degrees {
		first := min(max(int64(r)-d/2, 0), dims[1]-d)
		for k := range d {
			crd[int64(pos[r])+k] = int32(first + k)
		}
	}
	return t
}

// degrees returns the numbers of entries of the rows of a matrix. x are the numbers of the kind in
// the table of inputs. These are the kinds:
//
//   - each: x[0] in each row
//   - rows: about x[0] entries in all; row r has a part that is proportional to 1/(r+1)^x[1]
//   - shuffled: the same, but rows of similar lengths are not neighbours
//   - geometric: about x[0] entries in all; the lengths decrease geometrically, by the factor x[1],
//     and are shuffled (figure 8-7 of Senanayake's thesis, 2020)
//   - heavy: 90% of the entries in the first 0.5% of the rows, and one in each other row
//   - huge: x[0] in each row but one, which has about half of all entries
//   - bands: 10 to 20
//   - tenth: a tenth of the columns
func degrees(kind string, rows, cols int64, x []float64) func(r int64) int64 {
	sum, longest := 0.0, 0.0
	switch kind {
	case "rows", "shuffled":
		for r := range rows {
			sum += math.Pow(float64(r+1), -x[1])
		}
	case "geometric":
		if longest = x[0] / float64(rows); x[1] > 1 {
			longest = x[0] * (1 - 1/x[1]) / (1 - math.Pow(x[1], -float64(rows)))
		}
	}
	return func(r int64) int64 {
		shuffled := r * (2654435761 % rows) % rows // a permutation, because the factor is a prime
		switch kind {
		case "each":
			return int64(x[0])
		case "rows":
			return int64(math.Round(x[0] * math.Pow(float64(r+1), -x[1]) / sum))
		case "shuffled":
			return rounded(x[0]/sum*math.Pow(float64(shuffled+1), -x[1]), r)
		case "geometric":
			return rounded(longest*math.Pow(x[1], -float64(shuffled)), r)
		case "bands":
			return 10 + int64(mix(uint64(r))%11)
		case "tenth":
			return cols / 10
		}
		if dense := max(rows/200, 1); kind == "heavy" && r < dense {
			return 9 * rows / dense
		} else if kind == "heavy" {
			return 1
		}
		if r == rows/3 {
			return rows * int64(x[0])
		}
		return int64(x[0])
	}
}

// rounded rounds x up or down, pseudo-randomly with seed r, so that the mean over many seeds is x.
func rounded(x float64, r int64) int64 {
	n := math.Floor(x)
	if unit(uint64(r)) < x-n {
		n++
	}
	return int64(n)
}

// fibres makes a tensor of order 3 with compressed levels. It has about 20 fibres per slice on
// average, each of 12 entries. share is the part of all fibres that is in one slice in the middle;
// 0 means that all slices have the same number.
func fibres(name string, dims []int64, share float64) *tcs.Tensor {
	const fibres, entries = 20, 12
	degrees, n := make([]int64, dims[0]), int64(0)
	for s := range degrees {
		degrees[s] = min(fibres-int64(share*fibres), dims[1])
		if share > 0 && int64(s) == dims[0]/2 {
			degrees[s] = min(int64(share*float64(dims[0]*fibres)), dims[1])
		}
		n += degrees[s]
	}
	t := must(shaped(name, "sss", dims, dims[0], n, n*entries))
	pos(t, 0)[1] = int32(dims[0])
	for s := range dims[0] {
		crd(t, 0)[s] = int32(s)
	}
	count(pos(t, 1), degrees)
	scatter(name, t, 1)
	for f := range pos(t, 2) {
		pos(t, 2)[f] = int32(f * entries)
	}
	scatter(name, t, 2)
	return t
}
