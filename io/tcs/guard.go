package tcs

import (
	"runtime/debug"
	"unsafe"
)

// Guard keeps the process alive when a mapped file shrinks under its readers.
type Guard interface {
	Watch(ptr unsafe.Pointer, n int64) // from now on, reads of pages that are gone give zeros
	Unwatch(ptr unsafe.Pointer)
	Torn(ptr unsafe.Pointer) bool // whether that happened in the map at ptr
}

var guard Guard

// SetGuard installs the guard of all files opened from now on; it is called
// from an init function. Without one, a file that shrinks is an error where this
// package reads it (Validate, Verify, Load, streams), and ends the process where
// a caller reads the arrays.
func SetGuard(g Guard) { guard = g }

func watch(ptr unsafe.Pointer, n int64) {
	if guard != nil {
		guard.Watch(ptr, n)
	}
}

func unwatch(ptr unsafe.Pointer) {
	if guard != nil {
		guard.Unwatch(ptr)
	}
}

func torn(ptr unsafe.Pointer) bool { return guard != nil && guard.Torn(ptr) }

// faultless runs f; a read of a page that is gone is its error. It catches the
// faults of its own goroutine.
func faultless(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			if _, fault := r.(interface{ Addr() uintptr }); !fault {
				panic(r)
			}
			err = errShrank
		}
	}()
	return f()
}
