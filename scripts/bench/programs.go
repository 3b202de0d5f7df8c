package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"distaff/codegen/jobfile"
	"distaff/io/tcs"
	"distaff/spmd"
)

// figure describes a line of the section of prepared statements. If other is set, the line compares
// Distaff's time with another time, and prints the difference or the ratio of the two times.
// Otherwise it prints Distaff's time.
type figure struct {
	name, unit  string
	threads     int
	ours, other []float64
	share       bool
	limit       float64
}

// figure prints the line of one comparison. The value that is computed from the medians must not
// exceed the limit. The value that is computed from the minimum times is printed too. Other load on
// the machine changes the minimum times less than the medians.
func (b *bench) figure(f figure) {
	least := f.value(slices.Min[[]float64])
	value, other := f.value(median), "-"
	if f.other != nil {
		other = fmt.Sprintf("%.2f", median(f.other))
	}
	b.printf("%-46s %-4s %8d %12.2f %12s %9.2f %9.2f %7.2f%s\n", f.name, f.unit, f.threads,
		median(f.ours), other, least, value, f.limit, b.over(value > f.limit))
}

// value returns the figure to print in a line. reduce turns the times of one side into a single
// number, for example their median.
func (f *figure) value(reduce func([]float64) float64) float64 {
	switch {
	case f.other == nil:
		return reduce(f.ours)
	case f.share:
		return reduce(f.ours) / reduce(f.other)
	}
	return reduce(f.ours) - reduce(f.other)
}

// programs prints the section of prepared statements. Its sizes do not depend on the scale, because
// its limits hold for these sizes only.
func programs(b *bench) error {
	small, err := newSystem(1000)
	if err != nil {
		return err
	}
	large, err := newSystem(100_000)
	if err != nil {
		return err
	}
	most := slices.Max(b.threads) // leaves of small tensors run on one thread anyway
	b.printf("%-46s %-4s %8s %12s %12s %9s %9s %7s\n", "program", "unit", "threads", "distaff",
		"other", "by least", "figure", "limit")
	for _, line := range []struct {
		name string
		run  func(name string) error
	}{
		{"SpMV 1k rows, beyond its leaf", func(name string) error {
			return b.product(small, figure{name: name, unit: "us", threads: most, limit: 8}, 1, 200)
		}},
		{"SpMV 100k rows, of its leaf", func(name string) error {
			for _, n := range b.threads {
				if err := b.product(large, figure{name: name, unit: "us", threads: n, share: true,
					limit: 1.03}, n, 5); err != nil {
					return err
				}
			}
			return nil
		}},
		{"CG 1k rows, 1,000 steps in Go", func(name string) error {
			return b.stepsInGo(small, figure{name: name, unit: "ms", threads: most, limit: 80})
		}},
		{"CG 1k rows, 1,001 steps of a job file less 1", func(name string) error {
			return b.stepsOfFile(small, figure{name: name, unit: "ms", threads: most, limit: 100})
		}},
		{"CG 100k rows, 200 steps, of SciPy's", func(name string) error {
			return b.stepsOfSciPy(large, figure{name: name, unit: "ms", threads: 2, share: true,
				limit: 0.7})
		}},
		{"CG 1k rows, 2 ranks, a step beyond its leaves", func(name string) error {
			return b.stepsOfRanks(small, figure{name: name, unit: "us", threads: 1, limit: 100})
		}},
	} {
		if !b.wants(line.name) {
			continue
		}
		if err := line.run(line.name); err != nil {
			return fmt.Errorf("%s: %w", line.name, err)
		}
	}
	return nil
}

// system is a symmetric positive definite matrix with 10 entries per row, and a right-hand side.
type system struct {
	n      int64
	pos    []int32
	crd    []int32
	values []float64
	right  []float64
	A, b   *tcs.Tensor
}

