package spmd

import (
	"runtime"
	"sync"
	"time"

	"distaff/codegen/format"
	"distaff/io/coo"
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
		if err := s.gen.bind(s.name, r.sizes.Dims[s.name], s.typ, r.job.Seed); err != nil {
			return nil, err
		}
		if s.gen.dense() && f.AllDense() {
			t, err = r.fill(s, f)
		} else {
			only := alone()
			only.limit = r.limit
			if err := s.gen.draw(only); err != nil {
				return nil, err
			}
			t, err = coo.Assemble(s.gen.stream(), spec, r.config())
			s.gen.undraw()
		}
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

// fill generates a dense tensor in place, in parallel over its outermost level.
func (r *run) fill(s *source, f format.Format) (*tcs.Tensor, error) {
	g := s.gen
	counts := make([]int64, len(f.Levels))
	t, err := tcs.New(&tcs.Shape{Header: tcs.Header{Dims: g.dims, Type: g.typ}, Kinds: f.Letters(), Modes: f.Order, Counts: counts}, r.limit, s.name)
	if err != nil {
		return nil, err
	}
	if t.Vals.Len == 0 {
		return t, nil
	}
	if len(f.Levels) == 0 {
		t.SetValue(0, g.at(nil))
		return t, nil
	}
	size, inner := g.dims[f.Order[0]], int64(1)
	for _, m := range f.Order[1:] {
		inner *= g.dims[m]
	}
	workers := int64(max(r.threads, 1))
	var wait sync.WaitGroup
	for w := range workers {
		wait.Add(1)
		go func() {
			defer wait.Done()
			at := make([]int64, len(g.dims))
			for c := size * w / workers; c < size*(w+1)/workers; c++ {
				at[f.Order[0]] = c
				g.fillBelow(t, f, at, 1, c*inner)
			}
		}()
	}
	wait.Wait()
	runtime.KeepAlive(t)
	return t, nil
}

// fillBelow stores the values under the coordinates fixed so far, from position
// p on, and returns the position after them.
func (g *generator) fillBelow(t *tcs.Tensor, f format.Format, at []int64, level int, p int64) int64 {
	if level == len(f.Levels) {
		t.SetValue(p, g.at(at))
		return p + 1
	}
	m := f.Order[level]
	if level == len(f.Levels)-1 && m == len(at)-1 {
		// Row-major: the hash of the other coordinates serves the whole row.
		prefix := g.prefix(at[:m])
		for c := range g.dims[m] {
			t.SetValue(p+c, g.value(prefix, c))
		}
		return p + g.dims[m]
	}
	for c := range g.dims[m] {
		at[m] = c
		p = g.fillBelow(t, f, at, level+1, p)
	}
	return p
}
