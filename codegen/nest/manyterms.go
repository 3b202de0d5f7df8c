package nest

import (
	"maps"
	"slices"

	"distaff/codegen/cin"
)

// These constants limit the number of operands in one loop. If there are more, the terms of a sum
// are divided into groups, and each group has a loop of its own. Otherwise one loop merges the
// terms of a sum. There are two reasons for the limits: each coordinate costs a comparison for each
// merged operand, and the time of a C compiler grows faster than the length of a loop's body.
const (
	maxMerged   = 32  // operands whose coordinates are merged
	maxOperands = 128 // operands whose values the loop reads
)

// loopGroups divides the terms into groups, in their order, so that each group has its own loop
// over order[k]. It returns nil if one loop serves all terms.
func (n *Nest) loopGroups(terms []*term, k int) [][]*term {
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
		if last >= 0 && len(groups[last]) < maxOperands/2 && maps.Equal(here, walked) {
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

// operandsOf adds the operands of term x to two sets. The set merged gets each operand whose stored
// coordinates the loop over order[k] visits. The set direct gets each operand whose values are read
// directly inside this loop.
func (n *Nest) operandsOf(x *term, k int, merged, direct map[string]bool) {
	cin.ExprAccesses(n.expression(x.multipliedOut()), func(a *cin.Access) {
		key := a.Key()
		if n.depth(a) == k+1 {
			direct[key] = true
		}
		f, operand := n.formats[a.Name]
		if m := slices.Index(a.Vars, n.in.Order[k]); operand && m >= 0 &&
			!f.Levels[f.Level(m)].CanLocate() {
			merged[key] = true
		}
	})
}

// separateLoops returns a sequence of loop nests, one for each group of terms. The nests are over
// the variables from order[k] on, and add to the target one after another. If the target does not
// allow additions, or if each addition to it would round a value, the loops add to a workspace
// instead. The workspace is then copied to the target.
func (n *Nest) separateLoops(groups [][]*term, k int, t target) cin.Stmt {
	if len(t.ordered) > 0 || !t.temp && n.in.Rounds {
		return n.workspace(slices.Concat(groups...), k, t)
	}
	t.accumulate = true
	s := &cin.Seq{}
	for _, g := range groups {
		s.List = append(s.List, n.loops(g, k, t))
	}
	return s
}
