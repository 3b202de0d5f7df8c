package schedule

import (
	"slices"
	"strings"

	"distaff/codegen/cin"
)

// reorder changes the order of directly nested loops: reorder(i, j, ...) lists their variables,
// outermost first. It changes each nest that has all of these loops. Other loops of the nest keep
// their places. A nest with only one of the loops does not change.
//
// A nest that has several but not all of the loops does not change either if these loops have the
// wanted order; otherwise it is an error. A statement without a nest that has all of the loops is
// an error. There is one exception: if the loops already have the wanted order everywhere, reorder
// does nothing.
func reorder(s *state) error {
	var order []string
	for k := range s.cmd.Args {
		v, err := s.variable(k)
		if err != nil {
			return err
		}
		if slices.Contains(order, v) {
			return s.refuse(k, "got %s twice, want each variable once", v)
		}
		order = append(order, v)
	}
	done := 0
	// errors for nests with several of the loops in another order, and for the other nests
	var some, alone error
	body := cin.Descend(s.body, func(t cin.Stmt) (cin.Stmt, bool) {
		f, ok := t.(*cin.Forall)
		if !ok || !slices.Contains(order, f.Var) {
			return nil, false
		}
		chain, rest := nested(f)
		out, n := permuted(chain, order, rest)
		if n == len(order) {
			done++
			return out, true
		}
		missing := slices.DeleteFunc(slices.Clone(order), func(v string) bool {
			return slices.ContainsFunc(chain, func(f *cin.Forall) bool { return f.Var == v })
		})
		err := s.refuse(-1,
			"the loops to reorder must be directly nested, but other statements are between "+
				"%s and %s: %s",
			f.Var, strings.Join(missing, ", "), cin.String(f))
		if !sorted(chain, order) {
			some = err
		} else if alone == nil {
			alone = err
		}
		return nil, false
	})
	switch {
	case (some != nil || done == 0) && s.hasOrder(order):
		return nil
	case some != nil:
		return some
	case done == 0:
		return alone
	}
	s.body = body
	return nil
}

// hasOrder reports whether the loops over the variables in order are already nested in this order.
// At least one assignment must be inside all of these loops. Another assignment may be inside only
// some of them.
func (s *state) hasOrder(order []string) bool {
	all, sorted := false, true
	cin.Paths(s.body, func(loops []*cin.Forall, _ *cin.Assign) {
		next, n := 0, 0
		for _, f := range loops {
			if k := slices.Index(order, f.Var); k >= 0 {
				sorted = sorted && k >= next
				next, n = k, n+1
			}
		}
		all = all || n == len(order)
	})
	return all && sorted
}

// sorted reports whether the loops of chain over variables in order are nested in this order.
func sorted(chain []*cin.Forall, order []string) bool {
	var found []int
	for _, f := range chain {
		if k := slices.Index(order, f.Var); k >= 0 {
			found = append(found, k)
		}
	}
	return slices.IsSorted(found)
}

// nested returns the directly nested loops that start with f, and the body of the last one.
func nested(f *cin.Forall) (chain []*cin.Forall, rest cin.Stmt) {
	rest = f
	for {
		f, ok := rest.(*cin.Forall)
		if !ok {
			return chain, rest
		}
		chain = append(chain, f)
		rest = f.Body
	}
}

// permuted returns a copy of the loop nest with some loops in another order. chain has the loops of
// the nest, and rest is their body. The loops over variables in order are put in this order, and
// the other loops stay in their places. The second result is the number of loops over variables in
// order.
func permuted(chain []*cin.Forall, order []string, rest cin.Stmt) (cin.Stmt, int) {
	byVar := map[string]*cin.Forall{}
	for _, f := range chain {
		byVar[f.Var] = f
	}
	var here []string
	for _, v := range order {
		if byVar[v] != nil {
			here = append(here, v)
		}
	}
	next := len(here) - 1
	for k := len(chain) - 1; k >= 0; k-- {
		f := *chain[k]
		if slices.Contains(here, f.Var) {
			f = *byVar[here[next]]
			next--
		}
		f.Body = rest
		rest = &f
	}
	return rest, len(here)
}
