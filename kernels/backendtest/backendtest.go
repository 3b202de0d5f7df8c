// Package backendtest is the test suite that every kernels.Backend must pass. It tests a leaf for
// each way to make a result, and what is guaranteed after a call that fails.
package backendtest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"distaff/codegen"
	"distaff/codegen/notation"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/kernels"
)

// statement is a statement to test. src is its source text; its tensors are 3 x 4 matrices and
// vectors. levels maps names of tensors to level formats. Other tensors are dense.
type statement struct {
	src    string
	levels map[string]string
	typ    tensor.Type
}

// suite tests the backend of one target.
type suite struct {
	kernels.Backend
	target codegen.Kind
}

// Run runs the suite on b, a backend for CPUs. It skips a test if b has no compiler for the test's
// leaf.
func Run(t *testing.T, b kernels.Backend) { RunOn(t, b, codegen.CPU) }

// RunOn is like Run, for a backend of the given target.
func RunOn(t *testing.T, backend kernels.Backend, target codegen.Kind) {
	b := suite{backend, target}
	if b.Name() == "" {
		t.Error("the backend has no name")
	}
	t.Run("dense", func(t *testing.T) {
		check(t, b, statement{src: "y(i) = A(i,j) * x(j)", levels: map[string]string{"A": "ds"}},
			"[20 0 320]")
	})
	t.Run("published", func(t *testing.T) {
		check(t, b, statement{src: "C(i,j) = A(i,j) + B(i,j)",
			levels: map[string]string{"A": "ds", "B": "ds", "C": "ds"}},
			"pos [0 2 3 5] crd [0 1 2 0 3] vals [10 2 20 3 35]")
	})
	t.Run("shared", func(t *testing.T) {
		check(t, b, statement{src: "C(i,j) = 2 * A(i,j)",
			levels: map[string]string{"A": "ds", "C": "ds"}},
			"pos [0 1 1 3] crd [1 0 3] vals [4 6 10]")
	})
	t.Run("divide", func(t *testing.T) { divide(t, b) })
	t.Run("memory", func(t *testing.T) { memory(t, b) })
	t.Run("cancelled", func(t *testing.T) { cancelled(t, b) })
	t.Run("several", func(t *testing.T) { several(t, b) })
}

// data returns the operands by name.
func data() map[string]*tcs.Tensor {
	matrix := func(pos, crd []int32, vals []float64) *tcs.Tensor {
		return &tcs.Tensor{Header: tcs.Header{Dims: []int64{3, 4}, Type: tensor.Float64},
			Vals: tcs.Of(vals),
			Levels: []tcs.Level{{Kind: 'd', Size: 3},
				{Kind: 's', Mode: 1, Size: 4, Pos: tcs.Of(pos), Crd: tcs.Of(crd)}}}
	}
	integers := func(v ...int64) *tcs.Tensor {
		return &tcs.Tensor{Header: tcs.Header{Dims: []int64{3}, Type: tensor.Int64}, Vals: tcs.Of(v),
			Levels: []tcs.Level{{Kind: 'd', Size: 3}}}
	}
	return map[string]*tcs.Tensor{
		"A": matrix([]int32{0, 1, 1, 3}, []int32{1, 0, 3}, []float64{2, 3, 5}),
		"B": matrix([]int32{0, 1, 2, 3}, []int32{0, 2, 3}, []float64{10, 20, 30}),
		"x": {Header: tcs.Header{Dims: []int64{4}, Type: tensor.Float64},
			Vals: tcs.Of([]float64{40, 10, 20, 40}), Levels: []tcs.Level{{Kind: 'd', Size: 4}}},
		"n": integers(6, 7, 8), "z": integers(3, 0, 2), "m": integers(3, 1, 2),
	}
}

// unit compiles a statement.
func unit(t *testing.T, s statement, target codegen.Kind) *codegen.Unit {
	t.Helper()
	if s.typ == tensor.None {
		s.typ = tensor.Float64
	}
	return Compile(t, s.src, s.levels, s.typ,
		codegen.Request{Tensors: codegen.Tensors{Sizes: map[string]int64{"i": 3, "j": 4}},
			Target: codegen.Target{Kind: target}})
}

