package schedule

import "distaff/codegen/strategy"

// longrows distributes each row of T with more than N entries over all threads. The outermost loop
// over i, cut into chunks of equal work, would leave such a row to a single thread. If a sum runs
// across the cuts, a row is cut into a fixed number of parts.
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
