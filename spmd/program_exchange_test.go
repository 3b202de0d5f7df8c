package spmd_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"distaff/io/tcs"
	"distaff/spmd"
)

// TestProgramExchange checks when a statement is compiled again for a tensor that was set again:
// only if the tensor's indices are wider, its sizes differ, or results may need wider indices
// because it has more entries.
func TestProgramExchange(t *testing.T) {
	for _, ranks := range []int{1, 3} {
		var again []string
		o := spmd.Options{Ranks: ranks, Target: spmd.Interpreter, Detail: func(line string) {
			if strings.Contains(line, "compiled again") {
				again = append(again, line)
			}
		}}
		err := spmd.Start(context.Background(), o, func(p *spmd.Program) error {
			step := func(name string, x *tcs.Tensor, err error, compiles bool) error {
				if err == nil {
					err = p.Set("A", spmd.InMemory(x), spmd.Storage{})
				}
				before := 0
				if p.Rank() == 0 {
					before = len(again)
				}
				if err == nil {
					err = p.Do("y(i) = A(i,j) * x(j)")
				}
				if p.Rank() == 0 && (len(again) > before) != compiles {
					t.Errorf("%d ranks, %s: compiled again %v, want %v: %v", ranks, name, !compiles, compiles,
						again)
				}
				if err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				return nil
			}
			if err := setDense(p, "x", []float64{1, 10, 100}, 3); err != nil {
				return err
			}
			x, err := spmd.CSR(3, 3, []int32{0, 1, 1, 1}, []int32{2}, []float64{2})
			if err := step("the first", x, err, false); err != nil {
				return err
			}
			x, err = spmd.CSR(3, 3, []int32{0, 2, 3, 4}, []int32{0, 1, 2, 0}, []float64{1, 2, 3, 4})
			if err := step("another pattern", x, err, false); err != nil {
				return err
			}
			if err := holds(t, p, "y", map[string]float64{"[0]": 21, "[1]": 300, "[2]": 4}); err != nil {
				return err
			}
			x, err = spmd.CSR(3, 3, []int64{0, 0, 0, 1}, []int64{1}, []float64{5})
			// Blocks of several ranks are made anew, of the width that they need.
			if err := step("64-bit indices", x, err, ranks == 1); err != nil {
				return err
			}
			if err := holds(t, p, "y", map[string]float64{"[0]": 0, "[1]": 0, "[2]": 50}); err != nil {
				return err
			}
			x, err = spmd.CSR(2, 3, []int32{0, 1, 2}, []int32{1, 2}, []float64{5, 7})
			if err := step("other sizes", x, err, true); err != nil {
				return err
			}
			return holds(t, p, "y", map[string]float64{"[0]": 50, "[1]": 700})
		})
		if err != nil {
			t.Errorf("%d ranks: %v", ranks, err)
		}
	}
}

// TestProgramExchangeWidens checks that a statement is compiled again if positions of the result
// may exceed 32 bits because the operands have more entries.
func TestProgramExchangeWidens(t *testing.T) {
	const n, many = 1 << 17, 1 << 15
	said := ""
	o := spmd.Options{Target: spmd.Interpreter, Detail: func(line string) {
		if strings.Contains(line, "compiled again") {
			said += line
		}
	}}
	err := spmd.Start(context.Background(), o, func(p *spmd.Program) error {
		set := func(name string, entries int, row, col func(k int) int32) error {
			coords, values := [][]int32{nil, nil}, []float64{}
			for k := range entries {
				coords[0], coords[1], values = append(coords[0], row(k)), append(coords[1], col(k)),
					append(values, 1)
			}
			x, err := spmd.COO([]int64{n, n}, coords, values)
			if err != nil {
				return err
			}
			return p.Set(name, spmd.InMemory(x), spmd.Storage{Format: "ss"})
		}
		if err := p.Declare("C", spmd.Storage{Format: "ss"}); err != nil {
			return err
		}
		zero, at := func(int) int32 { return 0 }, func(k int) int32 { return int32(k) }
		for _, entries := range []int{1, many} {
			if err := errors.Join(set("A", entries, at, at), set("B", entries, zero, zero)); err != nil &&
				entries == 1 {
				return err
			}
			if entries == many {
				if err := set("B", entries, func(k int) int32 { return int32(k + many - 1) }, at); err != nil {
					return err
				}
			}
			for _, name := range []string{"A", "B"} { // they are used in the caller's memory
				if _, err := p.Summary(name); err != nil {
					return err
				}
			}
			if err := p.Do("C(i,j) = A(i,k) * B(k,j)"); err != nil {
				return err
			}
		}
		return holds(t, p, "C", map[string]float64{fmt.Sprintf("[%d 0]", many-1): 1})
	})
	if err != nil || !strings.Contains(said, "many more entries") {
		t.Errorf("got %v, and said %q", err, said)
	}
}

