package prepared

import (
	"slices"

	"distaff/codegen/notation"
	"distaff/io/tensor"
)

// A term whose index space is empty, because one of its variables has size 0, adds nothing. Its
// loops over the other variables would still run, and may be very long: a file of 2^56 x 0 is
// short. Therefore leaves leave out these terms. If a user's schedule would have long loops for an
// empty term, the leaf gets the default schedule instead.

// fewPoints limits the length of the loops of an empty term that stays in the leaf. The length is
// the product of the sizes of the term's variables, without sizes of 0. A short term stays, so that
// the leaf is the same as for other sizes.
const fewPoints = 1 << 20

// dropEmptyTerms leaves out the terms of s whose index space is empty and whose loops would be
// long. If every term is of this kind, it leaves all of them out only if the leaf can read the old
// value of the result, because a leaf must read something.
func (s *leaf) dropEmptyTerms() {
	n := *s.normal()
	var kept []*notation.Term
	for _, t := range n.Terms {
		if empty, points := s.p.space(&n, t); !empty || points <= fewPoints {
			kept = append(kept, t)
		}
	}
	if len(kept) < len(n.Terms) && (len(kept) > 0 || n.Accumulate && s.old != nil) {
		n.Terms = kept
		s.norm = &n
	}
}

// normal returns the normal form that the leaf computes. For a leaf that adds two blocks, it
// returns the normal form of the whole statement instead.
func (s *leaf) normal() *notation.Normal {
	if s.norm != nil {
		return s.norm
	}
	return s.p.Parsed.Norm
}

// hasLongEmptyLoops reports whether the leaf's schedule would run long loops for a term that adds
// nothing. It returns false if a bound() of a variable of the statement does not hold, because the
// leaf then fails before its loops.
func (s *leaf) hasLongEmptyLoops() bool {
	n := s.normal()
	return boundsHold(s.schedule, s.p.Reader.Sizes.Vars) &&
		slices.ContainsFunc(n.Terms, func(t *notation.Term) bool {
			empty, points := s.p.space(n, t)
			return empty && points > fewPoints
		})
}

// space reports whether the index space of a term of n is empty. points is the product of the sizes
// of its variables, except for sizes of 0.
func (p *Planned) space(n *notation.Normal, t *notation.Term) (empty bool, points float64) {
	points = 1
	for _, v := range slices.Concat(n.LHS.Vars, t.Sum) {
		if size := p.Reader.Sizes.Vars[v]; size > 0 {
			points *= float64(size)
		} else {
			empty = true
		}
	}
	return empty, points
}

// idleVars lists the variables whose loops the leaf can skip. It returns nil if the index space of
// some term is not empty, if the leaf has a schedule, if it adds two blocks, or if the pattern of
// its result is fixed. The loop of a variable must run in each of these cases:
//   - The variable indexes an operand, or the old value, and no size of this tensor is 0.
//   - The variable indexes a dense level of the result above a compressed level, because the leaf
//     writes the positions of the dense level.
//   - The result is dense and none of its sizes is 0, because the leaf writes its zeros.
func (s *leaf) idleVars() []string {
	p, n := s.p, s.normal()
	if s.stmt != p.Parsed.Stmt || s.schedule != nil || s.unit.Result.FixedPattern {
		return nil
	}
	for _, t := range n.Terms {
		if empty, _ := p.space(n, t); !empty {
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
		// A dense level above a compressed one has positions that the leaf writes. A dense result
		// has zeros that it writes.
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

// emptyBox reports whether a box has no coordinates. Some boxes are empty if a mode is cut into
// more ranges than it has coordinates.
func emptyBox(box [][2]int64) bool {
	return slices.ContainsFunc(box, func(r [2]int64) bool { return r[0] >= r[1] })
}
