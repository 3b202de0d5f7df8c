package rewrite

import "distaff/codegen/ir"

// RowsOfBlocks changes the loops over warps in b, in place, so that a block of the given number of
// warps runs their iterations one after another, each with all threads of the block. If the
// iterations of a loop inside only add atomically, in loops on threads, the warps of the block
// share these iterations. If warps is 0, b stays as it is.
func RowsOfBlocks(b *ir.Block, warps int64) {
	if warps == 0 {
		return
	}
	var loops []*ir.For
	ir.Walk(b, func(s ir.Stmt) {
		if f, ok := s.(*ir.For); ok && f.Kind == ir.Warps {
			loops = append(loops, f)
		}
	})
	for _, rows := range loops {
		rows.Kind, rows.Width = ir.Serial, 0
		var within func(b *ir.Block)
		within = func(b *ir.Block) {
			for _, s := range b.List {
				f, isFor := s.(*ir.For)
				switch {
				case isFor && f.Kind == ir.Lanes:
					f.Width = warps * ir.WarpSize
				case isFor && f.Kind == ir.Serial && onlyAdds(f):
					f.Kind, f.Width = ir.Warps, warps
				default:
					for _, t := range ir.Inside(s) {
						within(t.(*ir.Block))
					}
				}
			}
		}
		within(rows.Body)
	}
}

// onlyAdds reports whether a loop changes things outside of itself only atomically, in loops on
// threads.
func onlyAdds(f *ir.For) bool {
	own, only := map[*ir.Var]bool{}, true
	var check func(s ir.Stmt, onThread bool)
	check = func(s ir.Stmt, onThread bool) {
		switch s := s.(type) {
		case *ir.Block, *ir.If, *ir.While, *ir.Comment, *ir.Prefetch:
		case *ir.Declare:
			own[s.V] = true
		case *ir.Assign:
			only = only && own[s.V]
		case *ir.Fetch:
			only = only && onThread && own[s.V]
		case *ir.Store:
			only = only && onThread && s.Atomic
		case *ir.For:
			own[s.V] = true
			only = only && len(s.Reduce) == 0 && (s.Kind == ir.Serial || s.Kind == ir.Lanes)
			onThread = onThread || s.Kind == ir.Lanes
		default:
			only = false
		}
		for _, t := range ir.Inside(s) {
			check(t, onThread)
		}
	}
	check(f, false)
	return only
}

// Tally makes loops in b faster that only add to a variable, in place. If each iteration adds a
// constant, the loop becomes one addition. If lanes is true, the threads of a warp share the
// iterations of a loop that only adds and remains.
func Tally(b *ir.Block, lanes bool) {
	for k, s := range b.List {
		for _, t := range ir.Inside(s) {
			Tally(t.(*ir.Block), lanes && !isLanes(s))
		}
		f, ok := s.(*ir.For)
		if !ok || f.Kind != ir.Serial && f.Kind != ir.Lanes || f.Step != 1 {
			continue
		}
		if len(f.Body.List) == 1 {
			if add, ok := f.Body.List[0].(*ir.Assign); ok && add.Accumulate && isConstant(add.X) {
				b.List[k] = &ir.Assign{V: add.V, Accumulate: true, X: ir.Times(
					ir.Greatest(ir.Minus(f.Hi, f.Lo), ir.Int(0)), add.X)}
			}
		}
	}
	if !lanes {
		return
	}
	for _, s := range b.List {
		if f, ok := s.(*ir.For); ok && f.Kind == ir.Serial {
			if sums := summed(f); len(sums) > 0 {
				f.Kind, f.Width, f.Reduce = ir.Lanes, ir.WarpSize, sums
			}
		}
	}
}

func isLanes(s ir.Stmt) bool {
	f, ok := s.(*ir.For)
	return ok && f.Kind == ir.Lanes
}

func isConstant(x ir.Expr) bool {
	_, ok := x.(*ir.Lit)
	return ok
}

// summed returns the variables to which the body of loop f adds. It returns nil if the body has
// statements other than such additions and declarations.
func summed(f *ir.For) (sums []*ir.Var) {
	seen := map[*ir.Var]bool{}
	for _, s := range f.Body.List {
		switch s := s.(type) {
		case *ir.Declare:
		case *ir.Assign:
			if !s.Accumulate {
				return nil
			}
			if !seen[s.V] {
				sums = append(sums, s.V)
			}
			seen[s.V] = true
		default:
			return nil
		}
	}
	return sums
}
