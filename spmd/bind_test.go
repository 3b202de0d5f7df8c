package spmd_test

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"distaff/io/tcs"
	"distaff/spmd"
)

// TestOrderOfTensor checks that a tensor with another number of modes than in the statement is
// refused, a scalar too.
func TestOrderOfTensor(t *testing.T) {
	err := spmd.Start(context.Background(), spmd.Options{}, func(p *spmd.Program) error {
		scalar, err := spmd.Dense([]float64{1})
		if err != nil {
			return err
		}
		if err := p.Set("x", spmd.InMemory(scalar), spmd.Storage{}); err != nil {
			return err
		}
		_, err = p.Prepare("y = x(i)", spmd.How{})
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "x has 1 mode in the statement, but the tensor has 0 modes") {
		t.Errorf("got %v, want an error about the modes of x", err)
	}
}

// TestBind checks runs on other memory: operands that are exchanged by Bind, a dense result that is
// written to the caller's memory by Into, and sparse results that Take hands over.
func TestBind(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	p, end, err := spmd.Open(context.Background(), spmd.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	// matrix returns the matrix with v in every row's first columns, rows of the given lengths.
	matrix := func(v float64, lengths ...int32) *tcs.Tensor {
		pos, crd, vals := []int32{0}, []int32{}, []float64{}
		for _, n := range lengths {
			for j := range n {
				crd, vals = append(crd, j), append(vals, v)
			}
			pos = append(pos, int32(len(crd)))
		}
		a, err := spmd.CSR(3, 4, pos, crd, vals)
		check(err)
		return a
	}
	vector := func(v ...float64) *tcs.Tensor {
		x, err := spmd.Dense(v, int64(len(v)))
		check(err)
		return x
	}
	check(p.Set("A", spmd.InMemory(matrix(1, 1, 0, 2)), spmd.Storage{}))
	check(p.Set("x", spmd.InMemory(vector(1, 2, 3, 4)), spmd.Storage{}))
	check(p.Declare("C", spmd.Storage{Format: "ds"}))
	y, err := p.Prepare("y(i) = A(i,j) * x(j)", spmd.How{})
	check(err)
	square, err := p.Prepare("C(i,k) = A(i,j) * A(k,j)", spmd.How{})
	check(err)
	var kept []*tcs.Tensor
	for n, lengths := range [][]int32{{1, 0, 2}, {4, 4, 4}, {0, 0, 0}, {2, 3, 1}} {
		v := float64(n + 1)
		a := matrix(v, lengths...)
		out := make([]float64, 3)
		for _, s := range []*spmd.ProgramStatement{y, square} {
			if ok, err := s.Bind("A", a); err != nil || !ok {
				t.Fatalf("Bind: got %t, %v", ok, err)
			}
		}
		ok, err := y.Into(tcs.Of(out))
		check(err)
		check(y.Run())
		if !ok || y.Written().Ptr != unsafe.Pointer(&out[0]) {
			t.Fatal("the result is not in the memory of Into")
		}
		var want []float64
		for _, l := range lengths {
			want = append(want, v*float64(l*(l+1)/2))
		}
		if !slices.Equal(out, want) {
			t.Errorf("got %v, want %v", out, want)
		}
		check(square.Run())
		c, err := square.Take()
		check(err)
		kept = append(kept, c)
		runtime.KeepAlive(a)
	}
	for n, want := range []int64{4, 9, 0, 9} {
		if got := kept[n].Vals.Len; got != want {
			t.Errorf("result %d has %d entries, want %d", n, got, want)
		}
		v, err := spmd.Values[float64](kept[n])
		check(err)
		if len(v) > 0 && v[0] != float64((n+1)*(n+1))*float64([]int{1, 4, 0, 2}[n]) {
			t.Errorf("result %d: got the first value %v: a later run has written there", n, v[0])
		}
		kept[n].Close()
	}
	wide, err := spmd.CSR(3, 4, []int64{0, 0, 0, 0}, []int32{}, []float64{})
	check(err)
	for _, x := range []*tcs.Tensor{wide, vector(1, 2, 3, 4)} {
		if ok, err := y.Bind("A", x); ok || err != nil {
			t.Errorf("Bind of another layout: got %t, %v, want false", ok, err)
		}
	}
	if _, err := y.Into(tcs.Of(make([]float64, 4))); err == nil {
		t.Error("Into: got no error for memory of another size")
	}
}
