package spmd_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"distaff/codegen/place"
	"distaff/io/tensor"
	"distaff/spmd"
)

// onRanks runs f as a program on each of these numbers of ranks. The leaves are interpreted.
func onRanks(t *testing.T, ranks []int, f func(t *testing.T, p *spmd.Program) error) {
	t.Helper()
	for _, n := range ranks {
		t.Run(fmt.Sprintf("%d ranks", n), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			if err := spmd.Start(ctx, spmd.Options{Ranks: n, Target: spmd.Interpreter},
				func(p *spmd.Program) error { return f(t, p) }); err != nil {
				t.Error(err)
			}
		})
	}
}

// entriesOf returns the stored entries of a program's tensor, at rank 0.
func entriesOf(p *spmd.Program, name string) (map[string]float64, error) {
	whole, err := p.Tensor(name)
	if err != nil || whole == nil {
		return nil, err
	}
	defer whole.Close()
	out := map[string]float64{}
	whole.Entries(func(at []int64,
		i int64) bool {
		out[fmt.Sprint(at)] = real(whole.Value(i).Complex())
		return true
	})
	return out, whole.Validate()
}

// holds compares the entries of a program's tensor with the expected ones, at rank 0.
func holds(t *testing.T, p *spmd.Program, name string, want map[string]float64) error {
	t.Helper()
	got, err := entriesOf(p, name)
	if err == nil && p.Rank() == 0 && !maps.Equal(got, want) {
		t.Errorf("%s: got %v, want %v", name, got, want)
	}
	return err
}

func setDense[T spmd.Value](p *spmd.Program, name string, values []T, dims ...int64) error {
	x, err := spmd.Dense(values, dims...)
	if err != nil {
		return err
	}
	return p.Set(name, spmd.InMemory(x), spmd.Storage{})
}

// TestProgramKeepsWholeTensors checks that a statement that needs only a part of a tensor does not
// move the rest.
func TestProgramKeepsWholeTensors(t *testing.T) {
	onRanks(t, []int{1, 2, 3}, func(t *testing.T, p *spmd.Program) error {
		A, err := spmd.COO([]int64{6, 6}, [][]int32{{1, 5, 5}, {4, 2, 5}}, []float64{8, 6, 7})
		if err == nil {
			err = p.Set("A", spmd.InMemory(A), spmd.Storage{Format: "ss"})
		}
		if err == nil {
			err = p.Do("b = A(i,i)")
		}
		if err != nil {
			return err
		}
		return errors.Join(holds(t, p, "b", map[string]float64{"[]": 7}),
			holds(t, p, "A", map[string]float64{"[5 2]": 6, "[5 5]": 7, "[1 4]": 8}))
	})
}

// TestProgramWritesBlocks checks that a result of several blocks is not overwritten as if it were
// one block.
func TestProgramWritesBlocks(t *testing.T) {
	onRanks(t, []int{1, 2}, func(t *testing.T, p *spmd.Program) error {
		if err := setDense(p, "y", []float64{1, 2, 3, 4, 5}, 5); err != nil {
			return err
		}
		split, err := place.ParseSplit("i:2")
		if err != nil {
			return err
		}
		s, err := p.Prepare("x(i) = y(i)",
			spmd.How{Blocks: &place.BlockSpec{Splits: []place.SplitSpec{split}}})
		if err == nil {
			err = s.Run()
		}
		if err == nil {
			err = p.Do("x(i) = 2*y(i)")
		}
		if err != nil {
			return err
		}
		return holds(t, p, "x", map[string]float64{"[0]": 2, "[1]": 4, "[2]": 6, "[3]": 8, "[4]": 10})
	})
}

