package cuda_test

import (
	"fmt"
	"reflect"
	"testing"

	"distaff/codegen/emit/cuda"
	"distaff/codegen/interp"
	"distaff/codegen/ir"
	"distaff/io/tensor"
)

// host interprets the host's statements of a leaf. It implements only what the leaves of the tests
// need.
type host struct {
	t       *testing.T
	args    []interp.Arg
	kernels map[*ir.Launch]cuda.Kernel
	program *program
	arrays  map[*ir.Array]any
	vars    map[*ir.Var]int64
	fail    *interp.Failure
	err     error // the error of an emulated kernel
}

// newHost returns a host for one of a program's leaves.
func newHost(t *testing.T, p *program, f *ir.Func, args []interp.Arg) *host {
	t.Helper()
	h := &host{t: t, program: p, args: args, kernels: map[*ir.Launch]cuda.Kernel{},
		arrays: map[*ir.Array]any{}, vars: map[*ir.Var]int64{}}
	for _, k := range cuda.Kernels(f) {
		h.kernels[k.Launch] = k
	}
	for _, p := range f.Params {
		h.param(p)
	}
	return h
}

func (h *host) param(p ir.Param) {
	arg := &h.args[p.Slot.Arg]
	level := func() interp.Level { return arg.Levels[p.Slot.Level] }
	switch p.Slot.Field {
	case ir.Vals:
		h.arrays[p.A] = arg.Vals.Data
	case ir.Pos:
		h.arrays[p.A] = level().Pos.Data
	case ir.Crd:
		h.arrays[p.A] = level().Crd.Data
	case ir.Size:
		h.vars[p.V] = level().Size
	case ir.NNZ:
		h.vars[p.V] = int64(reflect.ValueOf(arg.Vals.Data).Len())
	default:
		h.t.Fatalf("the test's host has no %s", p.Slot)
	}
}

// block runs the host's statements until one fails.
func (h *host) block(b *ir.Block) {
	for _, s := range b.List {
		if h.fail == nil && h.err == nil {
			h.stmt(s)
		}
	}
}

func (h *host) stmt(s ir.Stmt) {
	switch s := s.(type) {
	case *ir.Comment, *ir.Free:
	case *ir.Declare:
		h.vars[s.V] = h.eval(s.Init)
	case *ir.Alloc:
		h.arrays[s.A] = slice(s.A.Elem, h.eval(s.Len))
	case *ir.Fill:
		h.call(cuda.Fill(s.A.Elem, h.eval(s.Hi)-h.eval(s.Lo)), s.A, h.eval(s.Lo), h.eval(s.Hi), s.X)
	case *ir.Scan:
		h.call(cuda.Scan(s.A.Elem, h.eval(s.Hi)-h.eval(s.Lo)), s.A, h.eval(s.Lo), h.eval(s.Hi), nil)
	case *ir.Launch:
		h.launch(s)
	case *ir.Publish:
		h.publish(s)
	default:
		h.t.Fatalf("the test's host has no %T", s)
	}
}

func (h *host) publish(s *ir.Publish) {
	arg := &h.args[s.Slot.Arg]
	to := &arg.Vals
	switch s.Slot.Field {
	case ir.Pos:
		to = &arg.Levels[s.Slot.Level].Pos
	case ir.Crd:
		to = &arg.Levels[s.Slot.Level].Crd
	}
	*to = interp.Array{Data: reflect.ValueOf(h.arrays[s.A]).Slice(0, int(h.eval(s.Len))).Interface()}
}

func (h *host) launch(s *ir.Launch) {
	k := h.kernels[s]
	var args []any
	for _, a := range k.Arrays {
		args = append(args, h.arrays[a])
	}
	for _, v := range k.Vars {
		if v.Typ != tensor.Int64 {
			h.t.Fatalf("%s is a parameter of type %s", v.Name, v.Typ)
		}
		args = append(args, h.vars[v])
	}
	status := make([]int64, cuda.StatusSize/8)
	if k.Fails {
		args = append(args, status)
	}
	h.err = h.program.run(k.Name, h.eval(s.Grid), args...)
	if code := int32(status[0]); code != 0 {
		n := status[0] >> 32
		h.fail = &interp.Failure{Code: ir.FailCode(code), Coord: status[1 : 1+n]}
	}
}

// call runs kernels of the prelude over a part of an array.
func (h *host) call(c cuda.Call, a *ir.Array, lo, hi int64, x ir.Expr) {
	part := reflect.ValueOf(h.arrays[a]).Slice(int(lo), int(hi)).Interface()
	var value any
	if x != nil {
		value = reflect.ValueOf(h.eval(x)).Convert(reflect.TypeOf(part).Elem()).Interface()
	}
	h.err = call(h.program, c, part, value, slice(a.Elem, c.Sums))
}

// call runs kernels of the prelude over a whole slice.
func call(p *program, c cuda.Call, whole, value, sums any) error {
	for _, step := range c.Steps {
		var args []any
		for _, k := range step.Args {
			args = append(args, map[cuda.ArgKind]any{
				cuda.ArgArray: whole, cuda.ArgLength: int64(reflect.ValueOf(whole).Len()), cuda.ArgValue: value,
				cuda.ArgSums: sums, cuda.ArgBlocks: c.Sums,
			}[k])
		}
		if err := p.run(step.Kernel, step.Grid, args...); err != nil {
			return err
		}
	}
	return nil
}

// eval returns the value of an expression that the host computes, a 64-bit integer.
func (h *host) eval(x ir.Expr) int64 {
	switch x := x.(type) {
	case *ir.Var:
		return h.vars[x]
	case *ir.Lit:
		return x.I
	case *ir.Load:
		return reflect.ValueOf(h.arrays[x.A]).Index(int(h.eval(x.Index))).Int()
	case *ir.Binary:
		a, b := h.eval(x.X), h.eval(x.Y)
		switch x.Op {
		case ir.Add:
			return a + b
		case ir.Sub:
			return a - b
		case ir.Mul:
			return a * b
		case ir.Div:
			return a / b
		}
	}
	panic(fmt.Sprintf("the test's host has no expression %s", ir.PrintExpr(x)))
}
