package cin

import (
	"slices"

	"distaff/codegen/provenance"
)

// Paths calls fn for each assignment of s with the loops around it, outermost
// first. fn does not keep the loops.
func Paths(s Stmt, fn func(loops []*Forall, a *Assign)) { paths(s, nil, fn) }

func paths(s Stmt, loops []*Forall, fn func([]*Forall, *Assign)) {
	switch s := s.(type) {
	case *SuchThat:
		paths(s.Body, loops, fn)
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
	}
}

// Standing is a statement's body with each loop over the variable that its own
// stands for.
func Standing(s Stmt, g *provenance.Graph) Stmt {
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

// Natural tells whether on every path the loops over c's variables come in
// natural order, so that each of them narrows what those before it left.
func Natural(s Stmt, g *provenance.Graph, c *provenance.Component) bool {
	if c.Top == "" {
		return false
	}
	natural := true
	Paths(Standing(s, g), func(loops []*Forall, _ *Assign) {
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

// Descend is s with statements in it replaced by what fn makes of them, outer
// ones first: where fn returns true its statement stands as it is, and elsewhere
// what t holds is descended into. Statements that do not change are the same
// afterwards.
func Descend(s Stmt, fn func(t Stmt) (Stmt, bool)) Stmt {
	if t, ok := fn(s); ok {
		return t
	}
	return children(s, func(t Stmt) Stmt { return Descend(t, fn) })
}

// Map is s with each statement in it replaced by what fn makes of it, inner
// ones first. Statements that do not change are the same afterwards.
func Map(s Stmt, fn func(Stmt) Stmt) Stmt {
	return fn(children(s, func(t Stmt) Stmt { return Map(t, fn) }))
}

// children is s with each statement that it holds directly replaced.
func children(s Stmt, fn func(Stmt) Stmt) Stmt {
	switch t := s.(type) {
	case *SuchThat:
		if b := fn(t.Body); b != t.Body {
			return &SuchThat{Body: b, Relations: t.Relations, Insert: t.Insert}
		}
	case *Forall:
		if b := fn(t.Body); b != t.Body {
			f := *t
			f.Body = b
			return &f
		}
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

// Threaded tells whether some loop of s runs on threads.
func Threaded(s Stmt) bool {
	found := false
	Walk(s, func(s Stmt) {
		f, ok := s.(*Forall)
		found = found || ok && f.Unit == CPUThread
	})
	return found
}
