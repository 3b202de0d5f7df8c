package schedule

import (
	"distaff/codegen/cin"
	"distaff/codegen/provenance"
)

// coord replaces a variable p, which runs over positions, with a variable c, which runs over
// coordinates: coord(p, c). Earlier tiles of positions stay. Later commands split the range of
// coordinates from the first to the last position of a tile. If several variables are fused, c runs
// over tuples of coordinates in lexicographic order.
func coord(s *state) error {
	p, err := s.variable(0)
	if err != nil {
		return err
	}
	c, err := s.fresh(1)
	if err != nil {
		return err
	}
	if s.g.PositionsOf(p) == "" {
		return s.refuse(0, "%s already runs over coordinates", p)
	}
	if err := s.mayReplace(0, p); err != nil {
		return err
	}
	s.replace(p,
		func(f *cin.Forall) cin.Stmt { return &cin.Forall{Var: c, Gallop: f.Gallop, Body: f.Body} })
	return s.relate(provenance.Relation{Kind: provenance.Coord, From: []string{p}, To: []string{c}})
}
