package cc

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
)

// CompileError is a compiler's refusal. It ends a run with code 1.
type CompileError struct {
	Compiler string   // path
	Args     []string // what it was given
	Source   string   // where the C source was kept; "" for nowhere
	Output   string   // what it said
	Err      error    // how it ended
}

func (e *CompileError) Error() string {
	s := fmt.Sprintf("the C compiler failed (%v): %s %s", e.Err, e.Compiler, strings.Join(e.Args, " "))
	if e.Output != "" {
		s += "\n" + e.Output
	}
	if e.Source != "" {
		s += "\nthe C source is kept in " + e.Source
	}
	return s
}

func (e *CompileError) ExitCode() int { return 1 }

func (e *CompileError) Unwrap() error { return e.Err }

// noOpenMP is the warning that an object made without OpenMP carries.
const noOpenMP = "the C compiler %s has no OpenMP: leaves run on one thread (gcc with libgomp has it; name it with DISTAFF_CC)"

// compile runs the compiler on src in a folder of its own. The folder stays only
// where the compiler refuses the source, for the user to look at it.
func (b *Builder) compile(ctx context.Context, src Source) (*Object, error) {
	dir, err := os.MkdirTemp(b.cfg.Tmp, "distaff-leaf-")
	if err != nil {
		return nil, fmt.Errorf("no place to compile in (--tmp names another): %w", err)
	}
	keep := false
	defer func() {
		if !keep {
			os.RemoveAll(dir)
		}
	}()
	in, out := filepath.Join(dir, "leaf.c"), filepath.Join(dir, "leaf.so")
	if err := os.WriteFile(in, []byte(src.Text), 0o600); err != nil {
		return nil, fmt.Errorf("no place to compile in (--tmp names another): %w", err)
	}
	flags := slices.Concat(b.cfg.Flags, marchFlags(b.cfg.CPU), b.cfg.UserFlags, linkFlags)
	warning := ""
	said, err := b.run(ctx, dir, flags, in, out)
	if err != nil && ctx.Err() == nil && lacksOpenMP(flags, said) {
		plain := slices.Clone(flags)
		plain[slices.Index(plain, "-fopenmp")] = "-fopenmp-simd"
		if _, err2 := b.run(ctx, dir, plain, in, out); err2 == nil {
			err, flags, warning = nil, plain, fmt.Sprintf(noOpenMP, b.compiler.Path)
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		failed := &CompileError{Compiler: b.compiler.Path, Args: b.args(flags, in, out), Output: printable(said), Err: err}
		if !b.cfg.Ours {
			keep, failed.Source = true, in
			os.Remove(out)
		}
		return nil, failed
	}
	elfBytes, err := os.ReadFile(out)
	if err != nil {
		return nil, fmt.Errorf("the C compiler %s said nothing and made nothing: %w", b.compiler.Path, err)
	}
	return Seal(elfBytes, Meta{
		Label: src.Label, Compiler: signature(elfBytes), Path: b.compiler.Real, Flags: flags,
		CPU: CPUKind(b.cfg.CPU), Warning: warning, Made: time.Now().UTC().Truncate(time.Second), Tensors: src.Tensors,
	})
}

func (b *Builder) args(flags []string, in, out string) []string {
	// -lm last: a linker takes from a library only what is missing by then.
	return slices.Concat(b.compiler.Args, flags, []string{"-o", out, in, "-lm"})
}

// run starts the compiler and returns what it said.
func (b *Builder) run(ctx context.Context, dir string, flags []string, in, out string) (string, error) {
	// Its temporary files go with ours; its words are in one language.
	env := append(os.Environ(), "TMPDIR="+dir, "LC_ALL=C")
	start := b.cfg.Run
	if start == nil {
		start = Run
	}
	return start(ctx, Command{append([]string{b.compiler.Path}, b.args(flags, in, out)...), env, dir})
}

// lacksOpenMP reports whether a compiler that refused was asked for OpenMP and
// spoke of it.
func lacksOpenMP(flags []string, said string) bool {
	if !slices.Contains(flags, "-fopenmp") {
		return false
	}
	said = strings.ToLower(said)
	for _, word := range []string{"-fopenmp", "omp.h", "-lgomp", "-lomp", "libgomp"} {
		if strings.Contains(said, word) {
			return true
		}
	}
	return false
}

// printable bounds a compiler's words and takes control characters out of them.
func printable(s string) string {
	const most = 8 << 10
	s = strings.TrimSpace(s)
	if len(s) > most {
		s = s[:most] + "\n..."
	}
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, s)
}

// Version is the first line of what the compiler says of itself. It starts a
// process: for people who ask, not on the way to a leaf.
func (c *Compiler) Version(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, c.Path, append(slices.Clone(c.Args), "--version")...).Output()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", c.Path, err)
	}
	line, _, _ := strings.Cut(printable(string(out)), "\n")
	return line, nil
}
