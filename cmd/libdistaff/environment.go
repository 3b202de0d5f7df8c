package libdistaff

/*
#cgo CFLAGS: -O3
#include <stdlib.h>
#include "bridge.h"
*/
import "C"

import (
	"fmt"
	"runtime/cgo"
	"runtime/debug"
	"strings"
	"sync"
	"unsafe"

	"distaff/kernels"
	"distaff/kernels/target"
	"distaff/spmd"
	"distaff/spmd/fault"
)

// environment holds the options of statements.
type environment struct {
	options spmd.Options
	c       *C.distaff_options // the caller's functions
}

// maxRanks is the largest number of ranks of an environment.
const maxRanks = 256

// panicked returns the error for a panic with the value v.
func panicked(v any) error {
	return fmt.Errorf("BUG: %v\n%s", v, debug.Stack())
}

//export goOpen
func goOpen(o *C.distaff_options, e *C.distaff_error) *C.distaff_env {
	x := &environment{}
	err := protect(func() error {
		if o == nil {
			return nil
		}
		if uintptr(o.size) != unsafe.Sizeof(*o) {
			return fault.Commandf("the options have %d bytes, want %d: the library is of another version",
				o.size, unsafe.Sizeof(*o))
		}
		x.options = spmd.Options{Threads: int(o.threads), Ranks: int(o.ranks),
			MemoryLimit: int64(o.memory_limit), Target: text(o.target), Tmp: text(o.tmp)}
		if x.options.Ranks < 0 || x.options.Ranks > maxRanks || x.options.Threads < 0 {
			return fault.Commandf("got %d ranks and %d threads, want 0 or more, and at most %d ranks",
				x.options.Ranks, x.options.Threads, maxRanks)
		}
		if x.options.Target != "" && !target.Has(x.options.Target) {
			return fault.Commandf("got the target %q, want one of %v", x.options.Target, target.Names())
		}
		return nil
	})
	if err != nil {
		fail(e, err)
		return nil
	}
	env := (*C.distaff_env)(C.calloc(1, C.size_t(unsafe.Sizeof(C.distaff_env{}))))
	if o != nil {
		env.options = *o
		env.options.target, env.options.tmp = nil, nil
	}
	x.c = &env.options
	if x.options.Threads == 0 && x.options.Ranks <= 1 { // found once, and not for each statement
		x.options.Threads, _ = kernels.DefaultThreads(1, 1)
	}
	if env.options.note != nil {
		x.options.Note = func(line string) {
			s := C.CString(line)
			C.call_note(x.c, s)
			C.free(unsafe.Pointer(s))
		}
	}
	env.handle = C.uintptr_t(cgo.NewHandle(x))
	return env
}

//export goClose
func goClose(env *C.distaff_env) {
	if env != nil {
		cgo.Handle(env.handle).Delete()
		C.free(unsafe.Pointer(env))
	}
}

// environmentOf returns the environment of a handle.
func environmentOf(env *C.distaff_env) *environment {
	return cgo.Handle(env.handle).Value().(*environment)
}

var version = sync.OnceValue(func() *C.char { return C.CString(spmd.Version()) })

var types = sync.OnceValue(func() *C.char { return C.CString(strings.Join(typeNames(), " ")) })

//export goTypes
func goTypes() *C.char { return types() }

//export goVersion
func goVersion() *C.char { return version() }
