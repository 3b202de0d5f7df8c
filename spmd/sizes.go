package spmd

import (
	"errors"
	"io"

	"distaff/codegen/diag"
	"distaff/codegen/notation"
	"distaff/io/coo"
)

// inferSizes settles every size. A .tns file has none: where nothing else
// decides a mode's size, the file is read for its largest coordinates first.
func (r *run) inferSizes() error {
	return r.inferSizesBy(func(s *source) error {
		if s.stream == nil {
			return nil
		}
		return r.scan(s)
	})
}

// inferSizesBy is inferSizes with the function that reads a file for its
// largest coordinates.
func (r *run) inferSizesBy(scan func(s *source) error) error {
	sizes, err := r.sizesFrom(func(s *source) bool { return s.exact })
	var e *diag.Error
	if err != nil && !(errors.As(err, &e) && e.Code == diag.SizeUnknown) {
		return err
	}
	if err != nil {
		// Something is left open; the files without sizes must tell.
		for _, name := range r.p.names {
			if s := r.sources[name]; s != nil && s.dims != nil && !s.exact {
				if err := scan(s); err != nil {
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

// scan reads a stream to its end for its largest coordinates, and counts its entries.
func (r *run) scan(s *source) error {
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
