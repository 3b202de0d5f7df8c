package schedule

import "distaff/codegen/strategy"

// flatten makes one loop over the positions of an operand whose pattern the result
// shares, down to the result's last compressed level, in the place of the outermost loop over i
// and those inside it. Nothing else may read the coordinates of the levels above that.
func flatten(s *state) error {
	r, err := s.ref(0)
	if err != nil {
		return err
	}
	return s.order(strategy.Flatten{Loop: r})
}
