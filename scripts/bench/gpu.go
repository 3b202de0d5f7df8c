package main

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"strings"

	"distaff/io/tcs"
	"distaff/kernels"
	gpu "distaff/kernels/cuda"
	"distaff/kernels/interpret"
	"distaff/spmd"
)

// device runs the leaves of the group gpu.
type device struct {
	backend kernels.Backend
	card    *card              // nil if leaves are interpreted
	speed   float64            // bandwidth of the memory in bytes per second
	seen    map[string]float64 // seconds of the lines so far, by row and schedule
	spmv    times              // ratios of cuSPARSE's time to ours, of SpMV by default so far
}

// gpuRow is a statement over inputs, with one line of the table for each schedule.
type gpuRow struct {
	name   string
	kernel kernel
	lines  []gpuLine
}

// gpuLine is a line of the table of the group gpu: the time of one schedule. versus names another
// time, with which this time is compared: "cuSPARSE", another schedule of the same row, or another
// row with the same schedule. If versus is "", the time is not compared.
type gpuLine struct {
	schedule schedule
	versus   string
	// Limits; 0 means none.
	minRatio float64 // smallest ratio of the other time to ours
	minShare float64 // smallest share of the memory's bandwidth
}

const cuSPARSE = "cuSPARSE"

// gpuRows returns the rows of the group gpu. Limits are on lines of the default schedules, and on
// lines that check claims of Senanayake's thesis (2020). The following rows are for sections of the
// thesis:
//
//   - skew: matrices with more and more uneven rows (figure 8-7). Long rows slow down schedule
//     A.10, because a single warp computes a whole row.
//   - shortwide: a matrix with few, long rows (section 8.5). If a block gets 256 rows, as in
//     listing A.10, a single block gets all rows.
//   - unroll: section 8.3.
func gpuRows() (list []gpuRow) {
	spmv := func(name, input string, lines ...gpuLine) {
		list = append(list, gpuRow{name, kernel{stmt: "y(i) = A(i,j) * x(j)",
			operands: "A=" + input + " x=vec:" + input + ":1"}, lines})
	}
	even, rows, few, each := a2(7, 16), a10(256, 16), a10(16, 16), a11(7, 16)
	for _, x := range []struct{ name, input string }{{"uniform 10M x 10", "uniform10M"},
		{"power law 10M", "power10M"}, {"banded 10M x 10..20", "band10M"},
		{"huge row 50M of 100M", "huge"}, {"uniform 1M x 10", "uniform1M"},
		{"uniform 2M x 100", "long2M"}} {
		lines := []gpuLine{{byDefault, cuSPARSE, 1, 0}, {even, cuSPARSE, 0, 0}}
		if x.input != "power10M" && x.input != "huge" { // a row of millions takes a warp too long
			lines = append(lines, gpuLine{rows, cuSPARSE, 0, 0})
		}
		spmv("spmv "+x.name, x.input, lines...)
	}
	for _, c := range []float64{1, 1.0001, 1.001, 1.003, 1.01, 1.03, 1.1} {
		spmv(fmt.Sprintf("skew c = %g", c), fmt.Sprintf("geometric%g", c), gpuLine{rows, "", 0, 0},
			gpuLine{even, rows.name, 0, 0}, gpuLine{byDefault, rows.name, 0, 0})
	}
	spmv("shortwide 100 x 100k", "wide", gpuLine{byDefault, cuSPARSE, 0, 0},
		gpuLine{even, cuSPARSE, 0, 0}, gpuLine{a2(7, 4), cuSPARSE, 0, 0},
		gpuLine{rows, cuSPARSE, 0, 0}, gpuLine{even, rows.name, 3, 0},
		gpuLine{byDefault, rows.name, 0, 0}, gpuLine{few, cuSPARSE, 0, 0},
		gpuLine{even, few.name, 0, 0}, gpuLine{byDefault, few.name, 0, 0})
	for _, x := range []string{"10M", "400k"} {
		spmv("unroll uniform "+x+" x 10", "uniform"+x, gpuLine{each, "", 0, 0},
			gpuLine{even, each.name, 1.3, 0})
	}
	for _, x := range []struct{ name, input string }{{"uniform 1M x 10", "uniform1M"},
		{"uniform 100k x 100", "long100k"}, {"power law 1M", "power1M"},
		{"banded 1M x 10..20", "band1M"}} {
		for _, k := range []int{32, 128} {
			list = append(list, gpuRow{fmt.Sprintf("spmm %s, K %d", x.name, k),
				kernel{stmt: "C(i,k) = A(i,j) * B(j,k)",
					operands: fmt.Sprintf("A=%s B=mat:%[1]s:1:%d", x.input, k)}, []gpuLine{
					{byDefault, cuSPARSE, 1, 0}, {a4(16, 16, k), cuSPARSE, 0, 0}}})
		}
	}
	mttkrp := func(name, input string, lines ...gpuLine) {
		list = append(list, gpuRow{name, kernel{stmt: "A(i,j) = B(i,k,l) * C(k,j) * D(l,j)",
			operands: factors(input)}, lines})
	}
	four, large := a8(4, 16, columns), a8(128, 8, columns)
	const same = "hugeslice even slices"
	mttkrp("mttkrp even slices", "even", gpuLine{byDefault, "", 0, 0.7}, gpuLine{four, "", 0, 0},
		gpuLine{a8(32, 16, columns), "", 0, 0}, gpuLine{large, "", 0, 0})
	mttkrp(same, "even", gpuLine{large, "", 0, 0}, gpuLine{byDefault, "", 0, 0},
		gpuLine{four, "", 0, 0})
	mttkrp("hugeslice half in one slice", "half", gpuLine{large, same, 1 / 1.2, 0},
		gpuLine{byDefault, same, 0, 0}, gpuLine{four, same, 0, 0})
	for _, x := range []string{"short", "even"} { // x stays in a multiprocessor's cache, or does not
		line := gpuLine{byDefault, "", 0, map[string]float64{"short": 0.7}[x]}
		list = append(list, gpuRow{"ttv " + x + " slices", kernel{stmt: "Y(i,k) = B(i,k,l) * x(l)",
			formats: "Y:ss", operands: "B=" + x + " x=vec:" + x + ":2"}, []gpuLine{line}})
	}
	for _, k := range []int{32, 128} {
		for _, x := range []struct{ name, input string }{{"uniform 2M x 10", "uniform2M"},
			{"power law 2M", "power2M"}} {
			list = append(list, gpuRow{fmt.Sprintf("sddmm %s, K %d", x.name, k),
				kernel{stmt: "Y(i,j) = A(i,j) * C(i,k) * D(j,k)", formats: "Y:ds",
					operands: fmt.Sprintf("A=%s C=mat:%[1]s:0:%[2]d D=mat:%[1]s:1:%[2]d", x.input, k)},
				[]gpuLine{{byDefault, cuSPARSE, map[int]float64{32: 1.5, 128: 1}[k], 0.7}}})
		}
	}
	return list
}

