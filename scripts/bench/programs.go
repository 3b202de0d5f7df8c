package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"distaff/codegen"
	emitc "distaff/codegen/emit/c"
	"distaff/codegen/jobfile"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/kernels"
	"distaff/spmd"
)

// figure describes a line of the group programs. measure returns Distaff's times and, if the line
// compares two sides, the times of the other side. The line's figure is then the difference of the
// two sides, or their ratio if share is set. measure returns nil if this machine cannot measure the
// line.
type figure struct {
	name, unit string
	threads    []int
	system     func() *system
	share      bool
	limit      float64
	measure    func(s *system, threads int) []times
}

// figure prints the line of one comparison. The figure that is computed from the medians must not
// exceed the limit. The figure that is computed from the minimum times is printed too. Other load
// on the machine changes the minimum times less than the medians.
func (b *bench) figure(f figure, threads int, t []times) {
	unit, other := map[string]float64{"us": 1e6, "ms": 1e3}[f.unit], any(nil)
	value := func(reduce func(times) float64) float64 {
		switch {
		case len(t) == 1:
			return unit * reduce(t[0])
		case f.share:
			return reduce(t[0]) / reduce(t[1])
		}
		return unit * (reduce(t[0]) - reduce(t[1]))
	}
	if len(t) > 1 {
		other = unit * t[1].median()
	}
	x := value(times.median)
	b.line(b.over(x > f.limit), f.name, f.unit, threads, unit*t[0].median(), other,
		value(times.best), x, f.limit)
}

// programs returns the lines of prepared statements. The sizes do not depend on the scale, because
// the limits hold for these sizes only.
func programs(b *bench) (rows []row) {
	small := sync.OnceValue(func() *system { return newSystem(1000) })
	large := sync.OnceValue(func() *system { return newSystem(100_000) })
	most := []int{slices.Max(b.threads)} // leaves of small tensors run on one thread anyway
	for _, f := range []figure{
		{"SpMV 1k rows, beyond its leaf", "us", most, small, false, 8,
			func(s *system, n int) []times { return b.product(s, n, 1, 200) }},
		{"SpMV 100k rows, of its leaf", "us", nil, large, true, 1.03,
			func(s *system, n int) []times { return b.product(s, n, n, 5) }},
		{"CG 1k rows, 1,000 steps in Go", "ms", most, small, false, 80, b.stepsInGo},
		{"CG 1k rows, 1,001 steps of a job file less 1", "ms", most, small, false, 100,
			b.stepsOfFile},
		{"CG 100k rows, 200 steps, of SciPy's", "ms", []int{2}, large, true, 0.7, b.stepsOfSciPy},
		{"CG 1k rows, 2 ranks, a step beyond its leaves", "us", once, small, false, 100,
			b.stepsOfRanks},
	} {
		rows = append(rows, row{name: f.name, threads: f.threads, measure: func(n int) {
			if t := f.measure(f.system(), n); t != nil {
				b.figure(f, n, t)
			}
		}})
	}
	return rows
}

// system is a symmetric positive definite matrix with 10 entries per row, and a right-hand side.
type system struct {
	n    int64
	A, b *tcs.Tensor
}

// newSystem makes the stiffness matrix of a ring of n points. A spring connects each pair of points
// that are at most four positions apart, and each pair of opposite points. A weak spring also holds
// each point at its position. With the matrix's condition number, conjugate gradients converge
// within 200 steps, and residuals do not become subnormal within 1,000 steps.
func newSystem(n int64) *system {
	apart := []int64{1, 2, 3, 4, n / 2, n - 4, n - 3, n - 2, n - 1}
	entries := int64(len(apart) + 1)
	pos, right := make([]int32, n+1), make([]float64, n)
	crd, values := make([]int32, n*entries), make([]float64, n*entries)
	parallel(n, func(lo, hi int64) {
		columns := make([]int64, entries)
		for i := lo; i < hi; i++ {
			columns[0], right[i], pos[i+1] = i, unit(uint64(i)), int32((i+1)*entries)
			diagonal := 0.02
			for k, d := range apart {
				columns[k+1] = (i + d) % n
			}
			slices.Sort(columns)
			for k, j := range columns {
				at := i*entries + int64(k)
				crd[at] = int32(j)
				if j != i {
					stiffness := (1 + unit(uint64(min(i, j)*n+max(i, j)))) / 2
					diagonal += stiffness
					values[at] = -stiffness
				}
			}
			values[i*entries+int64(slices.Index(columns, i))] = diagonal
		}
	})
	return &system{n, must(spmd.CSR(n, n, pos, crd, values)), must(spmd.Dense(right, n))}
}

