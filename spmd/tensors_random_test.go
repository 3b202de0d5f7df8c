package spmd_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"distaff/io/tcs"
	"distaff/spmd"
)

// spoil changes one element of a slice at a random place, or the slice's length.
func spoil[T int32 | int64](r *rand.Rand, s []T) []T {
	s = slices.Clone(s)
	odd := []T{-1, 0, 1, 2, 3, 4, 5, 1<<31 - 1, -1 << 31}[r.IntN(9)]
	switch r.IntN(4) {
	case 0:
		return append(s, odd)
	case 1:
		return s[:max(len(s)-1, 0)]
	}
	if len(s) > 0 {
		s[r.IntN(len(s))] = odd
	}
	return s
}

// Whatever the arguments are, a constructor refuses them or makes a tensor that a job can use. The
// interpreter finds every access outside an array.
func TestRandomSlices(t *testing.T) {
	t.Parallel()
	const n = 600
	r := rand.New(rand.NewPCG(1, 2))
	made, ran := 0, 0
	for range n {
		pos, crd, dims, values := i4{0, 2, 2, 3}, i8{0, 3, 1}, i8{3, 4}, f8{1, 2, 3}
		coords, roots := []i8{{0, 0, 2}, {0, 3, 1}}, []i4{{0, 2}, {0, 2, 3}}
		fibers := []i4{{0, 2}, {0, 3, 1}}
		for range 1 + r.IntN(2) {
			switch r.IntN(8) {
			case 0:
				pos = spoil(r, pos)
			case 1:
				crd = spoil(r, crd)
			case 2:
				dims[0] = spoil(r, i8{dims[0], 0})[0]
			case 3:
				values = append(f8{1, 2, 3}, 0)[:r.IntN(5)]
			case 4:
				m := r.IntN(2)
				coords[m] = spoil(r, coords[m])
			case 5:
				l := r.IntN(2)
				roots[l] = spoil(r, roots[l])
			case 6:
				l := r.IntN(2)
				fibers[l] = spoil(r, fibers[l])
			case 7:
				dims[1] = spoil(r, i8{dims[1], 0})[0]
			}
		}
		for _, x := range []func() (*tcs.Tensor, error){
			func() (*tcs.Tensor, error) { return spmd.Dense(values, dims...) },
			func() (*tcs.Tensor, error) { return spmd.CSR(dims[0], dims[1], pos, crd, values) },
			func() (*tcs.Tensor, error) { return spmd.CSC(dims[1], dims[0], pos, crd, values) },
			func() (*tcs.Tensor, error) { return spmd.COO(dims, coords, values) },
			func() (*tcs.Tensor, error) { return spmd.CSF(dims, nil, roots, fibers, values) },
		} {
			a, err := x()
			if err != nil {
				continue
			}
			made++
			if a.Header.Dims[0] > 100 || a.Header.Dims[1] > 100 || made%4 > 0 {
				continue
			}
			ran++
			j := &spmd.Job{Statement: "y(i) = A(i,j) * x(j)",
				Inputs: map[string]spmd.Input{"A": spmd.InMemory(a), "x": spmd.Generated("dense:int")}}
			j.Target, j.Threads, j.Check, j.Ranks = spmd.Interpreter, 1, true, 1+made/4%2
			if _, err := j.Run(context.Background()); err != nil {
				t.Errorf("%s of %v: %v; pos %v %v, crd %v %v %v", a.Format().String(), a.Header.Dims, err, pos,
					roots, crd, coords, fibers)
			}
		}
	}
	t.Logf("%d of %d tensors were made, %d were run", made, 5*n, ran)
	if made < n || made > 4*n || ran < n/10 {
		t.Errorf("%d of %d tensors were made and %d run: the arguments are not what the test wants", made,
			5*n, ran)
	}
}
