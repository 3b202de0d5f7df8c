package strategy

import (
	"fmt"

	"distaff/codegen/cin"
)

// floatSums calls fn for each merge loop whose body is a sum of floats, with the loop's variable.
func (f *facts) floatSums(fn func(v string, s *cin.Assign)) {
	if !f.problem.Compute.IsFloat() {
		return
	}
	cin.Walk(f.stmt, func(s cin.Stmt) {
		if l, ok := s.(*cin.Forall); ok {
			if a, ok := l.Body.(*cin.Assign); ok {
				if b, ok := a.RHS.(*cin.Binary); ok && (b.Op == '+' || b.Op == '-') {
					fn(f.loweredVar(l.Var), a)
				}
			}
		}
	})
}

// predicated returns the variables of merge loops whose bodies are sums of floats, with the
// reasons. Each term depends on one operand. Which terms are present depends on the data, so a
// branch would often be mispredicted. Therefore all terms are computed, and an absent term is
// replaced by a number that does not change a sum.
func (f *facts) predicated() map[string]string {
	out := map[string]string{}
	f.floatSums(func(v string, s *cin.Assign) {
		out[v] = "which of the terms of " + cin.ExprString(s.RHS) + " are present depends on the data"
	})
	return out
}

// windowedSegment is the smallest average number of entries for which segments are merged in
// windows. The windows of shorter segments are nearly empty, and take longer than single steps.
const windowedSegment = 4

// windowed returns the predicated variables whose segments are merged in windows, if the processor
// was measured to gain by it (Merges).
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
			if t == nil || t.order() == 0 || f.loweredVar(t.levels(a)[t.order()-1]) != v ||
				!t.caps(t.order()-1).HasPos() {
				return
			}
			n++
			long = long && t.Counts != nil && t.NNZ >= windowedSegment*max(t.parentPositions(), 1)
		})
		if n > 1 && long {
			out[v] = fmt.Sprintf(
				"which of the terms of %s are present depends on the data, and segments have %d entries or more on the average%s", cin.ExprString(s.RHS), windowedSegment, why)
		}
	})
	return out
}

// parentPositions returns the number of positions in the level above the last one. It returns 1 if
// the tensor has only one level.
func (t *Tensor) parentPositions() int64 {
	if t.order() < 2 {
		return 1
	}
	return t.Counts[t.order()-2]
}