// start starts a program with the system's A and b, and runs f with it on each rank.
func (s *system) start(b *bench, ranks, threads int, f func(p *spmd.Program)) {
	s.startAs(b, spmd.Options{Ranks: ranks, Threads: threads}, f)
}

// startAs is like start, with the program's options.
func (s *system) startAs(b *bench, o spmd.Options, f func(p *spmd.Program)) {
	check(spmd.Start(b.ctx, o,
		func(p *spmd.Program) error {
			for name, t := range map[string]*tcs.Tensor{"A": s.A, "b": s.b} {
				check(p.Set(name, spmd.InMemory(t), spmd.Storage{}))
			}
			check(p.Declare("x", spmd.Storage{Sizes: []int64{s.n}}))
			f(p)
			return nil
		}))
}

// batches is a factor for the number of measurements in bench.product. The factor is large because
// the measured times of a small system are only a few microseconds there.
const batches = 20

// product measures the overhead of a prepared statement. It alternately times two sides on the same
// operands: the prepared product y = A*b, and the leaf of this product without a program. threads
// is the number of threads of the program, and alone is the number of threads of the leaf. calls is
// the number of calls in one measurement.
func (b *bench) product(s *system, threads, alone, calls int) []times {
	const text = "y(i) = A(i,j) * b(j)"
	t := make([]times, 2)
	s.start(b, 1, threads, func(p *spmd.Program) {
		y := must(p.Prepare(text, spmd.How{}))
		leaf := b.alone(text, map[string]*tcs.Tensor{"A": s.A, "b": s.b}, alone)
		defer leaf.close()
		sides := [2]side{clocked(func() error { return repeated(calls, y.Run) }),
			clocked(func() error { return leaf.call(b, calls) })}
		for k := range 1 + b.rounds*b.repeat*batches {
			// The sides alternate in starting, because the first calls of a turn find the caches of
			// another turn.
			for n := range sides {
				side := (n + k) % 2
				if o := sides[side](); k > 0 {
					t[side] = append(t[side], o.times[0]/float64(calls))
				}
			}
		}
		same(p, "y", total(leaf.args[0]))
	})
	return t
}

// repeated calls each of the functions n times, until an error.
func repeated(n int, functions ...func() error) error {
	for range n {
		for _, f := range functions {
			if err := f(); err != nil {
				return err
			}
		}
	}
	return nil
}

// same checks that the values of the program's tensor called name add up to sum.
func same(p *spmd.Program, name string, sum float64) {
	if t := must(p.Tensor(name)); t != nil {
		check(sameSum(total(t), sum))
		t.Close()
	}
}

// The statements of conjugate gradients from testdata/jobs/cg.dst.
var (
	cgStart = []string{"x(i) = 0", "r(i) = b(i)", "p(i) = b(i)", "rr = r(i) * r(i)"}
	cgStep  = []string{"q(i) = A(i,j) * p(j)", "pq = p(i) * q(i)", "x(i) += rr / pq * p(i)",
		"r(i) = r(i) - rr / pq * q(i)",
		"old = rr", "rr = r(i) * r(i)", "p(i) = r(i) + rr / old * p(i)"}
)

// solver runs the prepared statements of conjugate gradients in a program: the statements before
// the first step, and the statements of a step.
type solver struct {
	p           *spmd.Program
	start, step []func() error
}

func newSolver(p *spmd.Program) *solver {
	var list []func() error
	for _, text := range slices.Concat(cgStart, cgStep) {
		k := must(p.Prepare(text, spmd.How{}))
		check(k.Run())
		list = append(list, k.Run)
	}
	return &solver{p, list[:len(cgStart)], list[len(cgStart):]}
}

// seconds solves the system from the start, and returns the time of the given number of steps.
func (s *solver) seconds(steps int) float64 {
	check(repeated(1, s.start...))
	at := time.Now()
	check(repeated(steps, s.step...))
	seconds := time.Since(at).Seconds()
	if rr := real(must(s.p.Value("rr")).C); !(rr > 1e-300 && rr < 1) {
		fail(fmt.Errorf("the last residual is %g", math.Sqrt(rr)))
	}
	return seconds
}

