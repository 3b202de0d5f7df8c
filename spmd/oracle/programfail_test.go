package oracle

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"distaff/codegen/notation"
	"distaff/codegen/reference"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/kernels/cc"
	"distaff/spmd"
)

// TestOracleProgramErrors makes steps of random programs, or whole programs, fail: because of a
// statement, its data or its memory, because the program is cancelled, or because one rank returns
// an error. If a program continues, its results must be right. Otherwise every rank must return an
// error.
func TestOracleProgramErrors(t *testing.T) {
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
	var next, failed, bad atomic.Uint64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for k := next.Add(1) - 1; k < n && bad.Load() < 3; k = next.Add(1) - 1 {
				seed := *firstFlag + k
				c := randomProgram(*seedFlag, seed)
				c.compile = c.compile && compiler
				r := rand.New(rand.NewPCG(*seedFlag, seed^1<<62))
				err, what := error(nil), ""
				switch r.IntN(6) {
				case 0:
					what, err = "a memory limit", c.limited(r)
				case 1:
					what, err = "a context that is cancelled", c.cancelled(r)
				case 2:
					what, err = "a rank that gives up", c.givenUp(r)
				default:
					what = "steps that fail"
					c.addFailures(r)
					if err = c.follow(); err == nil {
						err = c.check()
					}
					failed.Add(
						uint64(len(slices.DeleteFunc(slices.Clone(c.steps),
							func(s *progStep) bool { return s.code == 0 }))))
					if err != nil {
						c, err = c.shrink(err)
					}
				}
				if err != nil {
					bad.Add(1)
					t.Errorf(
						"%s: %v\n\nreproduce with\n    go test ./spmd/oracle -run TestOracleProgramErrors -oracle.seed=%d -oracle.first=%d -oracle.n=1\n%s", what, err, *seedFlag, seed, indent(c.String()))
				}
			}
		})
	}
	wg.Wait()
	t.Logf("seed %d: %d programs, %d steps that fail in them, %d programs not right", *seedFlag,
		min(next.Load(), n), failed.Load(), bad.Load())
}

