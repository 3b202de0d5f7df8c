// Command bench times Distaff's leaves against kernels written by hand
// (hand/kernels.c), on the inputs that docs/benchmarks.md describes, and prints for each
// the medians and their ratio. Both run in this process, on the same tensors and
// threads, in turn, so that a ratio holds when the machine's speed drifts.
//
//	go run ./scripts/bench [-scale 1] [-threads 1,2] [-rounds 3] [-only spmv]
package main

import (
	"context"
	_ "embed"
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	emitc "distaff/codegen/emit/c"
	"distaff/io/tcs"
	"distaff/kernels"
	"distaff/kernels/cc"
	"distaff/spmd"
)

//go:embed hand/kernels.c
var hand string

// kernel is one line of the table.
type kernel struct {
	name, stmt string
	formats    map[string]string // of the result
	inputs     map[string]string // operand -> input
	args       []string          // operands in the order of the hand-written function
	function   string
	limit      float64
}

// inputs are generated once; dense operands have 32 columns, or are vectors.
var inputs = map[string]struct {
	kind, format string
	dims         []int64
}{
	"a":  {"uniform:10000000", "ds", []int64{1000000, 1000000}},
	"a2": {"uniform:10000000", "ds", []int64{1000000, 1000000}},
	"a3": {"uniform:10000000", "ds", []int64{1000000, 1000000}},
	"b":  {"zipf:5000000:0.9", "ds", []int64{500000, 500000}},
	"b2": {"zipf:5000000:0.9", "ds", []int64{500000, 500000}},
	"b3": {"zipf:5000000:0.9", "ds", []int64{500000, 500000}},
	"g":  {"uniform:1000000", "ds", []int64{100000, 100000}},
	"g2": {"uniform:1000000", "ds", []int64{100000, 100000}},
	"h":  {"zipf:500000:0.7", "ds", []int64{50000, 50000}},
	"c":  {"uniform:5000000", "sss", []int64{50000, 20000, 5000}},
	"c1": {"uniform:5000000", "sss:1,0,2", []int64{50000, 20000, 5000}},
	"c2": {"uniform:5000000", "sss:2,0,1", []int64{50000, 20000, 5000}},
	"d":  {"zipf:5000000:0.6", "sss", []int64{50000, 20000, 5000}},
}

func table() []kernel {
	var list []kernel
	for _, m := range []string{"a", "b"} {
		list = append(list,
			kernel{"SpMV " + m, "y(i) = A(i,j)*x(j)", nil, map[string]string{"A": m, "x": "vec:" + m + ":1"}, []string{"A", "x"}, "spmv", 1.05},
			kernel{"SpMM 32 " + m, "Y(i,k) = A(i,j)*X(j,k)", nil, map[string]string{"A": m, "X": "mat:" + m + ":1"}, []string{"A", "X"}, "spmm", 1.05},
			kernel{"SDDMM 32 " + m, "Y(i,j) = A(i,j)*C(i,k)*D(j,k)", map[string]string{"Y": "ds"}, map[string]string{"A": m, "C": "mat:" + m + ":0", "D": "mat:" + m + ":1"}, []string{"A", "C", "D"}, "sddmm", 1.05},
			kernel{"SpAdd " + m, "Y(i,j) = A(i,j) + B(i,j)", map[string]string{"Y": "ds"}, map[string]string{"A": m, "B": m + "2"}, []string{"A", "B"}, "spadd", 1.05},
			kernel{"SpAdd3 " + m, "Y(i,j) = A(i,j) + B(i,j) + C(i,j)", map[string]string{"Y": "ds"}, map[string]string{"A": m, "B": m + "2", "C": m + "3"}, []string{"A", "B", "C"}, "spadd3", 1.05},
		)
	}
	list = append(list,
		kernel{"SpGEMM g", "Y(i,j) = A(i,k)*B(k,j)", map[string]string{"Y": "ds"}, map[string]string{"A": "g", "B": "g2"}, []string{"A", "B"}, "spgemm", 1.1},
		kernel{"SpGEMM h", "Y(i,j) = A(i,k)*B(k,j)", map[string]string{"Y": "ds"}, map[string]string{"A": "h", "B": "h"}, []string{"A", "B"}, "spgemm", 1.1},
	)
	for _, m := range []string{"c", "d"} {
		list = append(list,
			kernel{"TTV " + m, "Y(i,j) = A(i,j,k)*x(k)", map[string]string{"Y": "ss"}, map[string]string{"A": m, "x": "vec:" + m + ":2"}, []string{"A", "x"}, "ttv", 1.05},
			kernel{"TTM 32 " + m, "Y(i,j,l) = A(i,j,k)*X(k,l)", map[string]string{"Y": "ssd"}, map[string]string{"A": m, "X": "mat:" + m + ":2"}, []string{"A", "X"}, "ttm", 1.05},
			kernel{"MTTKRP 32 mode 0 " + m, "Y(i,l) = A(i,j,k)*C(j,l)*D(k,l)", nil, map[string]string{"A": m, "C": "mat:" + m + ":1", "D": "mat:" + m + ":2"}, []string{"A", "C", "D"}, "mttkrp", 1.05},
		)
	}
	return append(list,
		kernel{"MTTKRP 32 mode 1 c", "Y(j,l) = A(i,j,k)*C(i,l)*D(k,l)", nil, map[string]string{"A": "c1", "C": "mat:c:0", "D": "mat:c:2"}, []string{"A", "C", "D"}, "mttkrp", 1.05},
		kernel{"MTTKRP 32 mode 2 c", "Y(k,l) = A(i,j,k)*C(i,l)*D(j,l)", nil, map[string]string{"A": "c2", "C": "mat:c:0", "D": "mat:c:1"}, []string{"A", "C", "D"}, "mttkrp", 1.05},
	)
}

