package schedule

import (
	"distaff/codegen/cin"
	"distaff/codegen/provenance"
)

// split strip-mines a loop: split(i, i0, i1, N) makes tiles of N coordinates. If i runs over
// positions, it makes tiles of N positions.
func split(s *state) error { return cut(s, provenance.Split) }

// divide cuts a loop into N tiles of equal size: divide(i, i0, i1, N). The last tiles may be
// smaller or empty. If N is large, there may be fewer than N tiles (see provenance.Pieces).
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
		return s.refuse(2, "the name %s is in use; want a new one", inner)
	}
	n, err := s.factor(3)
	if err != nil {
		return err
	}
	// otherwise the producer and the consumer would be cut in different ways
	if s.g.PositionsOf(s.g.ConsumerVar(v)) == "" {
		if err := s.ofWorkspace(0, v); err != nil {
			return err
		}
	}
	if err := s.refuseUnrolled(0, v); err != nil {
		return err
	}
	s.replace(v, func(f *cin.Forall) cin.Stmt {
		return &cin.Forall{Var: outer, Body: &cin.Forall{Var: inner, Gallop: f.Gallop, Body: f.Body}}
	})
	return s.relate(provenance.Relation{Kind: kind, From: []string{v}, To: []string{outer, inner},
		N: n})
}
