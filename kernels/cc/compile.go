package cc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"distaff/io/outfile"
)

// CompileError reports that the compiler failed. It ends a run with code 1.
type CompileError struct {
	Compiler string   // path
	Args     []string // arguments
	Source   string   // the saved C source; "" if it was deleted
	Output   string   // output
	Err      error    // exit status
}

func (e *CompileError) Error() string {
	s := fmt.Sprintf("the C compiler failed (%v): %s %s", e.Err, e.Compiler,
		strings.Join(e.Args, " "))
	if e.Output != "" {
		s += "\n" + e.Output
	}
	if words := LimitWords(e.Output); words != "" {
		s += "\n" + words
	}
	if e.Source != "" {
		s += "\nthe C source is kept in " + e.Source
	}
	return s
}

func (e *CompileError) ExitCode() int { return 1 }

func (e *CompileError) Unwrap() error { return e.Err }

// noOpenMP is the warning that is given if a leaf is compiled without OpenMP.
const noOpenMP = "the C compiler %s has no OpenMP, so leaves run on one thread; install gcc " +
	"with libgomp, " +
	"and name it with DISTAFF_CC if needed"

// compile runs the compiler on src in a temporary folder. It keeps the folder only if the compiler
// fails, so that the user can look at the source.
func (b *Builder) compile(ctx context.Context, src Source) (*Object, error) {
	dir, err := outfile.MkdirTemp(b.cfg.Tmp, "distaff-leaf-")
	if err != nil {
		return nil, fmt.Errorf("cannot make a temporary folder for the compiler: %w", err)
	}
	keep := false
	defer func() {
		if !keep {
			os.RemoveAll(dir)
		}
	}()
	in, out := filepath.Join(dir, "leaf.c"), filepath.Join(dir, "leaf.so")
	if err := os.WriteFile(in, []byte(src.Text), 0o600); err != nil {
		return nil, fmt.Errorf("cannot make a temporary folder for the compiler: %w",
			outfile.InTemp(b.cfg.Tmp, err))
	}
	flags := slices.Concat(b.flags(src), marchFlags(b.cfg.CPU), b.cfg.UserFlags, linkFlags)
	warning := ""
	said, err := b.run(ctx, dir, flags, in, out)
	if err != nil && ctx.Err() == nil && lacksOpenMP(flags, said) {
		plain := slices.Clone(flags)
		plain[slices.Index(plain, "-fopenmp")] = "-fopenmp-simd"
		if _, err2 := b.run(ctx, dir, plain, in, out); err2 == nil {
			err, flags, warning = nil, plain, fmt.Sprintf(noOpenMP, b.compiler.Path)
		}
	}
	if err != nil && ctx.Err() == nil && hasCrashed(said, err) {
		if fewer, how := b.compileWithLess(ctx, dir, flags, in, out); fewer != nil {
			warning = fmt.Sprintf(compiledWithLess, b.compiler.Path, src.Label,
				crashWords(said, err), how)
			err, flags = nil, fewer
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	var unstarted *StartError
	if errors.As(err, &unstarted) {
		return nil, unstarted
	}
	if err != nil {
		failed := &CompileError{Compiler: b.compiler.Path, Args: b.args(flags, in, out),
			Output: printable(said), Err: err}
		if !b.cfg.Internal {
			keep, failed.Source = true, in
			os.Remove(out)
		}
		return nil, failed
	}
	elfBytes, err := os.ReadFile(out)
	if err != nil {
		return nil, fmt.Errorf("the C compiler %s reported success but wrote no object: %w",
			b.compiler.Path, err)
	}
	return Seal(elfBytes, Meta{
		Label: src.Label, Compiler: signature(elfBytes), Path: b.compiler.Real, Flags: flags,
		CPU: CPUKind(b.cfg.CPU), Warning: warning, Made: time.Now().UTC().Truncate(time.Second),
		Tensors: src.Tensors,
	})
}

// compiledWithLess is the warning that is given if the compiler crashed on a leaf and then compiled
// it with less optimization.
const compiledWithLess = "the C compiler %s crashes on the leaf of %s (%s), which is therefore " +
	"compiled %s"

// lessOptimized lists flags that turn off optimizations. After the compiler crashed, they are tried
// one entry after another.
var lessOptimized = []struct {
	flags []string
	how   string
}{
	{[]string{"-fno-tree-vectorize"}, "without vectorization"},
	{[]string{"-fno-tree-vectorize", "-O1"}, "with -O1, without vectorization"},
}

// LessOptimized returns the lists of additional compiler flags that are tried, one list after
// another, if the compiler crashes on a leaf. Tests compile leaves with each list.
func LessOptimized() (list [][]string) {
	for _, less := range lessOptimized {
		list = append(list, less.flags)
	}
	return list
}

// compileWithLess compiles with less optimization than flags request. It tries lessOptimized in
// turn and returns the first flags that work, or nil if none do.
func (b *Builder) compileWithLess(ctx context.Context, dir string, flags []string, in,
	out string) (fewer []string, how string) {
	command := func(flags []string) string {
		return b.compiler.Path + " " + strings.Join(b.args(flags, in, out), " ")
	}
	b.cfg.Detail("the C compiler crashed: " + command(flags))
	for _, less := range lessOptimized {
		if ctx.Err() != nil {
			break
		}
		fewer := slices.Concat(flags, less.flags)
		if _, err := b.run(ctx, dir, fewer, in, out); err == nil {
			b.cfg.Detail("compiled " + less.how + ": " + command(fewer))
			return fewer, less.how
		}
	}
	return nil, ""
}

// bySignal is the start of the message that os/exec gives for a process that a signal killed. The
// text is compared because the error may come from another process, which sends only the text.
const bySignal = "signal: "

// crashMarks are parts of the messages of compilers that crash or whose child process was killed.
var crashMarks = []string{"internal compiler error", "signal terminated program",
	"frontend command failed", "PLEASE submit a bug report"}

// hasCrashed reports whether a failed compiler crashed, as opposed to finding a fault in the
// source.
func hasCrashed(said string, err error) bool {
	return strings.HasPrefix(err.Error(), bySignal) ||
		slices.ContainsFunc(crashMarks, func(
			mark string) bool {
			return strings.Contains(said, mark)
		})
}

// crashWords returns the words of a compiler about its crash. said is the compiler's
// output. The words are in the first line with a mark of crashMarks. They begin after the last
// colon before the mark, and end with the line. If there is no mark in the output, crashWords
// returns the text of err.
func crashWords(said string, err error) string {
	for _, mark := range crashMarks {
		if at := strings.Index(said, mark); at >= 0 {
			start := strings.LastIndexAny(said[:at], ":\n") + 1
			line, _, _ := strings.Cut(said[start:], "\n")
			return printable(line)
		}
	}
	return err.Error()
}

func (b *Builder) args(flags []string, in, out string) []string {
	// -lm is last, because a linker takes from a library only the symbols that are missing by then.
	return slices.Concat(b.compiler.Args, flags, []string{"-o", out, in, "-lm"})
}

// run starts the compiler and returns its output.
func (b *Builder) run(ctx context.Context, dir string, flags []string, in, out string) (string,
	error) {
	// Its temporary files are removed with this folder, and its messages are in English.
	env := append(os.Environ(), "TMPDIR="+dir, "LC_ALL=C")
	start := b.cfg.Run
	if start == nil {
		start = Run
	}
	return start(ctx, Command{append([]string{b.compiler.Path}, b.args(flags, in, out)...), env,
		dir})
}

// lacksOpenMP reports whether a compiler failed because it has no OpenMP.
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

// printable limits the length of a compiler's message and replaces characters that cannot be
// printed.
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

// Version returns the first line of the compiler's version message. It starts a process, so it is
// not used for compiling leaves.
func (c *Compiler) Version(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, c.Path,
		append(slices.Clone(c.Args), "--version")...).Output()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", c.Path, err)
	}
	line, _, _ := strings.Cut(printable(string(out)), "\n")
	return line, nil
}
