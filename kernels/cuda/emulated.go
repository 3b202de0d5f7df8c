package cuda

/*
#include <stdlib.h>
#include "emulated.h"
*/
import "C"

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"
	"unsafe"

	emitcuda "distaff/codegen/emit/cuda"
	"distaff/codegen/ir"
	"distaff/io/tensor"
	"distaff/kernels"
	"distaff/kernels/cc"
)

// Emulated returns a backend whose GPU is emulated on the CPU. Only tests use it. cfg's C++
// compiler, or g++ if cfg names none, compiles the same CUDA C++ source as for a GPU, and the host
// part is the same. Device memory is separate host memory with guards around every allocation.
func Emulated(cfg cc.Config) (*Backend, error) { return EmulatedOf(cfg, 0) }

// EmulatedOf is like Emulated, with device memory of the given number of bytes; 0 means no limit.
func EmulatedOf(cfg cc.Config, memory int64) (*Backend, error) {
	if cfg.Compiler == "" {
		cfg.Compiler = "g++"
	}
	cfg.Kind = "emulated"
	if cfg.Flags == nil {
		cfg.Flags = append(emitcuda.EmulationFlags(), "-w")
	}
	b, err := cc.New(cfg)
	if err != nil {
		return nil, err
	}
	dev := &emulated{memory: memory, blocks: map[pointer]int64{}, runner: emulator()}
	made := newBackend(dev, hostCompiler{b})
	made.store.spoils = true
	return made, nil
}

// emulator returns the thread of all emulated devices. The threads of kernels are fibers of this
// thread.
var emulator = sync.OnceValue(kernels.NewRunner)

// hostCompiler compiles kernels as C++ functions for the CPU. The emulated device runs them.
type hostCompiler struct{ builder *cc.Builder }

func (c hostCompiler) complete() bool { return c.builder.Compiler() != nil }

func (c hostCompiler) name() string {
	if k := c.builder.Compiler(); k != nil {
		return "CUDA by " + k.Path
	}
	return "cached kernels"
}

func (c hostCompiler) source(src source) cc.Source {
	return cc.Source{Text: src.text, Label: src.label, Tensors: src.tensors}
}

func (c hostCompiler) text(f *ir.Func) string { return emitcuda.Emulated(f) }

func (c hostCompiler) prelude() string { return emitcuda.EmulatedPrelude() }

func (c hostCompiler) product(t tensor.Type) (emitcuda.Product, string) {
	return emitcuda.ProductOf(t, true), emitcuda.EmulatedProducts(t)
}

func (c hostCompiler) key(src source) string { return c.builder.Key(c.source(src)) }

func (c hostCompiler) kind() string { return c.builder.CPUKind() }

func (c hostCompiler) build(ctx context.Context, src source) ([]byte, error) {
	o, err := c.builder.Build(ctx, c.source(src))
	if err != nil {
		return nil, err
	}
	return o.Bytes, nil
}

// payload returns the whole object, because kernels.Open reads the object's trailer.
func (c hostCompiler) payload(object []byte) ([]byte, error) {
	_, err := cc.Decode(object)
	return object, err
}

// emulated is a device on the CPU.
type emulated struct {
	runner *kernels.Runner
	memory int64 // size in bytes; 0 means unlimited
	used   int64
	blocks map[pointer]int64 // allocations and their sizes
	evict  []func() bool
	start  time.Time
}

// guardBytes bytes before and after each allocation have the value guardByte. A kernel must not
// change them.
const (
	guardBytes = 256
	guardByte  = 0xa5
	// freshByte fills memory that nobody has written yet. It makes a NaN of either width.
	freshByte = 0xff
)

func (d *emulated) do(f func() error) (err error) {
	d.runner.Do(func() { err = f() })
	return err
}

func (d *emulated) always(f func()) { d.runner.Do(f) }

func (d *emulated) describe() description {
	return description{name: "an emulated GPU", count: 1, memory: d.memory}
}

func (d *emulated) onFull(f func() bool) { d.evict = append(d.evict, f) }

func (d *emulated) alloc(bytes int64, what string) (pointer, error) {
	for d.memory > 0 && bytes > d.memory-d.used || bytes < 0 || bytes > 1<<40 {
		evicted := false
		for _, f := range d.evict {
			evicted = evicted || f()
		}
		if !evicted {
			return 0, &MemoryError{What: what, Want: bytes, Free: d.memory - d.used,
				Total: d.memory, Device: "an emulated GPU"}
		}
	}
	p := C.malloc(C.size_t(bytes + 2*guardBytes))
	if p == nil {
		return 0, &MemoryError{What: what, Want: bytes, Device: "an emulated GPU"}
	}
	all := unsafe.Slice((*byte)(p), bytes+2*guardBytes)
	for k := range all {
		all[k] = guardByte
	}
	for k := range bytes {
		all[guardBytes+k] = freshByte
	}
	at := pointer(uintptr(p) + guardBytes)
	d.blocks[at] = bytes
	d.used += bytes
	return at, nil
}

