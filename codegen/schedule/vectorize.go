package schedule

import "distaff/codegen/strategy"

// vectorize has innermost loops over i run in lanes where they run along contiguous memory:
// vectorize(i). vectorize(i, T, N) has those along T's entries do so that only sum what they
// gather, from N iterations on; vectorize(i, T, N, LANES) in so many masked lanes where they
// have fewer. A sum in lanes is made in another order.
func vectorize(s *state) error {
	v, err := s.indexed(0)
	if err != nil {
		return err
	}
	o := strategy.Vectorize{Var: v}
	switch len(s.cmd.Args) {
	case 2:
		return s.cmd.errorf(BadCommand, "vectorize: got 2 arguments, want the number of iterations from which on it pays")
	case 4:
		if o.Masked, err = s.factor(3); err != nil {
			return err
		}
	}
	if len(s.cmd.Args) > 2 {
		o.Tensor = s.cmd.Args[1].Text
		if o.From, err = s.factor(2); err != nil {
			return err
		}
	}
	return s.order(o)
}
