package schedule

import "distaff/codegen/strategy"

// longrows has rows of T with more than N entries, which the outermost loop over i, cut into
// chunks of equal work, would leave to one thread, cut for all of them: where sums cross the
// cuts, into a fixed number of parts.
func longrows(s *state) error {
	r, err := s.ref(0)
	if err != nil {
		return err
	}
	n, err := s.factor(2)
	if err != nil {
		return err
	}
	return s.order(strategy.CutRows{Loop: r, Tensor: s.cmd.Args[1].Text, N: n})
}
