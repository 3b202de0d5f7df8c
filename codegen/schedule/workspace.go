package schedule

import "distaff/codegen/strategy"

// workspace says how a workspace is stored: workspace(W, Hash) in a hash table,
// workspace(W, List) with a place for each coordinate and a list of those that have values,
// workspace(W, Bitmap) with a bit for each, workspace(W, Dense) as an array that is filled
// everywhere or nowhere, workspace(W, Sorted) as a list that is filled in order,
// workspace(W, Positions) with a place for each position of an operand that a tile has,
// workspace(W, Terms) as a list of all that is added, which is sorted in the end.
func workspace(s *state) error {
	k, ok := strategy.KindByName(s.cmd.Args[1].Text)
	if !ok {
		return s.wanted(1, kinds)
	}
	return s.order(strategy.Workspace{Name: s.cmd.Args[0].Text, Kind: k})
}