// openGPU opens the backend that runs leaves. Unless leaves are interpreted, it also opens cuSPARSE
// and measures the card's memory bandwidth.
func openGPU(b *bench) bool {
	b.gpu = &device{backend: interpret.Backend{}, speed: 1e9, seen: map[string]float64{}}
	if b.dry {
		return true
	}
	card, err := openCard()
	if err != nil {
		b.printf("there is no GPU here: %v\n", err)
		return false
	}
	noted := map[string]bool{}
	b.gpu.card, b.gpu.speed = card, must(card.bandwidth())
	b.gpu.backend = must(gpu.New(gpu.Config{Log: func(s string) { // such as a compiler's warning
		if !noted[s] {
			b.printf("%s\n", s)
		}
		noted[s] = true
	}}))
	b.printf("%s\na copy within the card: %.0f GB/s, read and written\n%s\n\n", card.describe(),
		b.gpu.speed*1e-9, b.gpu.backend.Name())
	return true
}

// onGPU returns the rows of the group gpu. On a GPU, a time is the median of 7 runs for each of
// bench.rounds, by the clock of the device. Results are compared with loops on the CPU.
func onGPU(b *bench) (rows []row) {
	for _, r := range gpuRows() {
		rows = append(rows, row{name: r.name, threads: once, measure: func(int) {
			b.gpuRow(r)
			b.forget() // the inputs are large
		}})
	}
	for _, p := range denseProducts {
		rows = append(rows, row{name: p.name, threads: once, measure: func(int) { b.denseProduct(p) }})
	}
	rows = append(rows, row{name: "cg 10M rows", threads: once, measure: func(int) { b.gpuSteps() }})
	return append(rows, row{threads: once, line: func(int, []times) { b.spmvMean() }})
}