// at returns the memory at an address.
func at(p pointer) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&p)) }

func (d *emulated) free(p pointer) error {
	n, ok := d.blocks[p]
	if !ok {
		panic(fmt.Sprintf("BUG: cuda: %#x is freed, and was not allocated", uint64(p)))
	}
	err := d.check()
	delete(d.blocks, p)
	d.used -= n
	C.free(at(p - guardBytes))
	return err
}

var guard = bytes.Repeat([]byte{guardByte}, guardBytes)

// check returns an error if the bytes next to an allocation, which guard it, were changed.
func (d *emulated) check() error {
	for p, n := range d.blocks {
		before := unsafe.Slice((*byte)(at(p-guardBytes)), guardBytes)
		behind := unsafe.Slice((*byte)(at(p+pointer(n))), guardBytes)
		if !bytes.Equal(before, guard) || !bytes.Equal(behind, guard) {
			return fmt.Errorf("BUG: cuda: a kernel has written outside the bounds of an array of %d bytes", n)
		}
	}
	return nil
}

// checkInside panics if the bytes are not all in one allocation.
func (d *emulated) checkInside(p pointer, n int64) {
	for at, bytes := range d.blocks {
		if p >= at && p+pointer(n) <= at+pointer(bytes) {
			return
		}
	}
	panic(fmt.Sprintf("BUG: cuda: %d bytes at %#x are not of the device's memory", n, uint64(p)))
}

func (d *emulated) upload(dst pointer, src unsafe.Pointer, bytes int64) error {
	d.move(at(dst), src, bytes, dst)
	return nil
}

func (d *emulated) download(dst unsafe.Pointer, src pointer, bytes int64) error {
	d.move(dst, at(src), bytes, src)
	return nil
}

func (d *emulated) copy(dst, src pointer, bytes int64) error {
	d.move(at(dst), at(src), bytes, dst, src)
	return nil
}

func (d *emulated) move(dst, src unsafe.Pointer, bytes int64, own ...pointer) {
	if bytes <= 0 {
		return
	}
	for _, p := range own {
		d.checkInside(p, bytes)
	}
	copy(unsafe.Slice((*byte)(dst), bytes), unsafe.Slice((*byte)(src), bytes))
}

func (d *emulated) set(dst pointer, b byte, bytes int64) error {
	if bytes <= 0 {
		return nil
	}
	d.checkInside(dst, bytes)
	s := unsafe.Slice((*byte)(at(dst)), bytes)
	for k := range s {
		s[k] = b
	}
	return nil
}

// emulatedModule holds kernels as functions for the CPU.
type emulatedModule struct{ lib *kernels.Library }

func (d *emulated) load(object []byte, what string) (module, error) {
	lib, err := kernels.Open(&cc.Object{Bytes: object})
	if err != nil {
		return nil, err
	}
	return &emulatedModule{lib}, nil
}

func (m *emulatedModule) unload() error { return m.lib.Close() }

func (d *emulated) launch(l launch) error {
	lib := l.module.(*emulatedModule).lib
	fn := lib.Symbol(l.kernel + "_emulated")
	if fn == nil {
		return &kernels.LoadError{What: l.what,
			Err: fmt.Errorf("the object must contain the kernel %s", l.kernel)}
	}
	slots := (*C.uint64_t)(unsafe.Pointer(unsafe.SliceData(l.params)))
	if C.dst_emulated_launch(fn, C.int64_t(l.grid), C.int(len(l.params)), slots) != 0 {
		why := C.GoString(C.dst_emulated_why(lib.Symbol("dst_emulated_error")))
		return fmt.Errorf("BUG: cuda: kernel %s of %s: %s", l.kernel, l.what, why)
	}
	return d.check()
}

func (d *emulated) sync(string) error { return d.check() }

func (d *emulated) memInfo() (free, total int64) { return d.memory - d.used, d.memory }

func (d *emulated) watch() error {
	d.start = time.Now()
	return nil
}

func (d *emulated) lap() (float64, error) {
	return float64(time.Since(d.start).Nanoseconds()) / 1e6, nil
}
