package spmd

import (
	"bytes"
	"encoding/gob"
	"strconv"

	"distaff/io/convert"
	"distaff/io/coo"
	"distaff/io/gen"
	"distaff/io/tcs"
	"distaff/spmd/comm"
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

// open opens the inputs. Rank 0 reads the heads of all, and tells other ranks what
// they say; every rank then opens .tcs
// files and those text files that can be read in parts, of which it reads its
// own part only. Array files, files compressed as a whole and pipes are read by rank 0. Collective.
func (r *run) open() error {
	if err := r.declare(); err != nil {
		return err
	}
	if r.root() {
		if err := r.openInputs(); err != nil {
			return err
		}
	}
	if r.comm.Size() == 1 {
		return nil
	}
	h, err := r.shareHeads()
	if err != nil {
		return err
	}
	if !r.root() {
		for name, in := range r.job.Inputs {
			if err := r.openTold(name, in, h.Sources[name]); err != nil {
				return err
			}
		}
	}
	return r.openParts(h)
}

// shareHeads tells every rank what rank 0 has found. Collective.
func (r *run) shareHeads() (*jobHeader, error) {
	var data []byte
	if r.root() {
		h := jobHeader{Sources: map[string]sourceHeader{}}
		for name, s := range r.sources {
			if p, ok := s.stream.(coo.Progressed); ok {
				_, s.bytes = p.Progress()
			}
			h.Sources[name] = sourceHeader{Type: s.typ, Dense: s.dense, Dims: s.dims, Bytes: s.bytes, Scalar: s.scalar, Stream: s.stream != nil, Exact: s.exact, Alone: s.aloneHeader()}
			if s.stream != nil {
				h.Sources[name] = h.Sources[name].with(convert.HeadOf(s.stream))
			}
		}
		var b bytes.Buffer
		if err := gob.NewEncoder(&b).Encode(h); err != nil {
			panic("BUG: spmd: a job's header does not encode: " + err.Error())
		}
		data = b.Bytes()
	}
	data, err := comm.BcastBytes(r.comm.Uncounted(), data, 0)
	if err != nil {
		return nil, err
	}
	h := &jobHeader{}
	if err := gob.NewDecoder(bytes.NewReader(data)).Decode(h); err != nil {
		panic("BUG: spmd: a job's header does not decode: " + err.Error())
	}
	return h, nil
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
func (r *run) openParts(h *jobHeader) error {
	c := r.comm
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
			r.note(printable(s.from) + " is read by rank 0 alone: rank " + strconv.Itoa(blind) + " does not see that file")
			continue
		}
		s.part = part
	}
	return nil
}

// openTold opens an input at a rank other than 0.
func (r *run) openTold(name string, in Input, h sourceHeader) error {
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
