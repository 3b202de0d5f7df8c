package schedule

import "distaff/codegen/strategy"

// vectorize(i) runs innermost loops over i in vector lanes if they access contiguous memory.
// vectorize(i, T) also runs loops over T's entries in lanes if they only sum gathered values. A sum
// in lanes adds in another order.
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
