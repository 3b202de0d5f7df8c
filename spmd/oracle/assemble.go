package oracle

import (
	"io"
	"unsafe"

	"distaff/codegen/dtype"
	"distaff/codegen/ir"
	"distaff/codegen/reference"
	"distaff/io/coo"
	"distaff/io/tcs"
)

var tcsTypes = map[dtype.Type]tcs.Type{
	dtype.Int32: tcs.Int32, dtype.Int64: tcs.Int64, dtype.Float32: tcs.Float32,
	dtype.Float64: tcs.Float64, dtype.Complex64: tcs.Complex64, dtype.Complex128: tcs.Complex128,
}

var irTypes = map[dtype.Type]ir.Type{
	dtype.Int32: ir.Int32, dtype.Int64: ir.Int64, dtype.Float32: ir.Float32,
	dtype.Float64: ir.Float64, dtype.Complex64: ir.Complex64, dtype.Complex128: ir.Complex128,
}

// Assemble stores the tensor as its format says, by the assembly that every
// input file goes through. wide asks for 64-bit positions and coordinates. The
// caller closes the tensor.
func (t *Tensor) Assemble(wide bool) (*tcs.Tensor, error) {
	typ := tcsTypes[t.Type]
	if len(t.Dims) == 0 {
		return tcs.Scalar(tcsValue(typ, t.Entries[0].Value)), nil
	}
	spec := coo.Spec{Kinds: t.Format.Letters(), Modes: t.Format.Order, Dims: t.Dims, Type: typ,
		Name: t.Name, Wide: wide}
	return coo.Assemble(&entryStream{t: t, typ: typ}, spec, coo.Config{Threads: 1})
}

func tcsValue(t tcs.Type, v reference.Value) tcs.Value { return tcs.Value{Type: t, I: v.I, C: v.C} }

// entryStream is a tensor's entries as an input.
type entryStream struct {
	t   *Tensor
	typ tcs.Type
	at  int
}

func (s *entryStream) Dims() ([]int64, bool) { return s.t.Dims, true }
func (s *entryStream) Type() tcs.Type        { return s.typ }
func (s *entryStream) Rewind() error         { s.at = 0; return nil }
func (s *entryStream) Close() error          { return nil }

func (s *entryStream) Next(b *coo.Batch) error {
	n := min(len(s.t.Entries)-s.at, coo.BatchSize)
	if n == 0 {
		return io.EOF
	}
	size := s.typ.Size()
	b.Resize(len(s.t.Dims), n, size)
	for k, e := range s.t.Entries[s.at : s.at+n] {
		for m, c := range e.Coord {
			b.Coords[m][k] = c
		}
		s.typ.Store(unsafe.Pointer(&b.Vals[k*size]), tcsValue(s.typ, e.Value))
	}
	s.at += n
	return nil
}

// output lists what a tensor stores.
func output(t *tcs.Tensor) *Output {
	out := &Output{}
	t.Entries(func(coord []int64, i int64) bool {
		v := t.Value(i)
		out.Entries = append(out.Entries,
			Entry{append([]int64{}, coord...), reference.Value{I: v.I, C: v.C}})
		return true
	})
	return out
}
