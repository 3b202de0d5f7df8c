package oracle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"distaff/codegen"
	emitc "distaff/codegen/emit/c"
	"distaff/codegen/emit/c/program"
	"distaff/codegen/ir"
	"distaff/io/tcs"
	"distaff/kernels/cc"
)

// sanitized is an engine that runs compiled leaves under the address sanitizer and the
// undefined-behaviour sanitizer, in separate programs. The program also finds memory that a leaf
// leaks.
type sanitized struct {
	gcc, dir string
	// schedules, if not nil, draws the schedules of cases. Otherwise they have the default
	// schedule.
	schedules interface {
		scheduled(*Prepared, *codegen.Request) error
	}
}

func (e sanitized) Name() string {
	if e.schedules != nil {
		return "schedules in C under sanitizers"
	}
	return "C under sanitizers"
}

// prepare compiles a case, with a random schedule if e.schedules is not nil.
func (e sanitized) prepare(p *Prepared, name string) (*compiled, error) {
	if e.schedules == nil {
		return compile(p, name)
	}
	return compileAs(p, name, func(r *codegen.Request) error {
		err := e.schedules.scheduled(p, r)
		if err != nil {
			err = fmt.Errorf("-s=%q: %w", strings.Join(r.Ask.Schedule, ","), err)
		}
		return err
	})
}

func (e sanitized) Run(ctx context.Context, p *Prepared) (*Output, error) {
	return e.batch(ctx, []*Prepared{p})[0](ctx)
}

func (e sanitized) batch(ctx context.Context, cases []*Prepared) []func(context.Context) (*Output,
	error) {
	out := make([]func(context.Context) (*Output, error), len(cases))
	made := make([]*compiled, len(cases))
	var funcs []*ir.Func
	for k, p := range cases {
		c, err := compileSafely(p, fmt.Sprintf("leaf%d", k), e.prepare)
		if err != nil {
			out[k] = func(context.Context) (*Output, error) { return nil, err }
			continue
		}
		made[k] = c
		funcs = append(funcs, c.unit.Func)
		if c.values != nil {
			funcs = append(funcs, c.values.Func)
		}
	}
	exe, err := e.build(ctx, funcs)
	for k, c := range made {
		if c == nil {
			continue
		}
		out[k] = func(ctx context.Context) (*Output, error) {
			defer c.close()
			if err != nil {
				return nil, err
			}
			return e.call(ctx, exe, c)
		}
	}
	return out
}

func (e sanitized) build(ctx context.Context, funcs []*ir.Func) (exe string, err error) {
	dir, err := os.MkdirTemp(e.dir, "")
	if err != nil {
		return "", err
	}
	exe = filepath.Join(dir, "leaves")
	args := append(emitc.Flags(""), "-O0", "-g1", "-w", "-fsanitize=address,undefined",
		"-fno-sanitize-recover=all", "-fno-sanitize=float-divide-by-zero", "-o", exe)
	for name, text := range program.Sources(funcs...) {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return "", err
		}
		if strings.HasSuffix(name, ".c") {
			args = append(args, path)
		}
	}
	args = append(args, "-lm")
	if text, err := exec.CommandContext(ctx, e.gcc, args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("gcc: %w\n%s", err, text)
	}
	return exe, nil
}

func (e sanitized) call(ctx context.Context, exe string, c *compiled) (*Output, error) {
	out, err := c.execute(e.with(ctx, exe, c, c.unit.Func))
	if err == nil && c.values != nil {
		err = c.revalue(true, e.with(ctx, exe, c, c.values.Func))
	}
	return out, err
}

// with calls a function of the program.
func (sanitized) with(ctx context.Context, exe string, c *compiled,
	f *ir.Func) func(args []*tcs.Tensor, bounds [][2]int64) error {
	return func(args []*tcs.Tensor, bounds [][2]int64) error {
		in := interpArgs(args)
		cmd := exec.CommandContext(ctx, exe, emitc.Symbol(f.Name), fmt.Sprint(c.threads), "0")
		cmd.Env = append(os.Environ(), "ASAN_OPTIONS=detect_leaks=0")
		cmd.Stdin = bytes.NewReader(program.Input(f, in, bounds))
		var errs bytes.Buffer
		cmd.Stderr = &errs
		text, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("%w\n%s", err, errs.String())
		}
		o, err := program.Output(text, f, in)
		if err != nil {
			return err
		}
		if o.Code != ir.OK {
			return failed(o.Code, o.Coord, fmt.Sprint(o.Code, " at ", o.Coord))
		}
		takeResult(args[0], in[0])
		return nil
	}
}

// newSanitized returns the engine. It skips the test if the machine has no gcc with sanitizers.
func newSanitized(t *testing.T) sanitized {
	if _, err := NewC(os.Getenv, "-O0"); errors.Is(err, cc.ErrNoCompiler) {
		t.Skip(err)
	}
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("no gcc in PATH, whose sanitizers this test uses")
	}
	e := sanitized{gcc: gcc, dir: t.TempDir()}
	if _, err := e.build(context.Background(), nil); err != nil {
		t.Skip("gcc's sanitizers are not installed: ", err)
	}
	return e
}

// TestOracleSanitized compares leaves under sanitizers with the reference.
func TestOracleSanitized(t *testing.T) {
	t.Parallel()
	sweep(t, newSanitized(t), Options{}, 20)
}

// TestOracleSchedulesSanitized compares leaves with random schedules, under sanitizers, with the
// reference.
func TestOracleSchedulesSanitized(t *testing.T) {
	t.Parallel()
	e := newSanitized(t)
	e.schedules = &drawer{}
	sweep(t, e, Options{}, 10)
}
