package schedule

import "distaff/codegen/strategy"

// nontemporal has loops in lanes that store values of T, the result, which are written once, store
// them past the caches.
func nontemporal(s *state) error {
	if t := s.cmd.Args[0].Text; t != s.target() {
		return s.refuse(0, "got %s, want the result, %s", t, s.target())
	}
	return s.order(strategy.Nontemporal{Tensor: s.target()})
}
