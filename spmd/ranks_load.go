package spmd

import (
	"bytes"
	"encoding/gob"
	"io"
	"strconv"

	"distaff/codegen"
	"distaff/io/convert"
	"distaff/io/coo"
	"distaff/io/gen"
	"distaff/io/tcs"
	"distaff/spmd/comm"
	"distaff/spmd/load"
	"distaff/spmd/plan"
)

// sourceHeader is what every rank must know of an input that rank 0 reads.
type sourceHeader struct {
	Type   tcs.Type
	Dense  bool
	Dims   []int64
	Bytes  int64
	Scalar *tcs.Value
	Stream bool
	Exact  bool   // Dims are the sizes
	Head   []byte // of a text file that ranks can read in parts
	Alone  *storedHeader
}

// storedHeader is a .tcs that only rank 0 can open: it is compressed as a whole, or
// comes through a pipe.
type storedHeader struct {
	Header  tcs.Header
	Kinds   string
	Modes   []int
	Entries int64
}

// jobHeader is what rank 0 finds out for all ranks.
type jobHeader struct{ Sources map[string]sourceHeader }

// openRanked opens the inputs for a job of several ranks. Rank 0 reads the
// heads of all, and tells the others what they say; every rank then opens .tcs
// files and those text files that can be read in parts, of which it reads its
// own part only. Array files, files compressed as a whole and pipes are read by rank 0. Collective.
func (r *run) openRanked(c comm.Comm) error {
	var data []byte
	if c.Rank() == 0 {
		if err := r.open(); err != nil {
			return err
		}
		h := jobHeader{Sources: map[string]sourceHeader{}}
		for name, s := range r.sources {
			if p, ok := s.stream.(coo.Progressed); ok {
				_, s.bytes = p.Progress()
			}
			h.Sources[name] = sourceHeader{Type: s.typ, Dense: s.dense, Dims: s.dims, Bytes: s.bytes, Scalar: s.scalar, Stream: s.stream != nil, Exact: s.exact, Alone: s.aloneHeader()}
			if s.stream != nil && c.Size() > 1 {
				h.Sources[name] = h.Sources[name].with(convert.HeadOf(s.stream))
			}
		}
		var b bytes.Buffer
		if err := gob.NewEncoder(&b).Encode(h); err != nil {
			panic("BUG: spmd: a job's header does not encode: " + err.Error())
		}
		data = b.Bytes()
	}
	data, err := bcastFrom(c.Uncounted(), data, 0)
	if err != nil {
		return err
	}
	var h jobHeader
	if err := gob.NewDecoder(bytes.NewReader(data)).Decode(&h); err != nil {
		panic("BUG: spmd: a job's header does not decode: " + err.Error())
	}
	if c.Rank() != 0 {
		for name, in := range r.job.Inputs {
			if err := r.openHere(name, in, h.Sources[name]); err != nil {
				return err
			}
		}
	}
	if err := r.openParts(c, &h); err != nil {
		return err
	}
	return r.inferSizesBy(func(s *source) error { return r.scanRanked(c, s) })
}

// aloneHeader describes a tensor that only rank 0 has.
func (s *source) aloneHeader() *storedHeader {
	if !s.alone {
		return nil
	}
	h := &storedHeader{Header: s.tensor.Header, Entries: s.entries}
	h.Kinds, h.Modes = s.tensor.Format()
	return h
}

func (h sourceHeader) with(head []byte) sourceHeader {
	h.Head = head
	return h
}

// openParts opens this rank's part of every text file that has a head. A file
// that some rank does not see, or sees otherwise, stays with rank 0. Collective.
func (r *run) openParts(c comm.Comm, h *jobHeader) error {
	for _, name := range r.p.names {
		head := h.Sources[name].Head
		if head == nil {
			continue
		}
		s := r.sources[name]
		part, err := convert.OpenPart(s.in.File, head, c.Rank(), c.Size(), r.streamOptions(s, nil))
		blind := c.Size()
		if err != nil {
			blind = c.Rank()
		} else {
			r.closers = append(r.closers, part.Close)
		}
		if blind, err = comm.AllreduceValue(c.Uncounted(), blind, comm.Min); err != nil {
			return err
		}
		if blind < c.Size() {
			r.job.note(printable(s.from) + " is read by rank 0 alone: rank " + strconv.Itoa(blind) + " does not see that file")
			continue
		}
		s.part = part
	}
	return nil
}

