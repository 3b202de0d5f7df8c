package main

/*
#cgo LDFLAGS: -ldl
#include <stdlib.h>
#include "peers.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"
)

// sparseNames are the names and paths of cuSPARSE. The first three are bare names, which the loader
// looks up.
var sparseNames = []string{"libcusparse.so.12", "libcusparse.so.13", "libcusparse.so",
	"/usr/local/cuda/lib64/libcusparse.so.12", "/usr/local/cuda/lib64/libcusparse.so"}

// The identifiers of a device's attributes in the interface of the CUDA driver. The attributes that
// are rates are in kHz.
const (
	attributeProcessors  = 16
	attributeClockRate   = 13
	attributeMemoryClock = 36
	attributeL2          = 38
)

// peers is cuSPARSE on device 0, with device memory of its own. One thread does all its work in
// device memory.
type peers struct {
	work   chan func()
	sparse bool
	why    string // the reason why cuSPARSE is missing
}

// openPeers opens the driver, and cuSPARSE at path or, if path is "", the first of sparseNames that
// can be opened. Without cuSPARSE it returns no error.
func openPeers(path string) (*peers, error) {
	p := &peers{work: make(chan func())}
	go func() {
		runtime.LockOSThread()
		for f := range p.work {
			f()
		}
	}()
	names := sparseNames
	if path != "" {
		names = []string{path}
	}
	err := p.do(func() error {
		list := make([]*C.char, len(names))
		for k, n := range names {
			list[k] = C.CString(n)
			defer C.free(unsafe.Pointer(list[k]))
		}
		return status(C.gb_open(&list[0], C.int(len(list))))
	})
	if err != nil {
		return nil, err
	}
	if p.sparse = C.gb_has_sparse() != 0; !p.sparse {
		p.why = C.GoString(C.gb_sparse_why())
	}
	return p, nil
}

// do runs f on the peers' thread.
func (p *peers) do(f func() error) error {
	done := make(chan error)
	p.work <- func() { done <- f() }
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
func (p *peers) describe() string {
	version := int(C.gb_driver_version())
	s := fmt.Sprintf("%s, %d multiprocessors, L2 %d MB, at most %d MHz, memory %d MHz, driver "+
		"for CUDA %d.%d", C.GoString(C.gb_device_name()), C.gb_attribute(attributeProcessors),
		C.gb_attribute(attributeL2)>>20, C.gb_attribute(attributeClockRate)/1000,
		C.gb_attribute(attributeMemoryClock)/1000, version/1000, version%1000/10)
	if p.sparse {
		return s + ", " + C.GoString(C.gb_sparse_path())
	}
	return s + ", no cuSPARSE: " + p.why
}

// cache returns the size of the card's level-2 cache in bytes.
func (p *peers) cache() int64 { return int64(C.gb_attribute(attributeL2)) }

// buffers are pieces of device memory that are freed together.
type buffers struct{ list []C.gb_ptr }

func (b *buffers) free() {
	for _, p := range b.list {
		C.gb_free(p)
	}
}

func (b *buffers) alloc(bytes int64) (C.gb_ptr, error) {
	var p C.gb_ptr
	if err := status(C.gb_alloc(&p, C.size_t(bytes))); err != nil {
		return 0, err
	}
	b.list = append(b.list, p)
	return p, nil
}

// upload copies a slice to device memory of its own.
func upload[T float64 | int32](b *buffers, s []T) (C.gb_ptr, error) {
	bytes := int64(len(s)) * int64(unsafe.Sizeof(s[0]))
	p, err := b.alloc(bytes)
	if err == nil {
		err = status(C.gb_up(p, unsafe.Pointer(&s[0]), C.size_t(bytes)))
	}
	return p, err
}

func download(p C.gb_ptr, n int64) ([]float64, error) {
	s := make([]float64, n)
	return s, status(C.gb_down(unsafe.Pointer(&s[0]), p, C.size_t(8*n)))
}

func milliseconds(ms []C.float) []float64 {
	out := make([]float64, len(ms))
	for k, t := range ms {
		out[k] = float64(t)
	}
	return out
}

// bandwidth measures copies within the device's memory. It returns the number of bytes read plus
// the number of bytes written, per second.
func (p *peers) bandwidth() (float64, error) {
	const bytes, n = 1 << 30, 11
	ms := make([]C.float, n)
	err := p.do(func() error {
		var b buffers
		defer b.free()
		from, err := b.alloc(bytes)
		if err != nil {
			return err
		}
		to, err := b.alloc(bytes)
		if err != nil {
			return err
		}
		return status(C.gb_copy(to, from, bytes, n, &ms[0]))
	})
	return 2 * bytes / median(milliseconds(ms)) * 1e3, err
}

// theirs is the time and the result of cuSPARSE's best algorithm.
type theirs struct {
	algorithm string
	ms        float64
	result    []float64
}

// algorithm is an algorithm of cuSPARSE. If prepared is true, cuSPARSE's preprocessing function is
// called before the algorithm runs.
type algorithm struct {
	name     string
	number   int
	prepared bool
}

var (
	spmvAlgorithms = both("ALG1", 2, "ALG2", 3)
	spmmAlgorithms = both("ALG2", 6, "ALG3", 12)
)

func both(a string, x int, b string, y int) []algorithm {
	return []algorithm{{"default", 0, false}, {a, x, false}, {b, y, false},
		{"default, prepared", 0, true}, {a + ", prepared", x, true}, {b + ", prepared", y, true}}
}

// csr uploads a matrix.
func (b *buffers) csr(m *matrix) (a C.gb_csr, err error) {
	a.rows, a.cols, a.nnz = C.int64_t(m.rows), C.int64_t(m.cols), C.int64_t(m.nnz())
	if a.pos, err = upload(b, m.pos); err != nil {
		return a, err
	}
	if a.crd, err = upload(b, m.crd); err != nil {
		return a, err
	}
	a.vals, err = upload(b, m.vals)
	return a, err
}

// best runs each algorithm of list, and returns the time and the result of the fastest. run runs an
// algorithm, which must store n values at out.
func best(list []algorithm, n int64, out C.gb_ptr, rounds int,
	run func(a algorithm, ms *C.float) C.int) (t theirs, err error) {
	ms := make([]C.float, rounds)
	for _, a := range list {
		err := status(run(a, &ms[0]))
		if err == errUnsupported {
			continue
		}
		if err != nil {
			return t, err
		}
		if m := median(milliseconds(ms)); t.ms == 0 || m < t.ms {
			t.algorithm, t.ms = a.name, m
			if t.result, err = download(out, n); err != nil {
				return t, err
			}
		}
	}
	if t.ms == 0 {
		return t, errUnsupported
	}
	return t, nil
}

// spmv times A*x.
func (p *peers) spmv(m *matrix, x []float64, rounds int) (t theirs, err error) {
	err = p.do(func() error {
		var b buffers
		defer b.free()
		a, err := b.csr(m)
		if err != nil {
			return err
		}
		dx, err := upload(&b, x)
		if err != nil {
			return err
		}
		dy, err := b.alloc(8 * m.rows)
		if err != nil {
			return err
		}
		t, err = best(spmvAlgorithms, m.rows, dy, rounds, func(g algorithm, ms *C.float) C.int {
			return C.gb_spmv(&a, dx, dy, C.int(g.number), truth(g.prepared), C.int(rounds), ms)
		})
		return err
	})
	return t, err
}

// spmm times A*B of k columns.
func (p *peers) spmm(m *matrix, bs []float64, k int64, rounds int) (t theirs, err error) {
	err = p.do(func() error {
		var b buffers
		defer b.free()
		a, err := b.csr(m)
		if err != nil {
			return err
		}
		db, err := upload(&b, bs)
		if err != nil {
			return err
		}
		dc, err := b.alloc(8 * m.rows * k)
		if err != nil {
			return err
		}
		t, err = best(spmmAlgorithms, m.rows*k, dc, rounds, func(g algorithm, ms *C.float) C.int {
			return C.gb_spmm(&a, C.int64_t(k), db, dc, C.int(g.number), truth(g.prepared),
				C.int(rounds), ms)
		})
		return err
	})
	return t, err
}

// sddmm times cuSPARSE's SDDMM: the dot products of rows of x and rows of y at A's pattern. Unlike
// our SDDMM, it does not multiply them by A's values.
func (p *peers) sddmm(m *matrix, x, y []float64, k int64, rounds int) (t theirs, err error) {
	err = p.do(func() error {
		var b buffers
		defer b.free()
		a, err := b.csr(m)
		if err != nil {
			return err
		}
		dx, err := upload(&b, x)
		if err != nil {
			return err
		}
		dy, err := upload(&b, y)
		if err != nil {
			return err
		}
		t, err = best([]algorithm{{"default", 0, false}}, m.nnz(), a.vals, rounds,
			func(_ algorithm, ms *C.float) C.int {
				return C.gb_sddmm(&a, C.int64_t(k), dx, dy, C.int(rounds), ms)
			})
		return err
	})
	for p := range t.result {
		t.result[p] *= m.vals[p]
	}
	return t, err
}

func truth(b bool) C.int {
	if b {
		return 1
	}
	return 0
}
