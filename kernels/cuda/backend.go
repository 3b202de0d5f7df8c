package cuda

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"distaff/codegen"
	"distaff/codegen/choice"
	emitcuda "distaff/codegen/emit/cuda"
	"distaff/codegen/ir"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/kernels"
	"distaff/kernels/cc"
)

// Config selects the GPU that runs the leaves, and the cache of compiled leaves.
type Config struct {
	Cache  string       // the root of the cache (cc.DefaultRoot); "" means no cache
	Device int          // the rank's number on its machine, which selects the GPU (Local)
	Log    func(string) // receives one-line notes about problems that were not errors; may be nil
}

// Backend makes leaves for one GPU. Several goroutines may call its methods at the same time. Calls
// of its leaves take turns on the device.
type Backend struct {
	dev      device
	compiler compiler
	store    *store
}

// compiler compiles CUDA C++ to code that the backend's device can load.
type compiler interface {
	// text returns the source of a leaf's kernels, and prelude the source of the kernels that all
	// leaves share.
	text(f *ir.Func) string
	prelude() string
	// product returns the kernel that multiplies dense matrices of a type, and its source.
	product(t tensor.Type) (emitcuda.Product, string)
	// build returns the object whose payload the device loads. It is cached or compiled.
	build(ctx context.Context, src source) ([]byte, error)
	complete() bool
	name() string
	key(src source) string
	// kind returns a name that is equal for machines that can load each other's objects.
	kind() string
	// payload checks an object and returns the part that the device loads.
	payload(object []byte) ([]byte, error)
}

// source is the source text of kernels: the kernels of a leaf, or the kernels that leaves share.
type source struct {
	text    string
	label   string // the statement, or what the shared kernels do
	tensors []cc.Tensor
}

// New returns the backend of the GPU that cfg selects. Without a driver or a GPU it fails with a
// *SetupError that names the missing part. Without NVRTC the backend serves only cached leaves.
func New(cfg Config) (kernels.Backend, error) {
	lib, err := openDriver(driverNames)
	if err != nil {
		return nil, err
	}
	n, err := lib.devices()
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, &SetupError{lib.refusal(cuNoDevice)}
	}
	dev, err := openDevice(lib, Local(cfg.Device, n))
	if err != nil {
		return nil, err
	}
	return newBackend(dev, newNVRTC(cfg, dev)), nil
}

func newBackend(dev device, c compiler) *Backend {
	b := &Backend{dev: dev, compiler: c, store: newStore(dev)}
	dev.always(func() { dev.onFull(b.store.evict) })
	return b
}

func (b *Backend) source(u *codegen.Unit) source {
	return source{text: b.compiler.text(u.Func), label: u.Request.Statement.Stmt.String(),
		tensors: kernels.Tensors(u)}
}

var (
	_ kernels.Portable = (*Backend)(nil)
	_ kernels.Keeper   = (*Backend)(nil)
	_ kernels.Leaf     = (*Leaf)(nil)
)

// Build compiles the leaf of u, or finds it in the cache. The error is a *SetupError if the leaf is
// not in the cache and there is no NVRTC. A kernels.LoadError or nvrtc.Error is a fault of this
// machine or of this program. Build also returns ctx's error.
func (b *Backend) Build(ctx context.Context, u *codegen.Unit) (kernels.Leaf, error) {
	object, err := b.Object(ctx, u)
	if err != nil {
		return nil, err
	}
	return b.Load(object, u)
}

// Complete reports whether there is a compiler: for a GPU, an NVRTC.
func (b *Backend) Complete() bool { return b.compiler.complete() }

// Name returns the name of the compiler and the GPU, for example "NVRTC 12.9 for NVIDIA H100 80GB
// HBM3 (sm_90)".
func (b *Backend) Name() string {
	d := b.dev.describe()
	return fmt.Sprintf("%s for %s (sm_%d)", b.compiler.name(), d.name, d.arch)
}

// Keeps returns false: if two calls of Object for the same unit run at the same time, both compile
// the unit. See kernels.Portable.
func (b *Backend) Keeps() bool { return false }

// Key returns the name of u's object in the cache. If there is no compiler, it returns only the
// beginning of the name, which does not depend on the compiler.
func (b *Backend) Key(u *codegen.Unit) string { return b.compiler.key(b.source(u)) }

