package tcsfile

import "unsafe"

// Guard keeps the process alive if a mapped file shrinks while it is read.
type Guard interface {
	// Watch makes reads of pages that no longer exist return zeros from now on.
	Watch(ptr unsafe.Pointer, n int64)
	// Unwatch ends the effect of Watch.
	Unwatch(ptr unsafe.Pointer)
	// Torn reports whether a page of the map at ptr was missing.
	Torn(ptr unsafe.Pointer) bool
}

var guard Guard

// SetGuard sets the guard for all files that are opened afterwards. Call it from an init function.
// The guard keeps the process alive if a mapped file shrinks while its arrays are read. Without a
// guard, the system ends the process, unless tcs.Faultless runs the read. Faultless turns the fault
// into an error; Verify, Load and streams use it.
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
