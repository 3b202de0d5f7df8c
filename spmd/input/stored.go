package input

import (
	"math"

	"distaff/codegen/place"
	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd/assemble"
	"distaff/spmd/comm"
	"distaff/spmd/env"
	"distaff/spmd/load"
	"distaff/spmd/partition"
	"distaff/spmd/plan"
	"distaff/spmd/reduce"
	"distaff/spmd/store"
	"distaff/spmd/transfer"
)

// storedBlocks makes the blocks of a tensor that is cut along its storage order. Every rank must
// call it.
func (r *Reader) storedBlocks(c comm.Comm, part *partition.Partition,
	name string) (map[plan.Block]*tcs.Tensor, error) {
	if r.Sources[name].held == nil { // loading is not counted as traffic of the statement
		c = c.Uncounted()
	}
	f, s := r.Formats[name], r.Sources[name]
	if s.Tensor != nil {
		if own, ok, err := r.Target(part, name).Between(c, r.loading(s)); ok {
			return own, err
		}
	}
	return Stored(r.Env, c, r.Target(part, name),
		func(even *load.Target) (map[plan.Block]*tcs.Tensor, error) {
			r.Formats[name] = even.Spec.Format
			defer func() { r.Formats[name] = f }()
			return r.Blocks(c, even.Partition, name)
		})
}

// Stored makes this rank's blocks of a tensor that is divided into chunks of its storage order. It
// has three steps:
//
//   - It calls the function even, which returns this rank's blocks of a simpler division: each rank
//     gets an equal range of the outermost stored mode (see Even).
//   - The ranks determine from these blocks the first keys of chunks. Stored sets the keys in
//     the partition of g.
//   - Each entry is sent to the owner of its chunk.
//
// Every rank must call Stored. The caller closes the returned blocks.
func Stored(e *env.Env, c comm.Comm, g *load.Target,
	even func(*load.Target) (map[plan.Block]*tcs.Tensor, error)) (map[plan.Block]*tcs.Tensor, error) {
	plain := Even(g, c.Size())
	parts, err := even(plain)
	if err != nil {
		return nil, err
	}
	a := g.Partition.Ordered()
	if a.Keys, err = load.Locate(c.Uncounted(), parts[plan.Block(c.Rank())], a.Ordered,
		g.Spec.Dims); err != nil {
		tcs.CloseAll(parts)
		return nil, err
	}
	own, err := assembled(e, c, plain, g.Partition, parts)
	if err != nil || plain.Spec.Format.Equal(g.Spec.Format) {
		return own, err
	}
	for b, t := range own {
		if own[b], err = coo.Repack(t, g.Spec.Format, coo.KeepAll, e.Config()); err != nil {
			own[b] = t
			break
		}
		t.Close()
	}
	if err := load.Agree(c, err); err != nil {
		tcs.CloseAll(own)
		return nil, err
	}
	return own, nil
}

// StoredMoves predicts the messages of Stored, and calls travel for each message. b describes the
// blocks in which the tensor is stored now, and entries is the tensor's number of entries. The
// first messages bring the entries to the owners of the even ranges (see Even). The next messages
// bring them to the owners of the chunks. The bounds of the chunks must be known or guessed
// (partition.Partition.Located).
//
// exact is true if the sizes of the messages are not estimates. This is so if the tensor is dense
// and has the format and type of g, and if no bounds of blocks or chunks are guessed.
func StoredMoves(g *load.Target, b *store.Blocks, asIs bool, entries int64, ranks int,
	travel func(z plan.Size, from, to int)) (exact bool) {
	plain, spec := Even(g, ranks), g.Spec
	exact = plain.Moves(b, asIs && plain.Spec.Format.Equal(spec.Format),
		entries, travel)
	s := &assemble.Sum{
		Like: transfer.Like{Name: spec.Name,
			Layout: tensor.Layout{Dims: spec.Dims, Type: spec.Type,
				Format: tensor.Format{Levels: plain.Spec.Format.Levels, Order: spec.Format.Order}}},
		Parts:  assemble.PiecesOf(plain.Partition, spec.Dims),
		Pieces: assemble.PiecesOf(g.Partition, spec.Dims),
	}
	all := 1.0
	for _, n := range spec.Dims {
		all *= float64(n)
	}
	dense := plain.Spec.Format.AllDense()
	s.Moves(func(_ int, r assemble.Region) (z plan.Size) {
		places := int64(1)
		for _, side := range r.Box {
			places *= side[1] - side[0]
		}
		if z.Add(places, int64(spec.Type.Size())); !dense {
			z = plan.Size{Entries: int64(math.Ceil(float64(entries) * float64(places) / all))}
			z.Add(z.Entries, int64(int(spec.Type.Size())+4*len(spec.Dims)))
		}
		return z
	}, func(z plan.Size, from, to int) {
		exact = exact && dense
		travel(z, from, to)
	})
	return exact && !g.Partition.Guessed()
}