// newSystem makes the stiffness matrix of a ring of n points. A spring connects each pair of points
// that are at most four positions apart, and each pair of opposite points. A weak spring also holds
// each point at its position. With the matrix's condition number, conjugate gradients converge
// within 200 steps, and residuals do not become subnormal within 1,000 steps.
func newSystem(n int) (*system, error) {
	rng := rand.New(rand.NewPCG(1, 2))
	const held = 0.02
	rows := make([]map[int]float64, n)
	for i := range rows {
		rows[i] = map[int]float64{i: held}
	}
	join := func(i, j int) {
		w := (1 + rng.Float64()) / 2
		rows[i][j], rows[j][i] = -w, -w
		rows[i][i] += w
		rows[j][j] += w
	}
	for i := range n {
		for d := 1; d <= 4; d++ {
			join(i, (i+d)%n)
		}
		if i < n/2 {
			join(i, i+n/2)
		}
	}
	s := &system{n: int64(n), pos: []int32{0}}
	for _, row := range rows {
		first := len(s.crd)
		for j := range row {
			s.crd = append(s.crd, int32(j))
		}
		slices.Sort(s.crd[first:])
		for _, j := range s.crd[first:] {
			s.values = append(s.values, row[int(j)])
		}
		s.pos, s.right = append(s.pos, int32(len(s.crd))), append(s.right, rng.Float64())
	}
	var err error
	if s.A, err = s.rows(s.n); err != nil {
		return nil, err
	}
	s.b, err = spmd.Dense(s.right, s.n)
	return s, err
}

// rows returns a matrix of the first n rows of A.
func (s *system) rows(n int64) (*tcs.Tensor, error) {
	end := s.pos[n]
	return spmd.CSR(n, s.n, s.pos[:n+1], s.crd[:end], s.values[:end])
}

// start starts a program with the system's A and b, and runs f with it.
func (s *system) start(b *bench, ranks, threads int, f func(p *spmd.Program) error) error {
	return spmd.Start(b.ctx, spmd.Options{Ranks: ranks, Threads: threads},
		func(p *spmd.Program) error {
			for name, t := range map[string]*tcs.Tensor{"A": s.A, "b": s.b} {
				if err := p.Set(name, spmd.InMemory(t), spmd.Storage{}); err != nil {
					return err
				}
			}
			if err := p.Declare("x", spmd.Storage{Sizes: []int64{s.n}}); err != nil {
				return err
			}
			return f(p)
		})
}

// batches multiplies the number of measurements in product, because the measured times of a small
// system are only a few microseconds there.
const batches = 20

// product measures the overhead of a prepared statement. It alternately times the prepared product
// y = A*b and its leaf alone on the same operands. threads is the number of threads of the leaf.
// calls is the number of calls in one measurement.
func (b *bench) product(s *system, f figure, threads, calls int) error {
	const text = "y(i) = A(i,j) * b(j)"
	err := s.start(b, 1, f.threads, func(p *spmd.Program) error {
		y, err := p.Prepare(text, spmd.How{})
		if err != nil {
			return err
		}
		alone, err := b.alone(text, map[string]*tcs.Tensor{"A": s.A, "b": s.b}, threads)
		if err != nil {
			return err
		}
		defer alone.close()
		program := func() (float64, error) {
			at := time.Now()
			for range calls {
				if err := y.Run(); err != nil {
					return 0, err
				}
			}
			return time.Since(at).Seconds() / float64(calls), nil
		}
		leaf := func() (float64, error) { return alone.seconds(b, calls) }
		for k := range 1 + b.rounds*b.repeat*batches {
			// The sides alternate in starting, because the first calls of a turn find the caches of
			// another turn.
			sides, times := [2]func() (float64, error){program, leaf}, [2]float64{}
			for n := range sides {
				side := (n + k) % 2
				if times[side], err = sides[side](); err != nil {
					return err
				}
			}
			if k > 0 {
				f.ours, f.other = append(f.ours, 1e6*times[0]), append(f.other, 1e6*times[1])
			}
		}
		return same(p, "y", total(alone.args[0]))
	})
	if err == nil {
		b.figure(f)
	}
	return err
}

