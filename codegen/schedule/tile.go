package schedule

import "distaff/codegen/strategy"

// tile has rows of the result along i, its last and dense level, summed in registers, N
// values at a time: each tile is a pass over what is summed.
func tile(s *state) error {
	v, err := s.variable(0)
	if err != nil {
		return err
	}
	n, err := s.factor(1)
	if err != nil {
		return err
	}
	return s.order(strategy.Tile{Var: v, Width: n})
}
