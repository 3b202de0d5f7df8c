package strategy

import (
	"fmt"

	"distaff/codegen/cin"
)

// floatSums calls fn with the merge loops whose bodies are sums of floats, and their variables.
func (f *facts) floatSums(fn func(v string, s *cin.Assign)) {
	if !f.problem.Compute.IsFloat() {
		return
	}
	cin.Walk(f.stmt, func(s cin.Stmt) {
		if l, ok := s.(*cin.Forall); ok {
			if a, ok := l.Body.(*cin.Assign); ok {
				if b, ok := a.RHS.(*cin.Binary); ok && (b.Op == '+' || b.Op == '-') {
					fn(f.standing(l.Var), a)
				}
			}
		}
	})
}

// predicated are the variables of merge loops whose bodies are sums of floats each of whose
// terms hangs on one operand. Which of them are present depends on the data, so
// that a branch would often be mispredicted: all terms are computed, and an absent one
// is replaced by a number that changes no sum.
func (f *facts) predicated() map[string]string {
	out := map[string]string{}
	f.floatSums(func(v string, s *cin.Assign) {
		out[v] = "which of the terms of " + cin.ExprString(s.RHS) + " are present depends on the data"
	})
	return out
}

// windowedSegment is the mean number of entries from which on segments are merged in windows: the
// windows of shorter ones have little in them, and take longer than single steps.
const windowedSegment = 4

// windowed are those of the predicated variables whose segments are merged in windows, where the
// processor is measured to gain by it (Merges).
func (f *facts) windowed() map[string]string {
	out := map[string]string{}
	by, why := f.problem.Target.Forms.form(Merges)
	if by == 0 || f.problem.Target.GPU {
		return out
	}
	f.floatSums(func(v string, s *cin.Assign) {
		n, long := 0, true
		cin.ExprAccesses(s.RHS, func(a *cin.Access) {
			t := f.tensor(a.Name)
			if t == nil || t.order() == 0 || f.standing(t.levels(a)[t.order()-1]) != v ||
				!t.caps(t.order()-1).HasPos {
				return
			}
			n++
			long = long && t.Counts != nil && t.NNZ >= windowedSegment*max(t.above(), 1)
		})
		if n > 1 && long {
			out[v] = fmt.Sprintf(
				"which of the terms of %s are present depends on the data, and segments have %d entries or more on the average%s", cin.ExprString(s.RHS), windowedSegment, why)
		}
	})
	return out
}

// above is the number of positions of the level above the last one; of one level it is 1.
func (t *Tensor) above() int64 {
	if t.order() < 2 {
		return 1
	}
	return t.Counts[t.order()-2]
}