// spmvMean prints the geometric mean of how many times as fast as cuSPARSE the products of a matrix
// and a vector are.
func (b *bench) spmvMean() {
	const least = 1.15
	if len(b.gpu.spmv) == 0 {
		return
	}
	sum := 0.0
	for _, x := range b.gpu.spmv {
		sum += math.Log(x)
	}
	mean := math.Exp(sum / float64(len(b.gpu.spmv)))
	b.printf("\nspmv against cuSPARSE, in the geometric mean of %d lines: %.3f, of at least %.2f%s\n",
		len(b.gpu.spmv), mean, least, b.over(mean < least))
}

// gpuSteps measures a step of conjugate gradients that a Go program runs on a GPU. The time
// includes the host's work. The step is compared with the time of its product alone plus the time
// to move the bytes of its vectors. It must not take more than 1.1 times as long.
func (b *bench) gpuSteps() {
	const steps, atMost = 200, 1.1
	if b.gpu.card == nil {
		return // programs that are interpreted are not measured
	}
	s := newSystem(b.scaled(10_000_000))
	b.tensors["A"], b.tensors["b"] = s.A, s.b
	product, off, err := b.measure(kernel{stmt: "y(i) = A(i,j) * b(j)", operands: "A=A b=b"},
		byDefault, map[string]*tcs.Tensor{"A": s.A, "b": s.b}, reference(s.A, []*tcs.Tensor{s.b}))
	check(err)
	if !(off <= tolerance) {
		b.wrong++
	}
	// Vectors that a step reads or writes: two of p * q, three of each of x, r and p, one of r * r.
	least := product + 12*8*float64(s.n)/b.gpu.speed
	s.startAs(b, spmd.Options{Target: spmd.CUDA}, func(p *spmd.Program) {
		step := newSolver(p).several(b.rounds, steps).median() / steps
		b.line(b.over(step > atMost*least), "cg 10M rows", "default", 1e3*step, 1e3*least,
			"product and vectors alone", least/step, nil, nil)
	})
	b.forget()
}

