package spmd

import (
	"os"

	"distaff/codegen/dtype"
	"distaff/codegen/notation"
	"distaff/io/convert"
	"distaff/io/coo"
	"distaff/io/gen"
	"distaff/io/tcs"
	"distaff/io/text"
)

// source is an operand before it is loaded: what its input tells of it without
// reading the data.
type source struct {
	name  string
	in    Input
	order int
	from  string   // for messages: the file, or -g=...
	typ   tcs.Type // of the tensor to be
	dense bool     // every coordinate is there: stored dense by default

	// One of these holds the data.
	stream coo.Stream  // a text file, .npy, .npz; at rank 0 only
	part   text.Part   // of several ranks: this rank's part of the stream's file; nil where rank 0 reads it alone
	tensor *tcs.Tensor // a .tcs file, or the caller's
	gen    *gen.Kind
	data   *gen.Generator // of gen, once sizes and formats are known
	scalar *tcs.Value

	alone   bool  // the tensor is at rank 0 only, and others have nothing of it
	entries int64 // of the tensor

	checksum string // of the file, where Options.Checksums asks for it

	dims  []int64 // of stream and tensor
	exact bool    // dims are the sizes, not lower bounds
	bytes int64   // of stream's file, where known
	read  bool    // stream was read before: for the sizes, or for another use

	counted int64 // stream's entries, repeats too, where it was read for its sizes

	found os.FileInfo // of stream's file, as it was opened; nil for standard input and devices
}

// openInputs finds out what each input says about itself.
func (r *run) openInputs() error {
	for _, name := range r.p.names {
		in, ok := r.job.Inputs[name]
		if !ok {
			continue
		}
		s := &source{name: name, in: in, order: r.p.orders[name], from: in.File}
		r.sources[name] = s // closed with the run, whatever happens below
		want := tcsType(r.p.types[name])
		var err error
		switch {
		case in.Generate != "":
			s.from = "-g=" + name + ":" + in.Generate
			s.typ = want
			if s.typ == tcs.Invalid {
				s.typ = tcs.Float64
			}
			if s.gen, err = gen.Parse(name, in.Generate); err == nil {
				s.dense = s.gen.Dense()
			}
		case in.Scalar != nil:
			var v tcs.Value
			if v, err = scalarValue(in.Scalar); err == nil {
				err = s.setScalar(v, want)
			}
		case in.Tensor != nil:
			s.from = name + " in memory"
			err = s.setTensor(in.Tensor, want)
		default:
			s.find()
			err = r.openFile(s, want)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// setScalar converts v to the wanted type, which refuses what would be lost.
func (s *source) setScalar(v tcs.Value, want tcs.Type) error {
	s.typ, s.dense = v.Type, true
	if want != tcs.Invalid {
		s.typ = want
	}
	out, err := convertValue(v, s.typ)
	if err != nil {
		return commandErrorf("-t=%s:%v: %v", s.name, s.typ, err)
	}
	s.scalar = &out
	return nil
}

func (s *source) setTensor(t *tcs.Tensor, want tcs.Type) error {
	s.tensor, s.dims, s.exact, s.typ, s.dense, s.entries = t, t.Dims, true, t.Type, t.Dense(), t.Vals.Len
	if want != tcs.Invalid {
		if err := tcs.CanConvert(want, t.Type); err != nil {
			return commandErrorf("-t=%s:%v: %v", s.name, want, err)
		}
		s.typ = want
	}
	return nil
}

// openFile opens a file by its extension. A number in a scalar's place is its
// value.
func (r *run) openFile(s *source, want tcs.Type) error {
	if s.order == 0 {
		if v, ok := parseScalar(s.in.File, want); ok {
			s.from = "-i=" + s.name + ":" + s.in.File
			return s.setScalar(v, want)
		}
		if _, err := convert.FormatOf(s.in.File); err != nil {
			return commandErrorf("-i=%s:%s: got %q, want a number (2.5, 1e-3, 1+2i) or a file: %v", s.name, printable(s.in.File), s.in.File, err)
		}
	}
	if convert.Ext(s.in.File) == ".tcs" {
		t, mapped, err := convert.OpenTensorFile(s.in.File, r.job.Tmp)
		if err != nil {
			return err
		}
		s.alone = !mapped
		r.closers = append(r.closers, t.Close)
		if t.Order() != s.order {
			return commandErrorf("%s has %s, but %s has %d in the statement", printable(s.in.File),
				plural(int64(t.Order()), "mode"), s.name, s.order)
		}
		return s.setTensor(t, want)
	}
	st, err := convert.Open(s.in.File, r.streamOptions(s, nil))
	if err != nil {
		return err
	}
	s.stream = st
	r.closers = append(r.closers, func() error { return s.stream.Close() })
	s.dims, s.exact = st.Dims()
	if len(s.dims) != s.order {
		return commandErrorf("%s has %s, but %s has %d in the statement", printable(s.in.File),
			plural(int64(len(s.dims)), "mode"), s.name, s.order)
	}
	s.typ = st.Type()
	if d, ok := st.(coo.Densed); ok {
		s.dense = d.Dense()
	}
	return nil
}

// streamOptions are what a reader of s is told; dims are the sizes, where known.
func (r *run) streamOptions(s *source, dims []int64) coo.Options {
	if dims == nil {
		dims = r.job.Sizes[s.name]
		if f, err := convert.FormatOf(s.in.File); err == nil && f.Loose {
			dims = r.p.sizes[s.name]
		}
	}
	return coo.Options{
		Order: s.order, Dims: dims, Type: tcsType(r.p.types[s.name]), ZeroBased: s.in.ZeroBased,
		Threads: r.threads, Tmp: r.job.Tmp, Limit: r.limit.Max(),
	}
}

// locate finds the lines of a coordinate of s, for messages.
func (r *run) locate(s *source) func(at []int64) (first, second int) {
	return func(at []int64) (first, second int) {
		if s.in.File == "" {
			return 0, 0
		}
		opt := r.streamOptions(s, r.sizes.Dims[s.name])
		if first, second = convert.Locate(s.in.File, opt, at); second == 0 && s.stream != nil && s.part == nil {
			first, second = text.Locate(s.stream, at)
		}
		return first, second
	}
}

// known is what s tells of its sizes.
func (s *source) known() []notation.Known {
	out := make([]notation.Known, len(s.dims))
	for m, d := range s.dims {
		out[m] = notation.Known{Size: d, Exact: s.exact, From: s.from}
	}
	return out
}

// types lists the operands' types for InferTypes.
func (r *run) operandTypes() map[string]dtype.Type {
	out := map[string]dtype.Type{}
	for name, s := range r.sources {
		out[name] = dataType(s.typ)
	}
	return out
}
