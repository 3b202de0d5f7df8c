package input

import (
	"os"
	"slices"

	"distaff/codegen/notation"
	"distaff/io/convert"
	"distaff/io/coo"
	"distaff/io/gen"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/io/text"
	"distaff/spmd/fault"
)

// Source is an operand before it is loaded: its input, and what is known about the operand.
type Source struct {
	name  string
	In    Input
	order int
	From  string      // for messages: the file, or -g=...
	typ   tensor.Type // type of the tensor
	Dense bool        // every coordinate has an entry, so that the default format is dense

	// The following fields hold the data. All are nil for an operand without an input, and at a
	// rank that has no part of the stream.
	stream coo.Stream // a text file, .npy, .npz; at rank 0 only
	// if there are several ranks, this rank's part of the stream's file; nil if rank 0 reads it
	// alone
	part   text.Part
	Tensor *tcs.Tensor // a .tcs file, or the caller's
	Gen    *gen.Kind
	held   *Held
	data   *gen.Generator // of Gen; set when sizes and formats are known
	Scalar *tensor.Value

	alone   bool  // only rank 0 has the tensor, and others have a tcs.EmptyPart
	entries int64 // number of stored entries of the tensor

	Checksum string // of the file, if Options.Checksums is set

	dims  []int64 // of the stream or tensor
	exact bool    // dims are the sizes; otherwise they are lower bounds
	about *int64  // approximate number of the stream's entries; nil if unknown
	read  bool    // the stream was read into blocks before

	counted  int64 // about the number of different coordinates, if a plan read the stream for sizes
	distinct bool  // the counted entries have different coordinates

	// state of the input's file before it was opened; nil if the file is not regular
	found os.FileInfo
}

// Held reports whether the ranks of a program hold the tensor already.
func (s *Source) Held() bool { return s.held != nil }

