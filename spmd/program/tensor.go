package program

import (
	"slices"

	"distaff/codegen/notation"
	"distaff/codegen/place"
	"distaff/io/memory"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd/comm"
	"distaff/spmd/env"
	"distaff/spmd/fault"
	"distaff/spmd/input"
	"distaff/spmd/output"
	"distaff/spmd/summary"
	"distaff/spmd/transfer"
)

// programTensor is a tensor of a program at one rank.
type programTensor struct {
	env  *env.Env
	name string
	how  Storage
	in   input.Input // the input, while held is nil; the zero Input if there is none

	held    *input.Held
	version int64        // changes whenever the values change
	ours    bool         // statements may overwrite its memory
	lent    bool         // other ranks of this process may still read its blocks
	memory  place.Memory // memory that its placement names
	broken  string       // the statement that failed while it wrote the tensor; or ""
}

// newTensor returns a tensor that no statement has read or written yet.
func (p *Program) newTensor(name string, in input.Input, how Storage) (*programTensor, error) {
	t := &programTensor{env: p.env, name: name, in: in, how: how, version: p.version()}
	order := len(how.Sizes)
	if in.Tensor != nil {
		if err := memory.Check(in.Tensor, name, p.o.TrustInput); err != nil {
			return nil, err
		}
		p.env.Changed(in.Tensor) // its memory may belong to a tensor that was set before
		order = in.Tensor.Order()
		if len(how.Sizes) > 0 && len(how.Sizes) != order {
			return nil, fault.Commandf("%s: got %s, want %d: the tensor in memory has %s", name,
				tensor.Count(int64(len(how.Sizes)), "size"), order, tensor.Count(int64(order), "mode"))
		}
	}
	if how.Format != "" {
		_, f, err := notation.ParseFormatFlag(name + ":" + how.Format)
		if err != nil {
			return nil, err
		}
		if order > 0 && f.NumModes() != order {
			return nil, fault.Commandf("%s: the format %s has %s, want %d", name, how.Format,
				tensor.Count(int64(f.NumModes()), "level"), order)
		}
	}
	if how.Type != "" {
		if _, err := notation.ParseType(how.Type); err != nil {
			return nil, fault.Commandf("%s: %v", name, err)
		}
	}
	for _, n := range how.Sizes {
		if n != -1 {
			if err := tensor.CheckSize(n); err != nil {
				return nil, fault.Commandf("%s: %v", name, err)
			}
		}
	}
	if in.Scalar != nil {
		return t, p.holdScalar(t)
	}
	if x := in.Tensor; x != nil && x.File() == "" && t.storedAs(x) {
		t.hold(p.alone(x))
	}
	return t, nil
}

// holdScalar sets the value of a scalar that is given as a number.
func (p *Program) holdScalar(t *programTensor) error {
	if order := max(len(t.how.Sizes), len(t.how.Format)); order > 0 {
		return fault.Commandf("%s: got sizes or a format for a scalar, want neither", t.name)
	}
	typ := tensor.None
	if t.how.Type != "" {
		d, err := notation.ParseType(t.how.Type)
		if err != nil {
			return fault.Commandf("%s: %v", t.name, err)
		}
		typ = d
	}
	x, err := input.ScalarTensor(t.name, t.in.Scalar, typ)
	if err != nil {
		return err
	}
	h := p.alone(x)
	h.Replica = x.Alias()
	t.hold(h)
	return x.Close()
}

// storedAs reports whether x, the tensor in memory, is a whole tensor with the sizes, the type and
// the format that t.how requests.
func (t *programTensor) storedAs(x *tcs.Tensor) bool {
	for m, n := range t.how.Sizes {
		if n != -1 && n != x.Header.Dims[m] {
			return false
		}
	}
	if t.how.Type != "" {
		if d, err := notation.ParseType(t.how.Type); err != nil || d != x.Header.Type {
			return false
		}
	}
	if t.how.Format != "" {
		if _, f, err := notation.ParseFormatFlag(t.name + ":" + t.how.Format); err != nil ||
			!f.Equal(x.Format()) {
			return false
		}
	}
	return x.Header.Whole()
}

// alone returns a tensor of the program whose only block, x, is at rank 0.
func (p *Program) alone(x *tcs.Tensor) *input.Held {
	var own *tcs.Tensor
	if p.env.Root() {
		own = x.Alias()
	}
	h := AtRoot(x.Header.Dims, x.Header.Type, x.Format(), own)
	h.Entries = summary.Entries(x)
	return h
}

// hold sets the tensor's blocks.
func (t *programTensor) hold(h *input.Held) {
	t.unhold()
	t.held, t.in, t.lent = h, input.Input{}, false
	t.keep()
}

func (t *programTensor) unhold() {
	if t.held == nil {
		return
	}
	for _, b := range t.held.Blocks.Own {
		t.env.Drop(b)
		b.Close()
	}
	if r := t.held.Replica; r != nil {
		t.env.Drop(r)
		r.Close()
	}
	if f := t.held.File; f != nil {
		f.Close()
	}
	t.held = nil
}

