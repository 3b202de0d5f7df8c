package codegen

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/format"
)

// threaded is the default schedule: the outermost loop runs on threads. Where
// it is over a variable of the result, no two iterations write one place, and
// a sparse result's pieces come in order; where it sums into a scalar or a dense
// result, chunks of it have sums of their own.
func threaded(s cin.Stmt, lhs *cin.Access, result format.Format) cin.Stmt {
	switch s := s.(type) {
	case *cin.Where:
		if len(cin.Target(s.Producer).Vars) == 0 {
			return &cin.Where{Consumer: threaded(s.Consumer, lhs, result), Producer: threaded(s.Producer, lhs, result)}
		}
	case *cin.Seq:
		if t := cin.Target(s); len(t.Vars) == 0 || result.AllDense() {
			list := make([]cin.Stmt, len(s.List))
			for k, t := range s.List {
				list[k] = threaded(t, lhs, result)
			}
			return &cin.Seq{List: list}
		}
	case *cin.Forall:
		t := cin.Target(s)
		if len(t.Vars) == 0 || t.Name == lhs.Name && result.AllDense() {
			return &cin.Forall{Var: s.Var, Unit: cin.CPUThread, Body: s.Body}
		}
		if t.Name != lhs.Name {
			return s
		}
		sparse := !result.AllDense()
		if sparse && lhs.Vars[result.Order[0]] == s.Var || !sparse && slices.Contains(lhs.Vars, s.Var) {
			return &cin.Forall{Var: s.Var, Unit: cin.CPUThread, Body: s.Body}
		}
	}
	return s
}
