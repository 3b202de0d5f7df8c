package lattice

import (
	"distaff/codegen/cin"
	"distaff/codegen/format"
)

// Place is how far the loops around one have come down the storage levels of an access.
// The zero Place is behind all levels: the access has a value at every coordinate.
type Place struct {
	// Absent: it is known to have no value here.
	Absent bool
	// Next is the variable of the next level, and Walked tells that this level holds
	// coordinates, which a loop over the variable steps through: it cannot locate one.
	Next   string
	Walked bool
}

// Below is the place of an access to a tensor of format f inside loops over the variables
// for which bound holds, in whose bodies nothing is known to be absent.
func Below(a *cin.Access, f format.Format, bound func(v string) bool) Place {
	for l, mode := range f.Order {
		if v := a.Vars[mode]; !bound(v) {
			return Place{Next: v, Walked: !f.Levels[l].Caps().Locate}
		}
	}
	return Place{}
}

// Loop is the lattice of a loop over v with a body, where place is that of each access in
// the body. An access to a temporary whose producer lies in the body stands for the
// producer.
func Loop(v string, body cin.Stmt, place func(a *cin.Access) Place) *Lattice {
	return of(body, func(a *cin.Access) kind {
		switch p := place(a); {
		case p.Absent:
			return absent
		case p.Walked && p.Next == v:
			return iterate
		}
		return full
	})
}