// TestProgramExchangeRefused checks a run that is refused because one operand has no value, after
// other operands were set again. The next run compiles the statement for the new operands.
func TestProgramExchangeRefused(t *testing.T) {
	onRanks(t, []int{1, 2}, func(t *testing.T, p *spmd.Program) error {
		set := func(x *tcs.Tensor, err error) error {
			if err != nil {
				return err
			}
			return p.Set("A", spmd.InMemory(x), spmd.Storage{})
		}
		scale := func(x float64) error { return p.Set("b", spmd.Scalar(x), spmd.Storage{}) }
		if err := errors.Join(set(spmd.CSR(2, 2, []int32{0, 1, 2}, []int32{0, 1}, []float64{2, 3})),
			scale(1)); err != nil {
			return err
		}
		s, err := p.Prepare("y(i) = A(i,j) * b", spmd.How{})
		if err != nil {
			return err
		}
		if err := set(spmd.CSR(2, 2, []int64{0, 1, 2}, []int64{1, 0}, []float64{5, 7})); err != nil {
			return err
		}
		p.Drop("b")
		if err := s.Run(); err == nil || !strings.Contains(err.Error(), "b has no value") {
			t.Errorf("got %v, want that b has no value", err)
		}
		if err := scale(10); err != nil {
			return err
		}
		if err := s.Run(); err != nil {
			return err
		}
		return holds(t, p, "y", map[string]float64{"[0]": 50, "[1]": 70})
	})
}

// TestProgramCancelled checks that a program whose context is cancelled ends with an error.
func TestProgramCancelled(t *testing.T) {
	for _, ranks := range []int{1, 3} {
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() {
			ended <- spmd.Start(ctx, spmd.Options{Ranks: ranks, Target: spmd.Interpreter},
				func(p *spmd.Program) error {
					if err := setDense(p, "x", make([]float64, 50), 50); err != nil {
						return err
					}
					for n := 0; ; n++ {
						if n == 5 && p.Rank() == 0 {
							cancel()
						}
						if err := p.Do("x(i) = x(i) + 1"); err != nil {
							return err
						}
					}
				})
		}()
		select {
		case err := <-ended:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%d ranks: got %v, want context.Canceled", ranks, err)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%d ranks: the program goes on a minute after its context was cancelled", ranks)
		}
		cancel()
	}
}

// TestProgramFailsAtOneRank checks that an error at one of three ranks ends all ranks with that
// error.
func TestProgramFailsAtOneRank(t *testing.T) {
	wrong := errors.New("wrong at rank 1")
	ended := make(chan error, 1)
	go func() {
		ended <- spmd.Start(context.Background(), spmd.Options{Ranks: 3, Target: spmd.Interpreter},
			func(p *spmd.Program) error {
				if err := setDense(p, "x", []float64{1, 2, 3, 4}, 4); err != nil {
					return err
				}
				for n := 0; ; n++ {
					if n == 3 && p.Rank() == 1 {
						return wrong
					}
					if err := p.Do("s = x(i)"); err != nil {
						return err
					}
					if _, err := p.Value("s"); err != nil {
						return err
					}
				}
			})
	}()
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), wrong.Error()) {
			t.Errorf("got %v, want %v", err, wrong)
		}
	case <-time.After(time.Minute):
		t.Fatal("the other ranks wait for the one that failed")
	}
}

// TestProgramClosed checks that all calls after Close, or after Start has returned, are errors or
// do nothing.
func TestProgramClosed(t *testing.T) {
	for _, ranks := range []int{1, 2} {
		var p *spmd.Program
		var s *spmd.ProgramStatement
		err := spmd.Start(context.Background(), spmd.Options{Ranks: ranks, Target: spmd.Interpreter},
			func(q *spmd.Program) error {
				if err := setDense(q, "x", []float64{1, 2}, 2); err != nil {
					return err
				}
				r, err := q.Prepare("y(i) = x(i)", spmd.How{})
				if q.Rank() == 0 {
					p, s = q, r
				}
				return err
			})
		if err != nil {
			t.Fatal(err)
		}
		for name, f := range map[string]func() error{
			"Set":     func() error { return p.Set("x", spmd.Scalar(1), spmd.Storage{}) },
			"Declare": func() error { return p.Declare("x", spmd.Storage{}) },
			"Do":      func() error { return p.Do("z = 1") },
			"Prepare": func() error { _, err := p.Prepare("z = 1", spmd.How{}); return err },
			"Run":     func() error { return s.Run() },
			"Place":   func() error { return p.Place("x", 0) },
			"Value":   func() error { _, err := p.Value("x"); return err },
			"Tensor":  func() error { _, err := p.Tensor("x"); return err },
			"Summary": func() error { _, err := p.Summary("x"); return err },
		} {
			if err := f(); err == nil || !strings.Contains(err.Error(), "closed") {
				t.Errorf("%d ranks, %s: got %v, want an error that the program is closed", ranks, name, err)
			}
		}
		p.Drop("x")
		s.Close()
		p.Close()
		if list := p.Names(); len(list) > 0 {
			t.Errorf("%d ranks: got the names %v of a closed program", ranks, list)
		}
	}
}

