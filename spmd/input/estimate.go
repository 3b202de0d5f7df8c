package input

import (
	"distaff/codegen/place"
	"distaff/io/coo"
	"distaff/io/tcsfile"
	"distaff/io/tensor"
	"distaff/spmd/estimate"
	"distaff/spmd/plan"
)

// Estimate returns the approximate number of entries of a tensor that is not loaded yet.
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

// EntryCount returns the number of entries of a source, or an estimate if the source must be read
// to count them (see CountKnown). s may be nil.
func (s *Source) EntryCount(dims []int64) float64 {
	all := estimate.Space(dims)
	switch {
	case s == nil || s.Scalar != nil:
		return all
	case s.Tensor != nil:
		if st, ok := tcsfile.Stats(s.Tensor); ok {
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

// Listed estimates the number of entries that a source lists. Entries with the same coordinates are
// all counted. entries is the approximate number of different coordinates; the result is at least
// entries.
func (s *Source) Listed(entries float64) float64 {
	if s != nil && s.about != nil && !s.Dense && s.Scalar == nil {
		return max(entries, float64(*s.about), float64(s.counted))
	}
	return entries
}

// aboutEntries returns the approximate number of entries of a stream: the number in the file's
// header, or an estimate from the length of its first lines or from the size of the file. It
// returns nil if nothing is known.
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
		// a short number for each coordinate, and a value
		if _, bytes := p.Progress(); bytes > 0 {
			n := bytes / int64(4*order+6)
			return &n
		}
	}
	return nil
}

// CountKnown reports whether the result of EntryCount is exact. For a tensor of a program it always
// returns true, although Held.Entries is an estimate in a plan.
func (s *Source) CountKnown() bool {
	switch {
	case s == nil:
		return false
	case s.Gen != nil, s.held != nil:
		return true
	case s.Tensor != nil:
		_, ok := tcsfile.Stats(s.Tensor)
		return ok || s.Tensor.Header.Whole()
	}
	return s.Dense || s.Scalar != nil || s.distinct
}

// Plan returns what package plan must know about the statement. ranks is the number of ranks, and
// blocks is the block schedule of the user's flags. limit is the user's memory limit for each rank
// in bytes, or 0 if the user gave none.
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
		Machine: machine, Placements: r.p.Placements, Device: r.Env.Device(),
		Schedule: r.p.Schedule,
		Limit:    limit, ValueBytes: int64(r.Types[r.p.Result].Size()),
		Format: func(tensor string) tensor.Format { return r.Formats[tensor] }, Entries: r.Estimate}
}
