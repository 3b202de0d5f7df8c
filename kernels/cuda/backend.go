package cuda

import (
	"context"
	"fmt"
	"sync"

	"distaff/codegen"
	"distaff/codegen/ir"
	"distaff/io/tcs"
	"distaff/kernels"
	"distaff/kernels/cc"
)

// Config says which GPU leaves run on, and where compiled ones are kept.
type Config struct {
	Cache  string // the root of the cache of leaves (cc.DefaultRoot); "": no cache
	Device int    // the rank's number among those of its machine, which tells its GPU (Local)
	// told, in a line, what the user should know though nothing failed; nil: nobody
	Log func(string)
}

// Backend makes leaves for one GPU. Its methods may be called from several goroutines at once;
// calls of its leaves take turns on the device.
type Backend struct {
	dev      device
	compiler compiler
	store    *store
}

// compiler makes an image, which its device loads, of CUDA C++.
type compiler interface {
	// text is the source of a leaf's kernels, and prelude that of the kernels that leaves share.
	text(f *ir.Func) string
	prelude() string
	// build returns the object whose payload the device loads, from a cache or compiled.
	build(ctx context.Context, src source) ([]byte, error)
	complete() bool
	name() string
	key(src source) string
	// kind tells machines apart that take one another's objects.
	kind() string
	// payload is what the device loads of an object, which it checks.
	payload(object []byte) ([]byte, error)
}

// source is the text of a leaf's kernels.
type source struct {
	text    string
	label   string // the statement
	tensors []cc.Tensor
}

// New is the backend of the GPU that cfg tells. Without a driver or a GPU it fails with a
// *SetupError that says what is missing. Without NVRTC it serves what the cache has.
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
	dev.onFull(b.store.evict)
	return b
}

func (b *Backend) source(u *codegen.Unit) source {
	return source{text: b.compiler.text(u.Func), label: u.Request.Stmt.String(),
		tensors: kernels.Tensors(u)}
}

var (
	_ kernels.Portable = (*Backend)(nil)
	_ kernels.Keeper   = (*Backend)(nil)
	_ kernels.Leaf     = (*Leaf)(nil)
)

// Build compiles the leaf of u, or finds it in the cache. Errors: *SetupError where there is no
// NVRTC; kernels.LoadError, nvrtc.Error, which are faults of this machine or of ours; the context's
// own.
func (b *Backend) Build(ctx context.Context, u *codegen.Unit) (kernels.Leaf, error) {
	object, err := b.Object(ctx, u)
	if err != nil {
		return nil, err
	}
	return b.Load(object, u)
}

// Complete tells whether there is an NVRTC.
func (b *Backend) Complete() bool { return b.compiler.complete() }

// Name is such as "NVRTC 12.9 for NVIDIA H100 80GB HBM3 (sm_90)".
func (b *Backend) Name() string {
	d := b.dev.describe()
	return fmt.Sprintf("%s for %s (sm_%d)", b.compiler.name(), d.name, d.arch)
}

// Keeps is false: two calls for one unit at the same time compile it twice.
func (b *Backend) Keeps() bool { return false }

// Key is the name in the cache of leaves.
func (b *Backend) Key(u *codegen.Unit) string { return b.compiler.key(b.source(u)) }

// Kind is the GPU's architecture, and the version of NVRTC.
func (b *Backend) Kind() string { return b.compiler.kind() }

// Object makes the object of u's leaf, with the errors of Build.
func (b *Backend) Object(ctx context.Context, u *codegen.Unit) ([]byte, error) {
	return b.compiler.build(ctx, b.source(u))
}

