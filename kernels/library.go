package kernels

/*
#cgo LDFLAGS: -ldl -lpthread
#include <stdlib.h>
#include "dl.h"
*/
import "C"

//go:generate cp ../codegen/emit/c/dst.h dst.h

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"distaff/io/outfile"
	"distaff/kernels/cc"

	"golang.org/x/sys/unix"
)

// LoadError reports that an object cannot be loaded. It ends a run with code 1.
type LoadError struct {
	What string // what the leaf computes, or its name; "" if that is unknown
	Err  error
}

func (e *LoadError) Error() string {
	if e.What == "" {
		return fmt.Sprintf("cannot load a leaf: %v", e.Err)
	}
	return fmt.Sprintf("cannot load the leaf of %s: %v", e.What, e.Err)
}

func (e *LoadError) ExitCode() int { return 1 }

func (e *LoadError) Unwrap() error { return e.Err }

// Library is a loaded object. Several goroutines may call its methods at the same time.
type Library struct {
	mu     sync.Mutex
	handle unsafe.Pointer
	path   string   // the path that was opened
	file   *os.File // the file at path; its name in /proc/self/fd is valid only while it is open
	temp   string   // folder to remove, or ""
	label  string
	leaves int // number of open leaves
	closed bool
	hash   [sha256.Size]byte // the key in shared; of use only there
}

// Open loads an object. The caller must know that this machine's CPU can run the object's code,
// because Open checks only architecture levels (cc.Runs).
func Open(o *cc.Object) (*Library, error) {
	// The bytes may come from another rank.
	o, err := cc.Decode(o.Bytes)
	if err != nil {
		return nil, &LoadError{"", err}
	}
	if level, ok := strings.CutPrefix(o.Meta.CPU, "x86-64-v"); ok && !cc.Runs(o.Meta.CPU) {
		return nil, &LoadError{o.Meta.Label, fmt.Errorf(
			"it was compiled for x86-64-v%s, which this CPU does not support; choose a lower "+
				"--cpu", level)}
	}
	l := &Library{label: o.Meta.Label}
	err = l.openMemory(o.Bytes)
	if err != nil {
		// A system may forbid code in anonymous files, or have no /proc.
		if err2 := l.openTemp(o.Bytes); err2 != nil {
			return nil, &LoadError{o.Meta.Label, errors.Join(err, err2)}
		}
	}
	libraries.Add(1)
	Arm()
	return l, nil
}

// openMemory loads the object b from an anonymous file, which it seals first so that nobody can
// change it.
func (l *Library) openMemory(b []byte) error {
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate("distaff-leaf", flags|unix.MFD_EXEC)
	if err == unix.EINVAL { // a kernel older than 6.3
		fd, err = unix.MemfdCreate("distaff-leaf", flags)
	}
	if err != nil {
		return fmt.Errorf("memfd_create: %w", err)
	}
	f := os.NewFile(uintptr(fd), "distaff-leaf")
	if _, err := f.Write(b); err != nil {
		f.Close()
		return err
	}
	const seals = unix.F_SEAL_WRITE | unix.F_SEAL_GROW | unix.F_SEAL_SHRINK | unix.F_SEAL_SEAL
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
		f.Close()
		return fmt.Errorf("sealing: %w", err)
	}
	l.path, l.file = fmt.Sprintf("/proc/self/fd/%d", fd), f
	if err := l.dlopen(); err != nil {
		f.Close()
		return err
	}
	return nil
}

// openTemp loads the object b from a file in a private folder.
func (l *Library) openTemp(b []byte) error {
	dir, err := outfile.MkdirTemp("", "distaff-load-")
	if err != nil {
		return err
	}
	l.file, l.temp, l.path = nil, dir, filepath.Join(dir, "leaf.so")
	err = os.WriteFile(l.path, b, 0o700)
	if err == nil {
		err = l.dlopen()
	}
	if err != nil {
		os.RemoveAll(dir)
	}
	return err
}

