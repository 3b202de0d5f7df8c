package mpi

/*
#cgo LDFLAGS: -ldl
#include <stdlib.h>
#include "dl.h"
#cgo noescape dst_mpi_call_isend
#cgo nocallback dst_mpi_call_isend
#cgo noescape dst_mpi_call_irecv
#cgo nocallback dst_mpi_call_irecv
#cgo noescape dst_mpi_call_test
#cgo nocallback dst_mpi_call_test
#cgo noescape dst_mpi_call_poll
#cgo nocallback dst_mpi_call_poll
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"distaff/io/outfile"
	"distaff/spmd/comm"
)

// engine calls MPI through a wrapper. If MPI allows calls from any thread, each thread makes its
// own calls, except finalize. Otherwise the thread that opened MPI makes the calls for all threads,
// except test, abort and err: each thread makes these itself.
type engine struct {
	api    *C.dst_mpi_api
	direct bool
	calls  chan func()

	rank, size, tagLimit int
	level                int
	library              string
}

var levelNames = [...]string{"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED",
	"MPI_THREAD_MULTIPLE"}

// load opens a wrapper from its bytes, which have been checked before.
func (w *Wrapper) load() (*engine, error) {
	path, done, err := w.file()
	if err != nil {
		return nil, fmt.Errorf("the MPI wrapper (%s): %w", w.From, err)
	}
	defer done()
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	var why *C.char
	runtime.LockOSThread() // dlopen's error text belongs to the thread
	defer runtime.UnlockOSThread()
	// When UCX is loaded, it installs handlers that report faults before Go can turn them into
	// panics. This setting stops it. The handlers are restored in any case.
	if os.Getenv("UCX_HANDLE_ERRORS") == "" {
		os.Setenv("UCX_HANDLE_ERRORS", "none")
	}
	C.dst_mpi_keep_handlers()
	api := C.dst_mpi_dlopen(name, &why)
	C.dst_mpi_restore_handlers()
	if api == nil {
		defer C.free(unsafe.Pointer(why))
		return nil, &LaunchError{
			fmt.Sprintf("the MPI wrapper (%s, for %s %s) cannot be loaded: %s", w.From, w.Family,
				w.Version,
				C.GoString(why))}
	}
	if api.abi != abi {
		return nil, &LaunchError{
			fmt.Sprintf("the MPI wrapper (%s) has version %d, want %d", w.From, api.abi, abi)}
	}
	return &engine{api: api, calls: make(chan func())}, nil
}

// file writes the wrapper to an anonymous file, from which the loader can open it. Some systems
// forbid such files, for example because they could be executed. In this case, file writes the
// wrapper to a file in a private folder. path is the path for the loader. done removes the folder.
func (w *Wrapper) file() (path string, done func(), err error) {
	fd, err := unix.MemfdCreate("distaff-mpi", unix.MFD_CLOEXEC|unix.MFD_EXEC)
	if err == unix.EINVAL { // a kernel before 6.3
		fd, err = unix.MemfdCreate("distaff-mpi", unix.MFD_CLOEXEC)
	}
	if err == nil {
		// Never closed, because the loader knows the object by the name of this descriptor.
		f := os.NewFile(uintptr(fd), "distaff-mpi")
		if _, err = f.Write(w.bytes); err == nil {
			kept = f
			return fmt.Sprintf("/proc/self/fd/%d", fd), func() {}, nil
		}
		f.Close()
	}
	dir, err := outfile.MkdirTemp("", "distaff-mpi-")
	if err != nil {
		return "", nil, err
	}
	path = dir + "/wrapper.so"
	if err := os.WriteFile(path, w.bytes, 0o700); err != nil {
		os.RemoveAll(dir)
		return "", nil, err
	}
	return path, func() { os.RemoveAll(dir) }, nil
}

// kept is the file of the loaded wrapper. It stays open because the loader identifies the wrapper
// by the name of this file's descriptor.
var kept *os.File

// funneled is set by tests. MPI is then called as if it let only one thread call.
var funneled bool

// do runs f on a thread that may call MPI.
func (e *engine) do(f func()) {
	if e.direct {
		f()
		return
	}
	done := make(chan struct{})
	e.calls <- func() { defer close(done); f() }
	<-done
}

// init opens MPI on a thread of its own, which makes calls for other threads until finalize.
func (e *engine) init() error {
	ready := make(chan error)
	go func() {
		runtime.LockOSThread()
		var rank, size, provided, limit C.int32_t
		code := C.dst_mpi_call_init(e.api, &rank, &size, &provided, &limit)
		C.dst_mpi_restore_handlers()
		if code != 0 {
			ready <- fmt.Errorf("MPI_Init_thread failed with code %d", int(code))
			return
		}
		e.rank, e.size, e.level, e.tagLimit = int(rank), int(size), int(provided), int(limit)
		e.library = e.libraryText()
		e.direct = e.level >= C.DST_MPI_SERIALIZED && !funneled
		ready <- nil
		for f := range e.calls {
			f()
		}
	}()
	return <-ready
}

// finalize closes MPI on the thread that opened it.
func (e *engine) finalize() error {
	done := make(chan error)
	e.calls <- func() { done <- e.err(C.dst_mpi_call_finalize(e.api)) }
	return <-done
}

// abort ends the job with an exit code. It does not return.
func (e *engine) abort(code int) {
	C.dst_mpi_call_abort(e.api, C.int32_t(code))
	os.Exit(code)
}

// libraryText returns the first line of the text in which the MPI library describes its version. It
// omits the end of this line from ", package:" on.
func (e *engine) libraryText() string {
	var text [512]C.char
	C.dst_mpi_call_library(e.api, &text[0], C.int32_t(len(text)))
	s, _, _ := strings.Cut(C.GoString(&text[0]), "\n")
	s, _, _ = strings.Cut(s, ", package:")
	return strings.Join(strings.Fields(s), " ")
}

// err returns an MPI error code as an error with the text of MPI, or nil if code is 0.
func (e *engine) err(code C.int) error {
	if code == 0 {
		return nil
	}
	var text [512]C.char
	C.dst_mpi_call_error_string(e.api, C.int32_t(code), &text[0], C.int32_t(len(text)))
	return errors.New("MPI: " + strings.TrimSpace(C.GoString(&text[0])))
}

// openLink duplicates the world communicator. Every rank must call it.
func (e *engine) openLink() (link int64, err error) {
	e.do(func() {
		var l C.int64_t
		err = e.err(C.dst_mpi_call_open_link(e.api, &l))
		link = int64(l)
	})
	return link, err
}

// isend and irecv start a message. The n bytes at p must be outside the Go heap.
func (e *engine) isend(link int64, p unsafe.Pointer, n int64, to, tag int) (int64, error) {
	var r C.int64_t
	var code C.int
	if e.direct {
		code = C.dst_mpi_call_isend(e.api, C.int64_t(link), p, C.int64_t(n), C.int32_t(to),
			C.int32_t(tag), &r)
	} else {
		e.do(func() {
			code = C.dst_mpi_call_isend(e.api, C.int64_t(link), p, C.int64_t(n), C.int32_t(to),
				C.int32_t(tag), &r)
		})
	}
	return int64(r), e.err(code)
}

func (e *engine) irecv(link int64, p unsafe.Pointer, n int64, from, tag int) (int64, error) {
	var r C.int64_t
	var code C.int
	if e.direct {
		code = C.dst_mpi_call_irecv(e.api, C.int64_t(link), p, C.int64_t(n), C.int32_t(from),
			C.int32_t(tag), &r)
	} else {
		e.do(func() {
			code = C.dst_mpi_call_irecv(e.api, C.int64_t(link), p, C.int64_t(n), C.int32_t(from),
				C.int32_t(tag), &r)
		})
	}
	return int64(r), e.err(code)
}

// test reports whether request r is done, and frees it if so. It makes no progress and calls no MPI
// function that could wait, so that any thread may call it.
func (e *engine) test(r int64) (done bool, n int64, err error) {
	var d, code, truncated C.int32_t
	var bytes C.int64_t
	C.dst_mpi_call_test(e.api, C.int64_t(r), &d, &bytes, &code, &truncated)
	if d == 0 {
		return false, 0, nil
	}
	if truncated != 0 {
		return true, 0, comm.ErrTruncated
	}
	return true, int64(bytes), e.err(C.int(code))
}

// cancelReceive cancels a receive.
func (e *engine) cancelReceive(r int64) {
	e.do(func() { C.dst_mpi_call_cancel(e.api, C.int64_t(r)) })
}

// poll lets MPI make progress until one of the requests is done, or until the given time has
// passed. It returns the number of requests that are done. If rs is empty, poll lets MPI make
// progress until no message has moved for the given time, but for at most 2 ms.
func (e *engine) poll(rs []int64, nanoseconds int64) int {
	var p *C.int64_t
	if len(rs) > 0 {
		p = (*C.int64_t)(unsafe.Pointer(&rs[0]))
	}
	if e.direct {
		return int(C.dst_mpi_call_poll(e.api, p, C.int32_t(len(rs)), C.int64_t(nanoseconds)))
	}
	n := 0
	e.do(func() {
		n = int(C.dst_mpi_call_poll(e.api, p, C.int32_t(len(rs)),
			C.int64_t(nanoseconds)))
	})
	return n
}

func (e *engine) probe(link int64, tag int) (found bool, from int, n int64, err error) {
	e.do(func() {
		var f, peer C.int32_t
		var bytes C.int64_t
		err = e.err(C.dst_mpi_call_probe(e.api, C.int64_t(link), C.int32_t(tag), &f, &peer, &bytes))
		found, from, n = err == nil && f != 0, int(peer), int64(bytes)
	})
	return found, from, n, err
}

// cAlloc allocates memory outside the Go heap, aligned to 64 bytes, whose address MPI may keep.
func cAlloc(n int64) (unsafe.Pointer, error) {
	p := C.aligned_alloc(64, C.size_t((n+63)&^63))
	if p == nil && n > 0 {
		return nil, fmt.Errorf("cannot allocate a buffer of %d bytes for messages", n)
	}
	return p, nil
}

func cFree(p unsafe.Pointer) { C.free(p) }