// openInputs opens each input to find its type, its sizes and its number of entries.
func (r *Reader) openInputs() error {
	for _, name := range r.p.Names {
		in, ok := r.o.Inputs[name]
		if !ok {
			continue
		}
		s := &Source{name: name, In: in, order: r.p.Orders[name], From: in.File}
		r.Sources[name] = s // closed with the run, whatever happens below
		want := r.p.Types[name]
		var err error
		switch {
		case in.Generate != "":
			s.From = "-g=" + name + ":" + in.Generate
			s.typ = want
			if s.typ == tensor.None {
				s.typ = tensor.Float64
			}
			if s.Gen, err = in.kind(name); err == nil {
				s.Dense = s.Gen.Dense()
			}
		case in.made != nil:
			s.From, s.typ = in.made.Text, tensor.Int64
			s.Gen, err = in.kind(name)
			s.Dense = s.Gen.Dense()
		case in.Scalar != nil:
			var v tensor.Value
			if v, err = scalarValue(in.Scalar); err == nil {
				err = s.setScalar(v, want)
			}
		case in.Tensor != nil:
			s.From = name + " in memory"
			err = s.setTensor(in.Tensor, want)
		case in.held != nil:
			err = s.setHeld(in.held, want)
		default:
			s.recordState()
			err = r.openFile(s, want)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// setScalar sets the value of a scalar, converted to the type want unless want is tensor.None. It
// returns the errors of convertValue.
func (s *Source) setScalar(v tensor.Value, want tensor.Type) error {
	s.typ, s.Dense = v.Type, true
	if want != tensor.None {
		s.typ = want
	}
	out, err := convertValue(v, s.typ)
	if err != nil {
		return fault.Commandf("-t=%s:%v: %v", s.name, s.typ, err)
	}
	s.Scalar = &out
	return nil
}

// promote converts source s, the old value of a result of +=, to the type of the result. s may be
// nil.
func (s *Source) promote(to tensor.Type) (err error) {
	if s == nil || s.typ == to {
		return nil
	}
	s.typ = to
	if s.Scalar != nil {
		*s.Scalar, err = convertValue(*s.Scalar, to)
	}
	return err
}

func (s *Source) setTensor(t *tcs.Tensor, want tensor.Type) error {
	s.Tensor, s.dims, s.exact, s.typ, s.Dense, s.entries = t, t.Header.Dims, true, t.Header.Type,
		t.Dense(), t.Vals.Len
	if want != tensor.None {
		if err := tcs.CanConvert(want, t.Header.Type); err != nil {
			return fault.Commandf("-t=%s:%v: %v", s.name, want, err)
		}
		s.typ = want
	}
	return nil
}

func (s *Source) setHeld(h *Held, want tensor.Type) error {
	b := h.Blocks
	s.From = s.name + " of the program"
	s.held, s.dims, s.exact, s.typ, s.Dense, s.entries = h, b.Layout.Dims, true, b.Layout.Type,
		b.Layout.Format.AllDense(), h.Entries
	if want != tensor.None {
		if err := tcs.CanConvert(want, b.Layout.Type); err != nil {
			return fault.Commandf("cannot use the type of %s: %v", s.name, err)
		}
		s.typ = want
	}
	return nil
}

// Hold replaces the source called name by a distributed tensor of the same sizes. The tensor's type
// must be convertible to the source's type.
func (r *Reader) Hold(name string, h *Held) error {
	if s := r.Sources[name]; s.held != nil && s.held.Blocks.Layout.Type == h.Blocks.Layout.Type &&
		s.held.Blocks.Layout.Format.Equal(h.Blocks.Layout.Format) &&
		slices.Equal(s.dims, h.Blocks.Layout.Dims) {
		s.In, s.held, s.entries = Hold(h), h, h.Entries
		return nil
	}
	s := &Source{name: name, In: Hold(h), order: r.p.Orders[name]}
	if err := s.setHeld(h, r.Sources[name].typ); err != nil {
		return err
	}
	r.Sources[name] = s
	return nil
}

// openFile opens a file in the format of its extension. If the tensor is a scalar, the file name
// may be a number.
func (r *Reader) openFile(s *Source, want tensor.Type) error {
	if s.order == 0 {
		if v, ok := parseScalar(s.In.File, want); ok {
			s.From = "-i=" + s.name + ":" + s.In.File
			return s.setScalar(v, want)
		}
		if _, err := convert.FormatOf(s.In.File); err != nil {
			return fault.Commandf("-i=%s:%s: got %q, want a number (2.5, 1e-3, 1+2i) or a file: %v", s.name,
				tensor.Printable(s.In.File), s.In.File, err)
		}
	}
	if convert.Ext(s.In.File) == ".tcs" {
		t, mapped, err := convert.OpenTensorFile(s.In.File, r.Env.Tmp)
		if err != nil {
			return err
		}
		s.alone = !mapped
		r.closers = append(r.closers, t.Close)
		if t.Order() != s.order {
			return fault.Commandf("%s has %s, but %s has %d in the statement",
				tensor.Printable(s.In.File),
				tensor.Count(int64(t.Order()), "mode"), s.name, s.order)
		}
		return s.setTensor(t, want)
	}
	opt := r.streamOptions(s, nil)
	opt.Note = r.Env.Note
	st, err := convert.Open(s.In.File, opt)
	if err != nil {
		return err
	}
	s.stream = st
	r.closers = append(r.closers, func() error { return s.stream.Close() })
	s.dims, s.exact = st.Dims()
	if len(s.dims) != s.order {
		return fault.Commandf("%s has %s, but %s has %d in the statement", tensor.Printable(s.In.File),
			tensor.Count(int64(len(s.dims)), "mode"), s.name, s.order)
	}
	s.typ, s.about = st.Type(), aboutEntries(st, s.order)
	if d, ok := st.(coo.DenseReporter); ok {
		s.Dense = d.Dense()
	}
	return nil
}

// streamOptions returns the options for reading s. dims holds the sizes; nil if they are unknown.
func (r *Reader) streamOptions(s *Source, dims []int64) coo.Options {
	if dims == nil {
		dims = r.o.Sizes[s.name]
		if f, err := convert.FormatOf(s.In.File); err == nil && f.SizesFromOptions {
			dims = r.p.Sizes[s.name]
		} else if slices.Contains(dims, -1) { // the file says them all
			dims = nil
		}
	}
	var from []string
	for m := range dims {
		if r.o.SizesFrom != nil {
			from = append(from, r.o.SizesFrom(s.name, m))
		}
	}
	return coo.Options{
		Order: s.order, Dims: dims, DimsFrom: from, Type: r.p.Types[s.name],
		ZeroBased: s.In.ZeroBased, Delimiter: s.In.Delimiter,
		Threads: r.Env.Threads, Tmp: r.Env.Tmp, Limit: r.Env.Limit.Max(),
	}
}

// locate returns a function that finds repeated coordinates in the input, for messages. The
// function takes coordinates and returns the line numbers of the first two entries of s that have
// these coordinates. A line number is 0 if it is not known.
func (r *Reader) locate(s *Source) func(at []int64) (first, second int) {
	return func(at []int64) (first, second int) {
		if s.In.File == "" {
			return 0, 0
		}
		opt := r.streamOptions(s, r.Sizes.Dims[s.name])
		if first, second = convert.Locate(s.In.File, opt, at); second == 0 && s.stream != nil &&
			s.part == nil {
			first, second = text.Locate(s.stream, at)
		}
		return first, second
	}
}

// known returns the sizes that s determines.
func (s *Source) known() []notation.Known {
	out := make([]notation.Known, len(s.dims))
	for m, d := range s.dims {
		out[m] = notation.Known{Size: d, Exact: s.exact, From: s.From}
	}
	return out
}

// operandTypes returns the types of the operands for notation.InferTypes.
func (r *Reader) operandTypes() map[string]tensor.Type {
	out := map[string]tensor.Type{}
	for name, s := range r.Sources {
		out[name] = s.typ
	}
	return out
}

// Generated returns the kind of data that the tensor's values are generated from, or were generated
// from earlier. It returns nil if the tensor was not generated.
func (s *Source) Generated() *gen.Kind {
	if s.held != nil {
		return s.held.Kind
	}
	return s.Gen
}