// dlopen loads the object from l.path.
func (l *Library) dlopen() error {
	path := C.CString(l.path)
	defer C.free(unsafe.Pointer(path))
	var why *C.char
	// dlerror's text belongs to the thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	l.handle = C.dst_open(path, &why)
	if l.handle == nil {
		defer C.free(unsafe.Pointer(why))
		return errors.New(C.GoString(why))
	}
	return nil
}

// Leaf returns the leaf of the function called name, for calls with the given values (see
// emitc.Values). The library stays loaded until it and all its leaves are closed.
func (l *Library) Leaf(name string, values []byte) (Leaf, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, &LoadError{name, errors.New("its library is closed")}
	}
	return l.leaf(name, values)
}

// leaf does the work of Leaf. The caller holds the lock, and the object must be loaded.
func (l *Library) leaf(name string, values []byte) (Leaf, error) {
	s := C.CString(name)
	defer C.free(unsafe.Pointer(s))
	fn := C.dst_symbol(l.handle, s)
	if fn == nil {
		return nil, &LoadError{name, errors.New("the compiled object does not contain the function " +
			"of the leaf")}
	}
	l.leaves++
	return &cLeaf{fn: fn, lib: l, values: values}, nil
}

// Symbol returns the address of the object's symbol called name, or nil if there is none. The
// address is valid until the library is closed.
func (l *Library) Symbol(name string) unsafe.Pointer {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	s := C.CString(name)
	defer C.free(unsafe.Pointer(s))
	return C.dst_symbol(l.handle, s)
}

// keep keeps the library loaded forever, because threads may still run its code.
func (l *Library) keep() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leaves++
}

// Close closes the library. Its object is unloaded when all leaves of the library are closed as
// well.
func (l *Library) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	return l.unload()
}

// unload unloads the object if the library and all its leaves are closed. The caller holds the
// lock.
func (l *Library) unload() error {
	if !l.closed || l.leaves > 0 || l.handle == nil {
		return nil
	}
	path := C.CString(l.path)
	defer C.free(unsafe.Pointer(path))
	gone := C.dst_close(l.handle, path) == 1
	l.handle = nil
	shared.CompareAndDelete(l.hash, l)
	if l.temp != "" {
		return os.RemoveAll(l.temp)
	}
	if !gone {
		// The loader identifies the object by the descriptor's name, so no other object may get
		// that name.
		unclosed.Store(l.file, true)
		return nil
	}
	return l.file.Close()
}

// unclosed holds the open files of objects that stayed loaded after dlclose. The loader identifies
// an object by the path of its descriptor (/proc/self/fd/N). The files stay open so that no other
// object gets the same number.
var unclosed sync.Map

// Load loads an object that a cc.Builder made, and returns one leaf of it. The leaf keeps the
// object loaded.
func Load(o *cc.Object, name string) (Leaf, error) {
	l, err := Open(o)
	if err != nil {
		return nil, err
	}
	leaf, err := l.Leaf(name, nil)
	return leaf, errors.Join(err, l.Close())
}

// shared maps hashes of objects to the loaded libraries (*Library) that LoadShared opened.
var shared sync.Map

// LoadShared is like Load, but leaves of equal objects can share one loaded library. The functions
// of the object must therefore keep no state between calls. values holds the numeric constants of
// the statement, which the leaf passes to its function in each call (see emitc.Values).
func LoadShared(o *cc.Object, name string, values []byte) (Leaf, error) {
	hash := sha256.Sum256(o.Bytes)
	if found, ok := shared.Load(hash); ok {
		if leaf, err := found.(*Library).leafIfLoaded(name, values); leaf != nil || err != nil {
			return leaf, err
		}
	}
	l, err := Open(o)
	if err != nil {
		return nil, err
	}
	l.hash = hash
	leaf, err := l.Leaf(name, values)
	if err == nil {
		shared.Store(hash, l)
	}
	return leaf, errors.Join(err, l.Close())
}

// leafIfLoaded is like Leaf, but also works after Close while another leaf keeps the library
// loaded. It returns nil if the library is unloaded.
func (l *Library) leafIfLoaded(name string, values []byte) (Leaf, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.handle == nil {
		return nil, nil
	}
	return l.leaf(name, values)
}
