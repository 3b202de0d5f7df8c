package strategy

import "distaff/codegen/cin"

// predicated are the variables of merge loops whose bodies are sums of floats each of whose
// terms hangs on one operand. Which of them are present depends on the data, so
// that a branch would often be mispredicted: all terms are computed, and an absent one
// is replaced by a number that changes no sum.
func (f *facts) predicated() map[string]string {
	out := map[string]string{}
	if !f.Compute.IsFloat() {
		return out
	}
	cin.Walk(f.stmt, func(s cin.Stmt) {
		if l, ok := s.(*cin.Forall); ok {
			if a, ok := l.Body.(*cin.Assign); ok {
				if b, ok := a.RHS.(*cin.Binary); ok && (b.Op == '+' || b.Op == '-') {
					out[f.standing(l.Var)] = "which of the terms of " + cin.ExprString(a.RHS) + " are present depends on the data"
				}
			}
		}
	})
	return out
}
