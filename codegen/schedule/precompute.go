package schedule

// precompute is refused.
func precompute(s *state) error {
	return s.refuse(-1, "not built in this version")
}