// several solves the system n times and once before, and returns the times of the n runs.
func (s *solver) several(n, steps int) (t times) {
	s.seconds(steps)
	for range n {
		t = append(t, s.seconds(steps))
	}
	return t
}

// stepsInGo times 1,000 steps of conjugate gradients that a Go program runs on one rank.
func (b *bench) stepsInGo(s *system, threads int) (t []times) {
	s.start(b, 1, threads, func(p *spmd.Program) {
		t = []times{newSolver(p).several(b.rounds*b.repeat, 1000)}
	})
	return t
}

// stepsOfFile measures 1,000 steps of conjugate gradients that a job file runs in this process.
// stepsInGo measures the same steps. stepsOfFile returns the times of 1,001 steps and of a single
// step. Their difference, which figure prints, counts no loading and no preparation.
func (b *bench) stepsOfFile(s *system, threads int) []times {
	text := "param passes = 1\ntensor A(n, n): ds from \"A.tcs\"\ntensor b(n): d from " +
		"\"b.tcs\"\ntensor x(n): d\n" + strings.Join(cgStart, "\n") +
		"\nrepeat passes until rr <= 1e-300 {\n" + strings.Join(cgStep, "\n") + "\n}\n"
	passes := func(steps string) side {
		return func() outcome {
			j := &spmd.FileJob{File: must(jobfile.Parse("cg.dst", text)),
				Inputs: map[string]spmd.Input{"A": spmd.InMemory(s.A), "b": spmd.InMemory(s.b)}}
			check(j.File.Bind(map[string]string{"passes": steps}))
			check(j.File.Check())
			j.Threads, j.Repeat = threads, 1+b.repeat
			return outcome{times: must(j.Run(b.ctx)).Passes[1:]}
		}
	}
	return turns(b.rounds, passes("1001"), passes("1"))
}

// stepsOfSciPy times 200 steps and, alternately, the same steps in SciPy, which runs in a separate
// process.
func (b *bench) stepsOfSciPy(s *system, threads int) (t []times) {
	const steps = 200
	if b.find(func(p *peer) bool { return p.name == "scipy" }); len(b.libs) == 0 {
		return nil
	}
	b.libs[0].free = true
	b.tensors["A"], b.tensors["b"] = s.A, s.b
	scipy := b.peer(b.libs[0], kernel{operands: "A=A b=b"}, fmt.Sprint("cg", steps), threads)
	s.start(b, 1, threads, func(p *spmd.Program) {
		cg := newSolver(p)
		t = turns(b.rounds, func() outcome { return outcome{times: cg.several(b.repeat, steps)} },
			func() outcome {
				o := scipy()
				same(p, "x", o.sum)
				return o
			})
	})
	return t
}

// stepsOfRanks measures a step of the solver on two ranks of this process, each with one thread. It
// compares this time with the time of the leaves alone, without communication. The leaves compute
// the rows of one rank, which are half of all rows. The two times are measured alternately.
func (b *bench) stepsOfRanks(s *system, threads int) []times {
	const steps = 200
	var calls []func() error
	for _, l := range b.leavesOfStep(s, s.n/2) {
		defer l.close()
		calls = append(calls, func() error { return l.call(b, 10*steps) })
	}
	leaves, t := clocked(func() error { return repeated(1, calls...) }), make([]times, 2)
	s.start(b, 2, threads, func(p *spmd.Program) {
		cg := newSolver(p)
		for k := range 1 + b.rounds*b.repeat {
			x := cg.seconds(steps)
			if p.Rank() == 0 && k > 0 { // rank 1 waits for rank 0 in its next step
				t[0], t[1] = append(t[0], x/steps), append(t[1], leaves().times[0]/(10*steps))
			}
		}
	})
	return t
}