// same returns an error if the values of the program's tensor called name do not add up to sum.
func same(p *spmd.Program, name string, sum float64) error {
	t, err := p.Tensor(name)
	if err != nil || t == nil {
		return err
	}
	defer t.Close()
	return sameSum(total(t), sum, "the other's")
}

// The statements of conjugate gradients from testdata/jobs/cg.dst.
var (
	cgStart = []string{"x(i) = 0", "r(i) = b(i)", "p(i) = b(i)", "rr = r(i) * r(i)"}
	cgStep  = []string{"q(i) = A(i,j) * p(j)", "pq = p(i) * q(i)", "x(i) += rr / pq * p(i)",
		"r(i) = r(i) - rr / pq * q(i)",
		"old = rr", "rr = r(i) * r(i)", "p(i) = r(i) + rr / old * p(i)"}
)

// solver holds the prepared statements of conjugate gradients in a program: the statements before
// the first step, and the statements of a step.
type solver struct {
	p           *spmd.Program
	start, step []*spmd.ProgramStatement
}

func newSolver(p *spmd.Program) (*solver, error) {
	s := &solver{p: p}
	add := func(list *[]*spmd.ProgramStatement, texts []string) error {
		for _, text := range texts {
			k, err := p.Prepare(text, spmd.How{})
			if err != nil {
				return fmt.Errorf("%s: %w", text, err)
			}
			if err := k.Run(); err != nil {
				return fmt.Errorf("%s: %w", text, err)
			}
			*list = append(*list, k)
		}
		return nil
	}
	if err := add(&s.start, cgStart); err != nil {
		return nil, err
	}
	return s, add(&s.step, cgStep)
}

// seconds solves the system from the start, and returns the time of the given number of steps.
func (s *solver) seconds(steps int) (float64, error) {
	all := func(list []*spmd.ProgramStatement) error {
		for _, k := range list {
			if err := k.Run(); err != nil {
				return err
			}
		}
		return nil
	}
	if err := all(s.start); err != nil {
		return 0, err
	}
	at := time.Now()
	for range steps {
		if err := all(s.step); err != nil {
			return 0, err
		}
	}
	seconds := time.Since(at).Seconds()
	v, err := s.p.Value("rr")
	if rr := real(v.C); err == nil && !(rr > 1e-300 && rr < 1) {
		err = fmt.Errorf("the last residual is %g", math.Sqrt(rr))
	}
	return seconds, err
}

// stepsInGo times 1,000 steps of conjugate gradients that a Go program runs on one rank.
func (b *bench) stepsInGo(s *system, f figure) error {
	err := s.start(b, 1, f.threads, func(p *spmd.Program) error {
		cg, err := newSolver(p)
		if err != nil {
			return err
		}
		f.ours, err = b.turns(func() (float64, error) { return cg.seconds(1000) })
		return err
	})
	if err == nil {
		b.figure(f)
	}
	return err
}

// turns calls f once to warm up. It then calls f repeatedly, and returns these measurements in
// milliseconds. f returns seconds. The number of measurements is b.rounds*b.repeat, as for each
// side of a comparison.
func (b *bench) turns(f func() (float64, error)) ([]float64, error) {
	var list []float64
	for k := range 1 + b.rounds*b.repeat {
		t, err := f()
		if err != nil {
			return nil, err
		}
		if k > 0 {
			list = append(list, 1e3*t)
		}
	}
	return list, nil
}

