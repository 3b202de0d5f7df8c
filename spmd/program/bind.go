package program

import (
	"slices"

	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd/fault"
	"distaff/spmd/prepared"
	"distaff/spmd/summary"
)

// Layout returns the sizes, the type and the format of the result. The statement must be prepared.
func (s *Statement) Layout() tensor.Layout {
	name := s.parsed.Result
	return tensor.Layout{Dims: s.reader.Sizes.Dims[name], Type: s.reader.Types[name],
		Format: s.reader.Formats[name]}
}

// Bind makes the statement read the arrays of x as the operand with that name from now on. Nothing
// is planned or compiled again, if x has the sizes, the type, the format and the widths of the
// operand; ok is false for other tensors, and if the program has several ranks or uses a GPU. The
// caller must then call Program.Set instead.
//
// The caller keeps the arrays until another tensor is bound or the statement is closed, and has
// checked them (memory.Check): Bind does not.
func (s *Statement) Bind(name string, x *tcs.Tensor) (ok bool, err error) {
	t := s.p.tensors[name]
	at := slices.IndexFunc(s.reads, func(r read) bool { return r.name == name })
	if t == nil || t.held == nil || at < 0 || s.k == nil || !s.k.CanRebind() ||
		s.reads[at].held != t.held || s.reads[at].gone {
		return false, nil
	}
	own := t.held.Blocks.Own[0]
	if !sameArrays(own, x) {
		return false, nil
	}
	prepared.SetArrays(own, x)
	s.k.Rebind(s.reads[at].operand, own)
	if n := summary.Entries(own); n > t.held.Entries {
		t.held.Entries = n
		if fits, err := s.k.Fits(); err != nil || !fits {
			return false, err
		}
	}
	return true, nil
}

// sameArrays reports whether x has the layout of t, and arrays of the same widths.
func sameArrays(t, x *tcs.Tensor) bool {
	return t.Header.Type == x.Header.Type && slices.Equal(t.Header.Dims, x.Header.Dims) &&
		slices.EqualFunc(t.Levels, x.Levels, func(a, b tcs.Level) bool {
			return a.Kind == b.Kind && a.Mode == b.Mode && a.Pos.Width == b.Pos.Width &&
				a.Crd.Width == b.Crd.Width
		})
}

// Into makes runs write the values of a dense result to vals, in the order of its format. If the
// statement reads the old value of its result, the old value must be in vals. Into returns false if
// the result is not dense, or in the cases in which Bind does. A run may also store the values
// elsewhere, for example if an operand shares memory with vals: see Written.
func (s *Statement) Into(vals tcs.Array) (ok bool, err error) {
	like, name := s.Layout(), s.parsed.Result
	if s.k == nil || !s.k.CanRebind() || !like.Format.AllDense() {
		return false, nil
	}
	count := int64(1)
	for _, d := range like.Dims {
		count *= d
	}
	if vals.Len != count || int64(vals.Width) != like.Type.Size() {
		return false, fault.Dataf("%s: got %s of %d bytes for the result, want %d of %d bytes", name,
			tensor.Count(vals.Len, "value"), vals.Width, count, like.Type.Size())
	}
	t := s.p.tensors[name]
	if t != nil && t.held != nil {
		if at := slices.IndexFunc(s.reads, func(r read) bool { return r.name == name }); at >= 0 {
			x := t.held.Blocks.Own[0].Alias()
			defer x.Close()
			if x.Vals = vals; !x.Dense() {
				return false, nil
			}
			t.ours = true
			return s.Bind(name, x)
		}
	}
	if t == nil || t.held == nil || !s.hasFinalStorage(t) {
		x := &tcs.Tensor{Header: tcs.Header{Dims: slices.Clone(like.Dims), Type: like.Type}, Vals: vals}
		for l, m := range like.Format.Order {
			x.Levels = append(x.Levels,
				tcs.Level{Kind: like.Format.Levels[l], Mode: m, Size: like.Dims[m]})
		}
		t = &programTensor{env: s.p.env, name: name, version: s.p.version()}
		t.hold(s.p.alone(x))
		t.ours = true
		s.p.tensors[name] = t
	}
	t.held.Blocks.Own[0].Vals = vals
	return true, nil
}

// Take returns the result of the last run, of which the caller becomes the owner: later runs do not
// write to its memory. It must not be called if the program has several ranks.
func (s *Statement) Take() (*tcs.Tensor, error) {
	t, err := s.p.inMemory(s.parsed.Result)
	if err != nil {
		return nil, err
	}
	t.ours = false
	if !t.held.AsIs {
		return s.p.result(t).Gather()
	}
	return t.held.Blocks.Own[0].Alias(), nil
}

// Written returns the values of a dense result after a run: the memory of Into, if the run wrote
// there.
func (s *Statement) Written() tcs.Array {
	return s.p.tensors[s.parsed.Result].held.Blocks.Own[0].Vals
}
