package schedule

import "distaff/codegen/strategy"

// prefetch has the rows of T, a tensor whose last two levels are dense, that loops over the
// entries of another pick by i fetched into the cache N entries before they are read, or added to.
func prefetch(s *state) error {
	v, err := s.indexed(1)
	if err != nil {
		return err
	}
	n, err := s.factor(2)
	if err != nil {
		return err
	}
	return s.order(strategy.Fetch{Tensor: s.cmd.Args[0].Text, Var: v, Ahead: n})
}
