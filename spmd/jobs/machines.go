package jobs

import (
	"slices"

	"distaff/codegen/jobfile"
	"distaff/codegen/notation"
	"distaff/codegen/place"
	"distaff/io/tensor"
	"distaff/spmd/plan"
	"distaff/spmd/program"
)

// machines returns an error if a machine that the file declares cannot be resolved for the number
// of ranks. It notes which machines with given extents have fewer points than there are ranks.
func (r *execution) machines() error {
	for _, it := range r.names.f.Items {
		m, ok := it.(*jobfile.Machine)
		if !ok {
			continue
		}
		machine, err := m.Resolve(int64(r.p.Ranks()), r.names.lookup)
		if err != nil {
			return err
		}
		if s := machine.IdleNote(r.p.Ranks()); s != "" {
			r.note(r.names.where(m) + ": " + s)
		}
	}
	return nil
}

// target finds where a placement puts a tensor, for the given number of ranks. There are three
// cases:
//
//   - The placement divides one mode evenly among all ranks, over a machine of one dimension: mode
//     is this mode, and machine is nil.
//   - The placement gives every rank a copy, over a machine of one dimension, or there is only one
//     rank and the first case does not hold: mode is -1, and machine is nil. Program.Place then
//     moves the whole tensor to rank 0.
//   - In all other cases, machine is the machine of the placement, and mode is 0.
func (r *names) target(p place.Placement, ranks int) (mode int, machine *place.Machine, err error) {
	over := r.f.MachineOf(p)
	m := r.grids[over]
	if m == nil {
		if m, err = over.Resolve(int64(ranks), r.lookup); err != nil {
			return 0, nil, err
		}
	}
	if mode, ok := p.Even(); ok && m.Points() == int64(ranks) {
		return mode, nil, nil
	}
	if ranks == 1 {
		return -1, nil, nil
	}
	return 0, m, nil
}

// how returns how a statement is scheduled on the given number of ranks. If it is distributed over
// a machine, the result includes the placements of its tensors over the same machine.
func (r *names) how(s *jobfile.Statement, ranks int) (how program.How, err error) {
	for _, c := range s.Schedule {
		how.Schedule = append(how.Schedule, c.Text)
	}
	how.Network, how.IntermediateOrder, how.On = s.Network, s.IntermediateOrder, s.On
	if how.Blocks, err = place.ParseBlocks(s.Split, s.Order, s.Extend, s.Map); err != nil {
		return how, s.Locate(err)
	}
	m := s.Machine()
	if m == nil {
		return how, nil
	}
	if how.Machine, err = m.Resolve(int64(ranks), r.lookup); err != nil {
		return how, err
	}
	how.Placements = map[string]place.Placement{}
	for _, a := range s.Stmt.Tensors() {
		if t := r.f.Tensor(a.Name); t != nil && t.Placement != nil &&
			t.Placement.Placement.Over(how.Machine) {
			how.Placements[a.Name] = t.Placement.Placement
		}
	}
	return how, nil
}

// known holds what the inputs say about the tensors of a file before it runs.
type known struct {
	Names map[string]int64       // sizes by name
	From  map[string]string      // by name: what gave the size
	Dims  map[string][]int64     // sizes of tensors
	Types map[string]tensor.Type // types of the inputs that have one
	// Temporaries holds the types of all tensors if the file runs; otherwise it is nil.
	Temporaries map[string]tensor.Type
}

// products computes the extents of machines that are derived from a matrix product. It skips
// machines that no placement or no statement uses, and stores the others in r.grids. k holds what
// the inputs say about sizes. limit is the number of bytes that a rank may allocate, or 0 for no
// limit.
func (r *names) products(k known, ranks int, limit int64) error {
	for p := range r.f.Placements() {
		m := r.f.MachineOf(p.Placement)
		if !m.OfProduct() || r.grids[m] != nil {
			continue
		}
		var first *jobfile.Statement
		for s := range r.f.Statements() {
			if s.Machine() != m {
				continue
			}
			grid, err := r.product(s, k, ranks, limit)
			switch had := r.grids[m]; {
			case err != nil:
				return s.Locate(err)
			case had == nil:
				first, r.grids[m] = s, grid
			case !slices.Equal(had.Dims(), grid.Dims()):
				return r.f.Errorf(p.At(), jobfile.Declaration,
					"got a placement over %s, but its grid would be %s for the product of "+
						"line %d and %s for the product of line %d; want a separate machine "+
						"for each product",
					m.Name, had, r.line(first), grid, r.line(s))
			}
		}
	}
	return nil
}

// product computes the extents of the machine that statement s uses, for the given number of ranks.
// It derives them from the sizes, formats and types of the tensors of s. k holds what the inputs
// say about sizes and types. limit is the number of bytes that a rank may allocate, or 0 for no
// limit.
func (r *names) product(s *jobfile.Statement, k known, ranks int, limit int64) (*place.Machine,
	error) {
	m, err := s.Machine().Resolve(int64(ranks), r.lookup)
	if err != nil {
		return nil, err
	}
	norm := notation.Normalize(s.Stmt)
	sizes := map[string][]notation.Known{}
	formats := map[string]tensor.Format{}
	for _, a := range s.Stmt.Tensors() {
		for _, n := range k.Dims[a.Name] {
			sizes[a.Name] = append(sizes[a.Name], notation.Known{Size: n, Exact: true, From: a.Name})
		}
		formats[a.Name] = tensor.DenseOf(a.Order)
		if t := r.f.Tensor(a.Name); t.Format != "" {
			if formats[a.Name], err = notation.ParseFormat(t.Format); err != nil {
				return nil, err
			}
		}
	}
	found, err := notation.InferSizes(norm, sizes, nil, nil)
	if err != nil {
		return nil, err
	}
	types, err := r.f.CheckTypes(k.Types)
	if err != nil {
		return nil, err
	}
	g := plan.Given{Norm: norm, Sizes: found.Vars, Ranks: ranks, Machine: m, Limit: limit,
		ValueBytes: int64(types[s.Stmt.LHS.Name].Size()),
		Format:     func(name string) tensor.Format { return formats[name] }}
	return g.Grid()
}
