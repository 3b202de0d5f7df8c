package oracle

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"distaff/codegen/place"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/kernels/cc"
	"distaff/spmd"
)

// TestOraclePrograms compares programs with the reference after each statement. Tensors are
// overwritten, get other patterns and sizes, and move between ranks, and statements run again.
func TestOraclePrograms(t *testing.T) {
	_, err := NewC(os.Getenv, "-O0")
	compiler := !errors.Is(err, cc.ErrNoCompiler)
	if !compiler {
		t.Run("compiled", func(t *testing.T) { t.Skip(err) })
	}
	t.Setenv("DISTAFF_CACHE", t.TempDir())
	t.Setenv("DISTAFF_CFLAGS", "-O0")
	n := uint64(150)
	if *nFlag > 0 {
		n = *nFlag
	}
	var next, runs, bad atomic.Uint64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for k := next.Add(1) - 1; k < n && bad.Load() < 3; k = next.Add(1) - 1 {
				c := randomProgram(*seedFlag, *firstFlag+k)
				c.compile = c.compile && compiler
				if err := c.follow(); err != nil {
					t.Errorf("program %d: %v", *firstFlag+k, err)
					return
				}
				err := c.check()
				for _, s := range c.steps {
					if s.want != nil {
						runs.Add(1)
					}
				}
				if err == nil {
					continue
				}
				bad.Add(1)
				small, why := c.shrink(err)
				t.Errorf(
					"%v\n\nreproduce with\n    go test ./spmd/oracle -run TestOraclePrograms -oracle.seed=%d -oracle.first=%d -oracle.n=1\nthe program, of %d steps before it was made small:\n%s", why, *seedFlag, *firstFlag+k, len(c.steps), indent(small.String()))
			}
		})
	}
	wg.Wait()
	t.Logf("seed %d: %d programs, %d runs of statements, %d programs not right", *seedFlag,
		min(next.Load(), n), runs.Load(), bad.Load())
}

// shrink removes steps while the program still fails.
func (c *programCase) shrink(err error) (*programCase, error) {
	small := *c
	tries := 0
	try := func(d programCase) bool {
		if tries++; tries > 300 || d.follow() != nil {
			return false
		}
		got := d.check()
		if got == nil {
			return false
		}
		small, err = d, got
		return true
	}
	for again := true; again; {
		again = false
		for k := len(small.steps) - 1; k >= 0; k-- {
			d := small
			d.steps = slices.Delete(slices.Clone(small.steps), k, k+1)
			again = try(d) || again
		}
		for small.ranks > 1 {
			d := small
			d.ranks--
			if !try(d) {
				break
			}
			again = true
		}
		for k, s := range small.steps {
			if s.op != "set" || len(s.tensor.Dims) == 0 {
				continue
			}
			for n := len(s.tensor.Entries) - 1; n >= 0; n-- {
				d, step, x := small, *small.steps[k], *small.steps[k].tensor
				if n >= len(x.Entries) {
					continue
				}
				x.Entries = slices.Delete(slices.Clone(x.Entries), n, n+1)
				step.tensor = &x
				d.steps = slices.Clone(small.steps)
				d.steps[k] = &step
				again = try(d) || again
			}
		}
	}
	small.follow()
	return &small, err
}

// check runs the program, and returns an error if a result is wrong.
func (c *programCase) check() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	var mu sync.Mutex
	var held []*tcs.Tensor // closed when the program has ended
	defer func() {
		for _, t := range held {
			t.Close()
		}
	}()
	keep := func(t *tcs.Tensor) { mu.Lock(); held = append(held, t); mu.Unlock() }
	o := spmd.Options{Ranks: c.ranks, Threads: 1, Check: c.fresh}
	switch {
	case c.gpu:
		o.Target = c.target
		o.Note = func(line string) {
			if strings.Contains(line, " runs on the CPU: ") {
				c.onCPU.Add(1)
			}
		}
	case !c.compile:
		o.Target = spmd.Interpreter
	}
	err := spmd.Start(ctx, o, func(p *spmd.Program) (err error) {
		defer recovered(&err)
		return c.runAt(p, keep)
	})
	if c.ranks == 1 || errors.As(err, &wrong{}) {
		return err
	}
	// With several ranks, an error in the data ends the program, and an error in a statement may.
	data := false
	for _, s := range c.steps {
		if data = data || s.code == 3; s.code > 0 && s.code == exitCode(err) && err != nil {
			return nil
		}
	}
	if err == nil && data {
		return errors.New("a step failed, and the program of several ranks has not ended with its error")
	}
	return err
}

