package ir

// Walk calls fn for s and every statement inside it, in order, an outer statement before the
// statements inside it.
func Walk(s Stmt, fn func(Stmt)) {
	if b, ok := s.(*Block); ok && b == nil {
		return
	}
	fn(s)
	switch s := s.(type) {
	case *Block:
		for _, t := range s.List {
			Walk(t, fn)
		}
	case *For:
		Walk(s.Body, fn)
	case *While:
		Walk(s.Body, fn)
	case *If:
		Walk(s.Then, fn)
		Walk(s.Else, fn)
	case *Ordered:
		Walk(s.Body, fn)
	case *Launch:
		Walk(s.Body, fn)
	}
}

// OrderedOf returns the ordered section of a Parallel loop, or nil if there is none.
func OrderedOf(s *For) *Ordered {
	for _, t := range s.Body.List {
		if t, ok := t.(*Ordered); ok {
			return t
		}
	}
	return nil
}

// Exprs returns the expressions of s itself, without the expressions of statements inside it.
func Exprs(s Stmt) []Expr {
	switch s := s.(type) {
	case *Declare:
		return []Expr{s.Init}
	case *Assign:
		return []Expr{s.X}
	case *Store:
		return []Expr{s.Index, s.X}
	case *For:
		return []Expr{s.Lo, s.Hi}
	case *While:
		return []Expr{s.Cond}
	case *If:
		return []Expr{s.Cond}
	case *Alloc:
		return []Expr{s.Len}
	case *Prefetch:
		return []Expr{s.Index}
	case *Grow:
		return []Expr{s.Need}
	case *Fill:
		return []Expr{s.Lo, s.Hi, s.X}
	case *Copy:
		return []Expr{s.DstLo, s.SrcLo, s.N}
	case *Sort:
		return []Expr{s.Lo, s.Hi}
	case *SortBy:
		return []Expr{s.Lo, s.Hi}
	case *Mark:
		return []Expr{s.At}
	case *Collect:
		return []Expr{s.Base, s.Len}
	case *Union:
		return s.exprs()
	case *AllocTable:
		return []Expr{s.Len}
	case *Keep:
		return []Expr{s.Index}
	case *Take:
		return []Expr{s.Index}
	case *Publish:
		return []Expr{s.Len}
	case *Fail:
		return s.Coord
	case *Launch:
		return []Expr{s.Grid}
	case *Shuffle:
		return []Expr{s.X}
	case *Scan:
		return []Expr{s.Lo, s.Hi}
	case *Gemm:
		return s.exprs()
	case *SpMM:
		return s.exprs()
	case *Call:
		return s.exprs()
	}
	return nil
}

// WalkExpr calls fn for x and every expression inside it, outer expressions first.
func WalkExpr(x Expr, fn func(Expr)) {
	fn(x)
	switch x := x.(type) {
	case *Binary:
		WalkExpr(x.X, fn)
		WalkExpr(x.Y, fn)
	case *Unary:
		WalkExpr(x.X, fn)
	case *Load:
		WalkExpr(x.Index, fn)
	case *Cast:
		WalkExpr(x.X, fn)
	case *Select:
		WalkExpr(x.Cond, fn)
		WalkExpr(x.X, fn)
		WalkExpr(x.Y, fn)
	case *Search:
		WalkExpr(x.Lo, fn)
		WalkExpr(x.Hi, fn)
		WalkExpr(x.Key, fn)
	}
}

// WalkExprs calls fn for every expression in s and in the statements inside it.
func WalkExprs(s Stmt, fn func(Expr)) {
	Walk(s, func(t Stmt) {
		for _, x := range Exprs(t) {
			WalkExpr(x, fn)
		}
	})
}