// Load makes the leaf of u of an object of its, which it checks and copies.
func (b *Backend) Load(object []byte, u *codegen.Unit) (kernels.Leaf, error) {
	code, err := b.compiler.payload(object)
	if err != nil {
		return nil, &kernels.LoadError{What: u.Request.Stmt.String(), Err: err}
	}
	p, err := newProgram(u.Func, !u.Result.Accumulate && u.Result.InPlace == 0,
		u.Request.Stmt.String())
	if err != nil {
		return nil, err
	}
	l := &leaf{dev: b.dev, store: b.store, p: p}
	if usesPrelude(u.Func) {
		if l.shared, err = b.prelude(); err != nil {
			return nil, err
		}
	}
	err = b.dev.do(func() (err error) {
		for _, name := range libraries(u.Func) {
			if err := b.dev.library(name); err != nil {
				return err
			}
		}
		l.module, err = b.dev.load(code, p.what)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &Leaf{leaf: l}, nil
}

// preludes are the kernels that leaves share, of each device that has them. They stay for good: so
// do devices, and what is loaded may not be dropped while the loader knows it.
var preludes struct {
	sync.Mutex
	of map[device]module
}

// prelude has the kernels ready that leaves share.
func (b *Backend) prelude() (module, error) {
	preludes.Lock()
	defer preludes.Unlock()
	if m := preludes.of[b.dev]; m != nil {
		return m, nil
	}
	const what = "fills and scans"
	object, err := b.compiler.build(context.Background(),
		source{text: b.compiler.prelude(), label: what})
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
	if preludes.of == nil {
		preludes.of = map[device]module{}
	}
	preludes.of[b.dev] = m
	return m, nil
}

// Memory is that of the device, in bytes; 0 for an emulated one without a limit.
func (b *Backend) Memory() int64 { return b.dev.describe().memory }

// Resident says that no array of t changes until Forget(t), but for those that leaves of this
// backend store to: from their first use on, they stay on the device, as far as its memory goes.
// Where t is the result of a call, what the leaf makes stays there too. The memory of t is held
// meanwhile. A tensor that was named several times is forgotten as often.
func (b *Backend) Resident(t *tcs.Tensor) {
	b.dev.always(func() { b.store.keep(t) })
}

// Pin has what Resident(t) keeps on the device stay there where memory is short, too, until
// Forget(t).
func (b *Backend) Pin(t *tcs.Tensor) {
	b.dev.always(func() { b.store.pin(t) })
}

// Leave has what leaves store to the values of t, of which Resident was said, stay on the device
// alone: Fetch(t), of t or of another tensor over the same memory, comes before the host reads
// them.
func (b *Backend) Leave(t *tcs.Tensor) {
	b.dev.always(func() { b.store.leave(t) })
}

// Fetch has the host's memory hold what leaves stored to t's arrays. A device that is lost is a
// *FaultError.
func (b *Backend) Fetch(t *tcs.Tensor) error {
	return b.dev.do(func() error { return b.store.fetch(t) })
}

// Forget ends what Resident(t) began, and fetches t. It comes before t changes, and before t is
// closed or dropped.
func (b *Backend) Forget(t *tcs.Tensor) {
	// What the driver refuses to copy or free belongs to a device that is lost, as the next call
	// tells.
	b.dev.always(func() { b.store.forget(t, false) })
}

// Drop is Forget of a tensor whose values nobody reads any more.
func (b *Backend) Drop(t *tcs.Tensor) {
	b.dev.always(func() { b.store.forget(t, true) })
}

// Changed says that the host wrote to t's arrays: what stays on the device of the same memory, as
// an array of another tensor too, is copied there again at its next use.
func (b *Backend) Changed(t *tcs.Tensor) {
	b.dev.always(func() { b.store.rewritten(t) })
}

// Uploaded is how many bytes of arguments were copied to the device so far.
func (b *Backend) Uploaded() int64 { return b.store.up.Load() }

// Downloaded is how many bytes of what leaves made were copied to the host so far.
func (b *Backend) Downloaded() int64 { return b.store.down.Load() }

// leaf is a leaf on a device.
type leaf struct {
	dev    device
	store  *store
	p      *program
	module module
	shared module // nil where the leaf fills and scans nothing
}

// Leaf is a leaf that runs on a GPU. It is a kernels.Leaf.
type Leaf struct {
	mu   sync.Mutex // over leaf, which Close takes away
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
		return nil // its context is gone, and all modules with it
	}
	return err
}

// Call runs the leaf: see kernels.Leaf. A kernel's fault is a *FaultError, and memory that the
// device has not a *MemoryError.
func (l *Leaf) Call(ctx context.Context, args []*tcs.Tensor, bounds [][2]int64,
	env kernels.Env) error {
	return l.on(ctx, args, bounds, env, (*call).perform)
}

// on runs a call of the leaf in some way on the device's thread.
func (l *Leaf) on(ctx context.Context, args []*tcs.Tensor, bounds [][2]int64, env kernels.Env,
	way func(c *call) error) error {
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
	return f.dev.do(func() error { return way(newCall(f, args, bounds, &env)) })
}
