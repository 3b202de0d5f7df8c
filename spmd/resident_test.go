package spmd_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"

	"distaff/kernels"
	"distaff/kernels/cc"
	"distaff/kernels/cuda"
	"distaff/kernels/target"
	"distaff/spmd"
)

// gpus are emulated GPUs, one for each rank, that jobs with the target cuda run on.
type gpus struct {
	mu   sync.Mutex
	list []*cuda.Backend
}

// emulatedGPUs makes jobs with the target cuda run on emulated GPUs until the test ends.
func emulatedGPUs(t *testing.T) *gpus {
	if _, err := exec.LookPath("g++"); err != nil {
		t.Skip("no C++ compiler, which the emulation of a GPU is compiled with")
	}
	g, tmp, cache := &gpus{}, t.TempDir(), t.TempDir()
	t.Cleanup(target.ReplaceCUDA(func(target.Config) (kernels.Backend, error) {
		b, err := cuda.Emulated(cc.Config{Path: os.Getenv("PATH"), Tmp: tmp, Cache: cache})
		if err != nil {
			return nil, err
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		g.list = append(g.list, b)
		return b, nil
	}))
	return g
}

// uploaded returns the bytes that were copied to all GPUs so far.
func (g *gpus) uploaded() int64 { return g.sum((*cuda.Backend).Uploaded) }

// downloaded returns the bytes that were copied from all GPUs so far.
func (g *gpus) downloaded() int64 { return g.sum((*cuda.Backend).Downloaded) }

func (g *gpus) sum(of func(b *cuda.Backend) int64) (n int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, b := range g.list {
		n += of(b)
	}
	return n
}

// round is a statement of a program, or another step.
type round func(p *spmd.Program) error

func do(texts ...string) round {
	return func(p *spmd.Program) error {
		for _, text := range texts {
			if err := p.Do(text); err != nil {
				return fmt.Errorf("%s: %w", text, err)
			}
		}
		return nil
	}
}

// ring returns a matrix of n rows in compressed rows. Row i has 1 + i%3 entries, from column
// min(i, n-4) on, whose values are integers from 1 to 5 times scale.
func ring(n int32, scale float64) ([]int32, []int32, []float64) {
	pos, crd, vals := []int32{0}, []int32{}, []float64{}
	for i := range n {
		for d := range 1 + i%3 {
			crd = append(crd, min(i, n-4)+d)
			vals = append(vals, scale*float64(1+(i*7+d)%5))
		}
		pos = append(pos, int32(len(crd)))
	}
	return pos, crd, vals
}

// TestResidentPrograms checks that programs whose tensors stay on a GPU give the same bits as on a
// CPU; all values are small integers. A tensor that does not change is uploaded once, and values
// that the host does not read are not downloaded.
func TestResidentPrograms(t *testing.T) {
	const n = 60
	setA := func(scale float64) round {
		return func(p *spmd.Program) error {
			pos, crd, vals := ring(n, scale)
			A, err := spmd.CSR(n, n, pos, crd, vals)
			if err != nil {
				return err
			}
			return p.Set("A", spmd.InMemory(A), spmd.Storage{})
		}
	}
	memory := [2][]float64{make([]float64, n), make([]float64, n)} // of each rank
	setX := func(p *spmd.Program) error {
		values := memory[p.Rank()]
		for i := range values {
			values[i] = float64(i%4) - 1
		}
		return setDense(p, "x", values, n)
	}
	// again sets x in the caller's memory after the program has dropped x.
	again := func(p *spmd.Program) error {
		p.Drop("x")
		values := memory[p.Rank()]
		for i := range values {
			values[i] = float64(i%5) + 1
		}
		return setDense(p, "x", values, n)
	}
	poked := func(p *spmd.Program) error { // through the memory that Tensor hands out
		if p.Ranks() > 1 {
			return nil
		}
		y, err := p.Tensor("y")
		if err != nil {
			return err
		}
		defer y.Close()
		v, err := spmd.Values[float64](y)
		if err == nil {
			v[3] += 9
		}
		return err
	}
	declare := func(name, format string, sizes ...int64) round {
		return func(p *spmd.Program) error {
			return p.Declare(name,
				spmd.Storage{Format: format, Sizes: sizes})
		}
	}
	back := "x(i) = 2*y(i) - 1"
	for name, c := range map[string]struct {
		first, step []round
		// The most bytes that a step may upload after the first steps, by number of ranks. A number
		// of ranks without a value is not checked.
		steady map[int]int64
		down   map[int]int64 // the same for downloads
		show   []string
	}{
		"powers": {[]round{setA(1), setX}, []round{do("y(i) = A(i,j)*x(j)", back, "n = x(i)*x(i)")},
			map[int]int64{1: 0, 2: 2 * 8 * n}, map[int]int64{1: 8, 2: 8*n + 2*8}, []string{"x", "y", "n"}},
		"adds": {[]round{setA(1), setX, do("y(i) = x(i)")}, []round{do("y(i) += A(i,j)*x(j)", back)},
			map[int]int64{1: 0, 2: 2 * 8 * n}, map[int]int64{1: 0, 2: 8 * n}, []string{"x", "y"}},
		"set": {[]round{setA(1), setX},
			[]round{do("y(i) = A(i,j)*x(j)"), again, do("y(i) = A(i,j)*x(j)", back), setA(2),
				do("y(i) = A(i,j)*x(j)", "z(i) = x(i) + y(i)"), setX}, nil, nil, []string{"x", "y", "z"}},
		"poked": {[]round{setA(1), setX, do("y(i) = x(i)")},
			[]round{poked, do("z(i) = A(i,j)*y(j)", "x(i) = y(i) + z(i)"), poked,
				do("w(i) = A(i,j)*y(j) + x(i)", "y(i) = 2*x(i)")}, nil, nil, []string{"x", "y", "z", "w"}},
		"sparse": {[]round{setA(1), setX, declare("B", "ds"), declare("C", "ds")},
			[]round{do("B(i,j) = 2*A(i,j)", "C(i,j) = A(i,j) + B(i,j)", "y(i) = C(i,j)*x(j)", back)}, nil,
			nil, []string{"B", "C", "x", "y"}},
		"grows": {[]round{setA(1), setX, declare("B", "ds"), declare("D", "ds"), do("B(i,j) = A(i,j)")},
			[]round{do("D(i,j) = A(i,j) + B(i,j)", "B(i,j) = A(j,i) + D(i,j)", "y(i) = D(i,j)*x(j)",
				"z(i) = B(i,j)*y(j)", "x(i) = 1 - x(i)")}, nil, nil, []string{"B", "D", "x", "y", "z"}},
		"moves": {[]round{setA(1), setX},
			[]round{do("y(i) = A(i,j)*x(j)"), func(p *spmd.Program) error { return p.Place("y", -1) },
				do("z(i) = A(i,j)*y(j)"), func(p *spmd.Program) error { return p.Place("A", 1) },
				do("y(i) = z(i) + A(i,j)*x(j)", back)}, nil, nil, []string{"x", "y", "z"}},
		"dropped": {[]round{setA(1), setX},
			[]round{do("y(i) = A(i,j)*x(j)"), func(p *spmd.Program) error { p.Drop("y"); return nil },
				do("y(i) = x(i)", "y(i) = y(i) + 1", "x(i) = 1 - y(i)")}, nil, nil, []string{"x", "y"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := emulatedGPUs(t)
			for _, ranks := range []int{1, 2} {
				run := func(o spmd.Options, ups, downs *[]int64) (out string) {
					o.Ranks, o.Threads = ranks, 1
					err := spmd.Start(context.Background(), o, func(p *spmd.Program) error {
						for _, r := range c.first {
							if err := r(p); err != nil {
								return err
							}
						}
						for step := range 5 {
							for _, r := range c.step {
								if err := r(p); err != nil {
									return err
								}
							}
							if ups != nil && p.Rank() == 0 {
								*ups, *downs = append(*ups, g.uploaded()), append(*downs, g.downloaded())
							}
							if step%2 == 0 && c.steady == nil || step == 4 {
								for _, name := range c.show {
									got, err := entriesOf(p, name)
									if err != nil {
										return err
									}
									if p.Rank() == 0 {
										out += fmt.Sprintf("%d %s %v\n", step, name, got)
									}
								}
							}
						}
						return nil
					})
					if err != nil {
						t.Fatalf("%d ranks, %s: %v", ranks, o.Target, err)
					}
					return out
				}
				want := run(spmd.Options{}, nil, nil)
				var ups, downs []int64
				if got := run(spmd.Options{Target: spmd.CUDAOnly}, &ups, &downs); got != want {
					t.Errorf("%d ranks: got\n%swant\n%s", ranks, got, want)
				}
				t.Logf("%d ranks: bytes up after each step: %v, and down: %v", ranks, ups, downs)
				for _, x := range []struct {
					way   string
					bytes []int64
					most  map[int]int64
				}{{"up", ups, c.steady}, {"down", downs, c.down}} {
					if most, said := x.most[ranks]; said {
						// When rank 0 reads the counter, other ranks may be one step earlier or
						// later. So the total may exceed the limit by the bytes of one step.
						last := len(x.bytes) - 1
						if n, most := x.bytes[last]-x.bytes[1], most*int64(last); n > most {
							t.Errorf("%d ranks: %d bytes went %s in %d steps, want at most %d", ranks, n, x.way, last-1,
								most)
						}
					}
				}
			}
		})
	}
}

// TestResidentRepeats checks that the operands of a job are uploaded once, however often it runs,
// and that its result is downloaded once.
func TestResidentRepeats(t *testing.T) {
	g := emulatedGPUs(t)
	pos, crd, vals := ring(50, 1)
	A, err := spmd.CSR(50, 50, pos, crd, vals)
	if err != nil {
		t.Fatal(err)
	}
	x, err := spmd.Dense(make([]float64, 50), 50)
	if err != nil {
		t.Fatal(err)
	}
	v, _ := spmd.Values[float64](x)
	for turn := range 2 { // values may change between runs of a job
		for i := range v {
			v[i] = float64(i + turn)
		}
		for _, ranks := range []int{1, 2} {
			var once int64
			for _, repeat := range []int{1, 4} {
				before, down := g.uploaded(), g.downloaded()
				j := &spmd.Job{Statement: "y(i) = A(i,j)*x(j)",
					Inputs: map[string]spmd.Input{"A": spmd.InMemory(A), "x": spmd.InMemory(x)},
					Options: spmd.Options{Target: spmd.CUDAOnly, Ranks: ranks, Threads: 1, Repeat: repeat,
						Check: true}}
				if _, err := j.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
				up := g.uploaded() - before
				if repeat == 1 {
					once = up
				}
				if ranks == 1 && up != once {
					t.Errorf("%d runs: %d bytes went up, want %d", repeat, up, once)
				}
				if down := g.downloaded() - down; down != 50*8 {
					t.Errorf("%d ranks, %d runs: %d bytes came down, want the result once", ranks, repeat, down)
				}
				t.Logf("%d ranks, %d runs: %d bytes went up", ranks, repeat, up)
			}
		}
	}
}
