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
	if r.comm.Size() == 1 {
		return kernels.New(r.ctx, b, src, name)
	}
	c := r.comm.Uncounted()
	h := fnv.New64a()
	h.Write([]byte(b.CPUKind()))
	kinds := make([]int64, c.Size())
	if err := c.Allgather(comm.Of([]int64{int64(h.Sum64())}), comm.Of(kinds)); err != nil {
		return nil, err
	}
	mine := int64(h.Sum64())
	var object *cc.Object
	// Where no one of a kind has a compiler, each of that kind looks for what it has:
	// alone, if it is one of them, and somewhere, if there are any.
	alone, somewhere := false, false
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
		somewhere = somewhere || len(data) == 0
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
	var leaf kernels.Leaf
	var err error
	if alone {
		leaf, err = kernels.New(r.ctx, b, src, name)
	} else {
		leaf, err = kernels.Load(object, name)
	}
	if !somewhere || err != nil && !errors.Is(err, cc.ErrNoCompiler) {
		return leaf, err
	}
	// Leaves that differ may not combine: all ranks have this one, or none.
	lacks := []int64{0}
	if err != nil {
		lacks[0] = 1
	}
	if err := c.Allreduce(comm.Of(lacks), comm.Max); err != nil {
		return nil, err
	}
	if lacks[0] == 0 {
		return leaf, nil
	}
	if leaf != nil {
		leaf.Close()
	}
	if err == nil {
		return nil, fmt.Errorf("on another rank's node: %w", cc.ErrNoCompiler)
	}
	return nil, err
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
