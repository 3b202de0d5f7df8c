package prepared

import (
	"maps"
	"slices"
	"sync"

	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/kernels"
	"distaff/spmd/load"
	"distaff/spmd/plan"
)

// needsNarrowing reports whether the statement computes in int64 and has an int32 result. Leaves
// and sums then make int64 blocks, because a partial sum may exceed int32 although the whole sum
// does not.
func (k *Statement) needsNarrowing() bool {
	return k.Reader.Types[k.p.Result] != k.Reader.ResultType
}

// narrow converts the computed blocks to the result's type, and takes ownership of the blocks. If a
// value does not fit, all ranks return the error of the lowest rank that has such a value. Every
// rank must call it.
func (k *Statement) narrow(blocks map[plan.Block]*tcs.Tensor) (map[plan.Block]*tcs.Tensor, error) {
	var err error
	for _, b := range slices.Sorted(maps.Keys(blocks)) {
		wide := blocks[b]
		if blocks[b], err = k.withValues(wide, k.Reader.Types[k.p.Result]); err == nil {
			if err = k.narrowValues(blocks[b], wide); err == nil {
				wide.Close()
				continue
			}
			blocks[b].Close()
		}
		blocks[b] = wide
		break
	}
	if err = load.Agree(k.Reader.Env.Comm, err); err != nil {
		tcs.CloseAll(blocks)
		return nil, err
	}
	return blocks, nil
}

// withValues returns a tensor over t's level arrays, with memory of its own for values of type typ.
func (k *Statement) withValues(t *tcs.Tensor, typ tensor.Type) (*tcs.Tensor, error) {
	width := uint8(typ.Size())
	mem, err := k.Reader.Env.Arena.Alloc(t.Vals.Len*int64(width), "the values of "+k.p.Result)
	if err != nil {
		return nil, err
	}
	out := &tcs.Tensor{Header: t.Header.Clone(), Levels: slices.Clone(t.Levels)}
	out.Header.Type = typ
	for _, lev := range t.Levels {
		out.ShareArray(t, lev.Pos.Ptr)
		out.ShareArray(t, lev.Crd.Ptr)
	}
	out.Vals = mem.Array(0, t.Vals.Len, width)
	out.Vals.First = t.Vals.First
	out.Hold(mem)
	out.Trust()
	return out, mem.Release()
}

// narrowValues converts the int64 values of wide to int32 and stores them in t, which must have the
// same pattern.
func (k *Statement) narrowValues(t, wide *tcs.Tensor) error {
	from, to := tcs.Slice[int64](wide.Vals), tcs.Slice[int32](t.Vals)
	const most = 1 << 16 // number of values that a thread converts at a time
	bad := make([]bool, max(k.Reader.Env.Threads, 1))
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
	e := &kernels.NarrowError{Name: k.p.Result, Type: t.Header.Type, What: k.p.Stmt.String(),
		Vars: k.UserNames(k.p.Norm.LHS.Vars)}
	wide.Entries(func(coord []int64, i int64) bool {
		e.Value, e.Coord = from[i], slices.Clone(coord)
		return int64(int32(e.Value)) == e.Value
	})
	return e
}
