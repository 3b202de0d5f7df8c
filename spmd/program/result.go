package program

import (
	"slices"

	"distaff/codegen/place"
	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd/fault"
	"distaff/spmd/input"
	"distaff/spmd/load"
	"distaff/spmd/partition"
	"distaff/spmd/plan"
	"distaff/spmd/store"
)

// compute runs the statement and assigns the result to its name.
func (s *Statement) compute() error {
	p := s.p
	name := s.parsed.Result
	t := p.tensors[name]
	if t == nil {
		t = &programTensor{env: p.env, name: name}
		p.tensors[name] = t
	}
	if placed, ok := s.how.Placements[name]; ok {
		t.lieIn(placed.Memory())
	}
	if p.Ranks() > 1 {
		s.markLent()
	}
	over, err := s.overwritten(t)
	if err != nil {
		return p.failed(err)
	}
	h, err := s.k.Compute(over)
	if err != nil {
		return p.failed(s.markBroken(t, err))
	}
	h.Blocks.Sums = s.hasUncertainZeros()
	switch {
	case h == over:
		t.version, t.broken = p.version(), ""
		return nil
	case s.job != nil: // only files get the result
		t.held = h
		return nil
	}
	if err = s.k.Result.Complete(h.Blocks); err == nil {
		err = p.count(h)
	}
	if err != nil {
		return p.failed(s.markBroken(t, err))
	}
	p.replace(t, h)
	return nil
}

// overwritten returns the result's former value if this run can write the new values into its
// memory. Otherwise it returns nil. Every rank must call it.
func (s *Statement) overwritten(t *programTensor) (*input.Held, error) {
	switch {
	case s.job != nil:
		return nil, nil
	case s.canOverwriteOld(t):
		return t.held, s.p.settle(t)
	case s.hasFinalStorage(t) && !s.readsResult(t) && !s.p.mayRead(t) && s.k.Planned.CanWriteOver(t.held):
		return t.held, nil
	}
	return nil, nil
}

// hasUncertainZeros reports whether the sign of a zero in the result is uncertain. The sign is
// uncertain if the statement adds values, or reads a tensor with uncertain zeros.
func (s *Statement) hasUncertainZeros() bool {
	return s.k.Planned.Sums || slices.ContainsFunc(s.reads,
		func(r read) bool { return r.held != nil && r.held.Blocks.Sums })
}

// markLent marks the tensors whose blocks other ranks read directly during a run of the statement.
func (s *Statement) markLent() {
	for _, r := range s.reads {
		if t := s.p.tensors[r.name]; t != nil && t.held != nil && s.k.Operands.MayShareBlocks(r.operand, t.held.Blocks) {
			t.lent = true
		}
	}
}

// settle waits until no other rank can be reading a tensor's blocks. Every rank must call it.
func (p *Program) settle(t *programTensor) error {
	if !p.mayRead(t) {
		return nil
	}
	t.lent = false
	return p.env.Comm.Uncounted().Barrier()
}

// mayRead reports whether another rank may still read a tensor's blocks.
func (p *Program) mayRead(t *programTensor) bool {
	c := p.env.Comm
	return t.lent && c.Size() > 1 && c.OneProcess()
}

// readsResult reports whether the statement reads its result.
func (s *Statement) readsResult(t *programTensor) bool {
	return slices.ContainsFunc(s.reads, func(r read) bool { return r.name == t.name })
}

// canOverwriteOld reports whether the statement can overwrite its result's old value. At every
// rank, the leaf must read the old value in place, from blocks that the tensor owns. If every rank
// has the whole tensor, each rank must also write its own copy.
func (s *Statement) canOverwriteOld(t *programTensor) bool {
	if !s.k.Overwrites || !s.hasFinalStorage(t) ||
		t.held.Replica != nil && s.p.Ranks() > 1 && !s.k.Planned.OneStep.IsKnown() {
		return false
	}
	for _, x := range s.reads {
		if x.name == t.name {
			return x.shown && x.held == t.held
		}
	}
	return false
}

