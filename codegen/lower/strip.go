package lower

import "distaff/codegen/ir"

// strip removes the statements that write to the given arrays, and then everything that was
// computed only for them: variables that nothing reads, and statements without content. It turns
// code that writes into a counting pass.
func strip(b *ir.Block, arrays map[*ir.Array]bool) {
	filter(b, func(s ir.Stmt) bool {
		switch s := s.(type) {
		case *ir.Store:
			return !arrays[s.A]
		case *ir.Fill:
			return !arrays[s.A]
		case *ir.Prefetch:
			return !arrays[s.A]
		case *ir.Gemm:
			return !arrays[s.C.A]
		case *ir.SpMM:
			return !arrays[s.C.A]
		}
		return true
	})
	for changed := true; changed; {
		changed = false
		read, declared := map[*ir.Var]bool{}, map[*ir.Var]bool{}
		ir.Walk(b, func(s ir.Stmt) {
			for _, x := range ir.Exprs(s) {
				ir.WalkExpr(x, func(x ir.Expr) {
					if v, ok := x.(*ir.Var); ok {
						read[v] = true
					}
				})
			}
			switch s := s.(type) {
			case *ir.Grow:
				read[s.Cap] = true
			case *ir.Declare:
				declared[s.V] = true
			}
		})
		idle := func(v *ir.Var) bool { return declared[v] && !read[v] }
		filter(b, func(s ir.Stmt) bool {
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

// filter removes the statements of b for which keep returns false, in place and inner ones first.
func filter(b *ir.Block, keep func(ir.Stmt) bool) {
	if b == nil {
		return
	}
	kept := b.List[:0]
	for _, s := range b.List {
		switch s := s.(type) {
		case *ir.Block:
			filter(s, keep)
		case *ir.For:
			filter(s.Body, keep)
		case *ir.While:
			filter(s.Body, keep)
		case *ir.If:
			filter(s.Then, keep)
			filter(s.Else, keep)
		case *ir.Ordered:
			filter(s.Body, keep)
		}
		if keep(s) {
			kept = append(kept, s)
		}
	}
	b.List = kept
}
