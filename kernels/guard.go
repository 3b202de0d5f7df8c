package kernels

/*
#include "guard.h"

// touch reads one byte a page as a leaf would: from C.
static int64_t touch(const char *p, int64_t n) {
	int64_t sum = 0;
	for (int64_t i = 0; i < n; i += 4096)
		sum += ((const volatile char *)p)[i];
	return sum;
}
*/
import "C"

import (
	"fmt"
	"sync"
	"unsafe"

	"distaff/io/tcsfile"

	"golang.org/x/sys/unix"
)

// FaultError reports that a leaf in C was abandoned because it or another leaf faulted, or because
// Stop was called. The memory that it wrote to is undefined. Other threads of the leaf may still
// run, so memory that it could reach is never freed. Every later call of a leaf in C in this
// process returns a FaultError with the same Signal and Address.
type FaultError struct {
	What    string      // the statement
	Signal  unix.Signal // signal that a thread of a leaf got; 0 for Stop
	Address uint64      // address of the access, for SIGSEGV and SIGBUS
}

func (e *FaultError) Error() string {
	what := "the leaf"
	if e.What != "" {
		what += " of " + e.What
	}
	switch e.Signal {
	case 0:
		return what + " was stopped"
	case unix.SIGSEGV, unix.SIGBUS:
		return fmt.Sprintf("%s faulted: %s at address %#x", what, unix.SignalName(e.Signal),
			e.Address)
	}
	return fmt.Sprintf("%s faulted: %s", what, unix.SignalName(e.Signal))
}

// ExitCode is 1.
func (e *FaultError) ExitCode() int { return 1 }

// Stop makes every running and every later call of a leaf in C in this process return a
// *FaultError. It returns the number of calls that still run. A leaf cannot be abandoned at every
// point, so the caller must call Stop again until it returns 0.
func Stop() (left int) { return int(C.dst_guard_stop()) }

// Arm installs the fault handlers. Call it again after code, for example an MPI, that may have
// replaced them.
func Arm() { C.dst_guard_arm() }

func init() { tcsfile.SetGuard(guard{}) }

// guard keeps the process alive when a mapped file shrinks. Reading a page that the file no longer
// has returns zeros, and a leaf that reads such a page is abandoned.
type guard struct{}

var guards struct {
	sync.Mutex
	slot map[unsafe.Pointer]int
	free []int
	next int
}

// Watch makes reads of [ptr, ptr+n) safe against a file that shrinks. It has room for
// DST_GUARD_MAPS files at a time. Further files are not protected.
func (guard) Watch(ptr unsafe.Pointer, n int64) {
	guards.Lock()
	defer guards.Unlock()
	i := guards.next
	if k := len(guards.free); k > 0 {
		i, guards.free = guards.free[k-1], guards.free[:k-1]
	} else if i == C.DST_GUARD_MAPS {
		return
	} else {
		guards.next++
	}
	if guards.slot == nil {
		guards.slot = map[unsafe.Pointer]int{}
	}
	guards.slot[ptr] = i
	C.dst_guard_arm()
	C.dst_guard_map(C.int(i), C.uintptr_t(uintptr(ptr)), C.uintptr_t(uintptr(ptr)+uintptr(n)))
}

// Unwatch ends the protection that Watch started at ptr.
func (guard) Unwatch(ptr unsafe.Pointer) {
	guards.Lock()
	defer guards.Unlock()
	if i, ok := guards.slot[ptr]; ok {
		C.dst_guard_map(C.int(i), 0, 0)
		delete(guards.slot, ptr)
		guards.free = append(guards.free, i)
	}
}

// Torn reports whether a read of the mapped file at ptr reached a page that the file no longer has.
func (guard) Torn(ptr unsafe.Pointer) bool {
	guards.Lock()
	defer guards.Unlock()
	i, ok := guards.slot[ptr]
	return ok && C.dst_guard_torn(C.int(i)) != 0
}

// touchC reads one byte of each page in [ptr, ptr+n) in C code, so that tests can cause a fault
// there. It returns the sum of the bytes.
func touchC(ptr unsafe.Pointer, n int64) int64 {
	return int64(C.touch((*C.char)(ptr), C.int64_t(n)))
}
