package main

/*
#cgo LDFLAGS: -ldl
#include <stdlib.h>
#include "cusparse.h"
*/
import "C"

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"distaff/io/tcs"
	"distaff/kernels/cuda/toolkit"
)

// sparseNames are the file names of cuSPARSE, the preferred one first.
var sparseNames = []string{"libcusparse.so.12", "libcusparse.so.13", "libcusparse.so"}

// attributeL2 identifies the size of the cache in the interface of the CUDA driver.
const attributeL2 = 38

// card measures device 0 without Distaff's leaves: the speed of copies and of cuSPARSE's
// algorithms. All measurements run on one thread (see do).
type card struct {
	work   chan func()
	sparse bool // there is a cuSPARSE
	cache  int64
}

// openCard opens the driver, and cuSPARSE: the first of the library's candidates that can be opened
// (see toolkit.Candidates). Without cuSPARSE it returns no error.
func openCard() (*card, error) {
	c := &card{work: make(chan func())}
	go func() {
		runtime.LockOSThread()
		for f := range c.work {
			f()
		}
	}()
	names := toolkit.Candidates(os.Getenv, "DISTAFF_CUSPARSE", sparseNames)
	return c, c.do(func() error {
		list := make([]*C.char, len(names))
		for k, n := range names {
			list[k] = C.CString(n)
			defer C.free(unsafe.Pointer(list[k]))
		}
		err := status(C.gb_open(&list[0], C.int(len(list))))
		if err == nil {
			c.sparse, c.cache = C.gb_has_sparse() != 0, int64(C.gb_attribute(attributeL2))
		}
		return err
	})
}

// do runs f on the card's thread.
func (c *card) do(f func() error) error {
	done := make(chan error)
	c.work <- func() { done <- f() }
	return <-done
}

// errUnsupported is the error if cuSPARSE does not support the requested algorithm.
var errUnsupported = errors.New("not supported")

func status(rc C.int) error {
	switch rc {
	case 0:
		return nil
	case 2:
		return errUnsupported
	}
	return errors.New(C.GoString(&C.gb_error[0]))
}

// describe returns a line about the card.
func (c *card) describe() string {
	sparse := "no cuSPARSE: " + C.GoString(C.gb_sparse_why())
	if c.sparse {
		sparse = C.GoString(C.gb_sparse_path())
	}
	return fmt.Sprintf("%s, L2 %d MB, driver for CUDA %.1f, %s", C.GoString(C.gb_device_name()),
		c.cache>>20, float64(C.gb_driver_version())/1000, sparse)
}

// buffers are pieces of device memory that are freed together. The first error makes later pieces
// empty.
type buffers struct {
	list []C.gb_ptr
	err  error
}

func (b *buffers) free() {
	for _, p := range b.list {
		C.gb_free(p)
	}
}

func (b *buffers) alloc(bytes int64) (p C.gb_ptr) {
	if b.err == nil {
		if b.err = status(C.gb_alloc(&p, C.size_t(bytes))); b.err == nil {
			b.list = append(b.list, p)
		}
	}
	return p
}

// upload copies a tensor's array to device memory of its own.
func (b *buffers) upload(a tcs.Array) C.gb_ptr {
	bytes := a.Len * int64(a.Width)
	p := b.alloc(bytes)
	if b.err == nil {
		b.err = status(C.gb_up(p, unsafe.Pointer(a.Ptr), C.size_t(bytes)))
	}
	return p
}

// median returns the median of milliseconds, in seconds.
func median(ms []C.float) float64 {
	t := make(times, len(ms))
	for k, x := range ms {
		t[k] = float64(x) / 1e3
	}
	return t.median()
}

// bandwidth measures copies within the device's memory. It returns the number of bytes read plus
// the number of bytes written, per second.
func (c *card) bandwidth() (float64, error) {
	const bytes, n = 1 << 30, 11
	ms := make([]C.float, n)
	err := c.do(func() error {
		var b buffers
		defer b.free()
		from, to := b.alloc(bytes), b.alloc(bytes)
		return cmp.Or(b.err, status(C.gb_copy(to, from, bytes, n, &ms[0])))
	})
	return 2 * bytes / median(ms), err
}

// theirs is the time and the result of cuSPARSE's best algorithm.
type theirs struct {
	algorithm string
	seconds   float64
	result    []float64
}

// algorithm is an algorithm of cuSPARSE. If prepared is set, cuSPARSE's preprocessing function is
// called before the algorithm runs.
type algorithm struct {
	name             string
	number, prepared C.int
}

// algorithms returns the variants to time: cuSPARSE's default algorithm and two others, each with
// and without preprocessing. a and b are the names of the two others, and x and y are their numbers
// in cuSPARSE.
func algorithms(a string, x C.int, b string, y C.int) []algorithm {
	return []algorithm{{"default", 0, 0}, {a, x, 0}, {b, y, 0}, {"default, prepared", 0, 1},
		{a + ", prepared", x, 1}, {b + ", prepared", y, 1}}
}

// run times cuSPARSE's algorithms for SpMV, SpMM or SDDMM. It returns the time and the result of
// the fastest one. A is the sparse matrix, and x lists the dense operands: two for SDDMM, and
// otherwise one. rounds is the number of timed runs of each algorithm.
//
// The SDDMM of cuSPARSE does not multiply the dot products by A's values, so run does it.
func (c *card) run(A *tcs.Tensor, x []*tcs.Tensor, rounds int) (t theirs, err error) {
	err = c.do(func() error {
		var b buffers
		defer b.free()
		level, k := &A.Levels[1], C.int64_t(width(x[0]))
		a := C.gb_csr{C.int64_t(A.Header.Dims[0]), C.int64_t(A.Header.Dims[1]),
			C.int64_t(A.Vals.Len), b.upload(level.Pos), b.upload(level.Crd), b.upload(A.Vals)}
		first, list, n := b.upload(x[0].Vals), []algorithm{{"default", 0, 0}}, A.Vals.Len
		var second, out C.gb_ptr
		switch {
		case len(x) == 2:
			second, out = b.upload(x[1].Vals), a.vals
		case k == 1:
			list = algorithms("ALG1", 2, "ALG2", 3)
		default:
			list = algorithms("ALG2", 6, "ALG3", 12)
		}
		if len(x) == 1 {
			n = A.Header.Dims[0] * int64(k)
			out = b.alloc(8 * n)
		}
		ms, times := make([]C.float, rounds), C.int(rounds)
		for _, g := range list {
			rc := C.int(0)
			switch {
			case b.err != nil:
				return b.err
			case len(x) == 2:
				rc = C.gb_sddmm(&a, k, first, second, times, &ms[0])
			case k == 1:
				rc = C.gb_spmv(&a, first, out, g.number, g.prepared, times, &ms[0])
			default:
				rc = C.gb_spmm(&a, k, first, out, g.number, g.prepared, times, &ms[0])
			}
			if err := status(rc); err == errUnsupported {
				continue
			} else if err != nil {
				return err
			}
			if s := median(ms); t.seconds == 0 || s < t.seconds {
				t = theirs{g.name, s, make([]float64, n)}
				b.err = status(C.gb_down(unsafe.Pointer(&t.result[0]), out, C.size_t(8*n)))
			}
		}
		if t.seconds == 0 {
			t.algorithm = errUnsupported.Error()
		}
		return b.err
	})
	if len(x) == 2 {
		for p := range t.result {
			t.result[p] *= vals(A)[p]
		}
	}
	return t, err
}
