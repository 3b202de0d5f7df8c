package input

import (
	"distaff/codegen"
	"distaff/codegen/format"
	"distaff/codegen/place"
	"distaff/io/coo"
	"distaff/spmd/bridge"
	"distaff/spmd/estimate"
	"distaff/spmd/plan"
)

// Estimate is about how many entries a tensor has, from what is known before
// it is loaded.
func (r *Reader) Estimate(name string) float64 {
	s := r.Sources[name]
	all := estimate.Space(r.Sizes.Dims[name])
	switch {
	case s == nil || s.Scalar != nil:
		return 1
	case s.Tensor != nil, s.held != nil:
		return float64(s.entries)
	case s.Gen != nil && s.Gen.NNZ() > 0:
		return min(all, float64(s.Gen.NNZ()))
	case s.about != nil && !s.Dense:
		return min(all, float64(*s.about))
	}
	return all
}

// EntryCount is how many entries a source has, as far as can be told without
// reading it.
func (s *Source) EntryCount(dims []int64) float64 {
	all := estimate.Space(dims)
	switch {
	case s == nil || s.Scalar != nil:
		return all
	case s.Tensor != nil:
		if st, ok := s.Tensor.FileStats(); ok {
			return float64(st.Entries)
		}
		return float64(s.Tensor.Vals.Len)
	case s.held != nil:
		return float64(s.entries)
	case s.Gen != nil:
		return s.Gen.Entries(dims)
	case s.Dense:
		return all
	case s.counted > 0 || s.distinct:
		return float64(s.counted)
	case s.about != nil:
		return min(all, float64(*s.about))
	}
	return all
}

// Listed is how many entries a source lists, with those of one coordinate, of which the tensor has
// about so many.
func (s *Source) Listed(entries float64) float64 {
	if s != nil && s.about != nil && !s.Dense && s.Scalar == nil {
		return max(entries, float64(*s.about), float64(s.counted))
	}
	return entries
}

// aboutEntries is about how many entries a stream has, from what its file says in its
// beginning: the count of a header, or the length of its first lines; nil where that is not known.
func aboutEntries(s coo.Stream, order int) *int64 {
	if n, ok := s.(interface{ NNZ() int64 }); ok {
		n := n.NNZ()
		return &n
	}
	if x, ok := s.(interface{ About() (int64, bool) }); ok {
		if n, ok := x.About(); ok {
			return &n
		}
	}
	if p, ok := s.(coo.Progressed); ok {
		if _, bytes := p.Progress(); bytes > 0 { // a short number for each coordinate, and a value
			n := bytes / int64(4*order+6)
			return &n
		}
	}
	return nil
}

// CountKnown tells whether EntryCount is no estimate.
func (s *Source) CountKnown() bool {
	switch {
	case s == nil:
		return false
	case s.Gen != nil, s.held != nil:
		return true
	case s.Tensor != nil:
		_, ok := s.Tensor.FileStats()
		return ok || s.Tensor.Header.Whole()
	}
	return s.Dense || s.Scalar != nil || s.distinct
}

// Plan is what a plan of the statement is made of, for a number of ranks.
// limit is the bytes that a rank may take as the user said it, 0 where nothing was said.
func (r *Reader) Plan(ranks int, blocks *place.BlockSpec, limit int64) plan.Given {
	var read []string
	for _, name := range r.p.Names {
		if r.Sources[name] != nil {
			read = append(read, name)
		}
	}
	machine := r.p.Machine
	if machine == nil {
		machine = place.Line(int64(ranks))
	}
	return plan.Given{Norm: r.p.Norm, Names: r.p.Names, Read: read, Old: r.p.Old, Sizes: r.Sizes.Vars,
		Blocks: blocks, Ranks: ranks,
		Machine: machine, Placements: r.p.Placements, Device: r.Env.Code() == codegen.CUDA,
		Schedule: r.p.Schedule,
		Limit:    limit, ValueBytes: int64(bridge.TCS(r.Types[r.p.Result]).Size()),
		Format: func(tensor string) format.Format { return r.Formats[tensor] }, Entries: r.Estimate}
}
