package codegen

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/format"
)

// threaded is the default schedule: the outermost loop runs on threads where
// it is over a variable of the result, so that no two iterations write one
// place, and where a sparse result's pieces come in order.
func threaded(s cin.Stmt, lhs *cin.Access, result format.Format) cin.Stmt {
	switch s := s.(type) {
	case *cin.Where:
		if len(cin.Target(s.Producer).Vars) == 0 {
			return &cin.Where{Consumer: threaded(s.Consumer, lhs, result), Producer: s.Producer}
		}
	case *cin.Forall:
		sparse := !result.AllDense()
		if sparse && lhs.Vars[result.Order[0]] == s.Var || !sparse && slices.Contains(lhs.Vars, s.Var) {
			return &cin.Forall{Var: s.Var, Unit: cin.CPUThread, Body: s.Body}
		}
	}
	return s
}
