package prepared

import (
	"slices"
	"sync"
	"unsafe"

	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/kernels"
)

// withValues returns a tensor over t's level arrays, with memory of its own for values of type typ.
func (p *Planned) withValues(t *tcs.Tensor, typ tensor.Type) (*tcs.Tensor, error) {
	out := &tcs.Tensor{Header: t.Header.Clone(), Levels: slices.Clone(t.Levels)}
	out.Header.Type = typ
	for _, lev := range t.Levels {
		out.ShareArray(t, lev.Pos.Ptr)
		out.ShareArray(t, lev.Crd.Ptr)
	}
	if err := p.allocValues(out, p.Parsed.Result, t.Vals.Len, t.Vals.First); err != nil {
		out.Close()
		return nil, err
	}
	out.Trust()
	return out, nil
}

// allocValues gives the tensor t memory of its own for n values. first is the number of the first
// value, and name is the name of the tensor for messages.
func (p *Planned) allocValues(t *tcs.Tensor, name string, n, first int64) error {
	width := uint8(t.Header.Type.Size())
	mem, err := p.Reader.Env.Arena.Alloc(tensor.Times(n, int64(width)), "the values of "+name)
	if err != nil {
		return err
	}
	t.Vals = mem.Array(0, n, width)
	t.Vals.First = first
	t.Hold(mem)
	return mem.Release()
}

// narrowValues converts the integers of wide to t's integer type and stores them in t, which must
// have the same pattern. A value that does not fit the type is a *kernels.NarrowError.
func (p *Planned) narrowValues(t, wide *tcs.Tensor) error {
	from, to := wide.Header.Type, t.Header.Type
	src, dst, n := wide.Vals.Bytes(), t.Vals.Bytes(), int(wide.Vals.Len)
	const most = 1 << 16 // number of values that a thread converts at a time
	bad := make([]bool, max(p.Reader.Env.Threads, 1))
	var threads sync.WaitGroup
	for k := range bad {
		threads.Go(func() {
			for lo := k * most; lo < n && !bad[k]; lo += most * len(bad) {
				count := min(most, n-lo)
				s, d := src[lo*int(from.Size()):], dst[lo*int(to.Size()):]
				if from == tensor.Int64 && to == tensor.Int32 {
					bad[k] = narrowTo32(d, s, count)
				} else {
					_, err := tcs.ConvertValues(d, to, s, from, count)
					bad[k] = err != nil
				}
			}
		})
	}
	threads.Wait()
	if !slices.Contains(bad, true) {
		return nil
	}
	e := &kernels.NarrowError{Name: p.Parsed.Result, Type: to, What: p.Parsed.Stmt.String(),
		Vars: p.UserVars(p.Parsed.Norm.LHS.Vars)}
	wide.Entries(func(coord []int64, i int64) bool {
		e.Value, e.Coord = wide.Value(i), slices.Clone(coord)
		return e.Value.FitsInt(to)
	})
	return e
}

// narrowTo32 converts the first n int64 values of src to int32 and stores them in dst. It reports
// whether a value does not fit.
func narrowTo32(dst, src []byte, n int) bool {
	if n == 0 {
		return false
	}
	to := unsafe.Slice((*int32)(unsafe.Pointer(&dst[0])), n)
	lost := int64(0) // bits that differ from the sign bit
	for i, v := range unsafe.Slice((*int64)(unsafe.Pointer(&src[0])), n) {
		to[i] = int32(v)
		lost |= int64(int32(v)) ^ v
	}
	return lost != 0
}
