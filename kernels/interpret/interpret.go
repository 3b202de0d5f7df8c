// Package interpret is the backend that interprets leaves. It is slow, needs no compiler, and
// checks every memory access.
package interpret

import (
	"context"
	"fmt"
	"hash/fnv"
	"reflect"
	"unsafe"

	"distaff/codegen"
	"distaff/codegen/interp"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/kernels"
)

// leaf is an interpreted leaf.
type leaf struct {
	prog  *interp.Program
	fresh bool // the result's memory is uninitialized
}

// Backend makes leaves for the checking interpreter (codegen/interp).
type Backend struct{}

func (Backend) Build(_ context.Context, u *codegen.Unit) (kernels.Leaf, error) {
	p, err := interp.Compile(u.Func)
	if err != nil {
		return nil, err
	}
	return &leaf{p, !u.Result.Accumulate && u.Result.InPlace == 0}, nil
}

func (Backend) Complete() bool { return true }
func (Backend) Name() string   { return "interpreter" }

// Key returns "", because the interpreter makes no objects that a cache could store.
func (Backend) Key(*codegen.Unit) string { return "" }

func (f *leaf) Close() error { return nil }

func (f *leaf) Call(ctx context.Context, args []*tcs.Tensor, bounds [][2]int64,
	env kernels.Env) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	in := make([]interp.Arg, len(args))
	for k, t := range args {
		for _, lev := range t.Levels {
			in[k].Levels = append(in[k].Levels, interp.Level{Size: lev.Size, Offset: lev.Offset,
				Pos: array(lev.Pos, tensor.Int64), Crd: array(lev.Crd, tensor.Int64)})
		}
		in[k].Vals = array(t.Vals, t.Header.Type)
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
	return publish(args[0], in[0], env)
}

// array returns an array's memory in the interpreter's form. 4-byte integers are read as int32.
func array(a tcs.Array, t tensor.Type) interp.Array {
	out := interp.Array{First: a.First}
	if a.Ptr == nil || a.Len == 0 {
		return out
	}
	if t == tensor.Int64 && a.Width == 4 {
		t = tensor.Int32
	}
	switch t {
	case tensor.Float64:
		out.Data = tcs.Slice[float64](a)
	case tensor.Float32:
		out.Data = tcs.Slice[float32](a)
	case tensor.Int64:
		out.Data = tcs.Slice[int64](a)
	case tensor.Int32:
		out.Data = tcs.Slice[int32](a)
	case tensor.Complex128:
		out.Data = tcs.Slice[complex128](a)
	case tensor.Complex64:
		out.Data = tcs.Slice[complex64](a)
	case tensor.Bool:
		out.Data = tcs.Slice[bool](a)
	case tensor.Int8:
		out.Data = tcs.Slice[int8](a)
	case tensor.Int16:
		out.Data = tcs.Slice[int16](a)
	case tensor.Uint8:
		out.Data = tcs.Slice[uint8](a)
	case tensor.Uint16:
		out.Data = tcs.Slice[uint16](a)
	case tensor.Uint32:
		out.Data = tcs.Slice[uint32](a)
	case tensor.Uint64:
		out.Data = tcs.Slice[uint64](a)
	}
	return out
}

// publish allocates memory for the result and copies into it the arrays that the leaf made. If
// memory for any array is refused, publish changes none of the result's arrays and returns the
// error.
func publish(out *tcs.Tensor, from interp.Arg, env kernels.Env) error {
	var limit *tcs.Limit
	if env.Arena != nil {
		limit = env.Arena.Limit()
	}
	var mems []*tcs.Memory
	var changes []func()
	var err error
	take := func(a *tcs.Array, from interp.Array) {
		src, n := memory(from)
		if err != nil || n == 0 || src == a.Ptr {
			return
		}
		bytes := int64(n) * int64(a.Width)
		var mem *tcs.Memory
		if mem, err = tcs.Alloc(limit, bytes, "a result"); err != nil {
			return
		}
		copy(mem.Slice(), unsafe.Slice((*byte)(src), bytes))
		mems = append(mems, mem)
		changes = append(changes, func() {
			*a = mem.Array(0, int64(n), a.Width)
			a.First = from.First
			out.Hold(mem)
		})
	}
	for l := range out.Levels {
		take(&out.Levels[l].Pos, from.Levels[l].Pos)
		take(&out.Levels[l].Crd, from.Levels[l].Crd)
	}
	take(&out.Vals, from.Vals)
	if err == nil {
		for _, change := range changes {
			change()
		}
	}
	for _, mem := range mems {
		mem.Release() // the tensor has references of its own
	}
	return err
}

// memory returns the address and the length of one of the interpreter's arrays.
func memory(a interp.Array) (unsafe.Pointer, int) {
	v := reflect.ValueOf(a.Data)
	if !v.IsValid() {
		return nil, 0
	}
	return v.UnsafePointer(), v.Len()
}