// Even returns a copy of g that divides the tensor evenly: each rank gets an equal range of the
// outermost stored mode. All levels of the copy are dense or compressed.
func Even(g *load.Target, ranks int) *load.Target {
	even := *g
	even.Spec.Format = g.Spec.Format.DenseOrCompressed()
	even.Partition = partition.Evenly(g.Spec.Dims, g.Spec.Format.Order[0], ranks)
	return &even
}

// Everywhere returns the tensor that every rank has as a mapped file in the required format and
// type. Without such a tensor, it returns nil.
func (r *Reader) Everywhere(name string) *tcs.Tensor {
	s := r.Sources[name]
	var t *tcs.Tensor
	switch {
	case s.held != nil:
		t = s.held.File
	case s.In.File != "" && !s.alone:
		t = s.Tensor
	}
	if t == nil || t.Compressed() || !r.AsStored(s) {
		return nil
	}
	return t
}

// Lasting returns the same tensor as Everywhere, in memory that remains valid after the reader is
// closed. The caller closes it.
func (r *Reader) Lasting(name string) *tcs.Tensor {
	if t := r.Everywhere(name); t != nil {
		return t.Alias()
	}
	return nil
}

// Keys returns the keys between the ranges into which o divides a tensor's entries. It returns nil
// if the keys cannot be computed before the tensor is loaded.
func (r *Reader) Keys(name string, o *place.Ordered) ([][]int64, error) {
	if t := r.Everywhere(name); t != nil && load.Findable(t) {
		return load.Keys(r.Env.Ctx, t, o)
	}
	keys, _ := load.DenseKeys(r.Formats[name].Levels, o, r.Sizes.Dims[name])
	return keys, nil
}

// assembled redistributes a tensor from even ranges to another partition. The map parts holds this
// rank's even range of the tensor, and even describes the even ranges of all ranks. The argument
// part is the new partition. The result holds this rank's pieces of the new partition. assembled
// closes the tensors in the map. Every rank must call assembled.
func assembled(e *env.Env, c comm.Comm, even *load.Target, part *partition.Partition,
	parts map[plan.Block]*tcs.Tensor) (map[plan.Block]*tcs.Tensor, error) {
	spec := even.Spec
	s := &assemble.Sum{Like: transfer.Like{Name: spec.Name,
		Layout: tensor.Layout{Dims: spec.Dims, Type: spec.Type, Format: spec.Format}}}
	for _, t := range parts {
		s.Like.Layout.Type = t.Header.Type
	}
	shape, err := shapeOf(c, s.Like, parts)
	if err != nil {
		tcs.CloseAll(parts)
		return nil, err
	}
	s.Parts, s.Pieces = assemble.PiecesOf(even.Partition, spec.Dims),
		assemble.PiecesOf(part, spec.Dims)
	return s.Run(c, parts, assemble.Options{Alloc: e.Arena.Alloc, Limit: e.Limit, Shape: shape,
		Threads: e.Threads})
}

// shapeOf returns the shape of new blocks: the name, format, sizes and integer widths of the level
// arrays. Each width is the largest that the arrays of parts have at any rank. Every rank must call
// it.
func shapeOf(c comm.Comm, like transfer.Like, parts map[plan.Block]*tcs.Tensor) (*reduce.Shape,
	error) {
	n := len(like.Layout.Format.Order)
	widths := make([]int64, 2*n)
	for _, t := range parts {
		for l, lev := range t.Levels {
			widths[2*l], widths[2*l+1] = max(widths[2*l], int64(lev.Pos.Width)),
				max(widths[2*l+1], int64(lev.Crd.Width))
		}
	}
	if err := comm.Allreduce(c.Uncounted(), widths, comm.Max); err != nil {
		return nil, err
	}
	s := &reduce.Shape{Name: like.Name, Layout: like.Layout}
	for l := range n {
		s.PosWidth, s.CrdWidth = append(s.PosWidth, uint8(widths[2*l])),
			append(s.CrdWidth, uint8(widths[2*l+1]))
	}
	return s, nil
}
