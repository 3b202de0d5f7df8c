package strategy

import (
	"fmt"
	"slices"

	"distaff/codegen/cin"
)

// workspaces chooses the kind of every workspace, outer ones first. Where a
// schedule is given, whose precompute makes workspaces that need not be sparse, an array, a
// list or a place for each position of a tile may do.
func (f *facts) workspaces() {
	eachWorkspace(f.stmt, func(t *cin.Access, w *cin.Where) {
		producer := w.Producer
		s := f.workspace(t, producer)
		if f.g != nil {
			if s.Kind == Bitmap {
				s.Kind = MarkedList
			}
			s.Piece = s.Form
			if ok, once := f.piecesInOrder(producer, t); ok {
				s.Piece = Form{Kind: SortedList, Once: once}
			}
			if ok, once := f.inOrder(producer, t); ok {
				s.Form, s.Why = Form{Kind: SortedList, Once: once}, t.Key()+" is filled in order"
			}
			if f.uniform(producer, t) {
				s.Form, s.Why = Form{Kind: Array}, t.Key()+" is filled everywhere or nowhere"
			}
			if form, err := f.positional(w, t); err == nil {
				s.Form, s.Why = form, fmt.Sprintf("%s has a value at each position of %s, of which a tile has at most %d", t.Key(), form.Key, form.Len)
			}
		}
		f.spaces[t.Name] = s
	})
}

// piecesInOrder is inOrder for what each thread adds of loops on threads.
func (f *facts) piecesInOrder(producer cin.Stmt, t *cin.Access) (ok, once bool) {
	n := 0
	ok, once = true, true
	cin.Walk(producer, func(s cin.Stmt) {
		if l, is := s.(*cin.Forall); is && l.Unit == cin.CPUThread && cin.Target(l).Name == t.Name {
			o, c := f.inOrder(&cin.Forall{Var: l.Var, Body: l.Body}, t)
			ok, once = ok && o, once && c
			n++
		}
	})
	return ok && n > 0, once
}

// inOrder tells whether s adds to workspace t in the order of its variables, and
// whether once to each coordinate: the outermost loops of s determine these
// variables, in their order, and none of its loops runs on threads.
func (f *facts) inOrder(s cin.Stmt, t *cin.Access) (ok, once bool) {
	left := cin.Target(s).Vars
	if threaded(s) {
		return false, false
	}
	for len(left) > 0 {
		l, ok := s.(*cin.Forall)
		if !ok {
			return false, false
		}
		vars := []string{l.Var}
		if c, natural := f.component(l.Var); c != nil && f.g.ReplacedBy(l.Var) == nil {
			if !natural || l.Var != c.Leaves[len(c.Leaves)-1] {
				return false, false
			}
			vars = c.Roots
		}
		if len(vars) > len(left) || !slices.Equal(vars, left[:len(vars)]) {
			return false, false
		}
		left, s = left[len(vars):], l.Body
	}
	_, once = s.(*cin.Assign)
	return true, once
}

// uniform tells whether what s adds to workspace t is present at all
// coordinates of its variable or at none.
func (f *facts) uniform(s cin.Stmt, t *cin.Access) bool {
	if len(t.Vars) != 1 || f.Sizes[t.Vars[0]] > maxPlaces {
		return false
	}
	producers := map[string]cin.Stmt{}
	cin.Walk(s, func(s cin.Stmt) {
		if w, ok := s.(*cin.Where); ok {
			producers[cin.Target(w.Producer).Name] = w.Producer
		}
	})
	ok := true
	cin.Paths(s, func(_ []*cin.Forall, a *cin.Assign) {
		if a.LHS.Name != t.Name {
			return
		}
		cin.ExprAccesses(a.RHS, func(x *cin.Access) {
			m := slices.Index(x.Vars, a.LHS.Vars[0])
			p := producers[x.Name]
			op := f.tensor(x.Name)
			switch {
			case m < 0 && p != nil:
				ok = false // computed anew at each coordinate, and present at some
			case m < 0:
			case p != nil:
				ok = ok && f.uniform(p, cin.Target(p))
			case op == nil:
				ok = ok && f.spaces[x.Name].Kind == Array
			default:
				// From the outermost level of the variable on, which an access may
				// hold twice, all are dense.
				for n, v := range x.Vars {
					if v != x.Vars[m] {
						continue
					}
					for k := op.Format.Level(n); k < op.order(); k++ {
						ok = ok && op.caps(k).Locate
					}
				}
			}
		})
	})
	return ok
}