// keep keeps the blocks and the replica in the memory of the device that runs leaves, from one
// statement to the next. It does nothing if the tensor is loose, or if its placement names the
// host's memory.
func (t *programTensor) keep() {
	if t.held.MayChange {
		return
	}
	for _, b := range t.held.Blocks.Own {
		t.env.KeepIn(b, t.memory)
	}
	if r := t.held.Replica; r != nil {
		t.env.KeepIn(r, t.memory)
	}
}

// lieIn records the memory that a placement names for the tensor. If the memory changes and the
// tensor has blocks, the device forgets the blocks (see forget). They are then kept in the new
// memory (see keep).
func (t *programTensor) lieIn(m place.Memory) {
	if t.memory == m {
		return
	}
	if t.held != nil {
		t.forget()
	}
	if t.memory = m; t.held != nil {
		t.keep()
	}
}

// forget ends the effect of keep.
func (t *programTensor) forget() {
	for _, b := range t.held.Blocks.Own {
		t.env.Forget(b)
	}
	t.env.Forget(t.held.Replica)
}

// drop releases the tensor's memory.
func (t *programTensor) drop() {
	t.unhold()
	t.in = input.Input{}
}

// hasValue reports whether the tensor has a value.
func (t *programTensor) hasValue() bool {
	in := &t.in
	return t.broken == "" && (t.held != nil || in.File != "" || in.Generate != "" || in.Tensor != nil)
}

// isAddedTo reports whether a += statement would add to an old value of the tensor, and not start
// from zero. It also returns true if the last write failed. The += statement then returns an error.
func (t *programTensor) isAddedTo() bool { return t.hasValue() || t.broken != "" }

// sizes returns the sizes to give to a statement that writes the tensor. If sizes are declared, it
// returns the declared sizes. Otherwise it returns the sizes of the tensor's current value. Only
// the size of a mode m with asTheyWere[m] is returned; the other sizes are -1 (unknown). sizes
// returns nil if nothing is known, if asTheyWere is nil, or if the number of modes is not
// len(asTheyWere).
func (t *programTensor) sizes(asTheyWere []bool) []int64 {
	var dims []int64
	switch {
	case len(t.how.Sizes) > 0 || asTheyWere == nil:
		return t.how.Sizes
	case t.held != nil:
		dims = slices.Clone(t.held.Blocks.Layout.Dims)
	case t.in.Tensor != nil:
		dims = slices.Clone(t.in.Tensor.Header.Dims)
	}
	if len(dims) != len(asTheyWere) {
		return nil
	}
	for m, is := range asTheyWere {
		if !is {
			dims[m] = -1
		}
	}
	return dims
}

// input returns the tensor as an input of a statement.
func (t *programTensor) input() (input.Input, error) {
	if t.held != nil {
		return input.Hold(t.held), t.fetch()
	}
	return t.in, nil
}

// fetch copies the values to the host's memory if the device has newer ones. It must be called
// before anything except a leaf reads the values.
func (t *programTensor) fetch() error {
	for _, b := range t.held.Blocks.Own {
		if err := t.env.Fetch(b); err != nil {
			return err
		}
	}
	return t.env.Fetch(t.held.Replica)
}

// format returns the tensor's format in the notation of -f, or "" if it is not determined.
func (t *programTensor) format() string {
	if t.held != nil {
		return t.held.Blocks.Layout.Format.String()
	}
	if t.how.Format == "" && t.in.Tensor != nil {
		return t.in.Tensor.Format().String()
	}
	return t.how.Format
}

// typ returns the tensor's type in the notation of -t, or "" if it is not determined.
func (t *programTensor) typ() string {
	if t.held != nil {
		return t.held.Blocks.Layout.Type.String()
	}
	if t.how.Type == "" && t.in.Tensor != nil {
		return t.in.Tensor.Header.Type.String()
	}
	return t.how.Type
}

// sameStorage reports whether h has the sizes dims, the type typ and the format f, and all its
// blocks have this format.
func sameStorage(h *input.Held, dims []int64, typ tensor.Type, f tensor.Format) bool {
	b := h.Blocks
	return h.AsIs && b.Layout.Type == typ && slices.Equal(b.Layout.Dims, dims) &&
		f.Equal(b.Layout.Format)
}

// result returns the tensor in the form that package output needs.
func (t *programTensor) result(e *env.Env) *output.Result {
	b := t.held.Blocks
	return &output.Result{Env: e, Name: t.name, Blocks: b,
		Whole: t.held.AsIs && e.Comm.Size() == 1 && len(b.Owners) == 1,
		Like:  transfer.Like{Name: t.name, Layout: b.Layout}}
}

// count counts the entries of the distributed tensor h over all ranks, and stores the number in
// h.Entries. Every rank must call it.
func (p *Program) count(h *input.Held) error {
	b := h.Blocks
	if b.Layout.Format.AllDense() {
		h.Entries = 1
		for _, d := range b.Layout.Dims {
			h.Entries *= d
		}
		return nil
	}
	n := []int64{0}
	for _, t := range b.Own {
		n[0] += summary.Entries(t)
	}
	if p.env.Comm.Size() > 1 {
		if err := p.env.Comm.Uncounted().Allreduce(comm.Of(n), comm.Sum); err != nil {
			return err
		}
	}
	h.Entries = n[0]
	return nil
}
