package oracle

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"distaff/io/tcsfile"
	"distaff/kernels/cc"
	"distaff/spmd"
)

var commandFlag = flag.String("oracle.distaff", "",
	"the program distaff, by which some job files are run too")

// TestOracleFilePrograms compares the output of job files, and the tensors at their end, with the
// reference.
func TestOracleFilePrograms(t *testing.T) {
	_, err := NewC(os.Getenv, "-O0")
	compiler := !errors.Is(err, cc.ErrNoCompiler)
	if !compiler {
		t.Run("compiled", func(t *testing.T) { t.Skip(err) })
	}
	t.Setenv("DISTAFF_CACHE", t.TempDir())
	t.Setenv("DISTAFF_CFLAGS", "-O0")
	n := uint64(40)
	if *nFlag > 0 {
		n = *nFlag
	}
	dir := t.TempDir()
	var next, runs, bad, commands atomic.Uint64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for k := next.Add(1) - 1; k < n && bad.Load() < 3; k = next.Add(1) - 1 {
				c := randomFile(*seedFlag, *firstFlag+k)
				c.compile = c.compile && compiler
				if err := c.follow(); err != nil {
					t.Errorf("job file %d: %v", *firstFlag+k, err)
					return
				}
				err := c.run(filepath.Join(dir, fmt.Sprint(k)))
				if err == nil && *commandFlag != "" && k%10 == 0 && compiler {
					commands.Add(1)
					err = c.command(filepath.Join(dir, fmt.Sprint(k, "c")))
				}
				runs.Add(uint64(c.runs))
				if err == nil {
					continue
				}
				bad.Add(1)
				small, why := c.shrink(filepath.Join(dir, fmt.Sprint(k)), err)
				t.Errorf(
					"%v\n\nreproduce with\n    go test ./spmd/oracle -run TestOracleFilePrograms -oracle.seed=%d -oracle.first=%d -oracle.n=1\n%s\nbefore it was made small, %v:\n%s", why, *seedFlag, *firstFlag+k, small.report(), err, indent(c.String()))
			}
		})
	}
	wg.Wait()
	t.Logf("seed %d: %d job files, %d runs of statements, %d through the command, %d files not right",
		*seedFlag, min(next.Load(), n), runs.Load(), commands.Load(), bad.Load())
}

// report describes the program for the message of a failure.
func (c *fileProgram) report() string {
	text := fmt.Sprintf("%d ranks, compiled %v, --check %v, --repeat=%d, -D %v, inputs %s:\n%s",
		c.ranks, c.compile, c.check, c.repeat, c.params, c.kinds(), indent(c.String()))
	for _, t := range c.tensors {
		text += fmt.Sprintf("%s %v %s:", t.Name, t.Dims, t.Type)
		for _, e := range t.Entries {
			text += fmt.Sprintf(" %v=%s", e.Coord, formatValue(t.Type, e.Value))
		}
		text += "\n"
	}
	return text
}

// write writes the job file and its input files into a folder.
func (c *fileProgram) write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, t := range c.tensors {
		if t.file == "" || t.file == "number" {
			continue
		}
		x := *t.Tensor
		if t.as.Levels != nil {
			x.Format = t.as
		}
		f := &files{in: map[string]string{t.Name: t.file}}
		if err := f.store(&x, filepath.Join(dir, t.Name+t.file), false); err != nil {
			return fmt.Errorf("storing %s: %w", t.Name, err)
		}
	}
	return os.WriteFile(filepath.Join(dir, "job.dst"), []byte(c.String()), 0o644)
}

// outputs returns the files that flags request, in addition to the outputs in the job file.
func (c *fileProgram) outputs(dir string) map[string]string {
	list := map[string]string{}
	for name := range c.state {
		if t := c.declared(name); t == nil || !t.to {
			list[name] = filepath.Join(dir, "out-"+name+".tcs")
		}
	}
	return list
}

