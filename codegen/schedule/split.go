package schedule

import (
	"distaff/codegen/cin"
	"distaff/codegen/provenance"
)

// split strip-mines a loop: split(i, i0, i1, N) makes tiles of N coordinates,
// or, where i runs over positions, of N positions.
func split(s *state) error { return cut(s, provenance.Split) }

// divide makes N tiles of even size: divide(i, i0, i1, N).
func divide(s *state) error { return cut(s, provenance.Divide) }

func cut(s *state, kind provenance.Kind) error {
	v, err := s.variable(0)
	if err != nil {
		return err
	}
	outer, err := s.fresh(1)
	if err != nil {
		return err
	}
	inner, err := s.fresh(2)
	if err != nil {
		return err
	}
	if inner == outer {
		return s.refuse(2, "the name %s is in use", inner)
	}
	n, err := s.factor(3)
	if err != nil {
		return err
	}
	// else producer and consumer are cut each in its own way
	if s.g.PositionsOf(s.g.ConsumerVar(v)) == "" {
		if err := s.ofWorkspace(0, v); err != nil {
			return err
		}
	}
	if err := s.rolled(0, v); err != nil {
		return err
	}
	s.replace(v, func(f *cin.Forall) cin.Stmt {
		return &cin.Forall{Var: outer, Body: &cin.Forall{Var: inner, Gallop: f.Gallop, Body: f.Body}}
	})
	return s.relate(provenance.Relation{Kind: kind, From: []string{v}, To: []string{outer, inner},
		N: n})
}
