package schedule

import "distaff/codegen/strategy"

// prefetch has the rows of T, a tensor whose last two levels are dense, that loops over the entries
// of another pick by i fetched into the nearest cache N entries before they are read, or added to,
// and into that of the second level FAR entries before; where N is 0, not at all.
func prefetch(s *state) error {
	v, err := s.indexed(1)
	if err != nil {
		return err
	}
	n, err := s.number(2, 0)
	if err != nil {
		return err
	}
	order := strategy.Fetch{Tensor: s.cmd.Args[0].Text, Var: v, Ahead: n}
	if len(s.cmd.Args) > 3 {
		if order.Far, err = s.factor(3); err != nil {
			return err
		}
	}
	return s.order(order)
}
