package codegen

import (
	"slices"

	"distaff/codegen/cin"
)

// One loop merges the terms of a sum. Each coordinate then costs a comparison for each merged
// operand, and the time of a C compiler grows faster than the length of a loop's body. Beyond these
// numbers of operands in one loop, terms have loops of their own, one after the other.
const (
	maxMerged   = 32  // operands whose coordinates are merged
	maxOperands = 128 // operands whose values the loop reads
)

// loopGroups divides the terms into groups, in their order, so that each group has its own loop
// over order[k]. It returns nil if one loop serves all terms.
func (n *nest) loopGroups(terms []*term, k int) [][]*term {
	if len(terms) == 1 {
		return nil
	}
	merged, read := map[string]bool{}, map[string]bool{}
	for _, x := range terms {
		n.operandsOf(x, k, merged, read)
	}
	if len(merged) <= maxMerged && len(read) <= maxOperands {
		return nil
	}
	var groups [][]*term
	var walked map[string]bool // the operands that the last group walks
	for _, x := range terms {
		here := map[string]bool{}
		n.operandsOf(x, k, here, read)
		last := len(groups) - 1
		if last >= 0 && len(groups[last]) < maxOperands/2 && equalKeys(here, walked) {
			groups[last] = append(groups[last], x)
			continue
		}
		groups, walked = append(groups, []*term{x}), here
	}
	if len(groups) == 1 {
		return nil
	}
	return groups
}

// operandsOf adds operands of a term to two sets. read gets the operands whose values are read
// directly inside the loop over order[k]. merged gets the operands whose coordinates this loop
// walks.
func (n *nest) operandsOf(x *term, k int, merged, read map[string]bool) {
	cin.ExprAccesses(n.expression(x.multipliedOut()), func(a *cin.Access) {
		key := a.Key()
		if n.depth(a) == k+1 {
			read[key] = true
		}
		f, operand := n.formats[a.Name]
		if m := slices.Index(a.Vars, n.order[k]); operand && m >= 0 &&
			!f.Levels[f.Level(m)].CanLocate() {
			merged[key] = true
		}
	})
}

func equalKeys(a, b map[string]bool) bool {
	if len(a) != len(b) {
		return false
	}
	for key := range a {
		if !b[key] {
			return false
		}
	}
	return true
}

// separateLoops returns the loops of several groups of terms, one group after the other, each from
// order[k] on. The groups add to the target. If the target cannot be added to, or if each addition
// would round, they add to a workspace instead.
func (n *nest) separateLoops(groups [][]*term, k int, t target) cin.Stmt {
	if len(t.ordered) > 0 || !t.temp && n.rounds {
		return n.workspace(slices.Concat(groups...), k, t)
	}
	t.accumulate = true
	s := &cin.Seq{}
	for _, g := range groups {
		s.List = append(s.List, n.loops(g, k, t))
	}
	return s
}
