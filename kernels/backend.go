package kernels

import (
	"context"
	"sync"
	"testing"

	"distaff/codegen"
	emitc "distaff/codegen/emit/c"
	"distaff/io/tcs"
	"distaff/kernels/cc"
	"distaff/kernels/lint"
)

// ErrNoCompiler is the error of a Backend that would have to compile, and has nothing to
// compile with. Package builtin may still have a leaf of the statement.
var ErrNoCompiler = cc.ErrNoCompiler

// Backend makes leaves for one target of what the compiler made of statements. Its
// methods may be called from several goroutines at once.
type Backend interface {
	// Build makes the leaf of u, which is called with the arguments that u.Args tells,
	// and stays the caller's, who closes it. Errors: ErrNoCompiler; cc.CompileError and
	// LoadError, which are faults of this machine or of ours; the context's own.
	Build(ctx context.Context, u *codegen.Unit) (Leaf, error)
	// Complete tells whether it makes the leaf of every unit; false where only leaves
	// that were made before can be had.
	Complete() bool
	// Name is what makes the leaves, for reports: a compiler's path.
	Name() string
	// Key is the name of u's leaf where the backend keeps leaves; "" if it keeps none.
	Key(u *codegen.Unit) string
}

// Portable is a Backend whose leaves are objects: bytes that another process may load.
type Portable interface {
	Backend
	// Kind tells machines apart: an object serves where the Kind is the same.
	Kind() string
	// Object makes the object of u's leaf, with the errors of Build.
	Object(ctx context.Context, u *codegen.Unit) ([]byte, error)
	// Load makes the leaf of u of an object of its, which it checks and copies.
	Load(object []byte, u *codegen.Unit) (Leaf, error)
	// Keeps reports whether an object that Object makes is found by a later call for the same unit, or
	// by one that runs at the same time.
	Keeps() bool
}

// Keeper is a Backend whose leaves run in memory of a device's own, where arguments can stay
// between calls.
type Keeper interface {
	Backend
	// Memory is that of the device, in bytes; 0 where it is not known.
	Memory() int64
	// Resident says that t's arrays do not change until Forget(t), but for those that leaves of this
	// backend store to, which may be all of t where it is a leaf's result. t's memory is held
	// meanwhile. A tensor that is named several times is forgotten as often.
	Resident(t *tcs.Tensor)
	// Pin has what Resident(t) keeps on the device stay there where memory is short, too, until
	// Forget(t).
	Pin(t *tcs.Tensor)
	// Leave has what leaves store to the values of t, which stays, be on the device alone until Fetch,
	// Forget or Drop.
	Leave(t *tcs.Tensor)
	// Fetch comes before the host reads memory of tensors that were left: it has what leaves stored to
	// t's.
	Fetch(t *tcs.Tensor) error
	// Forget comes before t changes, and before it is closed or dropped. It fetches t.
	Forget(t *tcs.Tensor)
	// Drop is Forget of a tensor whose values nobody reads any more.
	Drop(t *tcs.Tensor)
	// Changed says that the host wrote to t's arrays, in which others that stay may have theirs too.
	Changed(t *tcs.Tensor)
}

// C is the Backend of CPUs: emit/c prints the leaf, package cc compiles it or finds it in
// its cache, and the object is loaded into this process.
type C struct {
	builder *cc.Builder
	note    func(string) // told once at most that memory is too little for a BLAS
}

// NewC is the backend that compiles as cfg says. Its errors are those of cc.New: a CPU
// that is none, a compiler that was named and is not there.
func NewC(cfg cc.Config) (*C, error) {
	b, err := cc.New(cfg)
	if err != nil {
		return nil, err
	}
	var once sync.Once
	note := func(s string) {
		if cfg.Note != nil {
			once.Do(func() { cfg.Note(s) })
		}
	}
	return &C{b, note}, nil
}

func (c *C) Build(ctx context.Context, u *codegen.Unit) (Leaf, error) {
	o, err := c.build(ctx, u)
	if err != nil {
		return nil, err
	}
	return c.load(o, u)
}

func (c *C) load(o *cc.Object, u *codegen.Unit) (Leaf, error) {
	if err := checkBLAS(u.Func, c.note); err != nil {
		return nil, err
	}
	return Load(o, symbol(u))
}

func (c *C) Complete() bool { return c.builder.Compiler() != nil }

// Name is the compiler's path.
func (c *C) Name() string {
	if k := c.builder.Compiler(); k != nil {
		return k.Path
	}
	return "none: built-in leaves"
}

// Key is the name in the compiler's cache.
func (c *C) Key(u *codegen.Unit) string { return c.builder.Key(source(u)) }

// Kind is the kind of CPU.
func (c *C) Kind() string { return c.builder.CPUKind() }

func (c *C) Object(ctx context.Context, u *codegen.Unit) ([]byte, error) {
	o, err := c.build(ctx, u)
	if err != nil {
		return nil, err
	}
	return o.Bytes, nil
}

// build makes the object of u. In tests, and if the request says so, it verifies the C first.
func (c *C) build(ctx context.Context, u *codegen.Unit) (*cc.Object, error) {
	if u.Request.Verify || testing.Testing() {
		if err := Verify(u); err != nil {
			return nil, err
		}
	}
	return c.builder.Build(ctx, source(u))
}

// Verify parses and types the C of a unit for CPUs without a compiler. Its error is a *lint.Error,
// which is a fault of ours unless the leaf calls a user's C.
func Verify(u *codegen.Unit) error { return lint.Check(emitc.File(u.Func)) }

func (c *C) Load(object []byte, u *codegen.Unit) (Leaf, error) {
	return c.load(&cc.Object{Bytes: object}, u)
}

func (c *C) Keeps() bool { return c.builder.Keeps() }

// source is a unit's C, for the compiler and its cache: statements that differ in names alone have
// the same, and one leaf.
func source(u *codegen.Unit) cc.Source {
	return cc.Source{Text: emitc.Unnamed(u.Func), Label: u.Request.Stmt.String(), Tensors: Tensors(u),
		Hasty: u.Hasty}
}

// Tensors are those of a unit's statement as its leaf takes them, for people who look at a cache.
func Tensors(u *codegen.Unit) (list []cc.Tensor) {
	for n, a := range u.Args {
		if a.Map || a.Old {
			continue
		}
		t := cc.Tensor{Name: a.Tensor, Format: a.Format.String(),
			Type: u.Request.Tensors[a.Tensor].Type.String()}
		if n == 0 {
			t.Format = u.Result.Format.String()
		}
		list = append(list, t)
	}
	return list
}

// symbol is the name of a unit's leaf in its object.
func symbol(u *codegen.Unit) string { return emitc.Symbol(u.Func.Name) }