// gpuRow measures the lines of a row, and prints them.
func (b *bench) gpuRow(r gpuRow) {
	operands, dense := map[string]*tcs.Tensor{}, []*tcs.Tensor{}
	for n, o := range r.kernel.list() {
		if operands[o.name] = b.input(o.input); n > 0 {
			dense = append(dense, operands[o.name])
		}
	}
	A := operands[r.kernel.operands[:1]]
	want := reference(A, dense)
	b.printf("%s: sizes %v, %d entries, rows or slices of at most %d\n", r.name, A.Header.Dims,
		A.Vals.Len, longest(pos(A, 1)))
	var peer theirs
	if b.gpu.card != nil && b.gpu.card.sparse && len(A.Levels) == 2 && r.lines[0].versus != "" {
		peer = must(b.gpu.card.run(A, dense, 7*b.rounds))
		if d := difference(peer.result, want); peer.seconds > 0 && !(d <= tolerance) {
			fail(fmt.Errorf("cuSPARSE's %s differs by %.1e", peer.algorithm, d))
		}
	}
	bytes := b.gpu.traffic(A, dense, len(want))
	for _, l := range r.lines {
		ours, off, err := b.measure(r.kernel, l.schedule, operands, want)
		if err != nil { // other schedules may work
			b.wrong++
			b.printf("%-36s %-26s failed: %v\n", r.name, l.schedule.name, err)
			continue
		}
		b.gpu.seen[r.name+"/"+l.schedule.name] = ours
		name, other := l.versus, cmp.Or(b.gpu.seen[r.name+"/"+l.versus],
			b.gpu.seen[l.versus+"/"+l.schedule.name])
		if l.versus == cuSPARSE {
			name, other = peer.algorithm, peer.seconds
		}
		share, mark := bytes/b.gpu.speed/ours, ""
		values := []any{r.name, l.schedule.name, 1e3 * ours, nil, name, nil, bytes / ours * 1e-9, share}
		if other > 0 {
			values[3], values[5] = 1e3*other, other/ours
			if strings.HasPrefix(r.name, "spmv ") && l.versus == cuSPARSE && l.schedule == byDefault {
				b.gpu.spmv = append(b.gpu.spmv, other/ours)
			}
			mark = b.over(!b.dry && other/ours < l.minRatio)
		}
		mark += b.over(!b.dry && share < l.minShare)
		if !(off <= tolerance) {
			b.wrong++
			mark += fmt.Sprintf(" WRONG: differs by %.1e", off)
		}
		b.line(mark, values...)
	}
}

// traffic returns the number of bytes that a statement must move at least: the arrays of A, the
// result's values, and the rows of the dense operands. If all rows fit in twice the size of the
// card's cache, each row that is used is moved once. Otherwise a row is moved once for each use.
// The vector of SpMV is moved once.
func (d *device) traffic(A *tcs.Tensor, dense []*tcs.Tensor, values int) float64 {
	cache := int64(50 << 20)
	if d.card != nil {
		cache = d.card.cache
	}
	sum, uses := A.Bytes()+8*int64(values), A.Vals.Len
	for n := len(dense) - 1; n >= 0; n-- { // the last has a row for each coordinate of the last level
		rows, bytes := dense[n].Header.Dims[0], 8*width(dense[n])
		if bytes == 8 || rows*bytes <= 2*cache {
			uses = min(rows, uses)
		}
		sum += uses * bytes
		if uses = A.Header.Dims[0]; len(A.Levels) == 3 {
			uses = A.Levels[1].Crd.Len
		}
	}
	return float64(sum)
}

// width returns the number of columns of a dense operand.
func width(t *tcs.Tensor) int64 { return t.Vals.Len / t.Header.Dims[0] }

func longest(pos []int32) (most int32) {
	for r := range pos[1:] {
		most = max(most, pos[r+1]-pos[r])
	}
	return most
}

// measure compiles a statement, and returns the seconds of its leaf and the difference of its
// result from the reference.
func (b *bench) measure(k kernel, s schedule, operands map[string]*tcs.Tensor,
	want []float64) (seconds, off float64, err error) {
	j := b.job(k, 0)
	if j.Target, j.TrustInput = spmd.CUDAOnly, true; s.text != "" {
		j.Schedule, j.Verify = []string{s.text}, true
	}
	return b.timeLeaf(j, operands,
		func(got *tcs.Tensor) float64 { return difference(vals(got), want) })
}

// timeLeaf compiles a job for the GPU, and returns the seconds of its leaf over the operands. off
// is what the function check returns for the result.
func (b *bench) timeLeaf(j *spmd.Job, operands map[string]*tcs.Tensor,
	check func(*tcs.Tensor) float64) (seconds, off float64, err error) {
	made, err := j.Compile(b.ctx, "")
	if err != nil {
		return 0, 0, err
	}
	leaf, err := b.gpu.backend.Build(b.ctx, made.Unit)
	if err != nil {
		return 0, 0, err
	}
	defer leaf.Close()
	args, bounds, err := arguments(made.Unit, operands)
	if err != nil {
		return 0, 0, err
	}
	defer args[0].Close()
	if card, ok := b.gpu.backend.(*gpu.Backend); ok {
		for _, t := range args[1:] {
			card.Resident(t)
			defer card.Forget(t)
		}
	}
	env := kernels.Env{Threads: runtime.GOMAXPROCS(0), Vars: made.Unit.Vars, What: j.Statement}
	call := func() error { return leaf.Call(b.ctx, args, bounds, env) }
	if err := call(); err != nil {
		return 0, 0, err
	}
	off = check(args[0])
	if l, ok := leaf.(*gpu.Leaf); ok { // by the clock of the device, in milliseconds
		var t times
		t, err = l.Time(b.ctx, args, bounds, env, 7*b.rounds)
		if err != nil {
			return 0, 0, err
		}
		return t.median() / 1e3, off, nil
	}
	return turns(b.rounds, clocked(call))[0].median(), off, nil
}