// Compile parses and compiles a statement. r holds the other settings of the request, among them
// r.Tensors.Sizes. Compile sets r.Statement.Stmt and r.Tensors.All. All tensors have the type typ.
// levels gives the level formats by tensor name; other tensors are dense.
func Compile(t *testing.T, src string, levels map[string]string, typ tensor.Type,
	r codegen.Request) *codegen.Unit {
	t.Helper()
	stmt, err := notation.Parse(src)
	if err != nil {
		t.Fatal(err)
	}
	r.Statement.Stmt, r.Tensors.All = stmt, map[string]codegen.Tensor{}
	add := func(a *notation.Access) {
		f := tensor.DenseOf(len(a.Vars))
		x := codegen.Tensor{Format: f, Type: typ, NNZ: -1}
		if l := levels[a.Name]; l != "" {
			if _, x.Format, err = notation.ParseFormatFlag(a.Name + ":" + l); err != nil {
				t.Fatal(err)
			}
		}
		for l, k := range x.Format.Levels {
			x.Dims = append(x.Dims, r.Tensors.Sizes[a.Vars[l]])
			width := uint8(0)
			if k != tensor.Dense {
				width = 4
			}
			x.PosWidth, x.CrdWidth = append(x.PosWidth, width), append(x.CrdWidth, width)
		}
		r.Tensors.All[a.Name] = x
	}
	add(stmt.LHS)
	notation.Walk(stmt.RHS, func(e notation.Expr) bool {
		if a, ok := e.(*notation.Access); ok {
			add(a)
		}
		return true
	})
	u, err := codegen.Compile(r)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// Unit returns a compiled statement, for tests of code that builds leaves.
func Unit(t *testing.T) *codegen.Unit {
	return spmv(t, codegen.CPU)
}

func spmv(t *testing.T, target codegen.Kind) *codegen.Unit {
	return unit(t, statement{src: "y(i) = A(i,j) * x(j)", levels: map[string]string{"A": "ds"}},
		target)
}

// build makes a leaf, which the test closes.
func build(t *testing.T, b suite, u *codegen.Unit) kernels.Leaf {
	t.Helper()
	leaf, err := b.Build(context.Background(), u)
	if errors.Is(err, kernels.ErrNoCompiler) {
		if b.Complete() {
			t.Fatalf("a complete backend says %v", err)
		}
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return leaf
}

// arguments returns the arguments for a call of u's leaf: the result before the call, and then the
// operands with their data.
func arguments(u *codegen.Unit) []*tcs.Tensor {
	in := data()
	args := []*tcs.Tensor{nil}
	for _, a := range u.Args[1:] {
		args = append(args, in[a.Tensor])
	}
	c := &tcs.Tensor{Header: tcs.Header{Dims: []int64{3, 4}[:len(u.Result.Format.Levels)],
		Type: tensor.Float64}, Vals: tcs.Array{Width: 8}}
	if u.Compute == tensor.Int64 {
		c.Header.Type = tensor.Int64
	}
	for l, k := range u.Result.Format.Levels {
		lev := tcs.Level{Kind: k, Mode: l, Size: c.Header.Dims[l]}
		if k != tensor.Dense {
			lev.Pos.Width, lev.Crd.Width = u.Result.PosWidth[l], u.Result.CrdWidth[l]
		}
		c.Levels = append(c.Levels, lev)
	}
	switch share := u.Result.Shares; {
	case share >= 0:
		c.Levels[1] = args[share].Levels[1]
		c.Vals = tcs.Of([]float64{1e99, 1e99, 1e99}) // uninitialized memory
	case u.Result.Format.AllDense() && c.Header.Type == tensor.Int64:
		c.Vals = tcs.Of([]int64{-9, -9, -9})
	case u.Result.Format.AllDense():
		c.Vals = tcs.Of([]float64{1e99, 1e99, 1e99})
	}
	args[0] = c
	return args
}

func bounds(u *codegen.Unit) (out [][2]int64) {
	for _, v := range u.Vars {
		out = append(out, [2]int64{0, map[string]int64{"i": 3, "j": 4}[v]})
	}
	return out
}

func show(c *tcs.Tensor) string {
	if len(c.Levels) == 1 {
		return fmt.Sprint(tcs.Slice[float64](c.Vals))
	}
	return fmt.Sprintf("pos %v crd %v vals %v", tcs.Slice[int32](c.Levels[1].Pos),
		tcs.Slice[int32](c.Levels[1].Crd), tcs.Slice[float64](c.Vals))
}

// check calls the leaf of a statement two times: on one thread, and on three threads with a memory
// limit. The result of each call, as text, must be equal to want.
func check(t *testing.T, b suite, s statement, want string) {
	u := unit(t, s, b.target)
	leaf := build(t, b, u)
	defer leaf.Close()
	limit := tcs.NewLimit(1 << 20)
	for _, env := range []kernels.Env{{Threads: 1}, {Threads: 3, Arena: kernels.NewArena(limit)}} {
		args := arguments(u)
		if err := leaf.Call(context.Background(), args, bounds(u), env); err != nil {
			t.Fatal(err)
		}
		if got := show(args[0]); got != want {
			t.Errorf("%s on %d threads: got %s, want %s", s.src, env.Threads, got, want)
		}
		if err := args[0].Close(); err != nil {
			t.Error(err)
		}
	}
	if limit.Used() != 0 {
		t.Errorf("%d bytes stay counted", limit.Used())
	}
}

// divide checks that a division by zero is an error with the coordinate.
func divide(t *testing.T, b suite) {
	for _, c := range []struct{ by, want string }{{"z", "at i = 1"}, {"m", ""}} {
		u := unit(t, statement{src: "q(i) = n(i) / " + c.by + "(i)", typ: tensor.Int64}, b.target)
		leaf := build(t, b, u)
		defer leaf.Close()
		args := arguments(u)
		err := leaf.Call(context.Background(), args, bounds(u),
			kernels.Env{Threads: 1, Vars: u.Vars, What: "q"})
		var zero *kernels.DivideError
		switch {
		case c.want != "" && !errors.As(err, &zero):
			t.Errorf("got the error %v for a division by zero, want a DivideError", err)
		case c.want != "" && (len(zero.Coord) != 1 || zero.Coord[0] != 1):
			t.Errorf("the division by zero was reported at %v, want [1]", zero.Coord)
		case c.want == "" && (err != nil || fmt.Sprint(
			tcs.Slice[int64](args[0].Vals)) != "[2 7 4]"):
			t.Errorf("got the values %v and the error %v, want [2 7 4] and none",
				tcs.Slice[int64](args[0].Vals), err)
		}
	}
}

// memory checks that a result above the limit is an error, and that nothing is published.
func memory(t *testing.T, b suite) {
	u := unit(t, statement{src: "C(i,j) = A(i,j) + B(i,j)",
		levels: map[string]string{"A": "ds", "B": "ds", "C": "ds"}}, b.target)
	leaf := build(t, b, u)
	defer leaf.Close()
	limit := tcs.NewLimit(16)
	args := arguments(u)
	err := leaf.Call(context.Background(), args, bounds(u),
		kernels.Env{Threads: 1, Arena: kernels.NewArena(limit)})
	var refused *tcs.MemoryError
	if !errors.As(err, &refused) {
		t.Errorf("got %v, want a MemoryError", err)
	}
	if args[0].Vals.Ptr != nil || args[0].Levels[1].Crd.Ptr != nil || limit.Used() != 0 {
		t.Errorf(
			"after a leaf has failed, no arrays may be published and no memory counted; got "+
				"%d bytes", limit.Used())
	}
}

// cancelled checks that a call with a cancelled context does nothing.
func cancelled(t *testing.T, b suite) {
	u := spmv(t, b.target)
	leaf := build(t, b, u)
	defer leaf.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	args := arguments(u)
	if err := leaf.Call(ctx, args, bounds(u), kernels.Env{Threads: 1}); !errors.Is(err,
		context.Canceled) {
		t.Errorf("got the error %v, want the context's error", err)
	}
	if got := show(args[0]); got != "[1e+99 1e+99 1e+99]" {
		t.Errorf("a cancelled call must write nothing; got %s", got)
	}
}

// several checks that leaves exist independently, even if they are made of one unit: closing one
// does not affect the others.
func several(t *testing.T, b suite) {
	u := spmv(t, b.target)
	first, second := build(t, b, u), build(t, b, u)
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	defer second.Close()
	args := arguments(u)
	if err := second.Call(context.Background(), args, bounds(u),
		kernels.Env{Threads: 1}); err != nil || show(args[0]) != "[20 0 320]" {
		t.Errorf("got %s, %v", show(args[0]), err)
	}
}