// TestProgramMemoryLimit checks that the limit holds for everything that a program holds, and that
// a program of one rank can continue after memory was freed.
func TestProgramMemoryLimit(t *testing.T) {
	const n, limit = 1 << 15, 2 << 20 // the limit has room for fewer than eight vectors of 256 KiB
	err := spmd.Start(context.Background(), spmd.Options{Target: spmd.Interpreter, MemoryLimit: limit},
		func(p *spmd.Program) error {
			if err := setDense(p, "x", make([]float64, n), n); err != nil {
				return err
			}
			var err error
			made := 0
			for ; err == nil && made < 20; made++ {
				err = p.Do(fmt.Sprintf("y%d(i) = x(i) + %d", made, made))
			}
			var exit interface{ ExitCode() int }
			if !errors.As(err, &exit) || exit.ExitCode() != 5 || made < 3 || made > 9 {
				t.Fatalf("after %d vectors: got %v, want exit code 5", made, err)
			}
			p.Drop("y0")
			if err := p.Do("z(i) = x(i) + 7"); err != nil {
				return fmt.Errorf("after Drop: %w", err)
			}
			v, err := entriesOf(p, "z")
			if v["[5]"] != 7 {
				t.Errorf("got %v, want 7", v["[5]"])
			}
			return err
		})
	if err != nil {
		t.Error(err)
	}
}

// TestProgramPreparedAgain checks that a statement that could not be prepared for another tensor
// runs again when its first tensor fits.
func TestProgramPreparedAgain(t *testing.T) {
	err := spmd.Start(context.Background(),
		spmd.Options{Target: spmd.Interpreter, MemoryLimit: 1 << 20}, func(p *spmd.Program) error {
			set := func(n int) error {
				values := make([]float64, n)
				for k := range n {
					values[k] = 1
				}
				x, err := spmd.Dense(values, int64(n))
				if err != nil {
					return err
				}
				return p.Set("x", spmd.InMemory(x), spmd.Storage{Format: "s"}) // stored anew
			}
			if err := set(3); err != nil {
				return err
			}
			s, err := p.Prepare("y = x(i)", spmd.How{})
			if err != nil {
				return err
			}
			for _, n := range []int{4, 1 << 18, 5, 1 << 18, 1 << 18, 6} {
				if err := set(n); err != nil {
					return err
				}
				err := s.Run()
				if n > 10 {
					var exit interface{ ExitCode() int }
					if !errors.As(err, &exit) || exit.ExitCode() != 5 {
						t.Errorf("%d entries: got %v, want exit code 5", n, err)
					}
					continue
				}
				if err != nil {
					return fmt.Errorf("%d entries: %w", n, err)
				}
				if v, err := p.Value("y"); err != nil || real(v.C) != float64(n) {
					t.Errorf("%d entries: got %v, %v", n, v, err)
				}
			}
			return nil
		})
	if err != nil {
		t.Error(err)
	}
}

// TestProgramMemoryConstant checks that runs of statements leak no memory: a thousand runs allocate
// many times the limit.
func TestProgramMemoryConstant(t *testing.T) {
	const n, limit = 500, 400 << 10
	for _, ranks := range []int{1, 2} {
		err := spmd.Start(context.Background(),
			spmd.Options{Ranks: ranks, Target: spmd.Interpreter, MemoryLimit: limit},
			func(p *spmd.Program) error {
				var at []int32
				for i := range int32(n) {
					at = append(at, i)
				}
				D, err := spmd.COO([]int64{n, n}, [][]int32{at, at}, make([]float64, n))
				if err == nil {
					err = p.Set("D", spmd.InMemory(D), spmd.Storage{Format: "ds"})
				}
				if err == nil {
					err = p.Declare("E", spmd.Storage{Format: "ds", Sizes: []int64{n, n}})
				}
				if err == nil {
					err = setDense(p, "x", make([]float64, n), n)
				}
				if err != nil {
					return err
				}
				for run := range 300 {
					for _, text := range []string{"y(i) = D(i,j)*x(j)", "x(i) = x(i) + y(i)",
						"E(i,j) = E(i,j) + D(i,j)*x(j)", "s = x(i)", "E(i,j) = D(i,k)*D(k,j)", "x(i) += s*y(i)"} {
						if text[0] == 'E' && strings.Count(text, "E") == 2 && run == 0 {
							continue
						}
						if err := p.Do(text); err != nil {
							return fmt.Errorf("run %d of %s: %w", run, text, err)
						}
					}
					if run%10 == 0 {
						if err := p.Place("x", run/10%2-1); err != nil {
							return err
						}
					}
				}
				return nil
			})
		if err != nil {
			t.Errorf("%d ranks: %v", ranks, err)
		}
	}
}
