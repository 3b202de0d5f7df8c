package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"distaff/codegen"
	"distaff/codegen/emit/cuda"
	"distaff/codegen/notation"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/kernels"
)

// statement is a statement to compile for the GPU, with its operands.
type statement struct {
	name     string // for files
	text     string
	result   string // format of the result; "" means dense
	dims     []int64
	operands map[string]*tcs.Tensor
	schedule string // "" means the target's default
}

func (s *statement) request() (r codegen.Request, err error) {
	stmt, err := notation.Parse(s.text)
	if err != nil {
		return r, err
	}
	r = codegen.Request{Statement: codegen.Statement{Stmt: stmt},
		Tensors: codegen.Tensors{All: map[string]codegen.Tensor{}, Sizes: map[string]int64{}},
		Target:  codegen.Target{Kind: codegen.CUDA},
		Ask:     codegen.Ask{Verify: s.schedule != ""}}
	if s.schedule != "" {
		r.Ask.Schedule = []string{s.schedule}
	}
	left := codegen.Tensor{Format: tensor.DenseOf(len(s.dims)),
		Type: tensor.Float64, Dims: s.dims, NNZ: -1}
	if s.result != "" {
		if left.Format, err = notation.ParseFormat(s.result); err != nil {
			return r, err
		}
	}
	r.Tensors.All[stmt.LHS.Name] = left
	size := func(a *notation.Access, dims []int64) {
		for k, v := range a.Vars {
			r.Tensors.Sizes[v] = dims[k]
		}
	}
	size(stmt.LHS, s.dims)
	notation.Walk(stmt.RHS, func(e notation.Expr) bool {
		if a, ok := e.(*notation.Access); ok {
			t := s.operands[a.Name]
			r.Tensors.All[a.Name] = describe(t)
			size(a, t.Header.Dims)
		}
		return true
	})
	for v := range r.Tensors.Sizes {
		r.Tensors.Exact = append(r.Tensors.Exact, v)
	}
	return r, nil
}

func describe(t *tcs.Tensor) codegen.Tensor {
	d := codegen.Tensor{Format: t.Format(), Type: t.Header.Type,
		Dims: t.Header.Dims, NNZ: t.Vals.Len}
	positions := int64(1)
	for l := range t.Levels {
		level := &t.Levels[l]
		if positions *= level.Size; level.Kind != 'd' {
			positions = level.Crd.Len
		}
		d.Counts = append(d.Counts, positions)
		d.PosWidth, d.CrdWidth = append(d.PosWidth, level.Pos.Width),
			append(d.CrdWidth, level.Crd.Width)
	}
	return d
}

// arguments returns the arguments of u, with memory for the result.
func (s *statement) arguments(u *codegen.Unit) ([]*tcs.Tensor, [][2]int64, error) {
	args := []*tcs.Tensor{nil}
	for _, a := range u.Args[1:] {
		if a.Convert || a.Map {
			return nil, nil, fmt.Errorf("the leaf wants %s in another format", a.Tensor)
		}
		args = append(args, s.operands[a.Tensor])
	}
	out := &tcs.Tensor{Header: tcs.Header{Dims: s.dims, Type: tensor.Float64}}
	switch share := u.Result.Shares; {
	case share >= 0:
		of := args[share]
		out.Levels, out.Vals = of.Levels, tcs.Of(make([]float64, of.Vals.Len))
	case u.Result.Format.AllDense():
		n := int64(1)
		for m, d := range s.dims {
			n *= d
			out.Levels = append(out.Levels, tcs.Level{Kind: 'd', Mode: m, Size: d})
		}
		out.Vals = tcs.Of(make([]float64, n))
	default:
		return nil, nil, fmt.Errorf("a result of its own pattern is not measured here")
	}
	args[0] = out
	var bounds [][2]int64
	for _, v := range u.Vars {
		bounds = append(bounds, [2]int64{0, u.Request.Tensors.Sizes[v]})
	}
	return args, bounds, nil
}

// timer is a leaf that can time its own runs with its device's clock (kernels/cuda).
type timer interface {
	Time(ctx context.Context, args []*tcs.Tensor, bounds [][2]int64, env kernels.Env,
		n int) ([]float64, error)
}

// keeper is a backend that can keep tensors on its device between calls (kernels/cuda).
type keeper interface {
	Resident(t *tcs.Tensor)
	Forget(t *tcs.Tensor)
}

// ours is the time and the result of a leaf.
type ours struct {
	ms     float64
	result []float64
}

// measure compiles a statement, times its leaf over b.rounds runs, and runs it once more for its
// result.
func (b *bench) measure(s statement) (o ours, err error) {
	r, err := s.request()
	if err != nil {
		return o, err
	}
	u, err := codegen.Compile(r)
	if err != nil {
		return o, err
	}
	if b.emit != "" {
		if err := os.WriteFile(filepath.Join(b.emit, s.name+".cu"), []byte(cuda.File(u.Func)),
			0o666); err != nil {
			return o, err
		}
	}
	leaf, err := b.backend.Build(b.ctx, u)
	if err != nil {
		return o, err
	}
	defer leaf.Close()
	args, bounds, err := s.arguments(u)
	if err != nil {
		return o, err
	}
	if k, ok := b.backend.(keeper); ok {
		for _, t := range args[1:] {
			k.Resident(t)
			defer k.Forget(t)
		}
	}
	env := kernels.Env{Threads: runtime.GOMAXPROCS(0), Vars: u.Vars, What: s.text}
	ms, err := b.times(leaf, args, bounds, env)
	if err != nil {
		return o, err
	}
	o.ms = median(ms)
	o.result = tcs.Slice[float64](args[0].Vals)
	clear(o.result)
	return o, leaf.Call(b.ctx, args, bounds, env)
}

// times runs a leaf and returns the milliseconds of each run, by the device's clock if the leaf is
// a timer, and otherwise by this machine's.
func (b *bench) times(leaf kernels.Leaf, args []*tcs.Tensor, bounds [][2]int64,
	env kernels.Env) ([]float64, error) {
	if t, ok := leaf.(timer); ok {
		return t.Time(b.ctx, args, bounds, env, b.rounds)
	}
	var ms []float64
	for range b.rounds {
		at := time.Now()
		if err := leaf.Call(b.ctx, args, bounds, env); err != nil {
			return nil, err
		}
		ms = append(ms, 1e3*time.Since(at).Seconds())
	}
	return ms, nil
}

// fileName returns a name without characters that file systems do not accept.
func fileName(parts ...string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' {
			return c
		}
		return '_'
	}, strings.Join(parts, "-"))
}
