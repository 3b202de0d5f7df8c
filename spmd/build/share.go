package build

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"

	"distaff/codegen"
	"distaff/kernels"
	"distaff/spmd/comm"
)

// Shared returns a Backend for all ranks of c. It makes leaves with b, but a job compiles a leaf
// only once for each Kind, even if the nodes do not share a cache. Ranks whose machines can run the
// same objects have the same Kind. The lowest rank of a Kind makes the object of a leaf and
// broadcasts it. The other ranks of this Kind load the object.
//
// Every rank must call Build. If the lowest rank of a Kind has neither a compiler nor the leaf's
// object, Build fails at every rank.
func Shared(c comm.Comm, b kernels.Portable) kernels.Backend {
	return &shared{b, c.Uncounted()}
}

type shared struct {
	kernels.Portable
	c comm.Comm
}

func (s *shared) Build(ctx context.Context, u *codegen.Unit) (kernels.Leaf, error) {
	c := s.c
	h := fnv.New64a()
	h.Write([]byte(s.Kind()))
	kinds := make([]int64, c.Size())
	if err := c.Allgather(comm.Of([]int64{int64(h.Sum64())}), comm.Of(kinds)); err != nil {
		return nil, err
	}
	mine := int64(h.Sum64())
	var object []byte
	// If the compiling rank of a kind has no compiler, all ranks of this kind look in their own
	// caches. alone is true if this rank does so, and somewhere is true if any rank does.
	alone, somewhere := false, false
	for root, kind := range kinds {
		if slices.Index(kinds, kind) != root {
			continue
		}
		var data []byte
		if root == c.Rank() {
			var err error
			if object, err = s.Object(ctx, u); errors.Is(err, kernels.ErrNoCompiler) {
				object = nil
			} else if err != nil {
				return nil, err
			}
			data = object
		}
		data, err := comm.BcastBytes(c, data, root)
		if err != nil {
			return nil, err
		}
		somewhere = somewhere || len(data) == 0
		switch {
		case kind != mine:
		case len(data) == 0:
			alone = true
		default:
			object = data
		}
	}
	var leaf kernels.Leaf
	var err error
	if alone {
		leaf, err = s.Portable.Build(ctx, u)
	} else {
		leaf, err = s.Load(object, u)
	}
	if !somewhere || err != nil && !errors.Is(err, kernels.ErrNoCompiler) {
		return leaf, err
	}
	// Different leaves may compute different bits: all ranks must have this leaf, or none.
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
		return nil, fmt.Errorf("on another rank's node: %w", kernels.ErrNoCompiler)
	}
	return nil, err
}
