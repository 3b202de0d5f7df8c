package schedule

import "distaff/codegen/strategy"

// jam moves the loops over i, the result's last and dense level, into the loops inside them that
// sum, N iterations at a time (unroll-and-jam). N = 1 leaves the loops unchanged.
func jam(s *state) error {
	v, err := s.indexed(0)
	if err != nil {
		return err
	}
	n, err := s.factor(1)
	if err != nil {
		return err
	}
	return s.order(strategy.Jam{Var: v, Width: n})
}
