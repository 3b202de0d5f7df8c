// Package nvrtc compiles CUDA C++ with NVIDIA's libnvrtc, which it opens at run time. It needs no
// GPU, no driver and no header of CUDA.
package nvrtc

/*
#cgo LDFLAGS: -ldl
#include <stdlib.h>
#include "nvrtc.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"unsafe"
)

// Compiler is an open libnvrtc. Several goroutines may call its methods at the same time. It is
// never closed, because the library starts threads of its own.
type Compiler struct {
	lib  *C.dst_nvrtc
	path string
}

// openPath opens the library that path names: a file, or a bare name for the loader to find.
func openPath(path string) (*Compiler, error) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	lib := (*C.dst_nvrtc)(C.malloc(C.sizeof_dst_nvrtc))
	// dlerror's text belongs to the thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if why := C.dst_nvrtc_open(lib, name); why != nil {
		defer C.free(unsafe.Pointer(why))
		C.free(unsafe.Pointer(lib))
		return nil, fmt.Errorf("%s", strings.TrimPrefix(C.GoString(why), path+": "))
	}
	return &Compiler{lib: lib, path: path}, nil
}

// Path returns the path of the library, or the name that the loader found it by.
func (c *Compiler) Path() string { return c.path }

// Version returns NVRTC's version, for example 12, 4, which is the version of its CUDA toolkit. PTX
// needs a driver of at least this version. A cubin needs a driver of at least the same major
// version.
func (c *Compiler) Version() (major, minor int) {
	var a, b C.int
	if C.dst_nvrtc_version(c.lib, &a, &b) != 0 {
		return 0, 0
	}
	return int(a), int(b)
}

// Architectures returns the supported compute capabilities in ascending order. 80 means sm_80 and
// compute_80. The list is empty if the library does not report them.
func (c *Compiler) Architectures() []int {
	var list [256]C.int
	n := C.dst_nvrtc_archs(c.lib, &list[0], C.int(len(list)))
	archs := make([]int, n)
	for i := range archs {
		archs[i] = int(list[i])
	}
	return archs
}

// Error reports that a program was not compiled.
type Error struct {
	Arch   string
	Reason string // NVRTC's name of the error
	Log    string // the compiler's messages with lines of the source; may be ""

	internal bool // the error is internal to NVRTC
}

func (e *Error) Error() string {
	s := fmt.Sprintf("NVRTC cannot compile for %s: %s", e.Arch, e.Reason)
	if e.Log != "" {
		s += "\n" + strings.TrimSpace(e.Log)
	}
	return s
}

// Compile compiles a file of CUDA C++. arch selects the output: "sm_90" makes machine code for one
// architecture (a cubin), and "compute_90" makes PTX for this and all later architectures, with a
// zero byte at its end. cuModuleLoadData accepts both. log holds the compiler's warnings. The
// options follow --gpu-architecture on the compiler's command line. If NVRTC has an internal error,
// Compile compiles the file again with less optimization and, if that works, says so in log. The
// error is an *Error.
func (c *Compiler) Compile(source, arch string, options ...string) (image []byte, log string,
	err error) {
	image, log, err = c.compile(source, arch, options)
	var failed *Error
	if !errors.As(err, &failed) || !failed.internal {
		return image, log, err
	}
	image, log, again := c.compile(source, arch, append(slices.Clone(options), lessOptimized))
	if again != nil {
		return nil, failed.Log, failed
	}
	return image, strings.TrimSpace(fmt.Sprintf("%s at full optimization: compiled with %s\n%s",
		failed.Reason, lessOptimized, log)), nil
}

// lessOptimized is the option for the second compilation, which is tried if the first one fails
// with an internal error of NVRTC.
const lessOptimized = "--ptxas-options=-O1"

// internalError is NVRTC's code of an internal error.
const internalError = 11

func (c *Compiler) compile(source, arch string, options []string) (image []byte, log string,
	err error) {
	cubin := strings.HasPrefix(arch, "sm_")
	if !cubin && !strings.HasPrefix(arch, "compute_") {
		return nil, "", &Error{Arch: arch,
			Reason: "want an architecture, as in sm_90 or compute_90"}
	}
	if cubin && c.lib.cubin == nil {
		return nil, "", &Error{Arch: arch, Reason: "before version 11.1, NVRTC can make only PTX"}
	}
	options = append([]string{"--gpu-architecture=" + arch}, options...)
	argv := (*[1 << 16]*C.char)(C.malloc(C.size_t(len(options)) * C.size_t(
		unsafe.Sizeof((*C.char)(nil)))))
	defer C.free(unsafe.Pointer(argv))
	for i, o := range options {
		argv[i] = C.CString(o)
		defer C.free(unsafe.Pointer(argv[i]))
	}
	text, name := C.CString(source), C.CString("leaf.cu")
	defer C.free(unsafe.Pointer(text))
	defer C.free(unsafe.Pointer(name))

	var said, out *C.char
	var size C.size_t
	rc := C.dst_nvrtc_compile(c.lib, text, name, &argv[0], C.int(len(options)), C.int(truth(cubin)),
		&said, &out, &size)
	defer C.free(unsafe.Pointer(said))
	defer C.free(unsafe.Pointer(out))
	if said != nil {
		log = C.GoString(said)
	}
	if rc != 0 {
		return nil, log, &Error{Arch: arch, Reason: C.GoString(C.dst_nvrtc_error(c.lib, rc)),
			Log: log, internal: rc == internalError}
	}
	return C.GoBytes(unsafe.Pointer(out), C.int(size)), log, nil
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}