// runAt runs the program at one rank.
func (c *programCase) runAt(p *spmd.Program, keep func(*tcs.Tensor)) error {
	prepared := map[int]*spmd.ProgramStatement{}
	given := map[string]*tcs.Tensor{}
	failed := 0 // the exit code of a step that failed as expected
	for n, s := range c.steps {
		err := s.do(p, prepared, given, keep)
		if failed > 0 && err != nil && exitCode(err) == failed && c.ranks > 1 {
			return err // the program has ended
		}
		if s.code == 3 && err == nil && c.ranks > 1 {
			return nil // another rank has found the error: see check
		}
		if s.code > 0 {
			if err == nil || exitCode(err) != s.code {
				return wrong{fmt.Errorf("rank %d, step %d, %v: got %w", p.Rank(), n, s, err)}
			}
			failed = s.code
			continue
		}
		if c.gpu && isRefusedOnGPU(err) {
			c.refused.Store(int64(n) + 1)
			return err
		}
		if c.gpu && n%4 > 0 { // a tensor that was read does not stay on the GPU
			s = &progStep{op: s.op}
		}
		if err == nil && s.want != nil {
			err = compareTo(p, s.left, s.want)
		}
		if err != nil {
			return wrong{fmt.Errorf("rank %d, step %d, %v: %w", p.Rank(), n, s, err)}
		}
	}
	if len(c.steps) == 0 {
		return nil
	}
	state := c.steps[len(c.steps)-1].state
	var names []string
	for name := range state {
		names = append(names, name)
	}
	slices.Sort(names)
	if got := p.Names(); !slices.Equal(got, names) {
		return fmt.Errorf("tensors with a value: got %v, want %v", got, names)
	}
	for _, name := range names { // check that no other tensor has changed
		t := *state[name]
		same := (&Case{Stmt: "R = 1", Tensors: []*Tensor{&t}}).whole(name)
		if err := compareTo(p, name, same); err != nil {
			return fmt.Errorf("rank %d, %s at the end: %w", p.Rank(), name, err)
		}
	}
	return nil
}

// whole returns the expected contents of a tensor. Entries with the same coordinate are added.
func (c *Case) whole(name string) *Want {
	t := c.Tensors[0]
	vars := ""
	for m := range t.Dims {
		if m > 0 {
			vars += ","
		}
		vars += string(rune('i' + m))
	}
	x := *t
	x.Name = "V"
	if len(t.Format.Bound()) > 0 || t.Format.Repeats() {
		return nil
	}
	d := &Case{Stmt: fmt.Sprintf("R(%s) = V(%[1]s)", vars),
		Tensors: []*Tensor{{Name: "R", Format: t.Format, Type: t.Type, Dims: t.Dims}, &x}}
	p, err := d.Prepare()
	if err != nil {
		panic("BUG: oracle: " + err.Error())
	}
	w, err := p.Expect(context.Background())
	if err != nil {
		panic("BUG: oracle: " + err.Error())
	}
	return w
}

// compareTo compares a tensor of the program with the expected contents, at rank 0.
func compareTo(p *spmd.Program, name string, want *Want) error {
	if want == nil {
		return nil
	}
	if len(want.Dims) == 0 {
		v, err := p.Value(name)
		if err != nil {
			return err
		}
		w := Entry{}
		if len(want.Points) > 0 {
			w.Value = want.Points[0].Value
		}
		if v.I != w.Value.I || v.C != w.Value.C {
			return fmt.Errorf("the value is %v, want %v", v, w.Value)
		}
	}
	whole, err := p.Tensor(name)
	if err != nil || p.Rank() > 0 {
		return err
	}
	defer whole.Close()
	return compareWhole(whole, want)
}

// compareWhole validates a tensor, and compares it with want if want is not nil.
func compareWhole(whole *tcs.Tensor, want *Want) error {
	if err := whole.Validate(); err != nil || want == nil {
		return err
	}
	if whole.Header.Type != want.Type || whole.Format().String() != want.Format.String() ||
		!slices.Equal(whole.Header.Dims, want.Dims) {
		return fmt.Errorf("%s %s %v, want %s %s %v", whole.Header.Type, whole.Format().String(),
			whole.Header.Dims, want.Type, want.Format, want.Dims)
	}
	return want.Compare(output(whole), nil)
}

// do runs one step at one rank.
func (s *progStep) do(p *spmd.Program, prepared map[int]*spmd.ProgramStatement,
	given map[string]*tcs.Tensor, keep func(*tcs.Tensor)) error {
	switch s.op {
	case "set":
		t := s.tensor
		how := spmd.Storage{}
		if len(t.Dims) == 0 {
			return p.Set(t.Name, spmd.Scalar(scalar(t.Type, t.Entries[0].Value)), how)
		}
		x := *t
		if s.plain {
			x.Format = plainFormat(len(t.Dims))
			how.Format = t.Format.String()
		}
		m, err := x.Assemble(s.wide)
		if err != nil {
			return err
		}
		keep(m)
		given[t.Name] = m
		return p.Set(t.Name, spmd.InMemory(m), how)
	case "declare":
		t := s.tensor
		how := spmd.Storage{Format: t.Format.String(), Type: t.Type.String()}
		if len(t.Dims) > 0 {
			how.Sizes = t.Dims
		}
		return p.Declare(t.Name, how)
	case "drop":
		p.Drop(s.name)
	case "place":
		return p.Place(s.name, s.mode)
	case "negate":
		m := given[s.name]
		for i := range m.Vals.Len {
			v := m.Value(i)
			m.SetValue(i, tensor.Value{Type: v.Type, I: -v.I, C: 0 - v.C})
		}
		return p.Set(s.name, spmd.InMemory(m), spmd.Storage{})
	case "prepare":
		how := spmd.How{On: s.on}
		if s.splits != nil {
			how.Blocks = &place.BlockSpec{}
			for _, text := range s.splits {
				split, err := place.ParseSplit(text)
				if err != nil {
					return err
				}
				how.Blocks.Splits = append(how.Blocks.Splits, split)
			}
		}
		var err error
		prepared[s.id], err = p.Prepare(s.stmt, how)
		return err
	case "run":
		return prepared[s.id].Run()
	case "close":
		prepared[s.id].Close()
	case "do":
		if s.on == "" {
			return p.Do(s.stmt)
		}
		k, err := p.Prepare(s.stmt, spmd.How{On: s.on})
		if err != nil {
			return err
		}
		return k.Run()
	}
	return nil
}