// columns of the dense operands.
const columns = 32

type bench struct {
	ctx     context.Context
	scale   float64
	tensors map[string]*tcs.Tensor
	builder *cc.Builder
	object  *cc.Object
}

// scaled shrinks a size or count.
func (b *bench) scaled(n int64) int64 { return max(int64(float64(n)*b.scale), 16) }

// input makes a named input: one of inputs, or vec:INPUT:MODE, mat:INPUT:MODE.
func (b *bench) input(name string) (*tcs.Tensor, error) {
	if t := b.tensors[name]; t != nil {
		return t, nil
	}
	var j *spmd.Job
	if kind, rest, ok := strings.Cut(name, ":"); ok {
		of, mode, _ := strings.Cut(rest, ":")
		m, err := strconv.Atoi(mode)
		if err != nil {
			return nil, err
		}
		n := b.scaled(inputs[of].dims[m])
		if kind == "vec" {
			j = &spmd.Job{Statement: "T(i) = S(i)", Sizes: map[string][]int64{"S": {n}}}
		} else {
			j = &spmd.Job{Statement: "T(i,j) = S(i,j)", Sizes: map[string][]int64{"S": {n, columns}}}
		}
		j.Inputs = map[string]spmd.Input{"S": spmd.Generated("dense")}
	} else {
		in := inputs[name]
		parts := strings.Split(in.kind, ":")
		nnz, err := strconv.ParseInt(parts[1], 10, 64)
		if err != nil {
			return nil, err
		}
		parts[1] = fmt.Sprint(b.scaled(nnz))
		var dims []int64
		for _, d := range in.dims {
			dims = append(dims, b.scaled(d))
		}
		vars := "i,j,k"[:2*len(dims)-1]
		j = &spmd.Job{Statement: "T(" + vars + ") = S(" + vars + ")", Sizes: map[string][]int64{"S": dims},
			Formats: map[string]string{"T": in.format, "S": in.format}, Inputs: map[string]spmd.Input{"S": spmd.Generated(strings.Join(parts, ":"))}}
		j.Seed = int64(name[len(name)-1])
	}
	j.Keep = true
	report, err := j.Run(b.ctx)
	if err != nil {
		return nil, fmt.Errorf("input %s: %w", name, err)
	}
	b.tensors[name] = report.Result
	return report.Result, nil
}

// ours times Distaff's leaf; the last result is returned.
func (b *bench) ours(k kernel, threads, repeat int) ([]float64, *tcs.Tensor, error) {
	j := &spmd.Job{Statement: k.stmt, Formats: k.formats, Inputs: map[string]spmd.Input{}, Keep: true}
	j.Threads, j.Repeat, j.Warmup = threads, repeat, 1
	for name, in := range k.inputs {
		t, err := b.input(in)
		if err != nil {
			return nil, nil, err
		}
		j.Inputs[name] = spmd.InMemory(t)
	}
	report, err := j.Run(b.ctx)
	if err != nil {
		return nil, nil, err
	}
	return report.Stats.Phases.Compute, report.Result, nil
}

// byHand times the hand-written kernel on a result like ours.
func (b *bench) byHand(k kernel, threads, repeat int, like *tcs.Tensor) ([]float64, float64, error) {
	leaf, err := kernels.Load(b.object, k.function)
	if err != nil {
		return nil, 0, err
	}
	defer leaf.Close()
	arena, runner := kernels.NewArena(nil), kernels.NewRunner()
	arena.Reuse(true)
	defer runner.Close()
	var args []*tcs.Tensor
	for _, name := range k.args {
		t, err := b.input(k.inputs[name])
		if err != nil {
			return nil, 0, err
		}
		args = append(args, t)
	}
	n := args[0].Dims[args[0].Levels[0].Mode]
	var times []float64
	var sum float64
	for r := range repeat + 1 {
		out, err := emptyLike(like, k.function)
		if err != nil {
			return nil, 0, err
		}
		at := time.Now()
		err = leaf.Call(b.ctx, append([]*tcs.Tensor{out}, args...), [][2]int64{{0, n}}, kernels.Env{Threads: threads, Arena: arena, Runner: runner})
		if r > 0 {
			times = append(times, time.Since(at).Seconds())
		}
		if err != nil {
			return nil, 0, err
		}
		sum = total(out)
		out.Close()
	}
	return times, sum, nil
}