// TestReadingLimited checks a program whose memory limit suffices for a statement but not for
// reading its result as one tensor. The tensors must have the values that they had after the
// statement.
func TestReadingLimited(t *testing.T) {
	dense, _ := notation.ParseFormat("dd")
	B := &Tensor{Name: "B", Format: dense, Type: tensor.Float64, Dims: []int64{4, 4}, Input: true}
	c := &programCase{ranks: 1,
		steps: []*progStep{{op: "set", tensor: B},
			{op: "prepare", stmt: "A(i,j) = B(i,j)", splits: []string{"i:4", "j:2"}}, {op: "run"}}}
	for seed := range uint64(10) {
		if err := c.limited(rand.New(rand.NewPCG(seed, 0))); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

// verdict returns the exit code that a statement must end with, or -1 if the test does not know it.
func (w *world) verdict(text string) int {
	c, err := w.caseOf(text)
	if err != nil {
		return 2
	}
	if f := c.Tensors[0].Format; len(f.Bound()) > 0 || strings.Contains(f.Letters(), "p") {
		return -1
	}
	p, err := c.Prepare()
	if err != nil {
		return 2
	}
	space := 1.0
	for _, v := range p.Normal.Vars {
		space *= float64(max(p.Sizes.Vars[v], 1))
	}
	if space > 5000 {
		return -1
	}
	want, err := p.Expect(context.Background())
	switch {
	case err != nil || want.MayDivide:
		return -1
	case want.Err != nil || want.Overflow:
		return 3
	}
	return 0
}

// fail applies a step that must fail to the world. After an error in the data, the result has no
// value.
func (w *world) fail(s *progStep) error {
	text := s.stmt
	if s.op == "run" {
		if w.prepared[s.id] == nil {
			return fmt.Errorf("nothing was prepared as %d", s.id)
		}
		text = w.prepared[s.id].stmt
	}
	if code := w.verdict(text); code != s.code {
		return fmt.Errorf("%s: exit code %d, want %d", text, code, s.code)
	}
	if s.code == 2 {
		return nil
	}
	parsed, err := notation.Parse(text)
	if err != nil {
		return err
	}
	name := parsed.LHS.Name
	w.touch(text)
	if t := w.tensors[name]; t != nil {
		x := *t
		x.Input, x.Entries = false, nil
		w.tensors[name] = &x
	}
	w.broken[name] = true
	delete(w.direct, name)
	return nil
}

// addFailures inserts steps that must fail into the program.
func (c *programCase) addFailures(r *rand.Rand) {
	steps := c.steps
	c.steps = nil
	g := &programGen{generator: &generator{rand: r, o: Options{Exact: true}.withDefaults()},
		w: newWorld(), c: c}
	g.types = g.generator.types()
	g.add(number("nul", tensor.Int64, 0))
	g.add(number("big", tensor.Int32, 1<<30))
	for _, s := range steps {
		for tries := 0; g.chance(0.25) && tries < 5; tries++ {
			g.failure()
		}
		g.add(s)
	}
	g.failure()
}

func number(name string, typ tensor.Type, n int64) *progStep {
	return &progStep{op: "set",
		tensor: &Tensor{Name: name, Type: typ, Dims: []int64{}, Input: true,
			Entries: []Entry{{Coord: []int64{}, Value: reference.Int(n)}}}}
}

// failure draws a step that fails, if it finds one.
func (g *programGen) failure() {
	list := g.w.valued()
	text := ""
	switch g.pick(10, 10, 10, 20, 30, 15, 10) {
	case 0:
		text = "a = missing(i) * nul"
	case 1:
		text = "a = (nul +"
	case 2: // another number of modes
		t := g.w.tensors[list[g.rand.IntN(len(list))]]
		text = "b = " + t.Name + "(" + strings.Join([]string{"i", "j", "k", "l"}[:len(t.Dims)+1],
			",") + ")"
	case 3: // sizes that clash
		x, y := g.w.tensors[list[g.rand.IntN(len(list))]], g.w.tensors[list[g.rand.IntN(len(list))]]
		vars := []string{"i", "j", "k"}
		text = "b = " + x.Name + "(" + strings.Join(vars[:len(x.Dims)],
			",") + ") * " + y.Name + "(" + strings.Join(vars[:len(y.Dims)], ",") + ")"
	case 4: // wrong data
		var names []string
		for name := range g.w.tensors {
			names = append(names, name)
		}
		slices.Sort(names)
		t := g.w.tensors[names[g.rand.IntN(len(names))]]
		at := t.Name
		if len(t.Dims) > 0 {
			at += "(" + strings.Join([]string{"i", "j", "k"}[:len(t.Dims)], ",") + ")"
		}
		if t.Name == "nul" || t.Name == "big" {
			at = "a"
		}
		text = at + []string{" = nul / nul", " = big * big", " += big / nul", " = 1 / nul",
			" = " + at + " / nul", " += big * big"}[g.rand.IntN(6)]
	case 5: // a result whose statement failed
		for name := range g.w.broken {
			if t := g.w.tensors[name]; t != nil && len(t.Dims) <= 3 {
				text = name
				if len(t.Dims) > 0 {
					text += "(" + strings.Join([]string{"i", "j", "k"}[:len(t.Dims)], ",") + ")"
				}
				if text += " += 1"; g.chance(0.5) {
					text = "b = " + strings.TrimSuffix(text, " += 1")
				}
			}
		}
	case 6: // a prepared statement whose operand is dropped and set again
		g.dropped()
		return
	}
	if text == "" {
		return
	}
	if code := g.w.verdict(text); code > 0 {
		g.add(&progStep{op: "do", stmt: text, code: code})
	}
}

// dropped drops an operand of a prepared statement, which must then fail, and sets it again.
func (g *programGen) dropped() {
	for id, s := range g.w.prepared {
		parsed, err := notation.Parse(s.stmt)
		if err != nil {
			continue
		}
		for _, a := range parsed.Accesses() {
			t := g.w.tensors[a.Name]
			if t == nil || !t.Input || a.Name == parsed.LHS.Name || g.w.sized[a.Name] || t.hasRepeats() ||
				len(t.Format.Bound()) > 0 {
				continue
			}
			g.add(&progStep{op: "drop", name: a.Name})
			g.add(&progStep{op: "run", id: id, code: 2})
			g.add(&progStep{op: "set", tensor: t})
			g.add(&progStep{op: "run", id: id})
			return
		}
	}
}

// start runs f at every rank of the program.
func (c *programCase) start(ctx context.Context, o spmd.Options,
	f func(p *spmd.Program, keep func(*tcs.Tensor)) error) error {
	var mu sync.Mutex
	var held []*tcs.Tensor
	defer func() {
		for _, t := range held {
			t.Close()
		}
	}()
	keep := func(t *tcs.Tensor) { mu.Lock(); held = append(held, t); mu.Unlock() }
	o.Ranks, o.Threads = c.ranks, 1
	if !c.compile {
		o.Target = spmd.Interpreter
	}
	return spmd.Start(ctx, o, func(p *spmd.Program) (err error) {
		defer recovered(&err)
		return f(p, keep)
	})
}

// wrong is an error that the test found. Programs never return it.
type wrong struct{ error }

func (e wrong) Unwrap() error { return e.error }

// until runs steps at one rank until one fails, and returns the number of completed steps. Their
// results must be right. A step whose result cannot be read counts as completed.
func (c *programCase) until(p *spmd.Program, keep func(*tcs.Tensor), before func(n int) error) (int,
	error) {
	prepared, given := map[int]*spmd.ProgramStatement{}, map[string]*tcs.Tensor{}
	for n, s := range c.steps {
		if before != nil {
			if err := before(n); err != nil {
				return n, err
			}
		}
		if err := s.do(p, prepared, given, keep); err != nil {
			return n, err
		}
		if s.want == nil {
			continue
		}
		if err := compareTo(p, s.left, s.want); err != nil {
			if exitCode(err) == 1 && p.Context().Err() == nil {
				return n, wrong{fmt.Errorf("rank %d, step %d, %v: %w", p.Rank(), n, s, err)}
			}
			return n + 1, err
		}
	}
	return len(c.steps), nil
}

// ends checks that a program that has failed returns an error for further steps.
func ends(p *spmd.Program) error {
	for _, f := range []func() error{
		func() error { return p.Do("over = 1") },
		func() error { return p.Set("over", spmd.Scalar(1.0), spmd.Storage{}) },
		func() error { _, err := p.Value("over"); return err },
	} {
		if f() == nil {
			return wrong{fmt.Errorf("rank %d: a call of a program that has ended gave no error", p.Rank())}
		}
	}
	return nil
}

// limited runs the program repeatedly, with ever lower memory limits.
func (c *programCase) limited(r *rand.Rand) error {
	if err := c.follow(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	peak := int64(0)
	err := c.start(ctx, spmd.Options{}, func(p *spmd.Program, keep func(*tcs.Tensor)) error {
		if _, err := c.until(p, keep, nil); err != nil {
			return err
		}
		ranks, err := p.Statistics()
		for _, s := range ranks {
			peak = max(peak, s.Allocated)
		}
		return err
	})
	for range 3 {
		if err != nil {
			return err
		}
		limit := int64(float64(peak) * []float64{0.99, 0.9, 0.8, 0.6, 0.3, 0.1}[r.IntN(6)])
		if limit <= 0 {
			return nil
		}
		err = c.start(ctx, spmd.Options{MemoryLimit: limit},
			func(p *spmd.Program, keep func(*tcs.Tensor)) error {
				n, err := c.until(p, keep, nil)
				switch {
				case err == nil || errors.As(err, &wrong{}):
					return err
				case exitCode(err) != 5:
					return wrong{fmt.Errorf("rank %d, a limit of %d bytes, step %d: exit code %d: %w", p.Rank(),
						limit, n, exitCode(err), err)}
				case c.ranks == 1:
					return c.afterwards(p, n)
				}
				if p.Do("over = 1") != nil {
					return err // the program has ended
				}
				// Every rank refused the step before it did anything.
				v, err := p.Value("over")
				if err != nil || v.C != 1 {
					err = wrong{fmt.Errorf("rank %d: after step %d was refused, 1 is %v, %w", p.Rank(), n, v, err)}
				}
				return err
			})
		if err != nil && !errors.As(err, &wrong{}) && exitCode(err) == 5 && c.ranks > 1 {
			err = nil
		}
	}
	return err
}

// afterwards checks a program of one rank after one of its steps failed. done is the number of
// steps before the failed one. The tensors must have the values that they had after these steps,
// and the program must be able to continue after some tensors were dropped.
func (c *programCase) afterwards(p *spmd.Program, done int) error {
	result := ""
	if done < len(c.steps) && slices.Contains([]string{"do", "run"}, c.steps[done].op) {
		result = c.steps[done].left
	}
	state := map[string]*Tensor{}
	if done > 0 {
		state = c.steps[done-1].state
	}
	for _, name := range p.Names() {
		t := state[name]
		if t == nil {
			return wrong{fmt.Errorf("%s has a value after %d steps", name, done)}
		}
		x := *t
		if err := compareTo(p, name,
			(&Case{Stmt: "R = 1", Tensors: []*Tensor{&x}}).whole(name)); err != nil && exitCode(err) != 5 {
			return wrong{fmt.Errorf("%s after %d steps: %w", name, done, err)}
		}
	}
	for name := range state {
		if name != result && !slices.Contains(p.Names(), name) {
			return wrong{fmt.Errorf("%s has no value any more after %d steps", name, done)}
		}
	}
	for _, name := range p.Names() {
		p.Drop(name)
	}
	return nil
}

// cancelled cancels the program while it runs, or between two steps.
func (c *programCase) cancelled(r *rand.Rand) error {
	if err := c.follow(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	at, by := r.IntN(len(c.steps)+1), r.IntN(c.ranks)
	after := time.Duration(r.IntN(3000)) * time.Microsecond
	late := time.AfterFunc(2*time.Minute,
		func() { panic("a program that was cancelled goes on:\n" + c.String()) })
	defer late.Stop()
	timed := r.IntN(2) == 0
	err := c.start(ctx, spmd.Options{}, func(p *spmd.Program, keep func(*tcs.Tensor)) error {
		n, err := c.until(p, keep, func(n int) error {
			if n == at && p.Rank() == by {
				if !timed {
					cancel()
				} else {
					time.AfterFunc(after, cancel)
				}
			}
			return nil
		})
		if err == nil && !timed && c.ranks == 1 && at < len(c.steps) {
			return wrong{fmt.Errorf("cancelled before step %d, and no step failed", at)}
		}
		if err == nil || errors.As(err, &wrong{}) {
			return err
		}
		if ctx.Err() == nil {
			return wrong{fmt.Errorf("rank %d, step %d, before the program was cancelled: %w", p.Rank(), n,
				err)}
		}
		if e := ends(p); e != nil {
			return e
		}
		return err
	})
	if err != nil && !errors.As(err, &wrong{}) && ctx.Err() != nil {
		if !errors.Is(err, context.Canceled) {
			return fmt.Errorf("a cancelled program ends with %w, want context.Canceled", err)
		}
		return nil
	}
	return err
}

var errGivenUp = errors.New("this rank gives up")

// givenUp runs the program, and one rank leaves it with an error.
func (c *programCase) givenUp(r *rand.Rand) error {
	if err := c.follow(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	at, by := r.IntN(len(c.steps)), r.IntN(c.ranks)
	err := c.start(ctx, spmd.Options{}, func(p *spmd.Program, keep func(*tcs.Tensor)) error {
		_, err := c.until(p, keep, func(n int) error {
			if n == at && p.Rank() == by {
				return errGivenUp
			}
			return nil
		})
		if err == nil || errors.Is(err, errGivenUp) || errors.As(err, &wrong{}) {
			return err
		}
		if e := ends(p); e != nil {
			return e
		}
		return err
	})
	if !errors.Is(err, errGivenUp) {
		return fmt.Errorf("rank %d left at step %d, and the program ended with %v", by, at, err)
	}
	return nil
}
