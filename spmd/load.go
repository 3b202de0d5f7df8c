package spmd

import (
	"time"

	"distaff/io/coo"
	"distaff/io/gen"
	"distaff/io/tcs"
)

// load makes every operand a tensor in its format and type.
func (r *run) load() error {
	for _, name := range r.p.names {
		s := r.sources[name]
		if s == nil {
			continue
		}
		if err := r.ctx.Err(); err != nil {
			return err
		}
		t, err := r.loadOne(s)
		if err != nil {
			return err
		}
		r.tensors[name] = t
		if name == r.p.result {
			r.old = t // the result takes its place among the tensors
		}
		r.job.detail(describeTensor(name, t))
	}
	return nil
}

// asStored tells whether a tensor in memory or in a .tcs file serves as it is.
func (r *run) asStored(s *source) bool {
	return s.tensor.Type == s.typ && s.tensor.Whole() && r.formats[s.name].Equal(formatOf(s.tensor)) && !s.in.NoDuplicates
}

func (r *run) loadOne(s *source) (*tcs.Tensor, error) {
	f := r.formats[s.name]
	spec := coo.Spec{Kinds: f.Letters(), Modes: f.Order, Dims: r.sizes.Dims[s.name], Type: s.typ, Name: s.from}
	if s.in.NoDuplicates {
		spec.Duplicates = coo.Refuse
		spec.Locate = r.locate(s)
	}
	var t *tcs.Tensor
	var err error
	switch {
	case s.scalar != nil:
		t = tcs.Scalar(*s.scalar)
	case s.tensor != nil:
		if t, err = r.loadTensor(s, spec); err != nil || t == s.tensor {
			return t, err
		}
	case s.gen != nil:
		t, err = r.generate(s, spec)
	default:
		stop := r.watch(s, s.stream)
		t, err = coo.Assemble(s.stream, spec, r.config())
		stop()
	}
	if err != nil {
		return nil, err
	}
	r.closers = append(r.closers, t.Close)
	return t, nil
}

// loadTensor takes a .tcs file or a tensor in memory as it is, or repacks it.
func (r *run) loadTensor(s *source, spec coo.Spec) (*tcs.Tensor, error) {
	t := s.tensor
	if err := t.Load(r.limit); err != nil {
		return nil, err
	}
	if s.in.File != "" && !r.job.TrustInput {
		if err := t.Validate(); err != nil {
			return nil, err
		}
		if err := t.VerifyShare(0, 1); err != nil {
			return nil, err
		}
	}
	if r.asStored(s) {
		return t, nil
	}
	return coo.Assemble(coo.FromTensor(t, coo.ZerosFor(t, spec.Kinds, spec.Modes, false)), spec, r.config())
}

func (r *run) config() coo.Config {
	return coo.Config{Limit: r.limit, Tmp: r.job.Tmp, Threads: r.threads}
}

// watch reports the progress of a stream of s until stop is called.
func (r *run) watch(s *source, in coo.Stream) (stop func()) {
	p, ok := in.(coo.Progressed)
	if !ok || r.job.Progress == nil {
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
				r.job.Progress(s.from, at, total)
			}
		}
	}()
	return func() { close(quit); <-done }
}

// generate makes a tensor of generated data.
func (r *run) generate(s *source, spec coo.Spec) (*tcs.Tensor, error) {
	if f := r.formats[s.name]; s.gen.Dense() && f.AllDense() {
		t, err := tcs.New(&tcs.Shape{Header: tcs.Header{Dims: spec.Dims, Type: s.typ}, Kinds: spec.Kinds, Modes: spec.Modes, Counts: make([]int64, len(spec.Kinds))}, r.limit, s.name)
		if err == nil {
			s.data.Fill(t, r.threads)
		}
		return t, err
	}
	in, err := s.data.Stream(gen.Part{Limit: r.limit})
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return coo.Assemble(in, spec, r.config())
}
