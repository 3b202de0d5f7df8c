package nest

import (
	"slices"

	"distaff/codegen/cin"
)

// OnThreads returns statement s with its outermost loops on threads. Four kinds of loops stay
// serial:
//
//   - loops that only copy a workspace, and the loops that fill this workspace;
//   - loops with a product of matrices that runs on all threads;
//   - outermost loops that fill another workspace, unless shared is true for the workspace and the
//     loop is over one of the workspace's variables;
//   - loops that assign a sparse result, unless the loop is over the variable of the result's
//     outermost level and is not in a sequence of statements.
//
// In a parallel loop over a variable of the result, no two iterations write to the same place, and
// the pieces of a sparse result are joined in order. In a parallel loop that sums into a scalar or
// a dense result, each chunk has its own partial sum, or each thread computes a part of the result.
func (n *Nest) OnThreads(s cin.Stmt, shared map[string]bool) cin.Stmt {
	lhs, result := n.target.lhs, n.in.Result
	switch s := s.(type) {
	case *cin.Where:
		producer, t := s.Producer, cin.Target(s.Producer)
		if len(t.Vars) == 0 {
			producer = n.OnThreads(producer, shared)
		} else if cin.Copies(s.Consumer, t) {
			return s
		}
		return &cin.Where{Consumer: n.OnThreads(s.Consumer, shared),
			Producer: filled(producer, shared)}
	case *cin.Seq:
		if t := cin.Target(s); len(t.Vars) == 0 || result.AllDense() {
			list := make([]cin.Stmt, len(s.List))
			for k, t := range s.List {
				list[k] = n.OnThreads(t, shared)
			}
			return &cin.Seq{List: list}
		}
	case *cin.Forall:
		t := cin.Target(s)
		if n.mustStaySerial(s) {
			return s
		}
		if len(t.Vars) == 0 || t.Name == lhs.Name && result.AllDense() {
			return onThreads(s)
		}
		if t.Name != lhs.Name {
			return s
		}
		if !result.AllDense() && lhs.Vars[result.Order[0]] == s.Var {
			return onThreads(s)
		}
	}
	return s
}

// filled returns statement s with some of its loops on threads. s fills a workspace and is outside
// of all loops. The map shared says for each workspace whether several threads may fill it
// together. If they may, an outermost loop over a variable of the workspace runs on threads. Other
// loops are returned unchanged.
func filled(s cin.Stmt, shared map[string]bool) cin.Stmt {
	switch s := s.(type) {
	case *cin.Where:
		return &cin.Where{Consumer: filled(s.Consumer, shared), Producer: filled(s.Producer, shared)}
	case *cin.Forall:
		if t := cin.Target(s); s.Unit == cin.Serial && shared[t.Name] && slices.Contains(t.Vars, s.Var) {
			return onThreads(s)
		}
	}
	return s
}

// onThreads returns loop f, on threads.
func onThreads(f *cin.Forall) cin.Stmt {
	g := *f
	g.Unit = cin.CPUThread
	return &g
}
