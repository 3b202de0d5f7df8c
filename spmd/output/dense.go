package output

import (
	"distaff/io/tcs"
	"distaff/spmd/transfer"
)

// gatherDense copies dense blocks into their places at rank 0.
func (r *Result) gatherDense() (*tcs.Tensor, error) {
	b, c, limit := r.Blocks, r.Env.Comm.Uncounted(), r.Env.Limit
	if c.Rank() != 0 {
		for n, owner := range b.Owners {
			if owner != c.Rank() {
				continue
			}
			s, err := transfer.Send(c, b.Own[n], 0, 0)
			if err == nil {
				err = s.Wait()
			}
			if err != nil {
				return nil, err
			}
		}
		return nil, nil
	}
	shape := &tcs.Shape{Header: tcs.Header{Dims: b.Dims, Type: b.Type}, Kinds: b.Kinds, Modes: b.Modes, Counts: make([]int64, len(b.Kinds))}
	whole, err := tcs.New(shape, limit, r.Name)
	if err != nil {
		return nil, err
	}
	for n, owner := range b.Owners {
		block := b.Own[n]
		if owner != 0 {
			if block, err = transfer.Recv(c, r.Like, owner, 0, transfer.Pages(limit)); err != nil {
				whole.Close()
				return nil, err
			}
		}
		copyDense(whole, block)
		if owner != 0 {
			block.Close()
		}
	}
	return whole, nil
}

// copyDense copies a block of a dense tensor into its place.
func copyDense(whole, block *tcs.Tensor) {
	n := len(whole.Levels)
	switch {
	case block.Vals.Len == 0: // of a mode of size 0, whatever the others'
		return
	case n == 0:
		whole.SetValue(0, block.Value(0))
		return
	}
	size := int64(whole.Type.Size())
	from, to := block.Vals.Bytes(), whole.Vals.Bytes()
	var copyBelow func(l int, src, dst int64)
	copyBelow = func(l int, src, dst int64) {
		b, w := block.Levels[l], whole.Levels[l]
		at := b.Offset - w.Offset
		if l == n-1 {
			s, d := src*b.Size*size, (dst*w.Size+at)*size
			copy(to[d:d+b.Size*size], from[s:s+b.Size*size])
			return
		}
		for i := range b.Size {
			copyBelow(l+1, src*b.Size+i, dst*w.Size+at+i)
		}
	}
	copyBelow(0, 0, 0)
}
