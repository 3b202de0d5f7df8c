package operand

import (
	"fmt"
	"maps"
	"slices"

	"distaff/codegen/notation"
	"distaff/io/tensor"
)

// Graph holds constraints on an order of variables. The constraints have three sources.
//
// A sparse level can be iterated only when the coordinates of the levels above it are known, so
// the variables of those levels come first. A sparse result is appended to in its storage order.
// An explicit sum() inside a term is computed when its free variables, which it reads but does not
// sum, are known.
type Graph struct {
	vars  []string
	after map[string]map[string]bool // after[u][v]: u comes before v
}

// NewGraph returns a graph of variables without constraints.
func NewGraph(vars []string) *Graph {
	return &Graph{vars: vars, after: map[string]map[string]bool{}}
}

// before adds the constraint that u comes before v.
func (g *Graph) before(u, v string) {
	if u == v {
		return
	}
	if g.after[u] == nil {
		g.after[u] = map[string]bool{}
	}
	g.after[u][v] = true
}

// Access adds the constraints of an access over vars with format f. If a variable occurs twice, its
// second level adds no constraint, because this level is searched.
func (g *Graph) Access(vars []string, f tensor.Format) {
	seen := map[string]bool{}
	for l, mode := range f.Order {
		v := vars[mode]
		if !seen[v] && !f.Levels[l].CanLocate() {
			for u := range seen {
				g.before(u, v)
			}
		}
		seen[v] = true
	}
}

// reductions adds the constraints of the explicit sums in e. A whole sum is computed when its free
// variables are known. The variables that the sum binds, or that a sum inside it binds, must
// therefore come after the free variables.
func (g *Graph) reductions(e notation.Expr) {
	notation.Walk(e, func(e notation.Expr) bool {
		r, ok := e.(*notation.ReductionExpr)
		if !ok {
			return true
		}
		free := notation.FreeVars(r)
		notation.Walk(r, func(e notation.Expr) bool {
			if inner, ok := e.(*notation.ReductionExpr); ok {
				for _, v := range inner.Reduction.Binds() {
					for _, u := range free {
						g.before(u, v)
					}
				}
			}
			return true
		})
		return true
	})
}

func (g *Graph) clone() *Graph {
	c := NewGraph(g.vars)
	for u, vs := range g.after {
		c.after[u] = maps.Clone(vs)
	}
	return c
}

// Verify checks an order of loops against the constraints.
func (g *Graph) Verify(order []string) error {
	for k, v := range order {
		for _, u := range order[:k] {
			if g.after[v][u] {
				return fmt.Errorf(
					"%s must not come before %s, because of how a tensor is stored", u, v)
			}
		}
	}
	return nil
}

// VerifyOrder checks that an order of loops contains every variable once, and that the variable of
// a sparse level comes after the variables of the levels above it.
func (x *Uses) VerifyOrder(order []string, n *notation.Normal, result tensor.Format) error {
	got, all := slices.Sorted(slices.Values(order)), slices.Sorted(slices.Values(n.Vars))
	if !slices.Equal(got, all) {
		return fmt.Errorf("got the loop order %v, want an order of the variables %v", order, all)
	}
	g := NewGraph(n.Vars)
	g.Access(n.LHS.Vars, result)
	for _, u := range x.List {
		g.Access(u.Vars, u.Format)
	}
	return g.Verify(order)
}

// sort returns a topological order, or nil if there is a cycle. If several variables may come
// next, the one with the smallest rank does.
func (g *Graph) sort(rank map[string]int) []string {
	waits := map[string]int{}
	for _, vs := range g.after {
		for v := range vs {
			waits[v]++
		}
	}
	var order []string
	left := slices.Clone(g.vars)
	for len(left) > 0 {
		best := -1
		for k, v := range left {
			if waits[v] == 0 && (best < 0 || rank[v] < rank[left[best]]) {
				best = k
			}
		}
		if best < 0 {
			return nil
		}
		v := left[best]
		left = slices.Delete(left, best, best+1)
		order = append(order, v)
		for u := range g.after[v] {
			waits[u]--
		}
	}
	return order
}

// walkedBy returns the variables that loops over sparse storage bind: the variables of levels that
// store coordinates, and of all levels above them.
func walkedBy(uses []*Use) map[string]bool {
	walked := map[string]bool{}
	for _, u := range uses {
		sparse := false
		for l := len(u.Format.Order) - 1; l >= 0; l-- {
			if sparse = sparse || !u.Format.Levels[l].CanLocate(); sparse {
				walked[u.Vars[u.Format.Order[l]]] = true
			}
		}
	}
	return walked
}

// ranks returns a rank for each variable. The loop over a variable with a smaller rank should be
// further out. The variables that loops over sparse storage bind come first (see walkedBy). Among
// them, the variables of the result come first, in storage order, and then the summed variables.
//
// Each of the remaining variables is ranked by a number: the number of accesses that have the
// variable in the last level, minus the number of accesses that have it in another level. The
// innermost loop then tends to run along contiguous memory.
func ranks(n *notation.Normal, result tensor.Format, uses []*Use) map[string]int {
	walked := walkedBy(uses)
	stride := map[string]int{}
	count := func(vars []string, f tensor.Format) {
		for l, mode := range f.Order {
			if l == len(f.Order)-1 {
				stride[vars[mode]]++
			} else {
				stride[vars[mode]]--
			}
		}
	}
	for _, u := range uses {
		count(u.Vars, u.Format)
	}
	count(n.LHS.Vars, result)

	var vars []string // the result's in storage order, then the others
	for _, mode := range result.Order {
		vars = append(vars, n.LHS.Vars[mode])
	}
	for _, v := range n.Vars {
		if !slices.Contains(vars, v) {
			vars = append(vars, v)
		}
	}
	slices.SortStableFunc(vars, func(u, v string) int {
		switch {
		case walked[u] && walked[v]:
			return 0
		case walked[u]:
			return -1
		case walked[v]:
			return 1
		}
		return stride[u] - stride[v]
	})
	rank := map[string]int{}
	for k, v := range vars {
		rank[v] = k
	}
	return rank
}