// Kind returns a name that is equal on machines that can load each other's objects. For a GPU it is
// the architecture, followed by the version of NVRTC if there is an NVRTC. For an emulated device
// it is the kind of the CPU.
func (b *Backend) Kind() string { return b.compiler.kind() }

// Object returns the leaf of u as an object for Load. It returns the same errors as Build.
func (b *Backend) Object(ctx context.Context, u *codegen.Unit) ([]byte, error) {
	return b.compiler.build(ctx, b.source(u))
}

// Load makes the leaf of u from an object that Object made. Load checks and copies the object.
func (b *Backend) Load(object []byte, u *codegen.Unit) (kernels.Leaf, error) {
	code, err := b.compiler.payload(object)
	if err != nil {
		return nil, &kernels.LoadError{What: u.Request.Statement.Stmt.String(), Err: err}
	}
	p, err := newProgram(u.Func, !u.Result.Accumulate && u.Result.InPlace == 0,
		u.Request.Statement.Stmt.String())
	if err != nil {
		return nil, err
	}
	l := &leaf{dev: b.dev, store: b.store, p: p}
	if usesPrelude(u.Func) {
		if l.shared, err = b.shared("fills and scans", b.compiler.prelude()); err != nil {
			return nil, err
		}
	}
	if err := b.open(l, callsOf(u.Func), u.CuBLAS); err != nil {
		return nil, err
	}
	err = b.dev.do(func() (err error) {
		l.module, err = b.dev.load(code, p.what)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &Leaf{leaf: l}, nil
}

// open opens what a leaf calls: libraries, and kernels for the products of dense matrices that
// cuBLAS does not compute. If must is true, cuBLAS computes all of them. Otherwise it is not used
// if it is not found, or if the environment says so.
func (b *Backend) open(l *leaf, calls called, must bool) error {
	if calls.sparse {
		if err := b.library(choice.CuSPARSE); err != nil {
			return err
		}
	}
	if len(calls.dense) == 0 {
		return nil
	}
	err := b.library(choice.CuBLAS)
	var absent *absentError
	if l.cublas = err == nil; err != nil && (must || !errors.As(err, &absent)) {
		return err
	}
	l.products = map[tensor.Type]*productKernel{}
	for t, fits := range calls.dense {
		if l.cublas && (fits || must) {
			continue
		}
		p, text := b.compiler.product(t)
		m, err := b.shared("products of "+t.String(), text)
		if err != nil {
			return err
		}
		l.products[t] = &productKernel{p, m}
	}
	return nil
}

func (b *Backend) library(name string) error {
	return b.dev.do(func() error { return b.dev.library(name) })
}

// sharedModules holds the loaded kernels that all leaves of a device share. They are never
// unloaded, and devices are never closed.
var sharedModules struct {
	sync.Mutex
	of map[sharedKey]module
}

type sharedKey struct {
	dev  device
	what string
}

// shared returns kernels that all leaves of the device share, and compiles and loads them at first
// use. what says what the kernels do, and text is their source.
func (b *Backend) shared(what, text string) (module, error) {
	sharedModules.Lock()
	defer sharedModules.Unlock()
	key := sharedKey{b.dev, what}
	if m := sharedModules.of[key]; m != nil {
		return m, nil
	}
	object, err := b.compiler.build(context.Background(), source{text: text, label: what})
	if err != nil {
		return nil, err
	}
	code, err := b.compiler.payload(object)
	if err != nil {
		return nil, &kernels.LoadError{What: what, Err: err}
	}
	var m module
	if err := b.dev.do(func() (err error) {
		m, err = b.dev.load(code, what)
		return err
	}); err != nil {
		return nil, err
	}
	if sharedModules.of == nil {
		sharedModules.of = map[sharedKey]module{}
	}
	sharedModules.of[key] = m
	return m, nil
}

// Memory returns the size of the device's memory in bytes. It returns 0 if the size is unknown, or
// if the device is emulated without a limit.
func (b *Backend) Memory() int64 { return b.dev.describe().memory }

// Resident keeps the arrays of t on the device from their first use until Forget(t) or Drop(t), if
// there is enough device memory. In this time, leaves of this backend may change the arrays, the
// caller must call Changed if the host changes them, and the backend holds a reference to t's
// memory. If t is the result of a call, the arrays that the leaf makes also stay. Each call of
// Resident needs its own call of Forget or Drop.
func (b *Backend) Resident(t *tcs.Tensor) {
	b.dev.always(func() { b.store.keep(t) })
}

// Pin protects the resident arrays of t from eviction when device memory is short, until Forget(t).
func (b *Backend) Pin(t *tcs.Tensor) {
	b.dev.always(func() { b.store.pin(t) })
}

// Leave makes the values of the resident tensor t stay on the device: values that a leaf stores to
// t are not copied to the host at the end of the call. Before the host reads them, Fetch must be
// called for t or for another tensor over the same memory.
func (b *Backend) Leave(t *tcs.Tensor) {
	b.dev.always(func() { b.store.leave(t) })
}

// Fetch copies all values that leaves stored to t's arrays from the device to the host. The error
// is a *FaultError if the device is lost.
func (b *Backend) Fetch(t *tcs.Tensor) error {
	return b.dev.do(func() error { return b.store.fetch(t) })
}

// Forget undoes one call of Resident(t). When all calls are undone, it copies the values that are
// newer on the device to the host and frees the device memory. It does not do this for arrays that
// another resident tensor also has. Call Forget before t is changed, closed or dropped.
func (b *Backend) Forget(t *tcs.Tensor) {
	// The driver refuses to copy or free only if the device is lost, which the next call reports.
	b.dev.always(func() { b.store.forget(t, false) })
}

// Drop is like Forget, for a tensor whose values nobody reads any more. It does not fetch them.
func (b *Backend) Drop(t *tcs.Tensor) {
	b.dev.always(func() { b.store.forget(t, true) })
}

// Changed tells the backend that the host wrote to t's arrays. Resident arrays over the same
// memory, of t or of other tensors, are copied to the device again at their next use.
func (b *Backend) Changed(t *tcs.Tensor) {
	b.dev.always(func() { b.store.rewritten(t) })
}

// Uploaded returns how many bytes of arguments have been copied to the device so far.
func (b *Backend) Uploaded() int64 { return b.store.up.Load() }

// Downloaded returns how many bytes of results have been copied to the host so far.
func (b *Backend) Downloaded() int64 { return b.store.down.Load() }

// leaf is a leaf on a device.
type leaf struct {
	dev    device
	store  *store
	p      *program
	module module
	shared module // the kernels for fills and scans; nil if the leaf does neither
	cublas bool   // cuBLAS multiplies dense matrices
	// products has the kernels for the types that cuBLAS does not multiply, or not always.
	products map[tensor.Type]*productKernel
}

// Leaf is a leaf that runs on a GPU. It implements kernels.Leaf.
type Leaf struct {
	mu   sync.Mutex // guards leaf, which Close sets to nil
	leaf *leaf
}

// Close unloads the leaf's kernels.
func (l *Leaf) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.leaf == nil {
		return nil
	}
	f := l.leaf
	l.leaf = nil
	err := f.dev.do(f.module.unload)
	if _, lost := err.(*FaultError); lost {
		return nil // the context and all its modules are gone
	}
	return err
}

// Call runs the leaf; see kernels.Leaf. It returns a *FaultError if a kernel faults, and a
// *MemoryError if the device does not have enough memory.
func (l *Leaf) Call(ctx context.Context, args []*tcs.Tensor, bounds [][2]int64,
	env kernels.Env) error {
	return l.runCall(ctx, args, bounds, env, (*call).perform)
}

// runCall prepares a call of the leaf. It then passes the prepared call to the function run, which
// executes it while no other goroutine uses the device.
func (l *Leaf) runCall(ctx context.Context, args []*tcs.Tensor, bounds [][2]int64, env kernels.Env,
	run func(c *call) error) error {
	if env.Threads < 1 {
		panic("BUG: cuda: a leaf called with no thread")
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	l.mu.Lock()
	f := l.leaf
	l.mu.Unlock()
	if f == nil {
		panic("BUG: cuda: a closed leaf called")
	}
	if env.Arena == nil {
		env.Arena = kernels.NewArena(nil)
	}
	return f.dev.do(func() error { return run(newCall(f, args, bounds, &env)) })
}