// tolerance is the largest accepted relative error of a result: the norm of its difference from the
// reference, divided by the norm of the reference. It is not 0, because sums are computed in
// different orders.
const tolerance = 1e-10

// reference returns the result of a statement, from plain loops on the cores of the machine. For a
// tensor of order 3 it is MTTKRP in mode 0 if there are two dense operands, and otherwise the
// product with a vector along the last mode. For a matrix and two dense operands it is SDDMM, and
// for a matrix and one dense operand their product.
func reference(A *tcs.Tensor, dense []*tcs.Tensor) []float64 {
	k, rows := width(dense[0]), A.Header.Dims[0]
	row := func(v []float64, r int32) []float64 { return v[int64(r)*k:][:k] }
	v, x := vals(A), vals(dense[0])
	out := make([]float64, rows*k)
	pos1, crd1 := pos(A, 1), crd(A, 1)
	each := func(f func(r int64, p int32)) {
		parallel(rows, func(lo, hi int64) {
			for r := lo; r < hi; r++ {
				for p := pos1[r]; p < pos1[r+1]; p++ {
					f(r, p)
				}
			}
		})
	}
	switch {
	case len(A.Levels) == 3 && len(dense) == 1:
		pos2, crd2 := pos(A, 2), crd(A, 2)
		out = make([]float64, len(crd1))
		each(func(_ int64, f int32) {
			for p := pos2[f]; p < pos2[f+1]; p++ {
				out[f] += v[p] * x[crd2[p]]
			}
		})
	case len(A.Levels) == 3:
		pos2, crd2, y := pos(A, 2), crd(A, 2), vals(dense[1])
		each(func(r int64, f int32) {
			c := row(x, crd1[f])
			for p := pos2[f]; p < pos2[f+1]; p++ {
				d := row(y, crd2[p])
				for j, sum := range row(out, int32(r)) {
					out[r*k+int64(j)] = sum + v[p]*c[j]*d[j]
				}
			}
		})
	case len(dense) == 2:
		out = make([]float64, len(v))
		y := vals(dense[1])
		each(func(r int64, p int32) {
			b := row(y, crd1[p])
			for c, a := range row(x, int32(r)) {
				out[p] += v[p] * a * b[c]
			}
		})
	default:
		each(func(r int64, p int32) {
			into := row(out, int32(r))
			for c, b := range row(x, crd1[p]) {
				into[c] += v[p] * b
			}
		})
	}
	return out
}

// difference returns the norm of got-want divided by the norm of want.
func difference(got, want []float64) float64 {
	if len(got) != len(want) {
		return math.Inf(1)
	}
	var off, all float64
	for k, x := range want {
		off, all = off+(got[k]-x)*(got[k]-x), all+x*x
	}
	return math.Sqrt(off) / math.Sqrt(max(all, math.SmallestNonzeroFloat64))
}

// The schedules are from appendix A of R. Senanayake's thesis, "A unified iteration space
// transformation framework for sparse and dense tensor algebra" (2020). The number of entries of a
// thread or warp is a parameter.

// schedule is a way to compute a statement. An empty text is the target's default.
type schedule struct{ name, text string }

var byDefault = schedule{"default", ""}

