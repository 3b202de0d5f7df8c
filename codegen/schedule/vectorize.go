package schedule

import "distaff/codegen/strategy"

// vectorize has innermost loops over i run in lanes where they run along contiguous memory:
// vectorize(i). vectorize(i, T) has those along T's entries do so that only sum what they
// gather. A sum in lanes is made in another order.
func vectorize(s *state) error {
	v, err := s.indexed(0)
	if err != nil {
		return err
	}
	o := strategy.Vectorize{Var: v}
	if len(s.cmd.Args) > 1 {
		o.Tensor = s.cmd.Args[1].Text
	}
	return s.order(o)
}