// emptyLike is a result for a hand-written kernel: values of a dense or shared
// pattern are allocated, other arrays are published by the kernel.
func emptyLike(t *tcs.Tensor, function string) (*tcs.Tensor, error) {
	out := &tcs.Tensor{Header: t.Clone(), Levels: slices.Clone(t.Levels), Vals: t.Vals}
	if strings.HasPrefix(function, "spadd") || function == "spgemm" {
		for l := range out.Levels {
			out.Levels[l].Pos.Ptr, out.Levels[l].Crd.Ptr = nil, nil
			out.Levels[l].Pos.Len, out.Levels[l].Crd.Len = 0, 0
			if out.Levels[l].Kind != 'd' { // by hand, positions have 32 bits
				out.Levels[l].Pos.Width, out.Levels[l].Crd.Width = 4, 4
			}
		}
		out.Vals.Ptr, out.Vals.Len = nil, 0
		return out, nil
	}
	mem, err := tcs.Alloc(nil, t.Vals.Len*8, "a result")
	if err != nil {
		return nil, err
	}
	out.Vals = mem.Array(0, t.Vals.Len, 8)
	out.Hold(mem)
	return out, mem.Release()
}

func total(t *tcs.Tensor) float64 {
	s := 0.0
	for _, v := range tcs.Slice[float64](t.Vals) {
		s += v
	}
	return s
}

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return x[len(x)/2]
}

func main() {
	scale := flag.Float64("scale", 1, "sizes and counts times this")
	threads := flag.String("threads", fmt.Sprintf("1,%d", runtime.NumCPU()), "numbers of threads")
	rounds := flag.Int("rounds", 3, "turns of each side")
	repeat := flag.Int("repeat", 3, "timed runs a turn")
	only := flag.String("only", "", "a regular expression of kernels")
	flag.Parse()
	if err := run(*scale, *threads, *rounds, *repeat, *only); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(scale float64, threads string, rounds, repeat int, only string) error {
	filter, err := regexp.Compile("(?i)" + only)
	if err != nil {
		return err
	}
	cfg, err := cc.FromEnv(os.Getenv)
	if err != nil {
		return err
	}
	cfg.CPU, cfg.Flags = "native", emitc.Flags("")
	b := &bench{ctx: context.Background(), scale: scale, tensors: map[string]*tcs.Tensor{}}
	if b.builder, err = cc.New(cfg); err != nil {
		return err
	}
	if b.object, err = b.builder.Build(b.ctx, cc.Source{Text: emitc.Header() + hand, Label: "kernels written by hand"}); err != nil {
		return err
	}
	fmt.Printf("%-22s %8s %12s %12s %7s %6s\n", "kernel", "threads", "distaff ms", "by hand ms", "ratio", "limit")
	over := 0
	for _, k := range table() {
		if !filter.MatchString(k.name) {
			continue
		}
		for _, text := range strings.Split(threads, ",") {
			n, err := strconv.Atoi(text)
			if err != nil {
				return err
			}
			ratio, err := b.line(k, n, rounds, repeat)
			if err != nil {
				return fmt.Errorf("%s: %w", k.name, err)
			}
			if ratio > k.limit {
				over++
			}
		}
	}
	fmt.Printf("%d ratios over their limits\n", over)
	return nil
}

// line times one kernel and prints it.
func (b *bench) line(k kernel, threads, rounds, repeat int) (float64, error) {
	var ours, theirs []float64
	for range rounds {
		x, result, err := b.ours(k, threads, repeat)
		if err != nil {
			return 0, err
		}
		y, sum, err := b.byHand(k, threads, repeat, result)
		if err != nil {
			return 0, err
		}
		if mine := total(result); mine-sum > 1e-6*mine || sum-mine > 1e-6*mine {
			return 0, fmt.Errorf("results differ: sum %v, by hand %v", mine, sum)
		}
		result.Close()
		ours, theirs = append(ours, x...), append(theirs, y...)
	}
	ratio := median(ours) / median(theirs)
	mark := ""
	if ratio > k.limit {
		mark = " over"
	}
	fmt.Printf("%-22s %8d %12.2f %12.2f %7.2f %6.2f%s\n", k.name, threads, 1e3*median(ours), 1e3*median(theirs), ratio, k.limit, mark)
	return ratio, nil
}
