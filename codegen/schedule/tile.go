package schedule

import "distaff/codegen/strategy"

// tile makes rows of the result along i, its last and dense level, be summed in registers, N values
// at a time. Each tile makes one pass over the summed entries.
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
