package main

/*
#include <stdlib.h>
#include "cusparse.h"
*/
import "C"

import (
	"fmt"
	"math"
	"os"
	"unsafe"

	"distaff/io/tcs"
	"distaff/io/tensor"
	gpu "distaff/kernels/cuda"
	"distaff/spmd"
)

// denseProduct is a product of dense matrices on a GPU. All matrices are square and have the given
// size. If batch is not 0, there are that many products.
type denseProduct struct {
	name, stmt  string
	size, batch int64
	single      bool // of float32, or else of float64
	transposed  bool // A and B are stored by columns
	// Limits of the two lines: the smallest ratio of the time of a direct call of cuBLAS to ours.
	minRatio [2]float64
}

var limits, small = [2]float64{0.95, 0.5}, [2]float64{0.9, 0.4}

// denseProducts are rows of the group gpu. Each has two lines: the default schedule with cuBLAS,
// and without it.
var denseProducts = []denseProduct{
	{"dense 4096 float64", "C(i,k) = A(i,j) * B(j,k)", 4096, 0, false, false, limits},
	{"dense 4096 float32", "C(i,k) = A(i,j) * B(j,k)", 4096, 0, true, false, limits},
	{"dense 4096 transposed float64", "C(i,k) = A(j,i) * B(k,j)", 4096, 0, false, true, limits},
	{"dense 4096 transposed float32", "C(i,k) = A(j,i) * B(k,j)", 4096, 0, true, true, limits},
	{"dense 500 of 256 float64", "C(b,i,k) = A(b,i,j) * B(b,j,k)", 256, 500, false, false, small},
	{"dense 500 of 256 float32", "C(b,i,k) = A(b,i,j) * B(b,j,k)", 256, 500, true, false, small},
}

// denseProduct measures the lines of a row, and prints them.
func (b *bench) denseProduct(p denseProduct) {
	n, dims := b.scaled(p.size), []int64(nil)
	if p.batch > 0 {
		dims = append(dims, b.scaled(p.batch))
	}
	dims = append(dims, n, n)
	operands := map[string]*tcs.Tensor{}
	for _, name := range []string{"A", "B"} {
		operands[name] = p.matrices(p.name+name, dims)
		defer operands[name].Close()
	}
	check := func(got *tcs.Tensor) float64 { return p.sampledError(n, operands, got) }
	peer, limit := 0.0, 1e-10
	if p.single {
		limit = 1e-5
	}
	if b.gpu.card != nil {
		var err error
		peer, err = b.gpu.card.gemm(p, n, operands, 7*b.rounds)
		if err != nil {
			b.printf("%s: no cuBLAS: %v\n", p.name, err)
		}
	}
	work := 2 * float64(n*n*n) * math.Max(1, float64(dims[0])*float64(len(dims)-2))
	for k, l := range []struct{ name, library string }{{"default", ""},
		{"default, without cuBLAS", "none"}} {
		restore := setenv("DISTAFF_CUBLAS", l.library)
		j := &spmd.Job{Statement: p.stmt, Inputs: map[string]spmd.Input{}, Keep: true,
			Formats: map[string]string{}}
		j.Target, j.TrustInput = spmd.CUDA, true
		for name, t := range operands {
			j.Inputs[name] = spmd.InMemory(t)
		}
		ours, off, err := b.timeLeaf(j, operands, check)
		restore()
		if err != nil {
			b.wrong++
			b.printf("%-36s %-26s failed: %v\n", p.name, l.name, err)
			continue
		}
		bytes := float64(operands["A"].Bytes() + operands["B"].Bytes() + operands["A"].Bytes())
		values, mark := []any{p.name, l.name, 1e3 * ours, nil, "cuBLAS", nil, bytes / ours * 1e-9,
			bytes / b.gpu.speed / ours}, ""
		if peer > 0 {
			values[3], values[5] = 1e3*peer, peer/ours
			mark = b.over(!b.dry && peer/ours < p.minRatio[k])
		}
		if !b.dry {
			mark += fmt.Sprintf(" %.1f TFLOP/s", work/ours*1e-12)
		}
		if !(off <= limit) {
			b.wrong++
			mark += fmt.Sprintf(" WRONG: differs by %.1e", off)
		}
		b.line(mark, values...)
	}
}

// setenv sets an environment variable unless value is "". restore undoes it.
func setenv(name, value string) (restore func()) {
	before, was := os.LookupEnv(name)
	if value != "" {
		os.Setenv(name, value)
	}
	return func() {
		if os.Unsetenv(name); was {
			os.Setenv(name, before)
		}
	}
}

// matrices returns random matrices of the product's type.
func (p *denseProduct) matrices(name string, dims []int64) *tcs.Tensor {
	t := full(name, dims...)
	if !p.single {
		return t
	}
	defer t.Close()
	s := must(tcs.New(&tcs.Shape{Header: tcs.Header{Dims: dims, Type: tensor.Float32},
		Format: tensor.DenseOf(len(dims)), Counts: dims}, nil, name))
	to := tcs.Slice[float32](s.Vals)
	for k, x := range vals(t) {
		to[k] = float32(x)
	}
	return s
}

// number returns the value of an element.
func (p *denseProduct) number(t *tcs.Tensor, at int64) float64 {
	if p.single {
		return float64(tcs.Slice[float32](t.Vals)[at])
	}
	return vals(t)[at]
}

// sampledError returns the largest relative error of some rows of a result. n is the number of rows
// of a matrix.
func (p *denseProduct) sampledError(n int64, operands map[string]*tcs.Tensor,
	got *tcs.Tensor) (off float64) {
	rows := got.Vals.Len / n
	for s := range min(rows, 16) {
		row := s * (rows - 1) / 15
		first, i := row/n*n*n, row%n // the first element of the row's matrix, and the row in it
		for k := range n {
			want := 0.0
			for j := range n {
				a, b := first+i*n+j, first+j*n+k
				if p.transposed {
					a, b = first+j*n+i, first+k*n+j
				}
				want += p.number(operands["A"], a) * p.number(operands["B"], b)
			}
			off = max(off, math.Abs(p.number(got, row*n+k)-want)/math.Abs(want))
		}
	}
	return off
}

// gemm returns the seconds of a product by cuBLAS.
func (c *card) gemm(p denseProduct, n int64, operands map[string]*tcs.Tensor,
	rounds int) (seconds float64, err error) {
	path := ""
	for _, l := range gpu.Probe().Libraries {
		if l.Title == "cuBLAS" {
			path, err = l.Path, l.Err
		}
	}
	if err != nil {
		return 0, err
	}
	err = c.do(func() error {
		var b buffers
		defer b.free()
		x, y := b.upload(operands["A"].Vals), b.upload(operands["B"].Vals)
		out := b.alloc(operands["A"].Vals.Len * int64(operands["A"].Vals.Width))
		if b.err != nil {
			return b.err
		}
		name, ms := C.CString(path), make([]C.float, rounds)
		defer C.free(unsafe.Pointer(name))
		flag := map[bool]C.int{true: 1}
		rc := C.gb_gemm(name, flag[p.single], flag[p.transposed], C.int(n),
			C.int(operands["A"].Vals.Len/(n*n)), x, y, out, C.int(rounds), &ms[0])
		seconds = median(ms)
		return status(rc)
	})
	return seconds, err
}
