package input

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"distaff/codegen/diag"
	"distaff/io/convert"
	"distaff/io/gen"
	"distaff/io/tcs"
	"distaff/io/tcsfile"
	"distaff/io/tensor"
	"distaff/spmd/comm"
)

// sourceHeader holds what every rank must know about an input that rank 0 opened.
type sourceHeader struct {
	Type    tensor.Type
	Dense   bool
	Dims    []int64
	About   int64 // Source.about, if Counted is set; gob does not send a pointer to 0
	Counted bool
	Scalar  *tensor.Value
	Stream  bool
	Exact   bool   // Dims are the sizes
	Head    []byte // head of a text file that ranks can read in parts
	Alone   *storedHeader
}

// storedHeader describes a .tcs file that only rank 0 can open, because it is compressed as one
// piece or comes through a pipe.
type storedHeader struct {
	Header  tcs.Header
	Format  tensor.Format
	Entries int64
}

// Open opens the inputs. Rank 0 opens all of them and sends their descriptions to the other ranks.
// Every rank then opens .tcs files, and its part of each text file that can be read in parts. Array
// files, files that are compressed as one piece, and pipes are read by rank 0 only. Every rank must
// call Open.
func (r *Reader) Open() error {
	if err := r.declare(); err != nil {
		return err
	}
	if r.Env.Root() {
		if err := r.checkMemory(); err != nil {
			return err
		}
		if err := r.openInputs(); err != nil {
			return err
		}
	}
	if r.Env.Comm.Size() == 1 {
		return nil
	}
	heads, err := r.shareHeads()
	if err != nil {
		return err
	}
	if !r.Env.Root() {
		if err := r.checkMemory(); err != nil {
			return err
		}
		for name, in := range r.o.Inputs {
			if err := r.openTold(name, in, heads[name]); err != nil {
				return err
			}
		}
	}
	return r.openParts(heads)
}

// shareHeads sends the descriptions of the inputs from rank 0 to every rank. Every rank must call
// it.
func (r *Reader) shareHeads() (map[string]sourceHeader, error) {
	heads := map[string]sourceHeader{}
	if r.Env.Root() {
		for name, s := range r.Sources {
			h := sourceHeader{Type: s.typ, Dense: s.Dense, Dims: s.dims, Counted: s.about != nil,
				Scalar: s.Scalar, Stream: s.stream != nil, Exact: s.exact, Alone: s.aloneHeader()}
			if h.Counted {
				h.About = *s.about
			}
			if s.stream != nil {
				h.Head = convert.HeadOf(s.stream)
			}
			heads[name] = h
		}
	}
	err := comm.BcastValue(r.Env.Comm, &heads, 0)
	return heads, err
}

// aloneHeader returns the description of a tensor that only rank 0 has. It returns nil if s is
// another kind of source.
func (s *Source) aloneHeader() *storedHeader {
	if !s.alone {
		return nil
	}
	return &storedHeader{Header: s.Tensor.Header, Format: s.Tensor.Format(), Entries: s.entries}
}

// openParts opens this rank's part of every text file that can be read in parts. If some rank
// cannot see the file, or sees a different file under the same name, rank 0 reads the file alone.
// Every rank must call openParts.
func (r *Reader) openParts(heads map[string]sourceHeader) error {
	c := r.Env.Comm
	for _, name := range r.p.Names {
		head := heads[name].Head
		if head == nil {
			continue
		}
		s := r.Sources[name]
		part, err := convert.OpenPart(s.In.File, head, c.Rank(), c.Size(), r.streamOptions(s, nil))
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
			r.Env.Note(tensor.Printable(s.From) + " is read only by rank 0, because rank " +
				strconv.Itoa(blind) + " cannot see the file")
			continue
		}
		s.part = part
	}
	return nil
}

// openTold opens an input at a rank other than 0. h is the header that describes the input; rank 0
// made it.
func (r *Reader) openTold(name string, in Input, h sourceHeader) error {
	s := &Source{name: name, In: in, order: r.p.Orders[name], From: in.File,
		typ: h.Type, Dense: h.Dense, dims: h.Dims, exact: h.Exact, Scalar: h.Scalar}
	if h.Counted {
		s.about = &h.About
	}
	r.Sources[name] = s
	switch {
	case h.Scalar != nil || h.Stream:
		s.recordState()
		return nil
	case in.Generate != "", in.made != nil:
		s.From = "-g=" + name + ":" + in.Generate
		if in.made != nil {
			s.From = in.made.Text
		}
		var err error
		s.Gen, err = in.kind(name)
		return err
	case in.held != nil:
		s.held, s.entries = in.held, in.held.Entries
		return nil
	case in.Tensor != nil:
		s.Tensor, s.entries = in.Tensor, in.Tensor.Vals.Len
		return nil
	case h.Alone != nil:
		s.Tensor, s.alone, s.entries = tcs.EmptyPart(h.Alone.Header, h.Alone.Format), true,
			h.Alone.Entries
		return nil
	case convert.Ext(in.File) == ".tcs":
		t, err := tcsfile.Open(in.File)
		if err != nil {
			return err
		}
		r.closers = append(r.closers, t.Close)
		s.Tensor, s.entries = t, t.Vals.Len
		return nil
	}
	panic("BUG: spmd: rank 0 opened an input that no other rank knows")
}

// ParseKind parses a kind of generated data for a tensor, as gen.Parse does. An error about the
// kind's name asks whether a similar name was meant.
func ParseKind(tensor, kind string) (*gen.Kind, error) {
	k, err := gen.Parse(tensor, kind)
	name, _, _ := strings.Cut(kind, ":")
	if e := (*gen.Error)(nil); errors.As(err, &e) && !slices.Contains(gen.Kinds(), name) {
		err = &gen.Error{Msg: e.Msg + diag.DidYouMean(name, gen.Kinds())}
	}
	return k, err
}