// hasFinalStorage reports whether the tensor t, which the result replaces, already has the result's
// format, type and sizes, and its memory may be overwritten (programTensor.ours). It returns false
// if Options.Fresh is set.
func (s *Statement) hasFinalStorage(t *programTensor) bool {
	if !t.ours || t.held == nil || !t.held.AsIs || s.p.o.Fresh {
		return false
	}
	b, r := t.held.Blocks, s.reader
	return b.Layout.Type == r.Types[t.name] && slices.Equal(b.Layout.Dims, r.Sizes.Dims[t.name]) &&
		r.Formats[t.name].Equal(b.Layout.Format)
}

// replace makes h, which a statement has computed, the value of t.
func (p *Program) replace(t *programTensor, h *input.Held) {
	p.release(t.name)
	t.hold(h)
	t.version, t.ours, t.broken = p.version(), true, ""
}

// markBroken records that the statement failed while it wrote its result t, which then has no
// value. It returns err.
func (s *Statement) markBroken(t *programTensor, err error) error {
	t.broken = s.text
	return err
}

// Place moves a tensor so that a mode is cut evenly over the ranks. If mode is -1, rank 0 gets the
// whole tensor. A tensor that was not loaded yet is loaded in this way. Its values do not change.
// Every rank must call it.
func (p *Program) Place(name string, mode int) error {
	return p.place(name, func(order int) (int, error) {
		if mode < -1 || mode >= order {
			return 0, fault.Commandf(
				"%s: got mode %d, want either -1 or one of its %s", name, mode,
				tensor.Count(int64(order), "mode"))
		}
		return mode, nil
	}, func(b *store.Blocks) (*partition.Partition, error) {
		return partition.Evenly(b.Layout.Dims, mode, p.Ranks()), nil
	})
}

// PlaceOn moves a tensor to a placement on a machine. Its values do not change. Every rank must
// call it.
func (p *Program) PlaceOn(name string, m *place.Machine, to place.Placement) error {
	if err := to.CheckMemory(p.env.Device()); err != nil {
		return err
	}
	err := p.place(name, func(order int) (int, error) {
		return LoadedBy, to.Check(m, order)
	}, func(b *store.Blocks) (*partition.Partition, error) {
		return plan.Placed(to, m, b.Layout.Dims, b.Layout.Format.Order, p.Ranks())
	})
	if err == nil {
		p.tensors[name].lieIn(to.Memory())
	}
	return err
}

// SetMemory stores the blocks of a tensor in memory m of each rank. It returns an error if the
// program has no tensor with the given name.
func (p *Program) SetMemory(name string, m place.Memory) error {
	t := p.tensors[name]
	if t == nil {
		return fault.Commandf("%s has no value", name)
	}
	t.lieIn(m)
	return nil
}

// memoryOf returns the kind of memory that a tensor is stored in.
func (p *Program) memoryOf(name string) place.Memory {
	if t := p.tensors[name]; t != nil {
		return t.memory
	}
	return place.AnyMemory
}

// LoadedBy is the mode along which a tensor is cut while it is loaded, before the tensor is placed
// on a machine.
const LoadedBy = 0

