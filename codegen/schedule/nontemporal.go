package schedule

import "distaff/codegen/strategy"

// nontemporal makes vectorized loops store values of the result T past the caches, if the loops
// write each value once.
func nontemporal(s *state) error {
	if t := s.cmd.Args[0].Text; t != s.target() {
		return s.refuse(0, "got %s, want the result, %s", t, s.target())
	}
	return s.order(strategy.Nontemporal{Tensor: s.target()})
}
