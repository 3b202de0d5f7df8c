package spmd

import (
	"errors"
	"io"

	"distaff/codegen/diag"
	"distaff/codegen/notation"
	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/kernels"
	"distaff/spmd/comm"
	"distaff/spmd/load"
)

// missing is what becomes of operands without an input.
type missing uint8

const (
	refused missing = iota // the job must not come here
	dense                  // they are dense tensors, whose sizes must be known
	guessed                // and where their sizes are not known, those are kernels.UnknownSize
)

// declare makes the sources of operands without an input.
func (r *run) declare() error {
	for _, name := range r.p.names[1:] {
		if _, ok := r.job.Inputs[name]; ok {
			continue
		}
		f, given := r.p.formats[name]
		if r.missing == dense && given && !f.AllDense() {
			return commandErrorf("%s is stored as %v, and no input tells how many entries it has: give -i=%s:FILE or -g=%s:uniform:NNZ", name, f, name, name)
		}
		typ := tcsType(r.p.types[name])
		if typ == tcs.Invalid {
			typ = tcs.Float64
		}
		r.sources[name] = &source{name: name, order: r.p.orders[name], typ: typ, dense: true}
	}
	return nil
}

// infer settles every size, type and format, and refuses what cannot fit. Collective.
func (r *run) infer() error {
	settle := r.inferSizes
	if r.missing == guessed {
		settle = r.guessSizes
	}
	if err := settle(); err != nil {
		return err
	}
	operands := r.operandTypes()
	computed, result, err := notation.InferTypes(r.p.stmt, operands, r.p.types[r.p.result])
	if err != nil {
		return err
	}
	r.compute, r.types = computed, operands
	r.types[r.p.result] = result
	r.pickFormats()
	if r.missing != refused {
		return nil
	}
	for _, refuse := range []func() error{r.planMemory, r.planGenerated, r.planFull} {
		if err := refuse(); err != nil {
			return err
		}
	}
	return nil
}

// guessSizes takes a guess as a lower bound, which counts only where nothing is exact.
func (r *run) guessSizes() (err error) {
	known := map[string][]notation.Known{}
	for _, name := range r.p.names {
		if s := r.sources[name]; s != nil && s.dims != nil && s.exact {
			known[name] = s.known()
			continue
		}
		for range r.p.orders[name] {
			known[name] = append(known[name], notation.Known{Size: kernels.UnknownSize, From: "the compiler's guess"})
		}
	}
	r.sizes, err = notation.InferSizes(r.p.norm, known, r.job.Sizes)
	return err
}

// inferSizes settles every size. A .tns file has none: where nothing else
// decides a mode's size, the file is read for its largest coordinates first. Collective.
func (r *run) inferSizes() error {
	sizes, err := r.sizesFrom(func(s *source) bool { return s.exact })
	var e *diag.Error
	if err != nil && !(errors.As(err, &e) && e.Code == diag.SizeUnknown) {
		return err
	}
	if err != nil {
		// Something is left open; the files without sizes must tell.
		for _, name := range r.p.names {
			if s := r.sources[name]; s != nil && s.dims != nil && !s.exact {
				if err := r.scan(s); err != nil {
					return err
				}
			}
		}
		if sizes, err = r.sizesFrom(func(*source) bool { return true }); err != nil {
			return err
		}
	}
	r.sizes = sizes
	return r.settleStreams()
}

func (r *run) sizesFrom(use func(*source) bool) (*notation.Sizes, error) {
	known := map[string][]notation.Known{}
	for name, s := range r.sources {
		if s.dims != nil && use(s) {
			known[name] = s.known()
		}
	}
	return notation.InferSizes(r.p.norm, known, r.job.Sizes)
}

// scan finds the largest coordinates of a file without sizes: every rank in its
// part, or rank 0 alone. Collective.
func (r *run) scan(s *source) (err error) {
	if s.part != nil {
		s.dims, err = load.Sizes(r.comm, s.part)
		return err
	}
	if s.stream != nil {
		if err := r.scanStream(s); err != nil {
			return err
		}
	}
	return r.comm.Uncounted().Bcast(comm.Of(s.dims), 0)
}

// scanStream reads a stream to its end for its largest coordinates, and counts its entries.
func (r *run) scanStream(s *source) error {
	var b coo.Batch
	s.counted = 0
	if k, ok := s.stream.(interface{ Keep() }); ok {
		k.Keep()
	}
	for {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		err := s.stream.Next(&b)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		s.counted += int64(b.N)
	}
	s.dims, s.exact = s.stream.Dims()
	return s.stream.Rewind()
}

// settleStreams tells streams without sizes those that were found, so that a
// coordinate past them is refused with its line.
func (r *run) settleStreams() error {
	for _, name := range r.p.names {
		s := r.sources[name]
		if s == nil || s.exact {
			continue
		}
		if s.part != nil {
			s.part.SetDims(r.sizes.Dims[name])
		}
		if s.stream == nil {
			if s.dims != nil { // of a stream that rank 0 has
				s.dims, s.exact = r.sizes.Dims[name], true
			}
			continue
		}
		sizable, ok := s.stream.(coo.Sizable)
		if !ok {
			panic("BUG: spmd: a stream that neither has sizes nor takes them")
		}
		sizable.SetDims(r.sizes.Dims[name])
		s.dims, s.exact = s.stream.Dims()
	}
	return nil
}
