package schedule

import "distaff/codegen/strategy"

// flatten replaces the outermost loop over i, and the loops inside it, with one loop over the
// positions of the operand whose pattern the result shares. The positions are of the result's last
// compressed level. Nothing else may read the coordinates of the levels above that level.
func flatten(s *state) error {
	r, err := s.ref(0)
	if err != nil {
		return err
	}
	return s.order(strategy.Flatten{Loop: r})
}
