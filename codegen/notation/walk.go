package notation

// Walk calls f for e and every expression below it: first for a node, then for its operands from
// left to right. If f returns false, Walk skips everything below the node. Walk also enters the
// reductions of a normal form, but not the indices of accesses.
func Walk(e Expr, f func(Expr) bool) {
	if !f(e) {
		return
	}
	switch e := e.(type) {
	case *Neg:
		Walk(e.X, f)
	case *Binary:
		Walk(e.X, f)
		Walk(e.Y, f)
	case *Sum:
		Walk(e.X, f)
	case *Call:
		for _, x := range e.Args {
			Walk(x, f)
		}
	case *ReductionExpr:
		for _, t := range e.Reduction.Body {
			WalkTerm(t, f)
		}
	}
}

// WalkTerm calls Walk for the factors of a term in order. It walks a Reduction as a ReductionExpr,
// and a Quotient as its two sides.
func WalkTerm(t *Term, f func(Expr) bool) {
	for _, x := range t.Factors {
		switch x := x.(type) {
		case *Access:
			Walk(x, f)
		case *Number:
			Walk(x, f)
		case *Group:
			Walk(x.X, f)
		case *Quotient:
			Walk(x.Num, f)
			Walk(x.Den, f)
		case *Reduction:
			Walk(&ReductionExpr{Reduction: x}, f)
		}
	}
}

// TensorUse is the name of a tensor in a statement and its number of modes. Made is true if Expand
// made the tensor.
type TensorUse struct {
	Name  string
	Order int
	Made  bool
}

// Tensors lists each tensor of the statement once: the left tensor first, then the others in order
// of appearance.
func (s *Stmt) Tensors() []TensorUse {
	out := []TensorUse{{s.LHS.Name, len(s.LHS.Vars), false}}
	seen := map[string]bool{s.LHS.Name: true}
	for _, a := range s.Accesses() {
		if !seen[a.Name] {
			seen[a.Name] = true
			out = append(out, TensorUse{a.Name, len(a.Vars), a.Made != nil})
		}
	}
	return out
}

// Accesses lists the accesses of the right side in order of appearance, and the accesses that the
// indices of both sides read.
func (s *Stmt) Accesses() []*Access { return append(accesses(s.RHS), indexAccesses(s.LHS)...) }

// accesses lists the accesses of e, also those inside indices.
func accesses(e Expr) (out []*Access) {
	Walk(e, func(e Expr) bool {
		if a, ok := e.(*Access); ok {
			out = append(append(out, a), indexAccesses(a)...)
		}
		return true
	})
	return out
}

// indexAccesses lists the accesses inside the indices of a, which may be nil.
func indexAccesses(a *Access) (out []*Access) {
	if a == nil {
		return nil
	}
	for _, x := range a.Index {
		if x != nil {
			out = append(out, accesses(x)...)
		}
	}
	return out
}

// Accesses lists the accesses of the right side in order of appearance.
func (n *Normal) Accesses() []*Access {
	var out []*Access
	for _, t := range n.Terms {
		out = append(out, t.Accesses()...)
	}
	return out
}

// Accesses lists the term's accesses in order of appearance, including accesses in quotients and
// reductions.
func (t *Term) Accesses() []*Access {
	var out []*Access
	WalkTerm(t, func(e Expr) bool {
		if a, ok := e.(*Access); ok {
			out = append(out, a)
		}
		return true
	})
	return out
}

// LeftVars lists the variables of the left side, each once.
func (s *Stmt) LeftVars() []string { return FreeVars(s.LHS) }

// FreeVars lists each variable of e that no sum() inside e binds, once, in order of appearance.
func FreeVars(e Expr) []string {
	var out varList
	out.free(e, nil)
	return out.list
}

// varList is an ordered set of variables.
type varList struct {
	list []string
	seen map[string]bool
}

func (v *varList) add(name string) {
	if v.seen == nil {
		v.seen = map[string]bool{}
	}
	if !v.seen[name] {
		v.seen[name] = true
		v.list = append(v.list, name)
	}
}

// free adds the free variables of e: the variables that are neither in bound nor bound inside e.
func (v *varList) free(e Expr, bound map[string]int) {
	switch e := e.(type) {
	case *Access:
		for m, x := range e.Vars {
			if x == "" {
				v.free(e.Index[m], bound)
			} else if bound[x] == 0 {
				v.add(x)
			}
		}
	case *Coordinate:
		if bound[e.Var] == 0 {
			v.add(e.Var)
		}
	case *Neg:
		v.free(e.X, bound)
	case *Binary:
		v.free(e.X, bound)
		v.free(e.Y, bound)
	case *Call:
		for _, x := range e.Args {
			v.free(x, bound)
		}
	case *Sum:
		bind(&bound, e.Vars, 1)
		v.free(e.X, bound)
		bind(&bound, e.Vars, -1)
	case *ReductionExpr:
		bind(&bound, e.Reduction.Vars, 1)
		for _, t := range e.Reduction.Body {
			v.freeTerm(t, bound)
		}
		bind(&bound, e.Reduction.Vars, -1)
	}
}

// freeTerm adds the free variables of a term in the body of a reduction.
func (v *varList) freeTerm(t *Term, bound map[string]int) {
	bind(&bound, t.Sum, 1)
	v.freeFactors(t, bound)
	bind(&bound, t.Sum, -1)
}

// freeFactors adds the free variables of a term's factors.
func (v *varList) freeFactors(t *Term, bound map[string]int) {
	for _, f := range t.Factors {
		switch f := f.(type) {
		case *Access:
			v.free(f, bound)
		case *Group:
			v.free(f.X, bound)
		case *Quotient:
			v.free(f.Num, bound)
			v.free(f.Den, bound)
		case *Reduction:
			v.free(&ReductionExpr{Reduction: f}, bound)
		}
	}
}

func bind(bound *map[string]int, vars []string, by int) {
	if *bound == nil {
		*bound = map[string]int{}
	}
	for _, x := range vars {
		(*bound)[x] += by
	}
}

// FreeVars lists the variables of the term's factors that no sum() inside the factors binds. Each
// variable is listed once, in order of appearance. If the term is one of Normal.Terms, each of
// these variables belongs to the left side or to Sum.
func (t *Term) FreeVars() []string {
	var out varList
	out.freeFactors(t, nil)
	return out.list
}

// Binds lists the variables that the reduction sums over: its own variables, and the variables of
// sums inside its body that enclose whole terms.
func (r *Reduction) Binds() []string {
	var out varList
	addBound(&out, r)
	return out.list
}
