package cin

import (
	"slices"

	"distaff/codegen/provenance"
)

// Paths calls fn for each assignment of s, with the loops around it from the outermost to the
// innermost. fn must not keep the slice of loops.
func Paths(s Stmt, fn func(loops []*Forall, a *Assign)) { paths(s, nil, fn) }

func paths(s Stmt, loops []*Forall, fn func([]*Forall, *Assign)) {
	switch s := s.(type) {
	case *Forall:
		paths(s.Body, append(slices.Clone(loops), s), fn)
	case *Where:
		paths(s.Consumer, loops, fn)
		paths(s.Producer, loops, fn)
	case *Seq:
		for _, t := range s.List {
			paths(t, loops, fn)
		}
	case *Assign:
		fn(loops, s)
	default:
		if t := Inner(s); t != nil {
			paths(t, loops, fn)
		}
	}
}

// Nest returns statement s inside loops over vars, outermost first.
func Nest(vars []string, s Stmt) Stmt {
	for _, v := range slices.Backward(vars) {
		s = &Forall{Var: v, Body: s}
	}
	return s
}

// Loops returns the loops of s over v.
func Loops(s Stmt, v string) (list []*Forall) {
	Walk(s, func(t Stmt) {
		if f, ok := t.(*Forall); ok && f.Var == v {
			list = append(list, f)
		}
	})
	return list
}

// LoopVars returns the variables that s loops over, each once.
func LoopVars(s Stmt) (vars []string) {
	Walk(s, func(t Stmt) {
		if f, ok := t.(*Forall); ok && !slices.Contains(vars, f.Var) {
			vars = append(vars, f.Var)
		}
	})
	return vars
}

// Reads reports whether s reads the tensor or temporary with the given name.
func Reads(s Stmt, name string) (found bool) {
	Accesses(s, func(a *Access) { found = found || a.Name == name })
	return found
}

// Copies reports whether a consumer is a single assignment, with or without loops around it, whose
// right side is only an access to workspace t.
func Copies(consumer Stmt, t *Access) bool {
	for {
		switch s := consumer.(type) {
		case *Forall:
			consumer = s.Body
		case *Assign:
			x, ok := s.RHS.(*Access)
			return ok && x.Name == t.Name
		default:
			return false
		}
	}
}

// Around returns the loops of s around f, outermost first, and the temporaries whose producers
// contain f. It finds nothing if s is a SuchThat.
func Around(s Stmt, f *Forall) (outer []*Forall, temps []*Access) {
	var find func(t Stmt, loops []*Forall, in []*Access) bool
	find = func(t Stmt, loops []*Forall, in []*Access) bool {
		switch t := t.(type) {
		case *Forall:
			if t == f {
				outer, temps = loops, in
				return true
			}
			return find(t.Body, append(slices.Clone(loops), t), in)
		case *Where:
			return find(t.Consumer, loops, in) ||
				find(t.Producer, loops, append(slices.Clone(in), Target(t.Producer)))
		case *Seq:
			return slices.ContainsFunc(t.List, func(u Stmt) bool { return find(u, loops, in) })
		case *Assign, *SuchThat:
			return false
		}
		return find(Inner(t), loops, in)
	}
	find(s, nil, nil)
	return outer, temps
}

// MapLoops returns s with each loop f over v replaced by fn(f).
func MapLoops(s Stmt, v string, fn func(*Forall) Stmt) Stmt {
	return Map(s, func(t Stmt) Stmt {
		if f, ok := t.(*Forall); ok && f.Var == v {
			return fn(f)
		}
		return t
	})
}

// Pairs calls fn for each statement in s and the statement at the same place in t. Both must have
// the same loops, wheres and sequences.
func Pairs(s, t Stmt, fn func(s, t Stmt)) {
	var list []Stmt
	Walk(t, func(u Stmt) { list = append(list, u) })
	Walk(s, func(u Stmt) {
		fn(u, list[0])
		list = list[1:]
	})
}

// WithConsumerVars returns the body of s with each loop variable v replaced by g.ConsumerVar(v). A
// precompute command gives the loop that fills a workspace a new variable in place of the original
// one. WithConsumerVars undoes this, so that the loop runs over the original variable. It does so
// if the original variable is derived and no later relation replaced one of the two variables.
func WithConsumerVars(s Stmt, g *provenance.Graph) Stmt {
	return Map(Body(s), func(t Stmt) Stmt {
		if f, ok := t.(*Forall); ok {
			if v := g.ConsumerVar(f.Var); v != f.Var {
				h := *f
				h.Var = v
				return &h
			}
		}
		return t
	})
}

// Reduces returns the assignment of s that combines values by a reduction, if the target of s is a
// temporary of a reduction, and the loops of s around it. Otherwise it returns nil.
func Reduces(s Stmt) (a *Assign, loops []*Forall) {
	name := Target(s).Name
	Paths(s, func(around []*Forall, b *Assign) {
		if b.LHS.Name == name && b.Op != nil {
			a, loops = b, slices.Clone(around)
		}
	})
	return a, loops
}

// Natural reports whether the loops over c's variables are nested in natural order around every
// assignment of s. Natural order is the order of c.Leaves. In this order, each loop narrows the
// range that the loops outside it leave. Natural returns false if c has no top variable.
func Natural(s Stmt, g *provenance.Graph, c *provenance.Component) bool {
	if c.Top == "" {
		return false
	}
	natural := true
	Paths(WithConsumerVars(s, g), func(loops []*Forall, _ *Assign) {
		k := 0
		for _, f := range loops {
			if !slices.Contains(c.Leaves, f.Var) {
				continue
			}
			natural = natural && c.Leaves[k] == f.Var
			k++
		}
	})
	return natural
}

// Descend rewrites s from the outside in. It calls fn for a statement. If fn returns true, the
// statement that it returns replaces the original, and Descend does not look inside. Otherwise
// Descend continues with the statements inside the original. Statements that do not change are
// reused.
func Descend(s Stmt, fn func(t Stmt) (Stmt, bool)) Stmt {
	if t, ok := fn(s); ok {
		return t
	}
	return children(s, func(t Stmt) Stmt { return Descend(t, fn) })
}

// Map returns s with each statement replaced by fn's result. Inner statements are replaced before
// the statement around them. Statements that do not change are reused.
func Map(s Stmt, fn func(Stmt) Stmt) Stmt {
	return fn(children(s, func(t Stmt) Stmt { return Map(t, fn) }))
}

// children returns s with each of its direct substatements replaced by fn's result, or s itself if
// none changes.
func children(s Stmt, fn func(Stmt) Stmt) Stmt {
	if t := Inner(s); t != nil {
		if b := fn(t); b != t {
			return withInner(s, b)
		}
		return s
	}
	switch t := s.(type) {
	case *Where:
		c, p := fn(t.Consumer), fn(t.Producer)
		if c != t.Consumer || p != t.Producer {
			return &Where{Consumer: c, Producer: p}
		}
	case *Seq:
		list := make([]Stmt, len(t.List))
		for k, u := range t.List {
			list[k] = fn(u)
		}
		if !slices.Equal(list, t.List) {
			return &Seq{List: list}
		}
	}
	return s
}

// Threaded reports whether any statement inside s runs on CPU threads.
func Threaded(s Stmt) (found bool) {
	Walk(s, func(t Stmt) { found = found || OnThreads(t) })
	return found
}