// arguments returns the arguments of a unit's leaf, and the bounds of its loops. The first argument
// is a new result, which must be dense, or have the pattern of an
// operand or of its first levels.
func arguments(u *codegen.Unit, operands map[string]*tcs.Tensor) (args []*tcs.Tensor,
	bounds [][2]int64, err error) {
	args = []*tcs.Tensor{nil}
	for _, a := range u.Args[1:] {
		if operands[a.Tensor] == nil || a.Convert || a.Map {
			return nil, nil, fmt.Errorf("an argument of the leaf is no operand: %s", a.Name)
		}
		args = append(args, operands[a.Tensor])
	}
	name, levels := u.Args[0].Tensor, len(u.Result.Format.Levels)
	dims, share := u.Request.Tensors.All[name].Dims, u.Result.Shares
	stored := dims
	switch {
	case share >= 0:
		stored = []int64{args[share].Positions(levels - 1)}
	case !u.Result.Format.AllDense():
		return nil, nil, fmt.Errorf("a result with a pattern of its own is not measured here")
	}
	if args[0], err = tcs.New(&tcs.Shape{Header: tcs.Header{Dims: stored,
		Type: u.Request.Tensors.All[name].Type}, Format: tensor.DenseOf(len(stored)), Counts: make([]int64, len(stored))}, nil, name); err != nil {
		return nil, nil, err
	}
	if share >= 0 {
		args[0].Header.Dims, args[0].Levels = dims, slices.Clone(args[share].Levels[:levels])
	}
	for _, v := range u.Vars {
		bounds = append(bounds, [2]int64{0, u.Request.Tensors.Sizes[v]})
	}
	return args, bounds, nil
}

// alone is a leaf that a loop in C calls repeatedly, so that the measured time does not include the
// overhead of calls from Go.
type alone struct {
	leaf   kernels.Leaf
	args   []*tcs.Tensor // the result comes first
	bounds [][2]int64    // bounds of the leaf, followed by 0 and the number of calls
	env    kernels.Env
}

// manyCalls is the C code of a loop that calls a leaf repeatedly. It gets the number of calls as an
// additional element after the leaf's own bounds. The volatile pointer prevents the compiler from
// combining calls.
const manyCalls = `
int many_calls(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env) {
    int (*volatile one_call)(dst_tensor **, const int64_t (*)[2], dst_env *) = %s;
    int rc = 0;
    for (int64_t k = 0; k < bounds[%d][1] && rc == 0; k++)
        rc = one_call(t, bounds, env);
    return rc;
}
`

// alone compiles a statement over operands in memory, and allocates its result. It does not run the
// leaf. operands may have tensors that the statement does not use.
func (b *bench) alone(stmt string, operands map[string]*tcs.Tensor, threads int) *alone {
	j := &spmd.Job{Statement: stmt, Inputs: map[string]spmd.Input{}}
	for _, name := range strings.FieldsFunc(stmt,
		func(c rune) bool { return !unicode.IsLetter(c) }) {
		if t := operands[name]; t != nil {
			j.Inputs[name] = spmd.InMemory(t)
		}
	}
	made := must(j.Compile(b.ctx, ""))
	args, bounds, err := arguments(made.Unit, operands)
	check(err)
	object := b.object(made.Source() + fmt.Sprintf(manyCalls, emitc.Symbol(made.Unit.Func.Name),
		len(bounds)))
	return &alone{must(kernels.Load(object, "many_calls")), args, append(bounds, [2]int64{}),
		kernels.Env{Threads: threads, Arena: kernels.NewArena(nil), What: stmt}}
}

func (a *alone) close() {
	a.leaf.Close()
	a.args[0].Close()
}

// call calls the leaf the given number of times.
func (a *alone) call(b *bench, calls int) error {
	a.bounds[len(a.bounds)-1][1] = int64(calls)
	return a.leaf.Call(b.ctx, a.args, a.bounds, a.env)
}

// leavesOfStep returns the leaves of one step of conjugate gradients, over the first rows of a
// system. The leaves read and write different tensors, so repeated calls do not change the values
// that they read.
func (b *bench) leavesOfStep(s *system, rows int64) (list []*alone) {
	end := pos(s.A, 1)[rows]
	A := must(spmd.CSR(rows, s.n, pos(s.A, 1)[:rows+1], crd(s.A, 1)[:end], vals(s.A)[:end]))
	part, one := must(spmd.Dense(vals(s.b)[:rows], rows)), must(spmd.Dense([]float64{1}))
	for _, stmt := range []string{"out(i) = A(i,j) * all(j)", "out = p(i) * q(i)",
		"out(i) = x(i) + rr / pq * p(i)", "out(i) = r(i) - rr / pq * q(i)", "out = rr",
		"out = r(i) * r(i)", "out(i) = r(i) + rr / old * p(i)"} {
		list = append(list, b.alone(stmt, map[string]*tcs.Tensor{"A": A, "all": s.b, "p": part,
			"q": part, "r": part, "x": part, "rr": one, "pq": one, "old": one}, 1))
	}
	return list
}
