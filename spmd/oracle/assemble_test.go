package oracle

import (
	"io"
	"unsafe"

	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/tensor"
)

// Assemble stores the tensor in its format, with the code that also stores input files. If wide is
// true, positions and coordinates have 64 bits. The caller must close the tensor.
func (t *Tensor) Assemble(wide bool) (*tcs.Tensor, error) {
	typ := t.Type
	if len(t.Dims) == 0 {
		return tcs.Scalar(typed(typ, t.Entries[0].Value)), nil
	}
	spec := coo.Spec{Format: t.Format, Dims: t.Dims, Type: typ,
		Name: t.Name, Wide: wide}
	return coo.Assemble(&entryStream{t: t, typ: typ}, spec, coo.Config{Threads: 1})
}

// typed returns v with its type set to t, so that v can be stored in a tensor of this type.
func typed(t tensor.Type, v tensor.Value) tensor.Value {
	v.Type = t
	return v
}

// entryStream is a coo.Stream of a tensor's entries.
type entryStream struct {
	t   *Tensor
	typ tensor.Type
	at  int
}

func (s *entryStream) Dims() ([]int64, bool) { return s.t.Dims, true }
func (s *entryStream) Type() tensor.Type     { return s.typ }
func (s *entryStream) Rewind() error         { s.at = 0; return nil }
func (s *entryStream) Close() error          { return nil }

func (s *entryStream) Next(b *coo.Batch) error {
	n := min(len(s.t.Entries)-s.at, coo.BatchSize)
	if n == 0 {
		return io.EOF
	}
	size := int(s.typ.Size())
	b.Resize(len(s.t.Dims), n, size)
	for k, e := range s.t.Entries[s.at : s.at+n] {
		for m, c := range e.Coord {
			b.Coords[m][k] = c
		}
		s.typ.Store(unsafe.Pointer(&b.Vals[k*size]), typed(s.typ, e.Value))
	}
	s.at += n
	return nil
}

// output returns the stored entries of a tensor.
func output(t *tcs.Tensor) *Output {
	out := &Output{}
	t.Entries(func(coord []int64, i int64) bool {
		out.Entries = append(out.Entries, Entry{append([]int64{}, coord...), t.Value(i)})
		return true
	})
	return out
}
