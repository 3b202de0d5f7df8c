package kernels

import (
	"context"
	"sync"

	"distaff/codegen"
	emitc "distaff/codegen/emit/c"
	"distaff/codegen/ir"
	"distaff/io/tcs"
	"distaff/kernels/cc"
	"distaff/kernels/lint"
)

// ErrNoCompiler is the error of a Backend that needs a C compiler for a leaf but has none. Package
// builtin may still have a leaf for the statement.
var ErrNoCompiler = cc.ErrNoCompiler

// Backend makes leaves of compiled statements for one target. Several goroutines may call its
// methods at the same time.
type Backend interface {
	// Build makes the leaf of u. The leaf's arguments are described by u.Args. The caller owns the
	// leaf and closes it. The error may be ErrNoCompiler, ctx's error, or a cc.CompileError or
	// LoadError, which are faults of this machine or of this program. Other errors are possible.
	Build(ctx context.Context, u *codegen.Unit) (Leaf, error)
	// Complete reports whether the backend can make the leaf of every unit. If not, it has only
	// leaves that were made before.
	Complete() bool
	// Name returns the name of the tool that makes the leaves, for reports: for example a
	// compiler's path.
	Name() string
	// Key returns the name under which the backend would cache u's leaf, or only the start of the
	// name if the backend has no compiler. It returns "" if the backend makes no objects.
	Key(u *codegen.Unit) string
}

// Portable is a Backend whose leaves are objects, which are bytes that another process can load.
type Portable interface {
	Backend
	// Kind returns a name that is equal on machines that can load each other's objects.
	Kind() string
	// Object returns the leaf of u as an object for Load. It returns the same errors as Build.
	Object(ctx context.Context, u *codegen.Unit) ([]byte, error)
	// Load makes the leaf of u from an object that Object made. Load checks and copies the object.
	Load(object []byte, u *codegen.Unit) (Leaf, error)
	// Keeps reports whether the backend stores objects. If it does, a later or concurrent call of
	// Object for the same unit does not compile it again.
	Keeps() bool
}

// Keeper is a Backend for a device with its own memory, where tensors can stay between calls.
type Keeper interface {
	Backend
	// Memory returns the size of the device's memory in bytes, or 0 if it is unknown.
	Memory() int64
	// Resident keeps t's arrays on the device until Forget(t). Until then leaves of this backend
	// may change the arrays, and the caller must call Changed if the host changes them. If t is the
	// result of a leaf, the leaf may replace all its arrays. The backend holds a reference to t's
	// memory meanwhile. Each call of Resident needs its own call of Forget.
	Resident(t *tcs.Tensor)
	// Pin protects the resident arrays of t from eviction when device memory is short, until
	// Forget(t).
	Pin(t *tcs.Tensor)
	// Leave lets the values that a leaf stores to the resident tensor t stay on the device, without
	// a copy to the host, until Fetch, Forget or Drop.
	Leave(t *tcs.Tensor)
	// Fetch copies all values that leaves of this backend stored to t's memory from the device to
	// the host. It must be called before the host reads the values of a tensor that was given to
	// Leave.
	Fetch(t *tcs.Tensor) error
	// Forget ends one call of Resident(t) and fetches t. It must be called before t changes, and
	// before t is closed or dropped.
	Forget(t *tcs.Tensor)
	// Drop is like Forget, for a tensor whose values nobody reads any more.
	Drop(t *tcs.Tensor)
	// Changed tells the backend that the host wrote to t's arrays. Other resident tensors may have
	// arrays in the same memory.
	Changed(t *tcs.Tensor)
}

// C is the Backend for CPUs. emit/c prints the leaf, package cc compiles it or finds it in its
// cache, and this package loads the object into the process.
type C struct {
	builder *cc.Builder
	note    func(string) // receives, at most once, the note that memory is too limited for a BLAS
}

// NewC returns the backend that compiles as cfg says. Its errors are the errors of cc.New: an
// unknown CPU, or a compiler that was named and cannot be used.
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
	own := false // the leaf calls a user's C function, which may keep state between calls
	ir.Walk(u.Func.Body, func(s ir.Stmt) {
		if _, ok := s.(*ir.Call); ok {
			own = true
		}
	})
	if own {
		return Load(o, symbol(u))
	}
	return LoadShared(o, symbol(u), emitc.Values(u.Func))
}

func (c *C) Complete() bool { return c.builder.Compiler() != nil }

// Name returns the compiler's path.
func (c *C) Name() string {
	if k := c.builder.Compiler(); k != nil {
		return k.Path
	}
	return "none: built-in leaves"
}

// Key returns the name of u's object in the compiler's cache. If there is no compiler, it returns
// only the beginning of the name, which does not depend on the compiler.
func (c *C) Key(u *codegen.Unit) string { return c.builder.Key(source(u)) }

// Kind returns the kind of CPU.
func (c *C) Kind() string { return c.builder.CPUKind() }

func (c *C) Object(ctx context.Context, u *codegen.Unit) ([]byte, error) {
	o, err := c.build(ctx, u)
	if err != nil {
		return nil, err
	}
	return o.Bytes, nil
}

// VerifyAll makes every build verify its unit's C code, even if the unit's request does not ask for
// it. Package verified sets it in tests, before anything is built.
var VerifyAll bool

// build makes the object of u. Before that it verifies the C code if the request or VerifyAll asks
// for it.
func (c *C) build(ctx context.Context, u *codegen.Unit) (*cc.Object, error) {
	if u.Request.Ask.Verify || VerifyAll {
		if err := Verify(u); err != nil {
			return nil, err
		}
	}
	return c.builder.Build(ctx, source(u))
}

// Verify parses and type-checks the C code of a unit for CPUs, without a compiler. Its error is a
// *lint.Error. Unless the leaf calls a user's C code, an error is a fault of this program.
func Verify(u *codegen.Unit) error { return lint.Check(emitc.File(u.Func)) }

func (c *C) Load(object []byte, u *codegen.Unit) (Leaf, error) {
	return c.load(&cc.Object{Bytes: object}, u)
}

func (c *C) Keeps() bool { return c.builder.Keeps() }

// source returns a unit's C for the compiler and its cache. Statements that differ only in names
// have the same text, and so share a leaf.
func source(u *codegen.Unit) cc.Source {
	return cc.Source{Text: emitc.Unnamed(u.Func), Label: u.Request.Statement.Stmt.String(),
		Tensors: Tensors(u), ShortLived: u.ShortLived}
}

// Tensors describes the tensors of a unit's statement, the result first, with the formats and types
// that the leaf expects. Listings of the cache show them.
func Tensors(u *codegen.Unit) (list []cc.Tensor) {
	for n, a := range u.Args {
		if a.Map || a.Old {
			continue
		}
		t := cc.Tensor{Name: a.Tensor, Format: a.Format.String(),
			Type: u.Request.Tensors.All[a.Tensor].Type.String()}
		if n == 0 {
			t.Format = u.Result.Format.String()
		}
		list = append(list, t)
	}
	return list
}

// symbol returns the name of a unit's leaf in its object.
func symbol(u *codegen.Unit) string { return emitc.Symbol(u.Func.Name) }