// place moves a tensor to another partition. If the tensor is not loaded yet, place loads it first.
// Every rank must call place.
//
// place calls modeFor with the number of the tensor's modes. modeFor returns an error if a tensor
// with this number of modes cannot be moved. Otherwise it returns a mode. If place loads the
// tensor, the tensor is cut along this mode while it is loaded.
//
// place then calls partitionFor with the blocks of the loaded tensor. partitionFor returns the new
// partition.
func (p *Program) place(name string, modeFor func(order int) (int, error),
	partitionFor func(*store.Blocks) (*partition.Partition, error)) error {
	if err := p.usable(); err != nil {
		return err
	}
	t, err := p.tensor(name)
	if err != nil {
		return err
	}
	var order int
	if t.held != nil {
		order = len(t.held.Blocks.Layout.Dims)
	} else if order, err = t.order(); err != nil {
		return err
	}
	mode, err := modeFor(order)
	if err != nil {
		return err
	}
	if t.held == nil {
		_, vars := Loading(name, order, func(string) bool { return false })
		if err := p.fetch(t, Evenly(vars, mode, p.Ranks())); err != nil {
			return err
		}
	}
	part, err := partitionFor(t.held.Blocks)
	if err != nil {
		return err
	}
	if err := t.fetch(); err != nil {
		return p.failed(err)
	}
	h, err := p.moved(t, part)
	if err != nil {
		return p.failed(err)
	}
	if h != nil {
		p.release(name)
		t.hold(h)
	}
	return nil
}

// moved returns the tensor in the pieces of partition part. If it returns nil without an error, the
// tensor is stored in these pieces already. Every rank must call it.
func (p *Program) moved(t *programTensor, part *partition.Partition) (*input.Held, error) {
	b := t.held.Blocks
	g := Placed(b, part)
	g.Spec.Name, g.Cfg = t.name, p.env.Config()
	own, moved, err := p.redistributed(g, t.held)
	if err != nil {
		return nil, err
	}
	if !moved {
		for _, x := range own {
			x.Close()
		}
		return nil, nil
	}
	out := g.Blocks()
	out.Sums = b.Sums
	for n, x := range own {
		out.Own[int(n)] = x
	}
	return &input.Held{Blocks: out, Entries: t.held.Entries, AsIs: true, MayChange: t.held.MayChange,
		File: aliasOf(t.held.File)}, nil
}

// Placed returns a load.Target: the pieces of a partition, in the format, sizes and type of the
// tensor whose blocks are b. Program.moved moves the tensor there.
func Placed(b *store.Blocks, part *partition.Partition) *load.Target {
	return &load.Target{Partition: part,
		Spec: coo.Spec{Format: b.Layout.Format, Dims: b.Layout.Dims, Type: b.Layout.Type}}
}

// PlacedEvenly returns a target for Program.Place. b holds the tensor's current blocks. The target
// cuts the tensor evenly over the ranks along the given mode. If mode is -1, the target gives the
// whole tensor to rank 0.
func PlacedEvenly(b *store.Blocks, mode, ranks int) *load.Target {
	return Placed(b, partition.Evenly(b.Layout.Dims, mode, ranks))
}

// aliasOf returns a tensor that shares and retains the memory of t, or nil if t is nil.
func aliasOf(t *tcs.Tensor) *tcs.Tensor {
	if t == nil {
		return nil
	}
	return t.Alias()
}

// redistributed returns this rank's blocks of tensor h in the pieces of target g. If moved is
// false, h is stored in these pieces already.
func (p *Program) redistributed(g *load.Target,
	h *input.Held) (own map[plan.Block]*tcs.Tensor, moved bool, err error) {
	b, asIs := h.Blocks, h.AsIs
	if g.Partition.Located() {
		return g.Redistribute(p.env.Comm, b, asIs)
	}
	if h.File != nil && !h.MayChange { // no data are sent
		own, ok, err := g.Between(p.env.Comm, load.Source{Tensor: h.File, AsIs: true, Limit: p.env.Limit})
		for _, t := range own {
			t.Trust() // the file was checked when it was read
		}
		if ok {
			return own, true, err
		}
	}
	own, err = input.Stored(p.env, p.env.Comm, g,
		func(even *load.Target) (map[plan.Block]*tcs.Tensor, error) {
			own, _, err := even.Redistribute(p.env.Comm, b,
				asIs && even.Spec.Format.Equal(g.Spec.Format))
			return own, err
		})
	return own, true, err
}
