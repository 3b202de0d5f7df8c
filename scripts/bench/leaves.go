package main

import (
	_ "embed"
	"fmt"
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

//go:embed hand/kernels.c
var hand string

// kernel is one line of the table.
type kernel struct {
	name, stmt string
	formats    map[string]string // formats of the result
	inputs     map[string]string // operand -> input
	args       []string          // operands in the order of the handwritten function
	function   string
	limit      float64 // largest time, relative to the handwritten kernel
	peer       float64 // largest time, relative to the best library
}

func table() []kernel {
	var list []kernel
	for _, m := range []string{"a", "b"} {
		list = append(list,
			kernel{"SpMV " + m, "y(i) = A(i,j)*x(j)", nil,
				map[string]string{"A": m, "x": "vec:" + m + ":1"}, []string{"A", "x"}, "spmv", 1.05,
				1.05},
			kernel{"SpMM 32 " + m, "Y(i,k) = A(i,j)*X(j,k)", nil,
				map[string]string{"A": m, "X": "mat:" + m + ":1"}, []string{"A", "X"}, "spmm", 1.05,
				1.05},
			kernel{"SDDMM 32 " + m, "Y(i,j) = A(i,j)*C(i,k)*D(j,k)", map[string]string{"Y": "ds"},
				map[string]string{"A": m, "C": "mat:" + m + ":0", "D": "mat:" + m + ":1"},
				[]string{"A", "C", "D"}, "sddmm", 1.05, 1.05},
			kernel{"SpAdd " + m, "Y(i,j) = A(i,j) + B(i,j)", map[string]string{"Y": "ds"},
				map[string]string{"A": m, "B": m + "2"}, []string{"A", "B"}, "spadd", 1.05, 1.05},
			kernel{"SpAdd3 " + m, "Y(i,j) = A(i,j) + B(i,j) + C(i,j)", map[string]string{"Y": "ds"},
				map[string]string{"A": m, "B": m + "2", "C": m + "3"}, []string{"A", "B", "C"},
				"spadd3", 1.05, 1.05},
		)
	}
	list = append(list,
		kernel{"SpGEMM g", "Y(i,j) = A(i,k)*B(k,j)", map[string]string{"Y": "ds"},
			map[string]string{"A": "g", "B": "g2"}, []string{"A", "B"}, "spgemm", 1.1, 1.05},
		kernel{"SpGEMM h", "Y(i,j) = A(i,k)*B(k,j)", map[string]string{"Y": "ds"},
			map[string]string{"A": "h", "B": "h"}, []string{"A", "B"}, "spgemm", 1.1, 1.05},
	)
	for _, m := range []string{"c", "d"} {
		list = append(list,
			kernel{"TTV " + m, "Y(i,j) = A(i,j,k)*x(k)", map[string]string{"Y": "ss"},
				map[string]string{"A": m, "x": "vec:" + m + ":2"}, []string{"A", "x"}, "ttv", 1.05,
				1.05},
			kernel{"TTM 32 " + m, "Y(i,j,l) = A(i,j,k)*X(k,l)", map[string]string{"Y": "ssd"},
				map[string]string{"A": m, "X": "mat:" + m + ":2"}, []string{"A", "X"}, "ttm", 1.05,
				1.05},
			kernel{"MTTKRP 32 mode 0 " + m, "Y(i,l) = A(i,j,k)*C(j,l)*D(k,l)", nil,
				map[string]string{"A": m, "C": "mat:" + m + ":1", "D": "mat:" + m + ":2"},
				[]string{"A", "C", "D"}, "mttkrp", 1.05, 0.85},
		)
	}
	list = append(list,
		kernel{"MTTKRP 32 mode 1 c", "Y(j,l) = A(i,j,k)*C(i,l)*D(k,l)", nil,
			map[string]string{"A": "c1", "C": "mat:c:0", "D": "mat:c:2"}, []string{"A", "C", "D"},
			"mttkrp", 1.05, 1.05},
		kernel{"MTTKRP 32 mode 2 c", "Y(k,l) = A(i,j,k)*C(i,l)*D(j,l)", nil,
			map[string]string{"A": "c2", "C": "mat:c:0", "D": "mat:c:1"}, []string{"A", "C", "D"},
			"mttkrp", 1.05, 1.05},
	)
	for _, m := range []string{"c", "d"} {
		list = append(list, mttkrp(m, 1), mttkrp(m, 2))
	}
	return list
}

// object compiles handwritten C in the same way as leaves.
func (b *bench) object(text string) (*cc.Object, error) {
	cfg, err := cc.FromEnv(os.Getenv)
	if err != nil {
		return nil, err
	}
	cfg.CPU, cfg.Flags = "native", emitc.Flags("")
	builder, err := cc.New(cfg)
	if err != nil {
		return nil, err
	}
	return builder.Build(b.ctx, cc.Source{Text: emitc.Header() + text,
		Label: "kernels written by hand"})
}

// ours runs a kernel by Distaff, with a schedule if one is given. It returns the times of the leaf
// and the last result.
func (b *bench) ours(k kernel, threads int, schedule ...string) ([]float64, *tcs.Tensor, error) {
	j, err := b.job(k, threads)
	if err != nil {
		return nil, nil, err
	}
	j.Schedule = schedule
	report, err := j.Run(b.ctx)
	if err != nil {
		return nil, nil, err
	}
	return report.Stats.Phases.Compute, report.Result, nil
}

// job returns a kernel's job.
func (b *bench) job(k kernel, threads int) (*spmd.Job, error) {
	j := &spmd.Job{Statement: k.stmt, Formats: k.formats, Inputs: map[string]spmd.Input{},
		Keep: true}
	j.Threads, j.Repeat, j.Warmup = threads, b.repeat, 1
	for name, in := range k.inputs {
		t, err := b.input(in)
		if err != nil {
			return nil, err
		}
		j.Inputs[name] = spmd.InMemory(t)
	}
	return j, nil
}

// byHand measures the handwritten kernel of k. The kernel's result gets the sizes and levels of the
// tensor model. byHand returns the times and the sum of the result's values.
func (b *bench) byHand(k kernel, threads int, model *tcs.Tensor, object *cc.Object) ([]float64,
	float64, error) {
	leaf, err := kernels.Load(object, k.function)
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
	n := args[0].Header.Dims[args[0].Levels[0].Mode]
	var times []float64
	var sum float64
	for r := range b.repeat + 1 {
		out, err := emptyLike(model, k.function, arena)
		if err != nil {
			return nil, 0, err
		}
		at := time.Now()
		err = leaf.Call(b.ctx, append([]*tcs.Tensor{out}, args...), [][2]int64{{0, n}},
			kernels.Env{Threads: threads, Arena: arena, Runner: runner})
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

// emptyLike returns a result for a handwritten function: a tensor with the sizes and levels of t.
// If the function also makes the result's pattern, emptyLike allocates nothing, because the
// function allocates the arrays. Otherwise emptyLike allocates the values, so that all repeats
// write to the same pages.
func emptyLike(t *tcs.Tensor, function string, arena *kernels.Arena) (*tcs.Tensor, error) {
	out := &tcs.Tensor{Header: t.Header.Clone(), Levels: slices.Clone(t.Levels), Vals: t.Vals}
	if strings.HasPrefix(function, "spadd") || function == "spgemm" {
		for l := range out.Levels {
			out.Levels[l].Pos.Ptr, out.Levels[l].Crd.Ptr = nil, nil
			out.Levels[l].Pos.Len, out.Levels[l].Crd.Len = 0, 0
			if out.Levels[l].Kind != 'd' { // handwritten kernels have 32-bit positions
				out.Levels[l].Pos.Width, out.Levels[l].Crd.Width = 4, 4
			}
		}
		out.Vals.Ptr, out.Vals.Len = nil, 0
		return out, nil
	}
	mem, err := arena.Alloc(t.Vals.Len*8, "a result")
	if err != nil {
		return nil, err
	}
	out.Vals = mem.Array(0, t.Vals.Len, 8)
	out.Hold(mem)
	return out, mem.Release()
}

// sameSum returns an error if the sums of two results differ by more than a millionth.
func sameSum(mine, sum float64, other string) error {
	if mine-sum > 1e-6*mine || sum-mine > 1e-6*mine {
		return fmt.Errorf("results differ: sum %v, %s %v", mine, other, sum)
	}
	return nil
}

func total(t *tcs.Tensor) float64 {
	s := 0.0
	for _, v := range tcs.Slice[float64](t.Vals) {
		s += v
	}
	return s
}
