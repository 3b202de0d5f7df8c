//go:build !cgo

package tcs

import "unsafe"

// Without cgo no handler can stand in for pages that are gone: such a read ends
// the process.
func guard(unsafe.Pointer, int64) {}
func unguard(unsafe.Pointer)      {}
func torn(unsafe.Pointer) bool    { return false }