// a2 returns schedule A.2 of Senanayake's thesis. Each thread gets perThread neighbouring entries,
// and computes all their products before it sums them. A block has the given number of warps.
func a2(perThread, warps int) schedule {
	return schedule{fmt.Sprintf("A.2 %d entries a thread", perThread),
		positionsOfThreads(perThread, warps,
			fmt.Sprintf("precompute(A(i,j)*x(j),thread_nz,thread_nz_pre,products), "+
				"unroll(thread_nz_pre,%d), ", perThread))}
}

// a11 returns schedule A.11 of Senanayake's thesis. Each thread gets perThread neighbouring
// entries, as in A.2, but adds each product to the sum immediately. The schedule uses no temporary
// for the products and no unrolling. A block has the given number of warps.
func a11(perThread, warps int) schedule {
	return schedule{fmt.Sprintf("A.11 %d entries a thread", perThread),
		positionsOfThreads(perThread, warps, "")}
}

func positionsOfThreads(perThread, warps int, loads string) string {
	return fmt.Sprintf(
		"fuse(i,j,f), pos(f,fpos,A(i,j)), split(fpos,block,fpos1,%d), "+
			"split(fpos1,warp,fpos2,%d), split(fpos2,thread,thread_nz,%d), "+
			"reorder(block,warp,thread,thread_nz), %s"+
			"parallelize(block,GPUBlock,IgnoreRaces), parallelize(warp,GPUWarp,IgnoreRaces), "+
			"parallelize(thread,GPUThread,Atomics)", perThread*32*warps, perThread*32, perThread,
		loads)
}

// a10 returns schedule A.10 of Senanayake's thesis for matrices. A block has the given numbers of
// rows and warps, and divides its rows among the warps. A warp computes its rows one after another.
// All its threads work on the same row.
func a10(rows, warps int) schedule {
	return schedule{fmt.Sprintf("A.10 %d rows a block", rows),
		fmt.Sprintf(
			"split(i,block,block_row,%d), split(block_row,warp_row,warp,%d), pos(j,jpos,A(i,j)), "+
				"split(jpos,thread_nz,thread,32), "+
				"reorder(block,warp,warp_row,thread,thread_nz), "+
				"parallelize(block,GPUBlock,IgnoreRaces), parallelize(warp,GPUWarp,IgnoreRaces), "+
				"parallelize(thread,GPUThread,Temporary)", rows, warps)}
}

// a4 and a8 return schedule A.4 of Senanayake's thesis for SpMM, and A.8 for MTTKRP of a tensor of
// order 3. Each warp gets perWarp entries, and its threads divide the columns of the dense
// operands. A block has the given number of warps.
func a4(perWarp, warps, columns int) schedule {
	return entriesOfWarps("A.4", "reorder(i,j,k), fuse(i,j,f), pos(f,fpos,A(i,j)), ", "k", perWarp,
		warps, columns)
}

func a8(perWarp, warps, columns int) schedule {
	return entriesOfWarps("A.8", "reorder(i,k,l,j), fuse(k,l,kl), fuse(i,kl,f), "+
		"pos(f,fpos,B(i,k,l)), ", "j", perWarp, warps, columns)
}

// entriesOfWarps returns a schedule that gives perWarp entries to each warp, and divides the dense
// columns among the threads of the warp. The commands that make fpos, the variable over the
// entries, are in the parameter fuse. The parameter column is the variable over the columns.
func entriesOfWarps(name, fuse, column string, perWarp, warps, columns int) schedule {
	return schedule{fmt.Sprintf("%s %d entries a warp", name, perWarp),
		fuse + fmt.Sprintf("split(fpos,block,fpos1,%d), split(fpos1,warp,nnz,%d), "+
			"split(%s,dense_val_unbounded,thread,32), "+
			"bound(dense_val_unbounded,dense_val,%d,MaxExact), "+
			"reorder(block,warp,dense_val,thread,nnz), parallelize(block,GPUBlock,IgnoreRaces), "+
			"parallelize(warp,GPUWarp,IgnoreRaces), parallelize(thread,GPUThread,Atomics)",
			perWarp*warps, perWarp, column, columns/32)}
}
