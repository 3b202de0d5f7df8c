package prepared

import (
	"slices"

	"distaff/codegen/notation"
	"distaff/io/tensor"
)

// A term whose index space is empty, since one of its variables has the size 0, adds
// nothing. Its loops over the other variables run all the same, and may be as long as
// sizes can be: a file of 2^56 x 0 is short. So no leaf runs them. A job's schedule says
// itself which loops there are: where they would be long, it is held to its statement, and the leaf
// has the default schedule.

// fewPoints is up to how many coordinates of the other variables an empty term is left in a
// leaf, which then is that of any sizes.
const fewPoints = 1 << 20

// without is a normal form without its terms over empty spaces, where others
// are left; the same one where none is to go.
func (k *Statement) without(n *notation.Normal, old bool) *notation.Normal {
	var kept []*notation.Term
	for _, t := range n.Terms {
		if empty, points := k.space(n, t); !empty || points <= fewPoints {
			kept = append(kept, t)
		}
	}
	if len(kept) == len(n.Terms) || len(kept) == 0 && !old {
		return n
	}
	c := *n
	c.Terms = kept
	return &c
}

// normal is the normal form of what the leaf computes.
func (s *leaf) normal() *notation.Normal {
	if s.norm != nil {
		return s.norm
	}
	return s.k.p.Norm
}

// vast tells whether the loops of a schedule would be long for a term that adds nothing. It
// is not so where a bound of the schedule does not hold: its leaf says so before all loops.
func (s *leaf) vast() bool {
	n := s.normal()
	return boundsHold(s.schedule, s.k.Reader.Sizes.Vars) &&
		slices.ContainsFunc(n.Terms, func(t *notation.Term) bool {
			empty, points := s.k.space(n, t)
			return empty && points > fewPoints
		})
}

// space tells whether the index space of a term is empty, and how many coordinates its
// other variables have.
func (k *Statement) space(n *notation.Normal, t *notation.Term) (empty bool, points float64) {
	points = 1
	for _, v := range slices.Concat(n.LHS.Vars, t.Sum) {
		if size := k.Reader.Sizes.Vars[v]; size > 0 {
			points *= float64(size)
		} else {
			empty = true
		}
	}
	return empty, points
}

// idle lists the variables that a leaf need not loop over, since no term has any
// coordinate: operands store nothing along them, and the result needs no array for them.
func (s *leaf) idle() []string {
	k, n := s.k, s.normal()
	if s.stmt != k.p.Stmt || s.schedule != nil || s.unit.Result.FixedPattern {
		return nil
	}
	for _, t := range n.Terms {
		if empty, _ := k.space(n, t); !empty {
			return nil
		}
	}
	needed := map[string]bool{}
	need := func(vars ...string) {
		for _, v := range vars {
			needed[v] = true
		}
	}
	f := s.unit.Result.Format
	deep := len(f.Levels) - f.TrailingDense()
	for l, m := range f.Order {
		// A dense level above a compressed one has positions; values of 0 lie in others.
		if f.Levels[l] == tensor.Dense && (l < deep || f.AllDense() && !slices.Contains(s.dims, 0)) {
			need(n.LHS.Vars[m])
		}
	}
	if s.old != nil && !slices.Contains(s.old.Dims, 0) {
		need(n.LHS.Vars...)
	}
	for _, t := range n.Terms {
		notation.WalkTerm(t, func(e notation.Expr) bool {
			if a, ok := e.(*notation.Access); ok && !slices.Contains(s.operands[a.Name].Dims, 0) {
				need(a.Vars...)
			}
			return true
		})
	}
	return slices.DeleteFunc(slices.Clone(s.unit.Vars), func(v string) bool { return needed[v] })
}

// emptyBox reports whether a box has no coordinates: most do on a machine of more points than
// a mode has coordinates.
func emptyBox(box [][2]int64) bool {
	return slices.ContainsFunc(box, func(r [2]int64) bool { return r[0] >= r[1] })
}