// TestProgramResultsAnew checks that a prepared statement follows later changes of its result:
// other storage, other sizes, a value to add to, or none.
func TestProgramResultsAnew(t *testing.T) {
	onRanks(t, []int{1, 2}, func(t *testing.T, p *spmd.Program) error {
		if err := setDense(p, "y", []float64{1, 2, 3}, 3); err != nil {
			return err
		}
		stored := func(name, want string) error {
			line, err := p.Summary(name)
			if err == nil && p.Rank() == 0 && !strings.Contains(line, want) {
				t.Errorf("got %s, want %s in it", line, want)
			}
			return err
		}
		steps := []func() error{
			func() error { return p.Declare("x", spmd.Storage{Sizes: []int64{-1}, Type: "float32"}) },
			func() error { return p.Do("x(i) += y(i)") },
			func() error { return p.Do("x(i) += y(i)") },
			func() error { return p.Do("x(i) += y(i)") },
			func() error { return holds(t, p, "x", map[string]float64{"[0]": 3, "[1]": 6, "[2]": 9}) },
			func() error { return stored("x", "float32") },
			func() error { return p.Declare("x", spmd.Storage{Format: "s"}) },
			func() error { return p.Do("x(i) += y(i)") },
			func() error { return holds(t, p, "x", map[string]float64{"[0]": 1, "[1]": 2, "[2]": 3}) },
			func() error { return stored("x", "float64") },
			func() error { return p.Do("z(i) = y(i)") },
			func() error { return p.Do("z(i) = 4") },
			func() error { return setDense(p, "z", []float64{9}, 1) },
			func() error { return p.Do("z(i) = 4") },
			func() error { return holds(t, p, "z", map[string]float64{"[0]": 4}) },
			func() error { return p.Set("s", spmd.Scalar(float32(2)), spmd.Storage{}) },
			func() error { return p.Do("s = y(i)") },
			func() error {
				v, err := p.Value("s")
				if err == nil && (v.Type != tensor.Float32 || v.C != 6) {
					t.Errorf("got %v of type %v, want 6 of type float32", v, v.Type)
				}
				return err
			},
		}
		for n, f := range steps {
			if err := f(); err != nil {
				return fmt.Errorf("step %d: %w", n, err)
			}
		}
		return nil
	})
}

// TestProgramPatterns checks that the sum of several steps of a statement has, at each run, the
// pattern that follows from the current patterns of its operands.
func TestProgramPatterns(t *testing.T) {
	onRanks(t, []int{1, 2, 3}, func(t *testing.T, p *spmd.Program) error {
		X, err := spmd.COO([]int64{2}, [][]int32{{0}}, []float64{1})
		if err == nil {
			err = p.Set("X", spmd.InMemory(X), spmd.Storage{Format: "s"})
		}
		if err == nil {
			err = p.Set("b", spmd.Scalar(3.0), spmd.Storage{})
		}
		for range 2 {
			if err == nil {
				err = p.Do("X(i) = X(j) + X(i)*b")
			}
		}
		if err != nil {
			return err
		}
		return holds(t, p, "X", map[string]float64{"[0]": 17, "[1]": 8})
	})
}

// TestAddsToNarrowerType checks that the tensor that += adds to is converted to the result's type.
func TestAddsToNarrowerType(t *testing.T) {
	for _, ranks := range []int{1, 2} {
		y, err := spmd.Dense([]float64{1, 2, 3}, 3)
		if err != nil {
			t.Fatal(err)
		}
		x, err := spmd.Dense([]float32{1, 2, 3}, 3)
		if err != nil {
			t.Fatal(err)
		}
		for stmt, in := range map[string]spmd.Input{"x(i) += y(i)": spmd.InMemory(x),
			"x += y(i)": spmd.Scalar(float32(2))} {
			j := &spmd.Job{Statement: stmt, Inputs: map[string]spmd.Input{"x": in, "y": spmd.InMemory(y)},
				Keep: true, Options: spmd.Options{Ranks: ranks, Target: spmd.Interpreter}}
			r, err := j.Run(context.Background())
			if err != nil {
				t.Errorf("%s, %d ranks: %v", stmt, ranks, err)
				continue
			}
			got, err := spmd.Values[float64](r.Result)
			if want := map[int]string{1: "[8]", 3: "[2 4 6]"}[len(got)]; err != nil ||
				fmt.Sprint(got) != want {
				t.Errorf("%s, %d ranks: got %v, %v, want %s", stmt, ranks, got, err, want)
			}
			r.Result.Close()
		}
	}
}

// TestWriteOneFileTwice checks that writing two tensors to the same file, even under different
// names, ends the program before anything is written.
func TestWriteOneFileTwice(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "y.tns"), filepath.Join(dir, "link.tns")
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	for _, second := range []string{file, dir + "/sub/../y.tns", link} {
		for _, ranks := range []int{1, 3} {
			wrote := false
			o := spmd.Options{Ranks: ranks, Target: spmd.Interpreter}
			err := spmd.Start(context.Background(), o, func(p *spmd.Program) error {
				how := spmd.Storage{Format: "d", Sizes: []int64{4}}
				if err := p.Set("x", spmd.Generated("dense:int"), how); err != nil {
					return err
				}
				if err := p.Do("z(i) = x(i) + x(i)"); err != nil {
					return err
				}
				err := p.Write(spmd.Output{Tensor: "x", File: file}, spmd.Output{Tensor: "z", File: second})
				if p.Rank() == 0 {
					wrote = err == nil
				}
				return err
			})
			if wrote || err == nil || !strings.Contains(err.Error(), "want different files") {
				t.Errorf("%s, %d ranks: got %v, want a refusal of the second file", second, ranks, err)
			}
			if _, err := os.Stat(file); err == nil {
				t.Errorf("%s, %d ranks: %s was written", second, ranks, file)
			}
		}
	}
}
