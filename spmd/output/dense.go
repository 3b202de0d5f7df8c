package output

import (
	"distaff/io/tcs"
	"distaff/spmd/load"
	"distaff/spmd/transfer"
)

// gatherDense copies the dense blocks of all ranks into one tensor at rank 0. It returns nil at
// other ranks.
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
	shape := &tcs.Shape{Header: tcs.Header{Dims: b.Layout.Dims, Type: b.Layout.Type},
		Format: b.Layout.Format,
		Counts: make([]int64, len(b.Layout.Format.Levels))}
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
		load.CopyCommon(whole, block)
		if owner != 0 {
			block.Close()
		}
	}
	return whole, nil
}
