package schedule

import "distaff/codegen/cin"

// assemble says how a result with compressed levels of its own is put together: assemble(T, Append)
// in order, in memory that grows, in a piece for each chunk of a parallel loop, which are then
// joined; assemble(T, Insert) in two passes: the coordinates are counted, summed up, and written to
// their places, so that nothing grows or is joined, and what finds coordinates runs twice. A result
// of dense levels, or of levels that it shares with an operand, is written at random either way.
func assemble(s *state) error {
	t := cin.Target(s.body).Name
	if s.cmd.Args[0].Text != s.problem.Source(t) {
		return s.refuse(0, "got %s, want the result, %s", s.cmd.Args[0].Text, s.problem.Source(t))
	}
	how := s.cmd.Args[1].Text
	if how != "Append" && how != "Insert" {
		return s.cmd.Args[1].errorf(BadCommand, "assemble: got %s, want Append or Insert", how)
	}
	if s.problem.GPU && how == "Append" && s.appended() {
		return s.refuse(1,
			"the blocks of a GPU do not append in order; with Insert, which is what is done, they count first")
	}
	s.insert = how == "Insert"
	return nil
}

// appended tells whether the result grows in order.
func (s *state) appended() bool {
	return !s.problem.Shared && !s.problem.Formats[cin.Target(s.body).Name].AllDense()
}
