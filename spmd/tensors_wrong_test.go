package spmd_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"unsafe"

	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// wrongCall is a call that must be an error: its text and its function.
type wrongCall struct {
	text string
	do   func() error
}

// of returns the error of a function with a result.
func of[T any](_ T, err error) error { return err }

type (
	i4 = []int32
	i8 = []int64
	f8 = []float64
	f4 = []float32
)

// handMade is a matrix that was made by hand, so that no constructor has checked it.
func handMade() *tcs.Tensor {
	return &tcs.Tensor{Header: tcs.Header{Dims: i8{3, 3}, Type: tensor.Float64},
		Vals: tcs.Of(f8{1, 2, 1, 2, 1}),
		Levels: []tcs.Level{{Kind: 'd', Size: 3},
			{Kind: 's', Mode: 1, Size: 3, Pos: tcs.Of(i4{0, 2, 4, 5}), Crd: tcs.Of(i4{0, 1, 1, 2, 2})}}}
}

// wrongByHand returns jobs with wrong tensors that were made by hand.
func wrongByHand() []wrongCall {
	run := func(text string, change func(*tcs.Tensor)) wrongCall {
		return wrongCall{"InMemory " + text, func() error {
			t := handMade()
			change(t)
			return of(multiply(t).Run(context.Background()))
		}}
	}
	return []wrongCall{
		{"InMemory nil", func() error { return of(multiply(nil).Run(context.Background())) }},
		{"InMemory a vector for a matrix", func() error {
			x, err := spmd.Dense(f8{1, 2, 3}, 3)
			if err != nil {
				return err
			}
			return of(multiply(x).Run(context.Background()))
		}},
		run("nothing in a matrix",
			func(t *tcs.Tensor) { t.Levels, t.Vals, t.Header.Type = nil, tcs.Array{}, 0 }),
		run("no type", func(t *tcs.Tensor) { t.Header.Type = 0 }),
		run("a type past the last", func(t *tcs.Tensor) { t.Header.Type = 14 }),
		run("float32 memory declared float64",
			func(t *tcs.Tensor) { t.Vals = tcs.Of(f4{1, 2, 3, 4, 5}) }),
		run("4 values of 5", func(t *tcs.Tensor) { t.Vals = tcs.Of(f8{1, 2, 3, 4}) }),
		run("-5 values", func(t *tcs.Tensor) { t.Vals.Len = -5 }),
		run("values without memory", func(t *tcs.Tensor) { t.Vals.Ptr = nil }),
		run("values at an odd address", func(t *tcs.Tensor) { t.Vals.Ptr = odd() }),
		run("closed", func(t *tcs.Tensor) { t.Close() }),
		run("no levels", func(t *tcs.Tensor) { t.Levels = nil }),
		run("a level of an unknown kind", func(t *tcs.Tensor) { t.Levels[1].Kind = 'x' }),
		run("a level without a kind", func(t *tcs.Tensor) { t.Levels[1].Kind = 0 }),
		run("a mode twice", func(t *tcs.Tensor) { t.Levels[1].Mode = 0 }),
		run("a mode past the last", func(t *tcs.Tensor) { t.Levels[1].Mode = 2 }),
		run("a level of another size", func(t *tcs.Tensor) { t.Levels[0].Size = 4 }),
		run("a level without a size", func(t *tcs.Tensor) { t.Levels[1].Size = 0 }),
		run("a size of -3", func(t *tcs.Tensor) { t.Header.Dims[1] = -3 }),
		run("a dense level with an offset", func(t *tcs.Tensor) { t.Levels[0].Offset = 1 }),
		run("a dense level with positions", func(t *tcs.Tensor) { t.Levels[0].Pos = tcs.Of(i4{0, 1}) }),
		run("a dense level with coordinates", func(t *tcs.Tensor) { t.Levels[0].Crd = tcs.Of(i4{0, 1}) }),
		run("a box of one mode", func(t *tcs.Tensor) { t.Header.Box = [][2]int64{{0, 3}} }),
		run("a block", func(t *tcs.Tensor) { t.Header.Box = [][2]int64{{0, 3}, {1, 3}} }),
		run("a split of one mode",
			func(t *tcs.Tensor) { t.Header.Splits = []tcs.Split{{Index: 0, Count: 1}} }),
		run("positions of 2 bytes",
			func(t *tcs.Tensor) { t.Levels[1].Pos = tcs.Of([]int16{0, 2, 4, 5}) }),
		run("coordinates of no width", func(t *tcs.Tensor) { t.Levels[1].Crd.Width = 0 }),
		run("3 positions of 4", func(t *tcs.Tensor) { t.Levels[1].Pos = tcs.Of(i4{0, 2, 5}) }),
		run("positions of a block", func(t *tcs.Tensor) { t.Levels[1].Pos.First = 2 }),
		run("4 coordinates of 5", func(t *tcs.Tensor) { t.Levels[1].Crd = tcs.Of(i4{0, 1, 1, 2}) }),
		run("a coordinate past the last",
			func(t *tcs.Tensor) { t.Levels[1].Crd = tcs.Of(i8{0, 1, 1, 3, 2}) }),
		run("coordinates that fall", func(t *tcs.Tensor) { t.Levels[1].Crd = tcs.Of(i8{1, 0, 1, 2, 2}) }),
		run("a last level of singletons, too short", func(t *tcs.Tensor) {
			t.Levels[0] = tcs.Level{Kind: 'u', Mode: 0, Size: 3, Pos: tcs.Of(i4{0, 5}),
				Crd: tcs.Of(i4{0, 0, 1, 1, 2})}
			t.Levels[1] = tcs.Level{Kind: 'q', Mode: 1, Size: 3, Crd: tcs.Of(i4{0, 1, 1, 2})}
		}),
		{"FixedPattern of wrong positions", func() error {
			j := multiply(handMade())
			j.FixedPattern = handMade()
			j.FixedPattern.Levels[1].Pos = tcs.Of(i4{0, 9, 4, 5})
			return of(j.Run(context.Background()))
		}},
		{"FixedPattern of no type", func() error {
			j := multiply(handMade())
			j.FixedPattern = &tcs.Tensor{}
			return of(j.Run(context.Background()))
		}},
		{"Plan of a wrong tensor", func() error {
			t := handMade()
			t.Levels[1].Pos = tcs.Of(i4{0, 9, 4, 5})
			return of(multiply(t).Plan(context.Background(), 2))
		}},
		{"InMemory a wrong tensor on 3 ranks", func() error {
			t := handMade()
			t.Levels[1].Crd = tcs.Of(i4{0, 1, 1, 3, 2})
			j := multiply(t)
			j.Ranks = 3
			return of(j.Run(context.Background()))
		}},
		{"InMemory nil", func() error { return of(multiply(nil).Run(context.Background())) }},
		{"Set to nothing", func() error {
			return spmd.Start(context.Background(), spmd.Options{Target: spmd.Interpreter},
				func(p *spmd.Program) error { return p.Set("A", spmd.InMemory(nil), spmd.Storage{}) })
		}},
		{"InMemory 4 values of 5, with TrustInput", func() error {
			t := handMade()
			t.Vals = tcs.Of(f8{1, 2, 3, 4})
			j := multiply(t)
			j.TrustInput = true
			return of(j.Run(context.Background()))
		}},
	}
}

