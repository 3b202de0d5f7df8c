package jobs

import (
	"distaff/codegen/jobfile"
	"distaff/codegen/place"
	"distaff/spmd/program"
)

// machines gives the machines of the file their extents, and tells of ranks that have no point of
// one.
func (r *run) machines() error {
	for _, it := range r.f.Items {
		m, ok := it.(*jobfile.Machine)
		if !ok {
			continue
		}
		machine, err := m.Resolve(int64(r.p.Ranks()), r.lookup)
		if err != nil {
			return err
		}
		if s := machine.IdleNote(r.p.Ranks()); s != "" {
			r.note(r.where(m) + ": " + s)
		}
	}
	return nil
}

// target is where a placement has a tensor: a mode that is cut evenly over all ranks, or -1
// where rank 0 has the whole of it, as a single rank always has; on is the machine of any other placement.
func (r *names) target(p place.Placement, ranks int) (mode int, on *place.Machine, err error) {
	m, err := r.f.MachineOf(p).Resolve(int64(ranks), r.lookup)
	if err != nil {
		return 0, nil, err
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
		if t := r.f.Tensor(a.Name); t != nil && t.Placement != nil && t.Placement.Over(how.Machine) {
			how.Placements[a.Name] = t.Placement.Placement
		}
	}
	return how, nil
}
