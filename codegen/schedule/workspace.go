package schedule

import "distaff/codegen/strategy"

// workspace chooses how a workspace is stored: workspace(W, KIND).
//
//	Hash       a hash table
//	List       an array with a place for each coordinate, and a list of the coordinates with values
//	Bitmap     an array with a place for each coordinate, and a bit for each
//	Dense      an array that is filled either everywhere or nowhere
//	Sorted     a list that is filled in order
//	Marks      an array with a place for each coordinate, and a mark for each
//	Positions  an array with a place for each position of an operand in a tile
//	Terms      a list of all added terms, which is sorted at the end
func workspace(s *state) error {
	k, ok := strategy.KindByName(s.cmd.Args[1].Text)
	if !ok {
		return s.wanted(1, kinds)
	}
	return s.order(strategy.Workspace{Name: s.cmd.Args[0].Text, Kind: k})
}