// wrongInPrograms returns wrong calls of a program, and calls with wrong options.
func wrongInPrograms() []wrongCall {
	run := func(text string, do func(p *spmd.Program) error) wrongCall {
		return wrongCall{text, func() error {
			return spmd.Start(context.Background(), spmd.Options{Target: spmd.Interpreter, Threads: 1},
				func(p *spmd.Program) error {
					if err := errors.Join(p.Set("A", spmd.InMemory(handMade()), spmd.Storage{}),
						setDense(p, "x", f8{1, 2, 3}, 3)); err != nil {
						return err
					}
					return do(p)
				})
		}}
	}
	prepare := func(statement string, how spmd.How) wrongCall {
		return run(fmt.Sprintf("Prepare(%q, %+v)", statement, how),
			func(p *spmd.Program) error { return of(p.Prepare(statement, how)) })
	}
	start := func(text string, o spmd.Options) wrongCall {
		return wrongCall{text, func() error {
			return spmd.Start(context.Background(), o, func(*spmd.Program) error { return nil })
		}}
	}
	return []wrongCall{
		start("Start with -2 ranks", spmd.Options{Ranks: -2}),
		start("Start with -1 threads", spmd.Options{Threads: -1}),
		start("Start with a target that is none", spmd.Options{Target: "gpu"}),
		start("Start with a way of tuning that is none", spmd.Options{Tune: "on"}),
		start("Start with a memory limit below 0", spmd.Options{MemoryLimit: -1}),
		run("Set of no name", func(
			p *spmd.Program) error {
			return p.Set("", spmd.InMemory(handMade()), spmd.Storage{})
		}),
		run("Set of a name with a space",
			func(p *spmd.Program) error { return p.Set("A b", spmd.InMemory(handMade()), spmd.Storage{}) }),
		run("Set with a format of one level", func(p *spmd.Program) error {
			return p.Set("B", spmd.InMemory(handMade()), spmd.Storage{Format: "d"})
		}),
		run("Set with a format that is none", func(p *spmd.Program) error {
			return p.Set("B", spmd.InMemory(handMade()), spmd.Storage{Format: "csr"})
		}),
		run("Set with a type that is none", func(p *spmd.Program) error {
			return p.Set("B", spmd.InMemory(handMade()), spmd.Storage{Type: "float16"})
		}),
		run("Set with one size", func(p *spmd.Program) error {
			return p.Set("B", spmd.InMemory(handMade()), spmd.Storage{Sizes: i8{3}})
		}),
		run("Set of a scalar with sizes",
			func(p *spmd.Program) error { return p.Set("s", spmd.Scalar(2.5), spmd.Storage{Sizes: i8{3}}) }),
		run("Declare with a size of -2",
			func(p *spmd.Program) error { return p.Declare("y", spmd.Storage{Sizes: i8{-2}}) }),
		run("Declare with a format for other sizes", func(p *spmd.Program) error {
			return p.Declare("y", spmd.Storage{Sizes: i8{3}, Format: "ds"})
		}),
		run("Value of a matrix", func(p *spmd.Program) error { return of(p.Value("A")) }),
		run("Value of what nothing wrote", func(p *spmd.Program) error { return of(p.Value("y")) }),
		run("Tensor of what nothing wrote", func(p *spmd.Program) error { return of(p.Tensor("y")) }),
		run("Place of mode 2 of a matrix", func(p *spmd.Program) error { return p.Place("A", 2) }),
		run("Place of what nothing wrote", func(p *spmd.Program) error { return p.Place("y", 0) }),
		prepare("y(i) = A(i,j) * x(j", spmd.How{}),
		prepare("y(i) = A(i,j) * z(j)", spmd.How{}),
		prepare("y(i) = A(i,j) * x(j)", spmd.How{Schedule: []string{"reorder(i,k)"}}),
		prepare("y(i) = A(i,j) * x(j)", spmd.How{Network: "fastest"}),
		prepare("y(i) = A(i,j) * x(j)", spmd.How{IntermediateOrder: -1}),
		run("Run of a closed statement", func(p *spmd.Program) error {
			s, err := p.Prepare("y(i) = A(i,j) * x(j)", spmd.How{})
			if err != nil {
				return err
			}
			s.Close()
			return s.Run()
		}),
	}
}

