package prepared

import (
	"slices"
	"sync"

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

// narrowValues converts the int64 values of wide to int32 and stores them in t, which must have the
// same pattern.
func (p *Planned) narrowValues(t, wide *tcs.Tensor) error {
	from, to := tcs.Slice[int64](wide.Vals), tcs.Slice[int32](t.Vals)
	const most = 1 << 16 // number of values that a thread converts at a time
	bad := make([]bool, max(p.Reader.Env.Threads, 1))
	var threads sync.WaitGroup
	for n := range bad {
		threads.Go(func() {
			lost := int64(0) // bits that differ from the sign bit
			for lo := n * most; lo < len(from); lo += most * len(bad) {
				for i, v := range from[lo:min(lo+most, len(from))] {
					to[lo+i] = int32(v)
					lost |= int64(int32(v)) ^ v
				}
			}
			bad[n] = lost != 0
		})
	}
	threads.Wait()
	if !slices.Contains(bad, true) {
		return nil
	}
	e := &kernels.NarrowError{Name: p.Parsed.Result, Type: t.Header.Type, What: p.Parsed.Stmt.String(),
		Vars: p.UserVars(p.Parsed.Norm.LHS.Vars)}
	wide.Entries(func(coord []int64, i int64) bool {
		e.Value, e.Coord = from[i], slices.Clone(coord)
		return int64(int32(e.Value)) == e.Value
	})
	return e
}
