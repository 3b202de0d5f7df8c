package lattice

import (
	"distaff/codegen/cin"
	"distaff/io/tensor"
)

// Place says which storage level of an access a loop nest reaches next. The zero Place means that
// the access may have a value at every coordinate, for example because the loops outside bind the
// variables of all its levels.
type Place struct {
	// Absent is set if the access is known to have no value here.
	Absent bool
	// Next is the variable of the next level. Walked is true if a loop over Next must iterate over
	// the coordinates that this level stores, because the level cannot locate a coordinate.
	Next   string
	Walked bool
}

// Below returns the storage level that the loop nest reaches next in access a: the first level
// whose variable no surrounding loop binds. f is the format of the tensor. bound(v) reports whether
// a surrounding loop runs over v. Below does not set Absent.
func Below(a *cin.Access, f tensor.Format, bound func(v string) bool) Place {
	for l, mode := range f.Order {
		if v := a.Vars[mode]; !bound(v) {
			return Place{Next: v, Walked: !f.Levels[l].CanLocate()}
		}
	}
	return Place{}
}

// Loop returns the merge lattice of a loop over v with the given body. place(a) returns the level
// of access a that the loop nest reaches next, after the loops around this one. An access to a
// temporary is replaced by the expression of its producer if the producer is in the body.
func Loop(v string, body cin.Stmt, place func(a *cin.Access) Place) *Lattice {
	return latticeOf(body, func(a *cin.Access) kind {
		switch p := place(a); {
		case p.Absent:
			return absent
		case p.Walked && p.Next == v:
			return iterate
		}
		return full
	})
}
