package schedule

import "distaff/codegen/strategy"

// jam has loops over i, the last and dense level of the result, moved into the loops inside
// them that sum, N iterations at a time (unroll-and-jam); 1 leaves them where they are.
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
