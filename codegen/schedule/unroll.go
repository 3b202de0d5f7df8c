package schedule

import "distaff/codegen/cin"

// unroll repeats a loop's body N times: unroll(i, N). unroll(i) does so for all iterations.
func unroll(s *state) error {
	v, err := s.looped(0)
	if err != nil {
		return err
	}
	n := int64(cin.AllIterations)
	if len(s.cmd.Args) == 2 {
		if n, err = s.factor(1); err != nil {
			return err
		}
	}
	s.replace(v, func(f *cin.Forall) cin.Stmt {
		g := *f
		g.Unroll = n
		return &g
	})
	return nil
}