// odd returns an address, with memory after it, that is not a multiple of 8.
func odd() unsafe.Pointer { return unsafe.Pointer(&make([]byte, 64)[4]) }

// multiply is a job that multiplies a by a vector.
func multiply(a *tcs.Tensor) *spmd.Job {
	j := &spmd.Job{Statement: "y(i) = A(i,j) * x(j)",
		Inputs: map[string]spmd.Input{"A": spmd.InMemory(a), "x": spmd.Generated("dense:int")}}
	j.Target, j.Threads = spmd.Interpreter, 1
	return j
}

// A wrong tensor or another wrong argument of the program is an error that names the argument and
// its wrong part.
func TestWrongTensors(t *testing.T) {
	var got strings.Builder
	for _, c := range append(wrongByHand(), wrongInPrograms()...) {
		err := c.do()
		if err == nil {
			t.Errorf("%s: no error", c.text)
			continue
		}
		code := 0
		if e, ok := err.(interface{ ExitCode() int }); ok {
			code = e.ExitCode()
		}
		fmt.Fprintf(&got, "%s\n\t%d: %v\n", c.text, code, err)
	}
	const path = "testdata/wrongtensors.txt"
	if *update {
		if err := os.WriteFile(path, []byte(got.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("the errors are not those of %s (-update rewrites it):\n%s", path, got.String())
	}
}
