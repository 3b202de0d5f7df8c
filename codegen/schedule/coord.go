package schedule

import (
	"distaff/codegen/cin"
	"distaff/codegen/provenance"
)

// coord replaces a variable p, which runs over positions, with a variable c, which runs over
// coordinates: coord(p, c). Tiles that were made before this command still consist of positions.
//
// If a later command splits c inside a tile, it splits the coordinates from the tile's first
// position to its last position. If several variables are fused, c runs over tuples of coordinates
// in lexicographic order.
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
