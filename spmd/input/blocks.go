package input

import (
	"io"

	"distaff/io/convert"
	"distaff/io/coo"
	"distaff/io/gen"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd/comm"
	"distaff/spmd/load"
	"distaff/spmd/partition"
	"distaff/spmd/plan"
	"distaff/spmd/store"
)

// AsStored reports whether a source already has the tensor's format and type, so that no conversion
// is needed. The source must be a tensor in memory, a tensor that is distributed over the ranks, or
// a .tcs file. If the input is a tensor in memory or a .tcs file, AsStored returns false if the
// input must not have duplicates (Input.NoDuplicates), because a conversion finds the duplicates.
func (r *Reader) AsStored(s *Source) bool {
	if h := s.held; h != nil {
		return h.AsIs && h.Blocks.Layout.Type == s.typ &&
			r.Formats[s.name].Equal(h.Blocks.Layout.Format)
	}
	return s.Tensor.Header.Type == s.typ && s.Tensor.Header.Whole() &&
		r.Formats[s.name].Equal(s.Tensor.Format()) && !s.In.NoDuplicates
}

// Blocks makes the blocks of a tensor that rank c.Rank() owns in the partition part. The caller
// closes them. Every rank of c must call it.
func (r *Reader) Blocks(c comm.Comm, part *partition.Partition,
	name string) (map[plan.Block]*tcs.Tensor, error) {
	if !part.Located() {
		return r.storedBlocks(c, part, name)
	}
	s := r.Sources[name]
	f, g := r.Formats[name], r.Target(part, name)
	if s.held == nil { // loading is not counted as traffic of the statement
		c = c.Uncounted()
	}
	switch {
	case s.Scalar != nil:
		own := map[plan.Block]*tcs.Tensor{}
		if part.OwnerOf(0) == c.Rank() {
			own[0] = tcs.Scalar(*s.Scalar)
		}
		return own, nil
	case s.held != nil:
		own, _, err := g.Redistribute(c, s.held.Blocks, r.AsStored(s))
		return own, err
	case s.Tensor != nil:
		return g.Tensor(c, r.loading(s))
	case s.Gen != nil:
		if s.Gen.Dense() && f.AllDense() {
			return r.fillBlocks(c, s, g)
		}
		return r.scatterGenerated(c, s, g)
	}
	var in coo.Stream = nothing{s}
	switch {
	case s.part != nil && c.Size() > 1:
		in = s.part
	case s.stream != nil:
		in = s.stream
	}
	if s.read { // for earlier blocks
		if err := in.Rewind(); err != nil {
			return nil, err
		}
	}
	s.read = true
	stop := r.Env.WatchFile(s.From, in)
	defer stop()
	return g.Scatter(c, in)
}

// loading returns what package load must know about a source that is a tensor in memory or a .tcs
// file.
func (r *Reader) loading(s *Source) load.Source {
	return load.Source{Tensor: s.Tensor, Check: s.In.File != "" && !r.o.TrustInput,
		AsIs: r.AsStored(s), Alone: s.alone, Tmp: r.Env.Tmp, Limit: r.Env.Limit}
}

// Replica returns this rank's copy of a whole operand, or nil. It returns the value of a scalar
// that was given as a number. It returns the replica that a program has (Held.Replica) if the
// replica has the required format and type. Either all ranks get a tensor, or all ranks get nil.
// The caller closes the tensor.
func (r *Reader) Replica(name string) *tcs.Tensor {
	s := r.Sources[name]
	switch {
	case s.Scalar != nil:
		return tcs.Scalar(*s.Scalar)
	case s.held != nil && s.held.Replica != nil && r.AsStored(s):
		return s.held.Replica.Alias()
	}
	return nil
}

// HasReplica reports whether Replica returns a tensor.
func (r *Reader) HasReplica(name string) bool {
	s := r.Sources[name]
	return s.Scalar != nil || s.held != nil && s.held.Replica != nil && r.AsStored(s)
}

// HeldBlocks returns the blocks of an operand if a program has them in memory in the required
// format and type. If not, it returns nil, at all ranks.
func (r *Reader) HeldBlocks(name string) *store.Blocks {
	if s := r.Sources[name]; s.held != nil && r.AsStored(s) {
		return s.held.Blocks
	}
	return nil
}

