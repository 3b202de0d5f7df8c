package schedule

import (
	"distaff/codegen/cin"
	"distaff/codegen/provenance"
)

// coord replaces a variable that runs over positions with one that runs over coordinates: coord(p,
// c). Earlier tiles of positions stay. Later splits cut the coordinates between the first and the
// last one of a tile. If several variables are fused, these coordinates are ordered
// lexicographically.
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
