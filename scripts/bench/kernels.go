package main

import (
	_ "embed"
	"os"
	"slices"
	"strings"
	"time"

	emitc "distaff/codegen/emit/c"
	"distaff/io/tcs"
	"distaff/kernels"
	"distaff/kernels/cc"
	"distaff/spmd"
)

// kernel is a statement over inputs, and the name of a function that computes it in another way.
type kernel struct {
	name, stmt string
	formats    string  // formats of results, for example "Y:ds"; "" means dense
	operands   string  // inputs in the order of the function, for example "A=a x=vec:a:1"
	function   string  // handwritten function, and what libraries call the kernel
	limit      float64 // the limit that the group describes
	second     float64 // another limit; in the group leaves the limit relative to the best library
	source     string  // key of handTexts for the function
}

// operand is an operand of a statement, and the name of its input.
type operand struct{ name, input string }

func (k kernel) list() (list []operand) {
	for _, text := range strings.Fields(k.operands) {
		name, input, _ := strings.Cut(text, "=")
		list = append(list, operand{name, input})
	}
	return list
}

// job returns a kernel's job over operands in memory, with one run before the timed runs.
func (b *bench) job(k kernel, threads int, schedule ...string) *spmd.Job {
	j := &spmd.Job{Statement: k.stmt, Formats: map[string]string{}, Inputs: map[string]spmd.Input{},
		Keep: true}
	for _, f := range strings.Fields(k.formats) {
		name, format, _ := strings.Cut(f, ":")
		j.Formats[name] = format
	}
	j.Threads, j.Repeat, j.Warmup, j.Schedule = threads, b.repeat, 1, schedule
	for _, o := range k.list() {
		j.Inputs[o.name] = spmd.InMemory(b.input(o.input))
	}
	return j
}

// timedJob is a job of a row. suffix tells apart the jobs of a row.
type timedJob struct {
	suffix  string
	threads []int // nil means the numbers that -threads lists
	job     maker
}

// maker makes a job for a number of threads.
type maker func(threads int) *spmd.Job

// making returns the maker of a kernel's job.
func (b *bench) making(k kernel, schedule ...string) maker {
	return func(threads int) *spmd.Job { return b.job(k, threads, schedule...) }
}

// ours runs a kernel by Distaff, with a schedule if one is given. The caller closes the result.
func (b *bench) ours(k kernel, threads int, schedule ...string) (outcome, *tcs.Tensor) {
	report := must(b.job(k, threads, schedule...).Run(b.ctx))
	return outcome{report.Stats.Phases.Compute, total(report.Result), true, nil}, report.Result
}

// timesOf returns a side of a comparison: it runs a job, and returns the times but not the sum of
// the result. So the result is not compared with other sides.
func (b *bench) timesOf(job maker, threads int) side {
	return func() outcome {
		report := must(job(threads).Run(b.ctx))
		if report.Result != nil {
			check(report.Result.Close())
		}
		return outcome{times: report.Stats.Phases.Compute}
	}
}

var (
	//go:embed hand/kernels.c
	handKernels string
	//go:embed hand/compute.c
	handCompute string
	//go:embed hand/schedules.c
	handSchedules string
	//go:embed hand/dense.c
	handDense string
)

// handTexts are the handwritten functions, by kernel.source.
var handTexts = map[string]string{"": handKernels + handCompute, "schedules": handSchedules,
	"dense": handDense}

// object compiles C code in the same way as leaves. It compiles each text once.
func (b *bench) object(text string) *cc.Object {
	if b.objects[text] == nil {
		cfg := must(cc.FromEnv(os.Getenv))
		cfg.CPU, cfg.Flags = "native", emitc.Flags("")
		b.objects[text] = must(must(cc.New(cfg)).Build(b.ctx, cc.Source{Text: emitc.Header() + text,
			Label: "kernels written by hand"}))
	}
	return b.objects[text]
}

// byHand runs the handwritten function of k. Its result gets the sizes and levels of model.
func (b *bench) byHand(k kernel, threads int, model *tcs.Tensor) (o outcome) {
	leaf := must(kernels.Load(b.object(handTexts[k.source]), k.function))
	defer leaf.Close()
	arena, runner := kernels.NewArena(nil), kernels.NewRunner()
	arena.Reuse(true)
	defer runner.Close()
	args := []*tcs.Tensor{nil}
	for _, operand := range k.list() {
		args = append(args, b.input(operand.input))
	}
	rows := args[1].Header.Dims[args[1].Levels[0].Mode]
	for r := range b.repeat + 1 {
		args[0] = emptyLike(model, k.function, arena)
		at := time.Now()
		check(leaf.Call(b.ctx, args, [][2]int64{{0, rows}},
			kernels.Env{Threads: threads, Arena: arena, Runner: runner}))
		if r > 0 {
			o.times = append(o.times, time.Since(at).Seconds())
		}
		o.sum, o.summed = total(args[0]), true
		args[0].Close()
	}
	return o
}

// emptyLike returns a result for a handwritten function: a tensor with the sizes and levels of t.
// If the function also makes the result's pattern, emptyLike allocates nothing, because the
// function allocates the arrays. Otherwise emptyLike allocates the values, so that all repeats
// write to the same pages.
func emptyLike(t *tcs.Tensor, function string, arena *kernels.Arena) *tcs.Tensor {
	out := &tcs.Tensor{Header: t.Header.Clone(), Levels: slices.Clone(t.Levels), Vals: t.Vals}
	if strings.HasPrefix(function, "spadd") || function == "spgemm" {
		for l := range out.Levels {
			if out.Levels[l].Kind != 'd' { // handwritten kernels have 32-bit positions
				out.Levels[l].Pos, out.Levels[l].Crd = tcs.Array{Width: 4}, tcs.Array{Width: 4}
			}
		}
		out.Vals.Ptr, out.Vals.Len = nil, 0
		return out
	}
	mem := must(arena.Alloc(t.Vals.Len*8, "a result"))
	out.Vals = mem.Array(0, t.Vals.Len, 8)
	out.Hold(mem)
	check(mem.Release())
	return out
}

// sides returns the sides that compare a kernel by Distaff with a handwritten function. The first
// side runs the kernel. If between is not nil, the second side calls between with the first side's
// result. The last side runs the handwritten function. The result of this function has the sizes
// and levels of the first side's result.
func (b *bench) sides(ours, hand kernel, threads int, between func(result *tcs.Tensor) outcome,
	schedule ...string) []side {
	var result *tcs.Tensor
	list := []side{func() (o outcome) {
		o, result = b.ours(ours, threads, schedule...)
		return o
	}}
	if between != nil {
		list = append(list, func() outcome { return between(result) })
	}
	return append(list, func() outcome {
		defer result.Close()
		return b.byHand(hand, threads, result)
	})
}