// HeldIn returns the blocks of an operand that a program holds, or nil. asIs reports whether they
// have the required format and type.
func (r *Reader) HeldIn(name string) (b *store.Blocks, asIs bool) {
	s := r.Sources[name]
	if s.held == nil {
		return nil, false
	}
	return s.held.Blocks, r.AsStored(s)
}

// MayChange reports whether a program holds the operand and may also change its values by itself,
// without a statement. The operand is then not kept on a device (see Held.MayChange).
func (r *Reader) MayChange(name string) bool {
	s := r.Sources[name]
	return s.held != nil && s.held.MayChange
}

// Target returns the description of the blocks that a tensor has in partition part.
func (r *Reader) Target(part *partition.Partition, name string) *load.Target {
	f, s := r.Formats[name], r.Sources[name]
	spec := coo.Spec{Format: f, Dims: r.Sizes.Dims[name], Type: s.typ,
		Name: s.From}
	if s.In.NoDuplicates {
		spec.Duplicates = coo.Refuse
		spec.Locate = r.locate(s)
		spec.ZeroBased = s.In.ZeroBased && convert.Based(s.In.File) == nil
	}
	return &load.Target{Partition: part, Spec: spec, Cfg: r.Env.Config()}
}

// LoadInput returns what package load must know about a tensor to estimate the cost of making its
// blocks. entries is the approximate number of entries that the tensor's source lists.
func (r *Reader) LoadInput(name string, entries int64) load.Input {
	s := r.Sources[name]
	in := load.Input{Entries: entries}
	switch {
	case s.Scalar != nil || s.Gen != nil && s.Gen.Dense() && r.Formats[name].AllDense():
		in.InPlace = true
	case s.Tensor != nil:
		in.Tensor, in.AsIs, in.Alone = s.Tensor, r.AsStored(s), s.alone
		in.Mapped = s.In.File != "" && !s.Tensor.Compressed()
	default:
		in.Distinct, in.First = s.Dense || s.Gen != nil,
			s.stream != nil && convert.HeadOf(s.stream) == nil
	}
	return in
}

// scatterGenerated makes blocks of a tensor that all ranks generate together.
func (r *Reader) scatterGenerated(c comm.Comm, s *Source,
	g *load.Target) (map[plan.Block]*tcs.Tensor, error) {
	sum := func(n []int64) error { return c.Uncounted().Allreduce(comm.Of(n), comm.Sum) }
	in, err := s.data.Stream(gen.Share{K: c.Rank(), N: c.Size(), Sum: sum, Limit: r.Env.Limit})
	if err == nil {
		defer in.Close()
	}
	if err := load.Agree(c, err); err != nil {
		return nil, err
	}
	return g.Scatter(c, in)
}

// fillBlocks makes this rank's blocks of a dense generated tensor, and generates the values in
// place.
func (r *Reader) fillBlocks(c comm.Comm, s *Source, g *load.Target) (map[plan.Block]*tcs.Tensor,
	error) {
	own := map[plan.Block]*tcs.Tensor{}
	for b := range plan.Block(g.Partition.Pieces()) {
		if g.Partition.OwnerOf(b) != c.Rank() {
			continue
		}
		header := tcs.Header{Dims: g.Spec.Dims, Box: g.Partition.Box(b, g.Spec.Dims), Type: g.Spec.Type}
		t,
			err := tcs.New(&tcs.Shape{Header: header, Format: g.Spec.Format,
			Counts: make([]int64, len(g.Spec.Format.Levels))}, r.Env.Limit, s.name)
		if err != nil {
			tcs.CloseAll(own)
			return nil, err
		}
		s.data.Fill(t, r.Env.Threads)
		own[b] = t
	}
	return own, nil
}

// nothing is the stream of a rank that reads no part of a file. It has the source's sizes and type,
// and no entries.
type nothing struct{ s *Source }

func (n nothing) Dims() ([]int64, bool)   { return n.s.dims, true }
func (n nothing) Type() tensor.Type       { return n.s.typ }
func (n nothing) Next(b *coo.Batch) error { return io.EOF }
func (n nothing) Rewind() error           { return nil }
func (n nothing) Close() error            { return nil }
