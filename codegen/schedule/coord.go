package schedule

import (
	"distaff/codegen/cin"
	"distaff/codegen/provenance"
)

// coord makes a variable that runs over positions run over coordinates again:
// coord(p, c). What was tiled by position stays so; further splits are of the
// coordinates between a tile's first and last, in their order where several are
// fused.
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
		return s.refuse(0, "%s runs over coordinates already", p)
	}
	if err := s.mayReplace(0, p); err != nil {
		return err
	}
	s.replace(p,
		func(f *cin.Forall) cin.Stmt { return &cin.Forall{Var: c, Gallop: f.Gallop, Body: f.Body} })
	return s.relate(provenance.Relation{Kind: provenance.Coord, From: []string{p}, To: []string{c}})
}
