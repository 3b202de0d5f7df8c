package cuda

/*
#include <stdlib.h>
#include "products.h"
*/
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"distaff/codegen/choice"
	"distaff/io/tensor"
	"distaff/kernels/cuda/toolkit"
)

// mathLibrary describes how to find one of the toolkit's libraries.
type mathLibrary struct {
	title    string   // "cuBLAS"
	variable string   // environment variable that names the file or its folder
	names    []string // file names, latest version first
	statuses map[int]string
	memory   int // the status code for too little memory
}

// mathLibraries are the libraries by the names that schedules use.
var mathLibraries = map[string]mathLibrary{
	choice.CuBLAS: {"cuBLAS", "DISTAFF_CUBLAS",
		[]string{"libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "libcublas.so"},
		map[int]string{
			1: "it is not initialized", 3: "it could not allocate memory",
			7: "a parameter is not valid", 8: "the GPU's architecture does not support it",
			11: "memory could not be accessed", 13: "its kernel failed",
			14: "an internal operation failed", 15: "it does not support this",
		}, 3},
	choice.CuSPARSE: {"cuSPARSE", "DISTAFF_CUSPARSE",
		[]string{"libcusparse.so.13", "libcusparse.so.12", "libcusparse.so.11", "libcusparse.so"},
		map[int]string{
			1: "it is not initialized", 2: "it could not allocate memory",
			3: "a parameter is not valid", 4: "the GPU's architecture does not support it",
			5: "memory could not be accessed", 6: "its kernel failed",
			7: "an internal operation failed", 8: "it does not support matrices of this kind",
			10: "it does not support this", 11: "there are not enough resources",
		}, 2},
}

// openMath holds the open libraries, each once per process. The key is the list of paths that were
// tried.
var openMath struct {
	sync.Mutex
	all map[string]openLibraryFile
}

type openLibraryFile struct {
	path string
	fn   unsafe.Pointer
}

// absentError reports that a library was not found, or that the environment asks not to use it.
type absentError struct{ *SetupError }

func (e *absentError) Unwrap() error { return e.SetupError }

// unwanted returns an error if the library's environment variable is "none".
func (m mathLibrary) unwanted() error {
	if os.Getenv(m.variable) != "none" {
		return nil
	}
	return &absentError{&SetupError{fmt.Sprintf("substitute: %s is not used, because %s is none",
		m.title, m.variable)}}
}

// open opens the library from the first path that works. The error is a *SetupError. It is an
// *absentError unless the environment names a library that cannot be used.
func (m mathLibrary) open(name string) (openLibraryFile, error) {
	if err := m.unwanted(); err != nil {
		return openLibraryFile{}, err
	}
	paths := toolkit.Candidates(os.Getenv, m.variable, m.names)
	key := strings.Join(paths, "\x00")
	openMath.Lock()
	defer openMath.Unlock()
	if f := openMath.all[key]; f.fn != nil {
		return f, nil
	}
	var tried []string
	for _, path := range paths {
		fn, why := openFunctions(name, path)
		if fn == nil {
			tried = append(tried, path+" ("+why+")")
			continue
		}
		if openMath.all == nil {
			openMath.all = map[string]openLibraryFile{}
		}
		openMath.all[key] = openLibraryFile{path, fn}
		return openMath.all[key], nil
	}
	err := &SetupError{fmt.Sprintf(
		"substitute: no %s (%s) was found; either name it with %s or remove %s from the "+
			"schedule; tried %s",
		m.title, m.names[0], m.variable, name, strings.Join(tried, "; "))}
	if os.Getenv(m.variable) != "" {
		return openLibraryFile{}, err
	}
	return openLibraryFile{}, &absentError{err}
}

// openFunctions opens a file as the library with the given name. If it fails, it returns nil and
// the reason.
func openFunctions(name, file string) (unsafe.Pointer, string) {
	path := C.CString(file)
	defer C.free(unsafe.Pointer(path))
	var why, missing *C.char
	// dlerror's text belongs to the thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var fn unsafe.Pointer
	if name == choice.CuBLAS {
		fn = unsafe.Pointer(C.dst_cublas_open(path, &why, &missing))
	} else {
		fn = unsafe.Pointer(C.dst_cusparse_open(path, &why, &missing))
	}
	switch {
	case fn != nil:
		return fn, ""
	case missing != nil:
		return nil, "it must have the function " + C.GoString(missing)
	}
	defer C.free(unsafe.Pointer(why))
	return nil, strings.TrimPrefix(C.GoString(why), file+": ")
}

// mathHandle is a CUDA math library (cuBLAS or cuSPARSE) and a handle of it that was made for one
// device.
type mathHandle struct {
	fn     unsafe.Pointer
	handle C.dst_cu_handle
}

func (d *driver) library(name string) error {
	if err := mathLibraries[name].unwanted(); err != nil {
		return err
	}
	if d.math[name].fn != nil {
		return nil
	}
	f, err := mathLibraries[name].open(name)
	if err != nil {
		return err
	}
	fn := f.fn
	h := mathHandle{fn: fn}
	var rc C.int
	if name == choice.CuBLAS {
		rc = C.dst_cublas_start((*C.dst_cublas)(fn), d.compute, &h.handle)
	} else {
		rc = C.dst_cusparse_start((*C.dst_cusparse)(fn), d.compute, &h.handle)
	}
	if rc != 0 {
		return d.refused(name, rc, "a handle")
	}
	if d.math == nil {
		d.math = map[string]mathHandle{}
	}
	d.math[name] = h
	return nil
}

// refused returns the error for a math library that refused a request with status code rc. name is
// the library, and what describes the request. The error is a *MemoryError if the library lacks
// memory, and a *SetupError otherwise.
func (d *driver) refused(name string, rc C.int, what string) error {
	m := mathLibraries[name]
	if int(rc) == m.memory {
		free, total := d.memInfo()
		return &MemoryError{What: m.title + "'s own memory for " + what, Free: free, Total: total,
			Device: d.desc.name}
	}
	why := m.statuses[int(rc)]
	if why == "" {
		why = "it gives no reason"
	}
	return &SetupError{fmt.Sprintf("%s cannot compute %s: %s (status %d)",
		m.title, what, why, int(rc))}
}

// typeLetters are the letters that libraries use for value types.
var typeLetters = map[tensor.Type]C.int{tensor.Float32: 's', tensor.Float64: 'd',
	tensor.Complex64:  'c',
	tensor.Complex128: 'z'}

func flag(b bool) C.int {
	if b {
		return 1
	}
	return 0
}

// gemm computes the product with cuBLAS, which stores matrices by columns. If c is stored by rows,
// gemm computes the product of the transposed matrices in the opposite order.
func (d *driver) gemm(p matrixProduct) error {
	p = p.byColumns()
	_, ldc, _ := p.c.columns(p.m, p.n)
	opA, lda, _ := p.a.columns(p.m, p.k)
	opB, ldb, _ := p.b.columns(p.k, p.n)
	if err := checkInt32(p.what, p.m, p.n, p.k, p.batch, lda, ldb, ldc); err != nil {
		return err
	}
	if err := d.awaitUploads(); err != nil {
		return err
	}
	d.what = p.what
	h := d.math[choice.CuBLAS]
	g := C.dst_product{_type: typeLetters[p.elem], op_a: flag(opA), op_b: flag(opB), m: C.int(p.m),
		n: C.int(p.n), k: C.int(p.k), batch: C.int(p.batch), stride_a: C.longlong(p.a.batch),
		stride_b: C.longlong(p.b.batch), stride_c: C.longlong(p.c.batch),
		lda: C.int(lda), ldb: C.int(ldb), ldc: C.int(ldc), a: C.dst_cu_ptr(p.a.at),
		b: C.dst_cu_ptr(p.b.at), c: C.dst_cu_ptr(p.c.at),
		alpha: [2]C.uint64_t{C.uint64_t(p.alpha[0]), C.uint64_t(p.alpha[1])}}
	if rc := C.dst_cublas_product((*C.dst_cublas)(h.fn), h.handle, &g); rc != 0 {
		return d.refused(choice.CuBLAS, rc, "the product of matrices in "+p.what)
	}
	return nil
}

// spmm computes the product with cuSPARSE. If the dense operands are contiguous vectors, it uses
// the matrix-vector product. Otherwise it uses the matrix-matrix product, and transposes b if only
// one of b and c is stored by rows.
func (d *driver) spmm(p sparseProduct) error {
	if err := d.awaitUploads(); err != nil {
		return err
	}
	d.what = p.what
	h := d.math[choice.CuSPARSE]
	fn := (*C.dst_cusparse)(h.fn)
	g := C.dst_sparse_product{_type: typeLetters[p.elem], width: C.int(p.width), m: C.int64_t(p.m),
		n: C.int64_t(p.n), k: C.int64_t(p.k), nnz: C.int64_t(p.nnz),
		pos: C.dst_cu_ptr(p.pos), crd: C.dst_cu_ptr(p.crd), vals: C.dst_cu_ptr(p.vals),
		b: C.dst_cu_ptr(p.b.at), c: C.dst_cu_ptr(p.c.at),
		alpha: [2]C.uint64_t{C.uint64_t(p.alpha[0]), C.uint64_t(p.alpha[1])}}
	byRows := p.n == 1 || p.c.col == 1
	along, across, ldc := p.b.col, p.b.row, p.c.row
	if !byRows {
		along, across, ldc = p.b.row, p.b.col, p.c.col
	}
	transposed := along != 1 && (!byRows || p.n > 1)
	g.vector, g.by_rows, g.op_b = flag(p.n == 1 && p.b.row == 1 && p.c.row == 1), flag(byRows),
		flag(transposed)
	g.ldb, g.ldc = C.int64_t(across), C.int64_t(ldc)
	if transposed {
		g.ldb = C.int64_t(along)
	}
	defer C.dst_cusparse_done(fn, &g)
	var bytes C.size_t
	what := "the product with a sparse matrix in " + p.what
	if rc := C.dst_cusparse_scratch(fn, h.handle, &g, &bytes); rc != 0 {
		return d.refused(choice.CuSPARSE, rc, what)
	}
	var scratch pointer
	if bytes > 0 {
		var err error
		if scratch, err = d.alloc(int64(bytes),
			"cuSPARSE's scratch memory for "+p.what); err != nil {
			return err
		}
		defer d.free(scratch)
	}
	if rc := C.dst_cusparse_product(fn, h.handle, &g, C.dst_cu_ptr(scratch)); rc != 0 {
		return d.refused(choice.CuSPARSE, rc, what)
	}
	return nil
}
