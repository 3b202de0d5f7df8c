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

// SetGuard sets the guard for all files that are opened afterwards. An init function calls it. A
// guard keeps the process alive if a mapped file shrinks while it is read. Without a guard, only
// reads that tcs.Faultless runs return an error (Verify, Load, streams). If a caller reads the
// arrays of such a file in another way, the system ends the process.
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
