package spmd

import (
	"errors"
	"fmt"
	"hash/fnv"
	"slices"

	"distaff/kernels"
	"distaff/kernels/cc"
	"distaff/spmd/comm"
)

// loadLeaf compiles and loads a leaf. On several ranks the lowest rank of each
// kind of CPU compiles it (or finds it in its cache), and its bytes go to the
// others of that kind: one compilation a job, however many nodes share no cache. Collective then.
func (r *run) loadLeaf(b *cc.Builder, src cc.Source, name string) (kernels.Leaf, error) {
	if r.ranks == nil || r.ranks.Size() == 1 {
		return kernels.New(r.ctx, b, src, name)
	}
	c := r.ranks.Uncounted()
	h := fnv.New64a()
	h.Write([]byte(b.CPUKind()))
	kinds := make([]int64, c.Size())
	if err := c.Allgather(comm.Of([]int64{int64(h.Sum64())}), comm.Of(kinds)); err != nil {
		return nil, err
	}
	mine := int64(h.Sum64())
	var object *cc.Object
	alone := false // no one of this kind has a compiler: each looks for what it has
	for root, kind := range kinds {
		if slices.Index(kinds, kind) != root {
			continue
		}
		var data []byte
		if root == c.Rank() {
			var err error
			if object, err = b.Build(r.ctx, src); errors.Is(err, cc.ErrNoCompiler) {
				object = nil
			} else if err != nil {
				return nil, err
			} else {
				data = object.Bytes
			}
		}
		data, err := bcastFrom(c, data, root)
		if err != nil {
			return nil, err
		}
		switch {
		case kind != mine:
		case len(data) == 0:
			alone = true
		case root != c.Rank():
			if object, err = cc.Decode(data); err != nil {
				return nil, fmt.Errorf("the compiled leaf that rank %d sent: %w", root, err)
			}
		}
	}
	if alone {
		return kernels.New(r.ctx, b, src, name)
	}
	return kernels.Load(object, name)
}

// bcastFrom gives rank root's data to every rank.
func bcastFrom(c comm.Comm, data []byte, root int) ([]byte, error) {
	n := []int64{int64(len(data))}
	if err := c.Bcast(comm.Of(n), root); err != nil {
		return nil, err
	}
	if c.Rank() != root {
		data = make([]byte, n[0])
	}
	return data, c.Bcast(comm.Of(data), root)
}
