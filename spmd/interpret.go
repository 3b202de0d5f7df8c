package spmd

import (
	"context"
	"fmt"
	"hash/fnv"
	"unsafe"

	"distaff/codegen/interp"
	"distaff/codegen/ir"
	"distaff/io/tcs"
	"distaff/kernels"
)

// interpLeaf runs a leaf in the checking interpreter instead of compiling it.
type interpLeaf struct {
	prog  *interp.Program
	fresh bool // the result's memory holds anything
}

func newInterpLeaf(fn *ir.Func, fresh bool) (kernels.Leaf, error) {
	p, err := interp.Compile(fn)
	if err != nil {
		return nil, err
	}
	return &interpLeaf{p, fresh}, nil
}

func (f *interpLeaf) Close() error { return nil }

func (f *interpLeaf) Call(ctx context.Context, args []*tcs.Tensor, bounds [][2]int64, env kernels.Env) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	in := make([]interp.Arg, len(args))
	for k, t := range args {
		for _, lev := range t.Levels {
			in[k].Levels = append(in[k].Levels, interp.Level{Size: lev.Size, Offset: lev.Offset,
				Pos: interpArray(lev.Pos, tcs.Int64), Crd: interpArray(lev.Crd, tcs.Int64)})
		}
		in[k].Vals = interpArray(t.Vals, t.Type)
	}
	in[0].Vals.Fresh = f.fresh
	h := fnv.New64a()
	fmt.Fprint(h, env.What, bounds)
	fail, err := f.prog.Run(in, bounds, interp.Env{Threads: env.Threads, Seed: h.Sum64()})
	if err != nil {
		return err
	}
	if fail != nil {
		return kernels.Failure(fail.Code, fail.Coord, env)
	}
	out := args[0]
	for l := range out.Levels {
		lev := &out.Levels[l]
		if err := published(out, &lev.Pos, in[0].Levels[l].Pos, env); err != nil {
			return err
		}
		if err := published(out, &lev.Crd, in[0].Levels[l].Crd, env); err != nil {
			return err
		}
	}
	return published(out, &out.Vals, in[0].Vals, env)
}

// interpArray is an array's memory as the interpreter takes it; integers of 4
// bytes are read as such.
func interpArray(a tcs.Array, t tcs.Type) interp.Array {
	out := interp.Array{First: a.First}
	if a.Ptr == nil || a.Len == 0 {
		return out
	}
	if t == tcs.Int64 && a.Width == 4 {
		t = tcs.Int32
	}
	switch t {
	case tcs.Float64:
		out.Data = tcs.Slice[float64](a)
	case tcs.Float32:
		out.Data = tcs.Slice[float32](a)
	case tcs.Int64:
		out.Data = tcs.Slice[int64](a)
	case tcs.Int32:
		out.Data = tcs.Slice[int32](a)
	case tcs.Complex128:
		out.Data = tcs.Slice[complex128](a)
	case tcs.Complex64:
		out.Data = tcs.Slice[complex64](a)
	}
	return out
}

// published copies an array that the leaf made into memory of the tensor's.
func published(t *tcs.Tensor, a *tcs.Array, from interp.Array, env kernels.Env) error {
	var src unsafe.Pointer
	var n int
	switch d := from.Data.(type) {
	case []int32:
		src, n = unsafe.Pointer(unsafe.SliceData(d)), len(d)
	case []int64:
		src, n = unsafe.Pointer(unsafe.SliceData(d)), len(d)
	case []float32:
		src, n = unsafe.Pointer(unsafe.SliceData(d)), len(d)
	case []float64:
		src, n = unsafe.Pointer(unsafe.SliceData(d)), len(d)
	case []complex64:
		src, n = unsafe.Pointer(unsafe.SliceData(d)), len(d)
	case []complex128:
		src, n = unsafe.Pointer(unsafe.SliceData(d)), len(d)
	}
	if n == 0 || src == a.Ptr {
		return nil
	}
	bytes := int64(n) * int64(a.Width)
	mem, err := tcs.Alloc(env.Arena.Limit(), bytes, "a result")
	if err != nil {
		return err
	}
	*a = mem.Array(0, int64(n), a.Width)
	a.First = from.First
	copy(mem.Slice(), unsafe.Slice((*byte)(src), bytes))
	t.Hold(mem)
	return mem.Release()
}
