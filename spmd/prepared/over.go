package prepared

import (
	"distaff/codegen"
	"distaff/io/tcs"
)

// sharesNoMemory reports whether t, a result that will be written over, shares no memory for values
// with the arguments. The operand that the leaf writes over in place does not count.
func (s *leaf) sharesNoMemory(t *tcs.Tensor, args []*tcs.Tensor) bool {
	for n, a := range args {
		if n+1 != s.unit.Result.InPlace && overlap(t.Vals, a.Vals) {
			return false
		}
	}
	return true
}

// hasLevels reports whether a former result t has the level arrays that a new result would have. It
// returns true for a dense result, which has no level arrays, and for the operand that the leaf
// writes over in place. If a new result would share the level arrays of an operand, t must share
// the same arrays, at the same addresses. It returns false if a new result would have level arrays
// of its own.
func (s *leaf) hasLevels(t *tcs.Tensor, args []*tcs.Tensor) bool {
	u := s.unit.Result
	if u.Format.AllDense() || u.InPlace > 0 && t.Vals.Ptr == args[u.InPlace-1].Vals.Ptr {
		return true
	}
	// otherwise the result has level arrays of its own
	if u.Shares < 1 || u.Repack || s.p.Target.Kind == codegen.CUDA {
		return false
	}
	from := args[u.Shares-1]
	for l := range len(u.Format.Levels) - u.Format.TrailingDense() {
		a, b := &t.Levels[l], &from.Levels[l]
		if a.Kind != b.Kind || a.Size != b.Size || a.Offset != b.Offset || a.Pos != b.Pos ||
			a.Crd != b.Crd {
			return false
		}
	}
	return true
}

// overlap reports whether two arrays share memory.
func overlap(a, b tcs.Array) bool {
	from, other := uintptr(a.Ptr), uintptr(b.Ptr)
	return a.Len > 0 && b.Len > 0 && from < other+uintptr(b.Len)*uintptr(b.Width) &&
		other < from+uintptr(a.Len)*uintptr(a.Width)
}