// scanRanked finds the largest coordinates of a file without sizes: every rank
// in its part, or rank 0 alone. Collective.
func (r *run) scanRanked(c comm.Comm, s *source) (err error) {
	if s.part != nil {
		s.dims, err = load.Sizes(c, s.part)
		return err
	}
	if s.stream != nil {
		if err := r.scan(s); err != nil {
			return err
		}
	}
	return c.Uncounted().Bcast(comm.Of(s.dims), 0)
}

// openHere opens an input at a rank other than 0.
func (r *run) openHere(name string, in Input, h sourceHeader) error {
	s := &source{name: name, in: in, order: r.p.orders[name], from: in.File,
		typ: h.Type, dense: h.Dense, dims: h.Dims, exact: h.Exact, bytes: h.Bytes, scalar: h.Scalar}
	r.sources[name] = s
	switch {
	case h.Scalar != nil || h.Stream:
		s.find()
		return nil
	case in.Generate != "":
		s.from = "-g=" + name + ":" + in.Generate
		var err error
		s.gen, err = gen.Parse(name, in.Generate)
		return err
	case in.Tensor != nil:
		s.tensor, s.entries = in.Tensor, in.Tensor.Vals.Len
		return nil
	case h.Alone != nil:
		s.tensor, s.alone, s.entries = tcs.Nothing(h.Alone.Header, h.Alone.Kinds, h.Alone.Modes), true, h.Alone.Entries
		return nil
	case convert.Ext(in.File) == ".tcs":
		t, err := tcs.Open(in.File)
		if err != nil {
			return err
		}
		r.closers = append(r.closers, t.Close)
		s.tensor, s.entries = t, t.Vals.Len
		return nil
	}
	panic("BUG: spmd: rank 0 opened an input that no other rank knows")
}

// loadOperand makes this rank's blocks of one operand.
func (k *ranked) loadOperand(o operand, cuts []int) (map[plan.Block]*tcs.Tensor, error) {
	r := k.r
	s := r.sources[o.tensor]
	f := r.formats[o.tensor]
	spec := coo.Spec{Kinds: f.Letters(), Modes: f.Order, Dims: r.sizes.Dims[o.tensor], Type: s.typ, Name: s.from}
	if s.in.NoDuplicates {
		spec.Duplicates = coo.Refuse
		spec.Locate = r.locate(s)
	}
	g := &load.Target{Plan: k.problem, Cuts: cuts, Spec: spec, Cfg: r.config()}
	switch {
	case s.scalar != nil:
		own := map[plan.Block]*tcs.Tensor{}
		if k.problem.Owner(cuts, 0) == k.c.Rank() {
			own[0] = tcs.Scalar(*s.scalar)
		}
		return own, nil
	case s.tensor != nil:
		return g.Tensor(k.c, load.Source{Tensor: s.tensor, Check: s.in.File != "" && !r.job.TrustInput, AsIs: r.asStored(s), Alone: s.alone, Tmp: r.job.Tmp, Limit: r.limit})
	case s.gen != nil:
		if s.gen.Dense() && f.AllDense() {
			return k.fillBlocks(s, g)
		}
		return k.scatterGenerated(s, g)
	}
	var in coo.Stream = nothing{s}
	switch {
	case s.part != nil:
		in = s.part
	case s.stream != nil:
		in = s.stream
	}
	if s.read { // by an operand before, or for the sizes
		if err := in.Rewind(); err != nil {
			return nil, err
		}
	}
	s.read = true
	stop := r.watch(s, in)
	defer stop()
	return g.Scatter(k.c, in)
}

