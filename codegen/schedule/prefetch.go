package schedule

import "distaff/codegen/strategy"

// prefetch makes loops prefetch rows of T. The last two levels of T are dense, the loops run over
// the entries of another operand, and these entries select the rows by i. A row is fetched into the
// nearest cache N entries before it is read or added to, and into the second-level cache FAR
// entries before. N = 0 disables the prefetch.
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
