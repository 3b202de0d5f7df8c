package program

import (
	"slices"

	"distaff/codegen/place"
	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/spmd/bridge"
	"distaff/spmd/fault"
	"distaff/spmd/input"
	"distaff/spmd/load"
	"distaff/spmd/plan"
	"distaff/spmd/store"
)

// compute runs the statement, and gives the result's name what it makes.
func (s *Statement) compute() error {
	p := s.p
	name := s.parsed.Result
	t := p.tensors[name]
	if t == nil {
		t = &tensor{name: name}
		p.tensors[name] = t
	}
	if s.k.Problem.Whole {
		return s.computeWhole(t)
	}
	if s.k.Near() {
		h, err := s.k.ComputeNear()
		if err != nil {
			return p.failed(s.breaks(t, err))
		}
		p.replace(t, h)
		return nil
	}
	own, err := s.k.Compute()
	if err != nil {
		return p.failed(s.breaks(t, err))
	}
	h, err := p.counted(s.k.ResultBlocks(own), s.k.ResultStored())
	if err != nil {
		return p.failed(s.breaks(t, err))
	}
	p.replace(t, h)
	return nil
}

// computeWhole runs a statement on whole tensors, over the result's own memory where it
// can.
func (s *Statement) computeWhole(t *tensor) error {
	into := s.over(t)
	out, err := s.k.ComputeWhole(into)
	if err != nil {
		return s.breaks(t, err)
	}
	if into == out {
		t.version = s.p.version()
		return nil
	}
	h, err := s.p.counted(s.k.ResultBlocks(map[plan.Block]*tcs.Tensor{0: out}), true)
	if err != nil {
		out.Close()
		return s.breaks(t, err)
	}
	s.p.replace(t, h)
	return nil
}

// over is the result's own tensor, where the statement can write over it: it is dense, made
// by a statement, of the sizes that it will have, and is not read.
func (s *Statement) over(t *tensor) *tcs.Tensor {
	if !t.ours || t.held == nil || len(t.held.Blocks.Owners) != 1 || s.p.o.Fresh {
		return nil
	}
	b, r := t.held.Blocks, s.reader
	if !tcs.AllDense(b.Kinds) || b.Type != bridge.TCS(r.Types[t.name]) || !slices.Equal(b.Dims, r.Sizes.Dims[t.name]) || !r.Formats[t.name].Equal(bridge.FormatOf(b.Kinds, b.Modes)) {
		return nil
	}
	for _, x := range s.reads {
		if x.name == t.name {
			return nil
		}
	}
	return b.Own[0]
}

// replace gives a tensor that a statement made to a name.
func (p *Program) replace(t *tensor, h *input.Held) {
	p.release(t.name)
	t.hold(h)
	t.version, t.ours, t.broken = p.version(), true, ""
}

// breaks notes that a statement failed while it wrote its result.
func (s *Statement) breaks(t *tensor, err error) error {
	t.broken = s.text
	return err
}

// Place cuts a mode of a tensor evenly over the ranks, or, where mode is -1, brings the whole of
// it to rank 0, from where statements have it sent. Its values stay. Collective.
func (p *Program) Place(name string, mode int) error {
	t, err := p.held(name)
	if err != nil {
		return err
	}
	if mode < -1 || mode >= len(t.held.Blocks.Dims) {
		return fault.Commandf("%s: got mode %d, want -1 or one of its %s", name, mode, tcs.Count(int64(len(t.held.Blocks.Dims)), "mode"))
	}
	h, err := p.moved(t, mode)
	if err != nil {
		return p.failed(err)
	}
	if h != nil {
		p.release(name)
		t.hold(h)
	}
	return nil
}

// moved is the tensor with a mode cut evenly; nil where it is so already. Collective.
func (p *Program) moved(t *tensor, mode int) (*input.Held, error) {
	b, ranks := t.held.Blocks, p.env.Comm.Size()
	problem := plan.Whole()
	problem.Ranks = ranks
	cuts := slices.Repeat([]int{-1}, len(b.Dims))
	if mode >= 0 && ranks > 1 {
		v := place.BlockVar{Name: "x", Cuts: place.EvenCuts(b.Dims[mode], int64(ranks))}
		problem.Blocking = &place.Blocking{Vars: []place.BlockVar{v}, Map: []int{0}}
		cuts[mode] = 0
	}
	g := &load.Target{Plan: problem, Cuts: cuts, Spec: coo.Spec{Kinds: b.Kinds, Modes: b.Modes, Dims: b.Dims, Type: b.Type, Name: t.name}, Cfg: p.env.Config()}
	own, moved, err := g.Held(p.env.Comm, b, t.held.AsIs)
	if err != nil {
		return nil, err
	}
	if !moved {
		for _, x := range own {
			x.Close()
		}
		return nil, nil
	}
	out := &store.Blocks{Dims: b.Dims, Type: b.Type, Kinds: b.Kinds, Modes: b.Modes, Own: map[int]*tcs.Tensor{}}
	for n := range plan.Block(problem.SpaceOf(cuts).Size()) {
		out.Owners = append(out.Owners, problem.Owner(cuts, n))
		out.Boxes = append(out.Boxes, problem.Box(cuts, n, b.Dims))
		if own[n] != nil {
			out.Own[int(n)] = own[n]
		}
	}
	return &input.Held{Blocks: out, Entries: t.held.Entries, AsIs: true}, nil
}