// run runs the job in this process, and returns an error if its results are wrong.
func (c *fileProgram) run(dir string) (err error) {
	defer os.RemoveAll(dir)
	defer recovered(&err)
	if err := c.write(dir); err != nil {
		return err
	}
	f, err := c.parse(filepath.Join(dir, "job.dst"))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	var said []string
	j := &spmd.FileJob{File: f, Outputs: c.outputs(dir),
		Say:     func(line string) { said = append(said, line) },
		Options: spmd.Options{Ranks: c.ranks, Threads: 1, Check: c.check, Repeat: c.repeat}}
	if j.Target = c.target; !c.compile {
		j.Target = spmd.Interpreter
	}
	var planned *spmd.PlannedFile
	if c.target != "" {
		if planned, err = j.Plan(ctx, 0); err != nil {
			return err
		}
	}
	report, err := j.Run(ctx)
	if report == nil && err == nil {
		return errors.New("neither a report nor an error")
	}
	if planned != nil && report != nil {
		if err := sameTargets(planned, report); err != nil {
			return err
		}
	}
	return c.judge(dir, said, err)
}

// command runs the job with the distaff command.
func (c *fileProgram) command(dir string) error {
	defer os.RemoveAll(dir)
	if err := c.write(dir); err != nil {
		return err
	}
	args := []string{"run", filepath.Join(dir, "job.dst"), fmt.Sprint("--ranks=", c.ranks),
		"--threads=1", fmt.Sprint("--repeat=", c.repeat)}
	for name, file := range c.outputs(dir) {
		args = append(args, "-o="+name+":"+file)
	}
	for _, p := range c.params {
		if p[2] != "" {
			args = append(args, "-D", p[0]+"="+p[2])
		}
	}
	cmd := exec.Command(*commandFlag, args...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if e := (*exec.ExitError)(nil); errors.As(err, &e) {
		err = &exited{e.ExitCode(), errs.String()}
	}
	said := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(out) == 0 {
		said = nil
	}
	if err = c.judge(dir, said, err); err != nil {
		err = fmt.Errorf("distaff %s: %w", strings.Join(args, " "), err)
	}
	return err
}

// exited is the exit code and the message of a process.
type exited struct {
	code int
	said string
}

func (e *exited) Error() string { return fmt.Sprintf("exit code %d: %s", e.code, e.said) }
func (e *exited) ExitCode() int { return e.code }

var negativeZero = regexp.MustCompile(`(^|[ (])-0([ +)-]|$)`)

// unsigned returns a line with a scalar without the signs of zeros. The reference may compute -0
// where a sum is printed as 0.
func unsigned(line string) string {
	return negativeZero.ReplaceAllString(strings.ReplaceAll(line, "-0i", "+0i"), "${1}0${2}")
}

// judge compares the output and the files of a run with the expected ones.
func (c *fileProgram) judge(dir string, said []string, err error) error {
	files, _ := filepath.Glob(filepath.Join(dir, "out-*"))
	passes := c.repeat
	switch {
	case c.ended && (err == nil || exitCode(err) != 4 || len(files) > 0):
		return fmt.Errorf("got %d outputs and error %w, want none, and exit code 4", len(files), err)
	case c.ended:
		passes = 1
	case err != nil:
		return fmt.Errorf("exit code %d: %w", exitCode(err), err)
	}
	want := slices.Repeat(c.says, passes)
	if len(said) != len(want) {
		return fmt.Errorf("got lines %q, want %q", said, want)
	}
	for k, line := range want {
		start, open := strings.CutSuffix(line, "...")
		if unsigned(said[k]) != unsigned(line) && !(open && strings.HasPrefix(said[k], start)) {
			return fmt.Errorf("got %q, want %q, in %q", said[k], line, said)
		}
	}
	if c.ended {
		return nil
	}
	if len(files) != len(c.state) {
		return fmt.Errorf("got outputs %q, want %d", files, len(c.state))
	}
	for name, t := range c.state {
		if err := c.compare(filepath.Join(dir, "out-"+name+".tcs"), t); err != nil {
			return fmt.Errorf("%s at the end: %w", name, err)
		}
	}
	return nil
}

// compare compares the contents of a file with a tensor.
func (c *fileProgram) compare(file string, t *Tensor) error {
	got, err := tcsfile.Open(file)
	if err != nil {
		return err
	}
	defer got.Close()
	if len(t.Dims) == 0 {
		if v, w := got.Value(0), t.Entries[0].Value; got.Header.Type != t.Type || v.I != w.I ||
			v.C != w.C {
			return fmt.Errorf("got %s, %s, want %s, %s", v.Text(), got.Header.Type, formatValue(t.Type, w), t.Type)
		}
		return nil
	}
	return compareWhole(got, (&Case{Stmt: "R = 1", Tensors: []*Tensor{t}}).whole(t.Name))
}

// shrink removes items, repeats and conditions while the job still fails. It returns the smaller
// program and its error.
func (c *fileProgram) shrink(dir string, err error) (*fileProgram, error) {
	small, tries := *c, 0
	try := func(d fileProgram) bool {
		if tries++; tries > 400 || d.follow() != nil {
			return false
		}
		if _, e := d.parse("job.dst"); e != nil {
			return false
		}
		got := d.run(filepath.Join(dir, fmt.Sprint(tries)))
		if got == nil {
			return false
		}
		small, err = d, got
		return true
	}
	for again := true; again; {
		again = false
		for _, items := range without(small.items) {
			d := small
			d.items = items
			if again = try(d); again {
				break
			}
		}
		for _, simpler := range []func(d *fileProgram){
			func(d *fileProgram) { d.ranks = max(1, d.ranks-1) },
			func(d *fileProgram) { d.repeat = 1 },
			func(d *fileProgram) { d.check = false },
			func(d *fileProgram) { d.machine = false },
		} {
			d := small
			if simpler(&d); d.ranks+d.repeat < small.ranks+small.repeat || d.check != small.check ||
				d.machine != small.machine {
				again = try(d) || again
			}
		}
		for k := len(small.tensors) - 1; k >= 0; k-- {
			d := small
			d.tensors = numbered(slices.Delete(slices.Clone(small.tensors), k, k+1))
			if try(d) {
				again = true
				continue
			}
			for n := len(small.tensors[k].Entries) - 1; n >= 0 && len(small.tensors[k].Dims) > 0; n-- {
				d, t, x := small, *small.tensors[k], *small.tensors[k].Tensor
				x.Entries = slices.Delete(slices.Clone(x.Entries), n, n+1)
				t.Tensor = &x
				if t.file != ".tcs" && len(x.Entries) == 0 {
					break // a file without entries does not give sizes
				}
				d.tensors = slices.Clone(small.tensors)
				d.tensors[k] = &t
				d.tensors = numbered(d.tensors)
				again = try(d) || again
			}
		}
	}
	small.follow()
	return &small, err
}

// numbered returns the tensors with numbers instead of the names of sizes, because the remaining
// program may not determine the named sizes.
func numbered(list []*fileTensor) []*fileTensor {
	var out []*fileTensor
	for _, t := range list {
		x := *t
		x.sizes = nil
		for _, n := range t.Dims {
			x.sizes = append(x.sizes, fmt.Sprint(n))
		}
		out = append(out, &x)
	}
	return out
}

// without returns simpler lists. Each omits an item, replaces a repeat by its body, or has a repeat
// with a simpler body, fewer passes, or no condition.
func without(items []*fileItem) [][]*fileItem {
	var out [][]*fileItem
	for k := len(items) - 1; k >= 0; k-- {
		put := func(list ...*fileItem) {
			out = append(out,
				slices.Replace(slices.Clone(items), k, k+1, list...))
		}
		put()
		it := items[k]
		if it.op == "do" && it.splits != nil {
			x := *it
			x.splits = nil
			put(&x)
		}
		if it.op == "if" {
			put(it.body...)
			put(it.other...)
			for _, body := range without(it.body) {
				x := *it
				x.body = body
				put(&x)
			}
			for _, other := range without(it.other) {
				x := *it
				x.other = other
				put(&x)
			}
		}
		if it.op != "repeat" {
			continue
		}
		put(it.body...)
		if it.n > 1 {
			x := *it
			x.n--
			x.count = fmt.Sprint(x.n)
			put(&x)
		}
		if it.until != nil {
			x := *it
			x.until, x.fail = nil, false
			put(&x)
		}
		for _, body := range without(it.body) {
			if len(body) > 0 {
				x := *it
				x.body = body
				put(&x)
			}
		}
	}
	return out
}
