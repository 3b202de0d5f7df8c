package schedule

import "distaff/codegen/cin"

// assemble says how the result is put together: assemble(T, Append) in order,
// assemble(T, Insert) at random. A result of dense levels, or of levels that it
// shares with an operand, takes either; one that grows takes Append.
func assemble(s *state) error {
	t := cin.Target(s.body).Name
	if s.cmd.Args[0].Text != s.Source(t) {
		return s.refuse(0, "got %s, want the result, %s", s.cmd.Args[0].Text, s.Source(t))
	}
	switch how := s.cmd.Args[1].Text; {
	case how != "Append" && how != "Insert":
		return s.cmd.Args[1].errorf(BadCommand, "assemble: got %s, want Append or Insert", how)
	case how == "Insert" && s.appended():
		return s.refuse(1, "%s has compressed levels that grow with it (its format is %s), and these are appended to; where an operand has its pattern, or its levels are dense, values are inserted", t, s.Formats[t])
	}
	return nil
}

// appended tells whether the result grows in order.
func (s *state) appended() bool {
	return !s.Shared && !s.Formats[cin.Target(s.body).Name].AllDense()
}
