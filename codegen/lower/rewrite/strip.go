package rewrite

import "distaff/codegen/ir"

// Strip removes the statements that write to the given arrays, unless they also set a variable. It
// then removes what was computed only for the arrays: variables that nothing reads, and statements
// without content. For example, Strip makes the code of a pass that only counts from the code of a
// pass that writes.
func Strip(b *ir.Block, arrays map[*ir.Array]bool) {
	Filter(b, func(s ir.Stmt) bool {
		r := ir.RowOf(s)
		for range r.Vars() {
			return true // it also counts
		}
		for a, role := range r.Arrays() {
			if arrays[a] && (role == ir.Stores || role == ir.Updates || role == ir.Hints) {
				return false
			}
		}
		return true
	})
	for changed := true; changed; {
		changed = false
		read, declared := map[*ir.Var]bool{}, map[*ir.Var]bool{}
		ir.WalkRows(b, func(s ir.Stmt, r *ir.Row) {
			for x := range r.Exprs() {
				ir.WalkExpr(x, func(x ir.Expr) {
					if v, ok := x.(*ir.Var); ok {
						read[v] = true
					}
				})
			}
			if s, ok := s.(*ir.Declare); ok {
				declared[s.V] = true
			}
			for v, role := range r.Vars() {
				if role == ir.Sets && r.Traits&ir.Pure == 0 {
					read[v] = true
				}
			}
		})
		idle := func(v *ir.Var) bool { return declared[v] && !read[v] }
		Filter(b, func(s ir.Stmt) bool {
			keep := true
			switch s := s.(type) {
			case *ir.Declare:
				keep = !idle(s.V)
			case *ir.Assign:
				keep = !idle(s.V)
			case *ir.For:
				var sums []*ir.Var
				for _, v := range s.Reduce {
					if !idle(v) {
						sums = append(sums, v)
					}
				}
				s.Reduce = sums
				keep = len(s.Body.List) > 0
			case *ir.If:
				if s.Else != nil && len(s.Else.List) == 0 {
					s.Else = nil
				}
				keep = len(s.Then.List) > 0 || s.Else != nil
			}
			changed = changed || !keep
			return keep
		})
	}
}

// Filter removes the statements of b for which keep returns false, in place and inner ones first.
func Filter(b *ir.Block, keep func(ir.Stmt) bool) {
	if b == nil {
		return
	}
	kept := b.List[:0]
	for _, s := range b.List {
		if inner, ok := s.(*ir.Block); ok {
			Filter(inner, keep)
		} else {
			for _, t := range ir.Inside(s) {
				Filter(t.(*ir.Block), keep)
			}
		}
		if keep(s) {
			kept = append(kept, s)
		}
	}
	b.List = kept
}
