package spmd

import (
	"io"
	"time"

	"distaff/io/coo"
	"distaff/io/gen"
	"distaff/io/tcs"
	"distaff/spmd/comm"
	"distaff/spmd/comm/local"
	"distaff/spmd/load"
	"distaff/spmd/plan"
)

// load makes this rank's blocks of every operand. Collective.
func (r *run) load() error {
	k := r.prepared
	for i, o := range k.operands {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		own, err := r.loadBlocks(r.comm, k.problem, k.problem.Operands[i].Modes, r.sources[o.tensor])
		if err != nil {
			return err
		}
		for _, t := range own {
			r.closing(t)
		}
		k.exec.Own = append(k.exec.Own, own)
		if k.whole {
			r.detail(describeTensor(o.tensor, own[0]))
		}
	}
	return nil
}

// whole is an operand at this rank, whole: its one block, or loaded once more, alone.
func (r *run) whole(name string) (*tcs.Tensor, error) {
	if t := r.wholes[name]; t != nil {
		return t, nil
	}
	if k := r.prepared; k.whole {
		for i, o := range k.operands {
			if o.tensor == name {
				return k.exec.Own[i][0], nil
			}
		}
	}
	c, end := local.Alone(r.ctx)
	defer end()
	s := r.sources[name]
	own, err := r.loadBlocks(c, plan.Whole(), uncut(s.order), s)
	if err != nil {
		return nil, err
	}
	r.wholes[name] = own[0]
	r.closing(own[0])
	r.detail(describeTensor(name, own[0]))
	return own[0], nil
}

// uncut is plan.Operand.Modes of a tensor that no variable cuts.
func uncut(order int) []int {
	modes := make([]int, order)
	for m := range modes {
		modes[m] = -1
	}
	return modes
}

// asStored tells whether a tensor in memory or in a .tcs file serves as it is.
func (r *run) asStored(s *source) bool {
	return s.tensor.Type == s.typ && s.tensor.Whole() && r.formats[s.name].Equal(formatOf(s.tensor)) && !s.in.NoDuplicates
}

// loadBlocks makes the blocks of an operand that live at this rank of c. Collective.
func (r *run) loadBlocks(c comm.Comm, p *plan.Problem, cuts []int, s *source) (map[plan.Block]*tcs.Tensor, error) {
	f, g := r.formats[s.name], r.target(s.name, cuts)
	g.Plan = p
	switch {
	case s.scalar != nil:
		own := map[plan.Block]*tcs.Tensor{}
		if p.Owner(cuts, 0) == c.Rank() {
			own[0] = tcs.Scalar(*s.scalar)
		}
		return own, nil
	case s.tensor != nil:
		return g.Tensor(c, load.Source{Tensor: s.tensor, Check: s.in.File != "" && !r.TrustInput, AsIs: r.asStored(s), Alone: s.alone, Tmp: r.Tmp, Limit: r.limit})
	case s.gen != nil:
		if s.gen.Dense() && f.AllDense() {
			return r.fillBlocks(c, s, g)
		}
		return r.scatterGenerated(c, s, g)
	}
	var in coo.Stream = nothing{s}
	switch {
	case s.part != nil && c.Size() > 1:
		in = s.part
	case s.stream != nil:
		in = s.stream
	}
	if s.read { // by an operand before, or for the sizes
		if err := in.Rewind(); err != nil {
			return nil, err
		}
	}
	s.read = true
	stop := r.watch(s, in)
	defer stop()
	return g.Scatter(c, in)
}

// target says what blocks are to be made of an operand.
func (r *run) target(name string, cuts []int) *load.Target {
	f, s := r.formats[name], r.sources[name]
	spec := coo.Spec{Kinds: f.Letters(), Modes: f.Order, Dims: r.sizes.Dims[name], Type: s.typ, Name: s.from}
	if s.in.NoDuplicates {
		spec.Duplicates = coo.Refuse
		spec.Locate = r.locate(s)
	}
	return &load.Target{Plan: r.prepared.problem, Cuts: cuts, Spec: spec, Cfg: r.config()}
}

// scatterGenerated makes blocks of what every rank generates of a tensor.
func (r *run) scatterGenerated(c comm.Comm, s *source, g *load.Target) (map[plan.Block]*tcs.Tensor, error) {
	sum := func(n []int64) error { return c.Uncounted().Allreduce(comm.Of(n), comm.Sum) }
	in, err := s.data.Stream(gen.Part{K: c.Rank(), N: c.Size(), Sum: sum, Limit: r.limit})
	if err == nil {
		defer in.Close()
	}
	if err := load.Agree(c, err); err != nil {
		return nil, err
	}
	return g.Scatter(c, in)
}

// fillBlocks generates dense blocks in place.
func (r *run) fillBlocks(c comm.Comm, s *source, g *load.Target) (map[plan.Block]*tcs.Tensor, error) {
	own := map[plan.Block]*tcs.Tensor{}
	for b := range plan.Block(g.Plan.SpaceOf(g.Cuts).Size()) {
		if g.Plan.Owner(g.Cuts, b) != c.Rank() {
			continue
		}
		header := tcs.Header{Dims: g.Spec.Dims, Box: g.Plan.Box(g.Cuts, b, g.Spec.Dims), Type: g.Spec.Type}
		t, err := tcs.New(&tcs.Shape{Header: header, Kinds: g.Spec.Kinds, Modes: g.Spec.Modes, Counts: make([]int64, len(g.Spec.Kinds))}, r.limit, s.name)
		if err != nil {
			for _, t := range own {
				t.Close()
			}
			return nil, err
		}
		s.data.Fill(t, r.threads)
		own[b] = t
	}
	return own, nil
}

// nothing is the piece of a rank that reads no part of a file.
type nothing struct{ s *source }

func (n nothing) Dims() ([]int64, bool)   { return n.s.dims, true }
func (n nothing) Type() tcs.Type          { return n.s.typ }
func (n nothing) Next(b *coo.Batch) error { return io.EOF }
func (n nothing) Rewind() error           { return nil }
func (n nothing) Close() error            { return nil }

// watch reports the progress of a stream of s until stop is called.
func (r *run) watch(s *source, in coo.Stream) (stop func()) {
	p, ok := in.(coo.Progressed)
	if !ok || r.Progress == nil {
		return func() {}
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for tick := time.NewTicker(time.Second / 5); ; {
			select {
			case <-quit:
				tick.Stop()
				return
			case <-tick.C:
				at, total := p.Progress()
				r.Progress(s.from, at, total)
			}
		}
	}()
	return func() { close(quit); <-done }
}
