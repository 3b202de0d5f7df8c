package oracle

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"distaff/codegen"
	emitc "distaff/codegen/emit/c"
	"distaff/codegen/ir"
	"distaff/io/tcs"
	"distaff/kernels"
	"distaff/kernels/cc"
	"distaff/kernels/lint"
)

// C is an engine that compiles a case to C, loads the leaf and calls it with one to three threads.
// A warning of the C compiler or of package lint is a failure.
type C struct {
	b      *cc.Builder
	flags  string
	hasty  bool // compile quickly, as for leaves that run only for a short time
	people bool // compile the C text that is printed for people, not the text that jobs compile
}

// NewC returns an engine that uses the C compiler named by the environment getenv, or otherwise
// the default one. level is an optimization flag such as "-O1", and more are further flags. If the
// machine has no compiler, NewC returns cc.ErrNoCompiler.
func NewC(getenv func(string) string, level string, more ...string) (*C, error) {
	cfg, err := cc.FromEnv(getenv)
	if err != nil {
		return nil, err
	}
	cfg.Cache = "" // random cases do not repeat
	cfg.Flags = emitc.Flags("")
	cfg.Flags[slices.Index(cfg.Flags, "-O3")] = level
	cfg.Flags = append(cfg.Flags, "-Wall", "-Wextra", "-Werror")
	cfg.Flags = append(cfg.Flags, more...)
	b, err := cc.New(cfg)
	if err != nil {
		return nil, err
	}
	if b.Compiler() == nil {
		return nil, cc.ErrNoCompiler
	}
	return &C{b: b, flags: level}, nil
}

// Name returns "C" and the optimization level.
func (e *C) Name() string { return "C " + e.flags }

// Run compiles and calls one case.
func (e *C) Run(ctx context.Context, p *Prepared) (*Output, error) {
	return e.batch(ctx, []*Prepared{p})[0](ctx)
}

// batch compiles all cases as one C file. It returns, for each case, a function that runs the case.
// If compilation fails, each function compiles its own case, so that only the faulty case fails.
func (e *C) batch(ctx context.Context, cases []*Prepared) []func(context.Context) (*Output, error) {
	return e.batchOf(ctx, cases, compile, call)
}

// batchOf does what batch does, with other functions to compile a case to a leaf and to call the
// leaf. Cases with identical leaves share one function in the C file.
func (e *C) batchOf(ctx context.Context, cases []*Prepared,
	compile func(*Prepared, string) (*compiled, error),
	call func(context.Context, *kernels.Library, *compiled) (*Output, error)) []func(context.Context) (
	*Output, error) {
	out := make([]func(context.Context) (*Output, error), len(cases))
	made := make([]*compiled, len(cases))
	var funcs []*ir.Func
	alike := map[string]*ir.Func{}
	left := 0
	for k, p := range cases {
		c, err := compileSafely(p, "leaf", compile)
		if err != nil {
			out[k] = func(context.Context) (*Output, error) { return nil, err }
			continue
		}
		made[k] = c
		left++
		for _, u := range []*codegen.Unit{c.unit, c.values} {
			if u == nil {
				continue
			}
			text := ir.Print(u.Func)
			if f := alike[text]; f != nil {
				u.Func = f
				continue
			}
			alike[text] = u.Func
			u.Func.Name = fmt.Sprintf("%s%d", u.Func.Name, k)
			funcs = append(funcs, u.Func)
		}
	}
	lib, err := e.load(ctx, funcs)
	for k, c := range made {
		switch {
		case c == nil:
		case err != nil && len(cases) > 1:
			c.close()
			out[k] = func(ctx context.Context) (*Output, error) {
				return e.batchOf(ctx, cases[k:k+1], compile, call)[0](ctx)
			}
		case err != nil:
			c.close()
			out[k] = func(context.Context) (*Output, error) { return nil, err }
		default:
			out[k] = func(ctx context.Context) (*Output, error) {
				defer c.close()
				res, err := call(ctx, lib, c)
				if left--; left == 0 {
					err = errors.Join(err, lib.Close())
				}
				return res, err
			}
		}
	}
	return out
}

func compileSafely(p *Prepared, name string,
	compile func(*Prepared, string) (*compiled, error)) (c *compiled, err error) {
	defer recovered(&err)
	return compile(p, name)
}

func (e *C) load(ctx context.Context, funcs []*ir.Func) (*kernels.Library, error) {
	if len(funcs) == 0 {
		return nil, nil
	}
	text := e.text(funcs...)
	if err := lint.Check(text); err != nil {
		return nil, err
	}
	o, err := e.b.Build(ctx, cc.Source{Text: text, Label: "random cases", ShortLived: e.hasty})
	if err != nil {
		return nil, err
	}
	return kernels.Open(o)
}

// text returns the C text of leaves.
func (e *C) text(funcs ...*ir.Func) string {
	if e.people {
		return emitc.File(funcs...)
	}
	return emitc.Unnamed(funcs...)
}

func call(ctx context.Context, lib *kernels.Library, c *compiled) (*Output, error) {
	arena := kernels.NewArena(nil)
	with := func(u *codegen.Unit) func(args []*tcs.Tensor, bounds [][2]int64) error {
		return func(args []*tcs.Tensor, bounds [][2]int64) error {
			leaf, err := lib.Leaf(emitc.Symbol(u.Func.Name), emitc.Values(u.Func))
			if err != nil {
				return err
			}
			defer leaf.Close()
			return leaf.Call(ctx, args, bounds,
				kernels.Env{Threads: c.threads, Arena: arena, Vars: c.unit.Vars, What: c.p.Case.Stmt})
		}
	}
	out, err := c.execute(with(c.unit))
	if err == nil && c.values != nil {
		err = c.revalue(true, with(c.values))
	}
	if err == nil && arena.Leaks() > 0 {
		err = fmt.Errorf("the leaf left %d blocks of memory behind", arena.Leaks())
	}
	return out, err
}
