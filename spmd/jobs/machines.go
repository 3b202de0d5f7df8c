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

// machines gives the machines of the file their extents, and tells of ranks that have no point of
// one.
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

// target is where a placement has a tensor: a mode that is cut evenly over all ranks, or -1 where
// rank 0 has the whole of it, as a single rank always has; on is the machine of any other
// placement.
func (r *names) target(p place.Placement, ranks int) (mode int, on *place.Machine, err error) {
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

// how is how a statement of a file is scheduled on so many ranks. Where it is distributed, it finds
// the tensors that are placed over its machine there, and leaves its result there.
func (r *names) how(s *jobfile.Statement, ranks int) (how program.How, err error) {
	for _, c := range s.Schedule {
		how.Schedule = append(how.Schedule, c.Text)
	}
	how.Network, how.IntermediateOrder = s.Network, s.IntermediateOrder
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

// known is what is told of all tensors of a file before it runs.
type known struct {
	Names map[string]int64       // sizes, by their names
	From  map[string]string      // what gave them, by their names
	Dims  map[string][]int64     // of tensors
	Types map[string]tensor.Type // of inputs that tell theirs
}

// products computes the grids of machines that have those of products, where placements lie over
// them. limit is the bytes that a rank may take, 0 for any number.
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
					"got a placement over %s, whose grid is %s for the product of line %d and %s for that of line %d: want a machine for each",
					m.Name, had, r.line(first), grid, r.line(s))
			}
		}
	}
	return nil
}

// product is the grid for a statement.
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
