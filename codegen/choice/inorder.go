package choice

import (
	"fmt"
	"slices"

	"distaff/codegen/analysis"
	"distaff/codegen/cin"
	"distaff/codegen/strategy"
)

// defaultSpaces chooses the default form of every workspace, outer workspaces first. workspaceOf
// proposes a form, which is replaced in seven cases:
//
//   - If a schedule makes workspaces or variables, a bitmap becomes a list with marks.
//   - If the values of a workspace come in the order of their coordinates, it is a list.
//   - If a workspace is filled only once, outside of all loops, and at many of its places, it has
//     marks (mayUseMarks). This rule is not used if a schedule makes workspaces or variables. It is
//     also not used if the values come in order, unless each entry is the sum of many values
//     (IsSummed).
//   - If a small workspace is always filled everywhere or nowhere, it is an array. If there is no
//     schedule, this rule does not apply to a workspace that is only copied to the result.
//   - If the consumer visits other operands and looks up their coordinates in the workspace
//     (isLookedUp), the workspace is a table.
//   - On a GPU, a workspace that is neither an array nor has a place for each position is a hash
//     table.
//   - If a schedule makes a tile of positions, a workspace over the tile has a place for each
//     position (positional).
//
// Space.Piece is the form of the workspaces that each thread has for itself.
func defaultSpaces(f *analysis.Facts) {
	made := f.Problem.Precomputes || len(f.Graph.Relations()) > 0
	eachWorkspace(f.Stmt, func(t *cin.Access, w *cin.Where) {
		producer := w.Producer
		s := workspaceOf(f, t, w)
		if f.Graph != nil {
			s.Piece = s.Form
			if s.Form.Kind == strategy.Bitmap {
				s.Piece.Kind = strategy.MarkedList
			}
			if s.Form.Kind == strategy.Bitmap && made {
				s.Form.Kind, s.Why = strategy.MarkedList, coordinates(f, t)
			}
			if ok, once := piecesInOrder(f, producer, t); ok {
				s.Piece = strategy.Form{Kind: strategy.SortedList, Once: once}
			}
		}
		if ok, once := inOrder(f, producer); ok {
			s.Form, s.Why = strategy.Form{Kind: strategy.SortedList, Once: once, Rows: byRows(f, t)},
				t.Key()+" is filled in order"
		}
		if !made && mayUseMarks(f, t, w) &&
			(s.Form.Kind != strategy.SortedList || IsSummed(f.Problem.Intermediates[t.Name])) {
			s.Form, s.Why = strategy.Form{Kind: strategy.Marks, Rows: len(t.Vars) > 1},
				fmt.Sprintf("about %.4g of the %.4g coordinates of %s are filled, once",
					f.Problem.Intermediates[t.Name].Entries, f.Places(t.Vars), t.Key())
		}
		if (f.Graph != nil || !cin.Copies(w.Consumer, t)) && isUniform(f, producer, t) {
			s.Form, s.Why = strategy.Form{Kind: strategy.Array}, t.Key()+" is filled everywhere or nowhere"
		}
		if f.Graph != nil {
			if form, err := positional(f, w, t); err == nil {
				s.Form, s.Why = form, fmt.Sprintf(
					"%s has a value for each position of %s in a tile, which has at most %d",
					t.Key(), form.Key,
					form.Len)
			}
		}
		if k := s.Form.Kind; f.Problem.Target.GPU && k != strategy.Array && k != strategy.Positions {
			s.Form, s.Why = strategy.Form{Kind: strategy.HashTable}, "threads of a GPU fill it together"
		}
		f.Spaces[t.Name] = s
	})
	eachWorkspace(f.Stmt, func(t *cin.Access, w *cin.Where) {
		s, own := f.Spaces[t.Name], f.Problem.Intermediates[t.Name].Entries
		form, err := tableForm(f, t, w.Producer)
		if err == nil && s.Form.Kind != strategy.Array && s.Form.Kind != strategy.Positions &&
			FitsPlaces(len(t.Vars), f.Places(t.Vars), f.Entries(), own) {
			s.Form, s.Why = form, "the coordinates of "+t.Key()+" are found in other operands"
			f.Spaces[t.Name] = s
		}
	})
}

// piecesInOrder considers the parallel loops in producer that add to workspace t. ok is true if
// there is such a loop, and if in each of them a thread adds its values in the order of their
// coordinates. once is true if each of these loops adds only once to each coordinate.
func piecesInOrder(f *analysis.Facts, producer cin.Stmt, t *cin.Access) (ok, once bool) {
	n := 0
	ok, once = true, true
	cin.Walk(producer, func(s cin.Stmt) {
		if l, is := s.(*cin.Forall); is && l.Unit == cin.CPUThread && cin.Target(l).Name == t.Name {
			o, c := inOrder(f, &cin.Forall{Var: l.Var, Body: l.Body})
			ok, once = ok && o, once && c
			n++
		}
	})
	return ok && n > 0, once
}