// scatterGenerated makes blocks of what every rank generates of a tensor.
func (k *ranked) scatterGenerated(s *source, g *load.Target) (map[plan.Block]*tcs.Tensor, error) {
	sum := func(n []int64) error { return k.c.Uncounted().Allreduce(comm.Of(n), comm.Sum) }
	in, err := s.data.Stream(gen.Part{K: k.c.Rank(), N: k.c.Size(), Sum: sum, Limit: k.r.limit})
	if err == nil {
		defer in.Close()
	}
	if err := load.Agree(k.c, err); err != nil {
		return nil, err
	}
	return g.Scatter(k.c, in)
}

// fillBlocks generates dense blocks in place.
func (k *ranked) fillBlocks(s *source, g *load.Target) (map[plan.Block]*tcs.Tensor, error) {
	own := map[plan.Block]*tcs.Tensor{}
	space := k.problem.SpaceOf(g.Cuts)
	for b := range plan.Block(space.Size()) {
		if k.problem.Owner(g.Cuts, b) != k.c.Rank() {
			continue
		}
		header := tcs.Header{Dims: g.Spec.Dims, Box: k.problem.Box(g.Cuts, b, g.Spec.Dims), Type: g.Spec.Type}
		t, err := tcs.New(&tcs.Shape{Header: header, Kinds: g.Spec.Kinds, Modes: g.Spec.Modes, Counts: make([]int64, len(g.Spec.Kinds))}, k.r.limit, s.name)
		if err != nil {
			for _, t := range own {
				t.Close()
			}
			return nil, err
		}
		s.data.Fill(t, k.r.threads)
		own[b] = t
	}
	return own, nil
}

// nothing is the piece of a rank that reads no part of a file.
type nothing struct{ s *source }

func (n nothing) Dims() ([]int64, bool)   { return n.s.dims, true }
func (n nothing) Type() tcs.Type          { return n.s.typ }
func (n nothing) Next(b *coo.Batch) error { return io.EOF }
func (n nothing) Rewind() error           { return nil }
func (n nothing) Close() error            { return nil }

// like tells the compiler of each operand's blocks what holds at every rank:
// the widest arrays and the sum of entries, and of positions at each level. Collective.
func (k *ranked) like() (map[string]codegen.Tensor, error) {
	out := map[string]codegen.Tensor{}
	for i, o := range k.operands {
		f := k.r.formats[o.tensor]
		n := len(f.Levels)
		widths, counts := make([]int64, 2*n), make([]int64, n+1) // the last: entries
		for _, t := range k.exec.Own[i] {
			counts[n] += t.Vals.Len
			for l, lev := range t.Levels {
				counts[l] += t.Positions(l)
				widths[2*l] = max(widths[2*l], int64(lev.Pos.Width))
				widths[2*l+1] = max(widths[2*l+1], int64(lev.Crd.Width))
			}
		}
		c := k.c.Uncounted()
		if err := c.Allreduce(comm.Of(widths), comm.Max); err != nil {
			return nil, err
		}
		for _, t := range k.exec.Own[i] {
			for l, lev := range t.Levels {
				if int64(lev.Pos.Width) != widths[2*l] || int64(lev.Crd.Width) != widths[2*l+1] {
					return nil, runErrorf("%s: blocks with 32-bit and with 64-bit positions at different ranks; use fewer entries a block", o.tensor)
				}
			}
		}
		if err := c.Allreduce(comm.Of(counts), comm.Sum); err != nil {
			return nil, err
		}
		spec := codegen.Tensor{Format: f, Type: irTypes[k.r.types[o.tensor]], Dims: k.r.sizes.Dims[o.tensor], NNZ: counts[n], Counts: counts[:n]}
		for l := range n {
			spec.PosWidth = append(spec.PosWidth, uint8(widths[2*l]))
			spec.CrdWidth = append(spec.CrdWidth, uint8(widths[2*l+1]))
		}
		out[o.name] = spec
	}
	return out, nil
}
