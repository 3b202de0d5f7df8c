package input

import (
	"distaff/codegen/place"
	"distaff/io/coo"
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
	case s.Tensor != nil:
		return float64(s.entries)
	case s.Gen != nil && s.Gen.NNZ() > 0:
		return min(all, float64(s.Gen.NNZ()))
	case s.bytes > 0:
		return min(all, float64(s.bytes)/8)
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
	case s.Gen != nil:
		return s.Gen.Entries(dims)
	case s.Dense:
		return all
	case s.stream != nil:
		if n, ok := s.stream.(interface{ NNZ() int64 }); ok {
			return min(all, float64(n.NNZ()))
		}
	}
	if s.counted > 0 {
		return min(all, float64(s.counted))
	}
	bytes := s.bytes
	if p, ok := s.stream.(coo.Progressed); ok && bytes == 0 {
		_, bytes = p.Progress()
	}
	if bytes > 0 { // of a text file: a short number for each coordinate, and a value
		return min(all, float64(bytes)/float64(4*len(dims)+6))
	}
	return all
}

// CountKnown tells whether EntryCount is no estimate.
func (s *Source) CountKnown() bool {
	switch {
	case s == nil:
		return false
	case s.Gen != nil:
		return true
	case s.Tensor != nil:
		_, ok := s.Tensor.FileStats()
		return ok || s.Tensor.Whole()
	}
	return s.Dense || s.Scalar != nil
}

// Plan is what a plan of the statement is made of, for a number of ranks.
func (r *Reader) Plan(ranks int, blocks *place.BlockSpec) plan.Given {
	var read []string
	for _, name := range r.p.Names {
		if r.Sources[name] != nil {
			read = append(read, name)
		}
	}
	return plan.Given{Norm: r.p.Norm, Names: r.p.Names, Read: read, Sizes: r.Sizes.Vars, Blocks: blocks, Ranks: ranks,
		Order: func(tensor string) []int { return r.Formats[tensor].Order }, Entries: r.Estimate}
}