// inOrder reports two facts. ok is true if s adds to its target in the lexicographic order of the
// target's variables. once is true if s also adds only once to each coordinate.
//
// For ok, no loop of s may run on threads. The outermost loops of s must determine the target's
// variables one after another, in their order. For once, these loops must contain only an
// assignment.
func inOrder(f *analysis.Facts, s cin.Stmt) (ok, once bool) {
	left := cin.Target(s).Vars
	if cin.Threaded(s) {
		return false, false
	}
	for w, is := s.(*cin.Where); is; w, is = s.(*cin.Where) {
		// the temporary that the consumer reads is computed before the consumer's loops
		s = w.Consumer
	}
	for len(left) > 0 {
		l, ok := s.(*cin.Forall)
		if !ok {
			return false, false
		}
		vars := []string{l.Var}
		if c, natural := f.Component(l.Var); c != nil && f.Graph.ReplacedBy(l.Var) == nil {
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

// isUniform reports whether workspace t, which s fills, is small enough for an array and is filled
// everywhere or nowhere.
func isUniform(f *analysis.Facts, s cin.Stmt, t *cin.Access) bool {
	return f.Places(t.Vars) <= max(MaxPlaces, float64(f.Entries())) && isFilledUniformly(f, s, t)
}

// asArray reports whether workspace t, which s fills, can be an array. It returns nil if so, and
// otherwise an error with the reason. An array can have at most maxArray places.
func asArray(f *analysis.Facts, s cin.Stmt, t *cin.Access) error {
	switch n := f.Places(t.Vars); {
	case n > maxArray:
		return fmt.Errorf(
			"%s has %.4g coordinates, but an array can have at most %.4g", t.Key(), n,
			float64(maxArray))
	case !isFilledUniformly(f, s, t):
		return fmt.Errorf("the loops store values at only some coordinates of %s; an array needs "+
			"a value at each coordinate", t.Key())
	}
	return nil
}

// isFilledUniformly reports whether the values that s adds to workspace t are present at all
// coordinates of its variables or at none.
func isFilledUniformly(f *analysis.Facts, s cin.Stmt, t *cin.Access) bool {
	for m := range t.Vars {
		if !uniformAlong(f, s, t, m) {
			return false
		}
	}
	return true
}

// produced is a temporary that a statement computes. loops lists the variables of the loops around
// it.
type produced struct {
	by    cin.Stmt
	loops []string
}

// producedIn adds the temporaries that s computes to out, by name. loops lists the variables of the
// loops around s.
func producedIn(s cin.Stmt, loops []string, out map[string]produced) {
	switch s := s.(type) {
	case *cin.Forall:
		producedIn(s.Body, append(slices.Clone(loops), s.Var), out)
	case *cin.Where:
		out[cin.Target(s.Producer).Name] = produced{s.Producer, loops}
		producedIn(s.Consumer, loops, out)
		producedIn(s.Producer, loops, out)
	case *cin.Seq:
		for _, t := range s.List {
			producedIn(t, loops, out)
		}
	}
}

// uniformAlong does the same as isFilledUniformly, but for a single variable: the variable of t
// with index mode. It reports whether t has values at all coordinates of this variable or at none.
func uniformAlong(f *analysis.Facts, s cin.Stmt, t *cin.Access, mode int) bool {
	producers := map[string]produced{}
	producedIn(s, nil, producers)
	return uniformIn(f, s, t.Name, producers, func(a *cin.Assign) string { return a.LHS.Vars[mode] })
}

// uniformIn reports whether each assignment in s to the temporary called name is uniform along a
// variable. An assignment is uniform if its expression has a value at all coordinates of the
// variable or at none. The function variable returns the variable for an assignment. producers has
// the temporaries that the statement computes, with the loops around each.
func uniformIn(f *analysis.Facts, s cin.Stmt, name string, producers map[string]produced,
	variable func(*cin.Assign) string) bool {
	ok := true
	cin.Paths(s, func(_ []*cin.Forall, a *cin.Assign) {
		if a.LHS.Name != name {
			return
		}
		v := variable(a)
		cin.ExprAccesses(a.RHS, func(x *cin.Access) {
			m := slices.Index(x.Vars, v)
			p, made := producers[x.Name]
			op := f.Tensor(x.Name)
			switch {
			case m < 0:
				// A temporary that is computed anew at each coordinate may be present at only some.
				ok = ok && !(made && hasLoopOver(f, p.loops, v) && (len(f.Graph.Relations()) > 0 ||
					!uniformIn(f, p.by, x.Name, producers, func(*cin.Assign) string { return v })))
			case made:
				ok = ok && uniformAlong(f, p.by, cin.Target(p.by), m)
			case op == nil:
				ok = ok && f.Spaces[x.Name].Form.Kind == strategy.Array
			default:
				// All levels from the outermost level of the variable on must be dense. An access
				// may have the variable twice.
				for n, u := range x.Vars {
					if u != v {
						continue
					}
					for k := op.Format.Level(n); k < op.Order(); k++ {
						ok = ok && op.Kind(k).CanLocate()
					}
				}
			}
		})
	})
	return ok
}

// hasLoopOver reports whether one of the loops is over v, or over a variable that a schedule
// derived from an original variable of v.
func hasLoopOver(f *analysis.Facts, loops []string, v string) bool {
	roots := f.Graph.Underived(v)
	return slices.ContainsFunc(f.Underived(loops),
		func(r string) bool { return slices.Contains(roots, r) })
}