// stepsOfFile measures 1,000 steps of conjugate gradients that a job file runs in this process.
// stepsInGo measures the same steps. stepsOfFile subtracts the time of a job file with a single
// step, so that loading and preparation are not counted.
func (b *bench) stepsOfFile(s *system, f figure) error {
	passes := func(steps string) (list []float64, err error) {
		text := "param passes = 1\ntensor A(n, n): ds from \"A.tcs\"\ntensor b(n): d from " +
			"\"b.tcs\"\ntensor x(n): d\n" + strings.Join(cgStart, "\n") +
			"\nrepeat passes until rr <= 1e-300 {\n" + strings.Join(cgStep, "\n") + "\n}\n"
		j := &spmd.FileJob{Inputs: map[string]spmd.Input{"A": spmd.InMemory(s.A),
			"b": spmd.InMemory(s.b)}}
		if j.File, err = jobfile.Parse("cg.dst", text); err != nil {
			return nil, err
		}
		if err := j.File.Bind(map[string]string{"passes": steps}); err != nil {
			return nil, err
		}
		if err := j.File.Check(); err != nil {
			return nil, err
		}
		j.Threads, j.Repeat = f.threads, 1+b.repeat
		report, err := j.Run(b.ctx)
		if err != nil {
			return nil, err
		}
		return report.Passes[1:], nil
	}
	for range b.rounds {
		long, err := passes("1001")
		if err != nil {
			return err
		}
		short, err := passes("1")
		if err != nil {
			return err
		}
		f.ours, f.other = append(f.ours, long...), append(f.other, short...)
	}
	for _, list := range [][]float64{f.ours, f.other} {
		for k := range list {
			list[k] *= 1e3
		}
	}
	b.figure(f)
	return nil
}

// stepsOfSciPy times 200 steps and, alternately, the same steps in SciPy, which runs in a separate
// process.
func (b *bench) stepsOfSciPy(s *system, f figure) error {
	const steps = 200
	dir, err := os.MkdirTemp("", "bench-programs-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	peer := scipy(dir)
	if peer.argv == nil {
		b.printf("%s is left out: %s\n", f.name, peer.reason)
		return nil
	}
	peer.free = true
	files := []string{filepath.Join(dir, "A"), filepath.Join(dir, "b")}
	for k, t := range []*tcs.Tensor{s.A, s.b} {
		if err := dump(files[k], t); err != nil {
			return err
		}
	}
	err = s.start(b, 1, f.threads, func(p *spmd.Program) error {
		cg, err := newSolver(p)
		if err != nil {
			return err
		}
		for range b.rounds {
			for k := range 1 + b.repeat {
				t, err := cg.seconds(steps)
				if err != nil {
					return err
				}
				if k > 0 {
					f.ours = append(f.ours, 1e3*t)
				}
			}
			times, sum, err := peer.run(fmt.Sprint("cg", steps), f.threads, b.repeat, files)
			if err != nil {
				return err
			}
			for _, t := range times {
				f.other = append(f.other, 1e3*t)
			}
			if err := same(p, "x", sum); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		b.figure(f)
	}
	return err
}

// stepsOfRanks measures a step of the solver on two ranks of this process, each with one thread. It
// compares this time with the time of the leaves alone, without communication. The leaves compute
// the rows of one rank, which are half of all rows. The two times are measured alternately.
func (b *bench) stepsOfRanks(s *system, f figure) error {
	const steps = 200
	leaves, err := b.leavesOfStep(s, s.n/2)
	if err != nil {
		return err
	}
	defer func() {
		for _, l := range leaves {
			l.close()
		}
	}()
	err = s.start(b, 2, f.threads, func(p *spmd.Program) error {
		cg, err := newSolver(p)
		if err != nil {
			return err
		}
		for k := range 1 + b.rounds*b.repeat {
			t, err := cg.seconds(steps)
			if err != nil {
				return err
			}
			if p.Rank() != 0 || k == 0 {
				continue // rank 1 waits for rank 0 in its next step
			}
			f.ours = append(f.ours, 1e6*t/steps)
			sum := 0.0
			for _, l := range leaves {
				t, err := l.seconds(b, 10*steps)
				if err != nil {
					return err
				}
				sum += 1e6 * t
			}
			f.other = append(f.other, sum)
		}
		return nil
	})
	if err == nil {
		b.figure(f)
	}
	return err
}
