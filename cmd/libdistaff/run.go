package libdistaff

/*
#include <stdlib.h>
#include "bridge.h"
#cgo noescape distaff_check
#cgo nocallback distaff_check
*/
import "C"

import (
	"runtime/cgo"
	"slices"
	"time"
	"unsafe"

	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd"
	"distaff/spmd/fault"
)

const (
	// fewValues is the largest number of values of operands and result for which the first run of an
	// instance is made on the caller's thread.
	fewValues = 1 << 15
	// improveAfter is the time of all runs after which a leaf with less optimization is replaced.
	improveAfter = 100 * time.Millisecond
)

//export goRun
func goRun(c *C.distaff_statement, operands, result *C.distaff_tensor,
	e *C.distaff_error) C.int32_t {
	s := cgo.Handle(c.handle).Value().(*statement)
	if err := s.run(operands, result); err != nil {
		return fail(e, err)
	}
	return C.DISTAFF_OK
}

// run runs the statement once.
func (s *statement) run(operands, result *C.distaff_tensor) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = panicked(v)
		}
	}()
	var which C.int32_t
	n := len(s.operands)
	switch C.distaff_check(C.int32_t(n), operands, s.c, &which) {
	case C.CHECK_LAYOUT:
		return &layoutError{s.operands[which].name}
	case C.CHECK_UNKNOWN:
		for k := int(which); k < n; k++ {
			if err := s.operands[k].check(&unsafe.Slice(operands, n)[k]); err != nil {
				return err
			}
		}
	}
	list := unsafe.Slice(operands, n)
	x, err := s.get(list)
	if err != nil {
		return err
	}
	size := int64(result.nvals)
	for k := range list {
		size += int64(list[k].nvals)
	}
	if s.env.c.interrupted == nil || x.group == nil && x.expected(size) < longRun {
		err = onCaller(func() error { return x.run(list, result, size) })
	} else {
		err = s.env.long(func() error { return x.run(list, result, size) }, x.cancel, x.end, x.progress)
		if _, stopped := err.(*interrupted); stopped {
			return err
		}
	}
	if err != nil {
		x.end()
		return err
	}
	quality, took := x.quality, x.took
	s.put(x)
	if quality == hasty && s.spent.Add(int64(took)) > int64(improveAfter) &&
		s.quality.Load() == hasty {
		s.improve(optimized, s.tensors(list))
	}
	return nil
}

// expected returns the time that a run with that many values may take: it assumes that the time
// grows with the square of the number.
func (x *instance) expected(size int64) time.Duration {
	if x.size == 0 {
		if size <= fewValues {
			return 0
		}
		return longRun
	}
	ratio := max(float64(size)/float64(x.size), 1)
	return time.Duration(min(float64(x.took)*ratio*ratio, float64(time.Hour)))
}

// run runs the instance's statement on operands.
func (x *instance) run(operands []C.distaff_tensor, result *C.distaff_tensor, size int64) error {
	at := time.Now()
	s := x.s
	if x.group != nil {
		return x.runRanks(operands, result)
	}
	for k := range s.operands {
		l := &s.operands[k]
		l.fill(x.bound[k], &operands[k])
		if l.name == s.stmt.LHS.Name && result.vals != nil && result.nvals == operands[k].nvals {
			// the run adds to the old value in the memory of the result
			old := x.bound[k].Vals
			x.bound[k].Vals.Ptr = result.vals
			if old.Ptr != result.vals {
				copy(x.bound[k].Vals.Bytes(), old.Bytes())
			}
		}
		ok, err := x.k.Bind(l.name, x.bound[k])
		if err != nil {
			return err
		}
		if !ok {
			if err := x.p.Set(l.name, spmd.InMemory(x.bound[k]), spmd.Storage{}); err != nil {
				return err
			}
		}
	}
	if result.vals == nil {
		return x.runNew(result, at, size)
	}
	if !s.result.Format.AllDense() {
		return fault.Commandf("%s: got memory for the result, want none: the result is sparse (%s)",
			s.stmt.LHS.Name, s.result.Format)
	}
	to := tcs.Array{Ptr: result.vals, Len: int64(result.nvals), Width: uint8(s.result.Type.Size())}
	if _, err := x.k.Into(to); err != nil {
		return err
	}
	if err := x.k.Run(); err != nil {
		return err
	}
	x.took, x.size = time.Since(at), size
	if w := x.k.Written(); w.Ptr != to.Ptr {
		return x.copyTo(to)
	}
	return nil
}

// copyTo copies a dense result that a run stored elsewhere to the caller's memory.
func (x *instance) copyTo(to tcs.Array) error {
	t, err := x.k.Take()
	if err != nil {
		return err
	}
	defer t.Close()
	x.s.copyTo(to, t)
	return nil
}

// copyTo copies the values of a dense result to the caller's memory.
func (s *statement) copyTo(to tcs.Array, t *tcs.Tensor) {
	if l := s.result; !t.Format().Equal(l.Format) || t.Vals.Len != to.Len ||
		t.Header.Type != l.Type || !slices.Equal(t.Header.Dims, l.Dims) {
		panic("BUG: libdistaff: the result has another layout than the statement says")
	}
	copy(to.Bytes(), t.Vals.Bytes())
}

// runNew runs the statement and gives the caller a new tensor.
func (x *instance) runNew(result *C.distaff_tensor, at time.Time, size int64) error {
	if err := x.k.Run(); err != nil {
		return err
	}
	t, err := x.k.Take()
	if err != nil {
		return err
	}
	x.took, x.size = time.Since(at), size
	give(result, t)
	return nil
}

// describe stores the layout of the result.
func (s *statement) describe(l tensor.Layout) {
	s.result = l
	n := len(l.Dims)
	s.cType, s.cFormat = C.CString(l.Type.String()), C.CString(l.Format.String())
	s.cSizes = (*C.int64_t)(C.calloc(C.size_t(n+1), 8))
	for m, d := range l.Dims {
		unsafe.Slice(s.cSizes, n)[m] = C.int64_t(d)
	}
	free := s.freeC
	s.freeC = func() {
		free()
		C.free(unsafe.Pointer(s.cType))
		C.free(unsafe.Pointer(s.cFormat))
		C.free(unsafe.Pointer(s.cSizes))
	}
}

//export goResult
func goResult(c *C.distaff_statement, result *C.distaff_tensor) {
	s := cgo.Handle(c.handle).Value().(*statement)
	*result = C.distaff_tensor{_type: s.cType, format: s.cFormat, order: C.int32_t(len(s.result.Dims)),
		sizes: s.cSizes}
}

//export goFree
func goFree(c *C.distaff_statement) {
	if c == nil {
		return
	}
	h := cgo.Handle(c.handle)
	s := h.Value().(*statement)
	h.Delete()
	C.free(unsafe.Pointer(c))
	s.mu.Lock()
	list := s.idle
	s.idle, s.closed = nil, true
	s.mu.Unlock()
	for _, x := range list {
		x.end()
	}
	s.freeC()
}
