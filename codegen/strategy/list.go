package strategy

import (
	"fmt"
	"slices"

	"distaff/codegen/cin"
)

// Listed is an order of the default strategy with its reason. A Minor order changes the leaf only
// if the loops have the form that the order requires.
type Listed struct {
	Order Order
	Why   string
	Minor bool
}

// List returns the default strategy of a statement as orders, in the sequence of the scheduling
// commands that give them.
func List(p *Problem) []Listed {
	f, v := newFacts(p), Choose(p)
	var out []Listed
	add := func(o Order, why string, minor bool) { out = append(out, Listed{o, why, minor}) }
	for _, x := range sortedKeys(v.Trips) {
		add(Count{x, v.Trips[x].N}, v.Trips[x].Why, true)
	}
	for _, x := range sortedKeys(v.Predicated) {
		if why := v.Windowed[x]; why != "" {
			add(MergeWindows{x}, why, true)
			continue
		}
		add(Predicate{x}, v.Predicated[x], true)
	}
	for _, l := range kept(v) {
		add(l.Order, l.Why, l.Minor)
	}
	eachWorkspace(f.stmt, func(t *cin.Access, _ *cin.Where) {
		s := v.Spaces[t.Name]
		inTile := v.Row.Width > 0 && t.Vars[0] == v.Row.Var // the workspace is then itself a tile
		add(Workspace{t.Name, s.Form.Kind}, s.Why, inTile || s.Multiplied)
	})
	for _, x := range f.problem.Products {
		add(x.Gemm, x.Why, false)
	}
	f.listLoops(v, add)
	if v.Row.Width > 0 {
		add(Tile{v.Row.Var, v.Row.Width}, v.Row.Why, true)
	}
	for _, x := range sortedKeys(v.Lanes) {
		add(Vectorize{Var: x}, v.Lanes[x], true)
	}
	for _, g := range v.Gathers {
		add(Vectorize{g.Var, f.short(g.Key)}, g.Why, true)
	}
	if v.Nontemporal != "" {
		add(Nontemporal{cin.Target(f.stmt).Name}, v.Nontemporal, true)
	}
	return append(out, f.fetches(v)...)
}

// fetches returns the orders for prefetching.
func (f *facts) fetches(v *Value) (out []Listed) {
	for _, x := range v.Prefetch {
		out = append(out, Listed{Fetch{f.short(x.Key), x.Var, x.Ahead, x.Far}, x.Why, true})
	}
	return out
}

// kept returns orders for loops that a schedule need not contain, because Plain follows them too.
func kept(v *Value) (out []Listed) {
	for _, x := range sortedKeys(v.OneBody) {
		out = append(out, Listed{Unite{x}, v.OneBody[x], false})
	}
	if v.Jam.Width > 0 {
		out = append(out, Listed{Jam{v.Jam.Var, v.Jam.Width}, v.Jam.Why, false})
	}
	return out
}

// Unsaid returns the orders that the strategy of a schedule follows although the schedule does not
// contain them.
func Unsaid(p *Problem, given []Order) []Listed {
	v, n, err := Follow(p, given)
	if err != nil {
		panic(fmt.Sprintf("BUG: strategy: order %d, which was followed: %v", n, err))
	}
	f := newFacts(p)
	return slices.DeleteFunc(append(kept(v), f.fetches(v)...), func(l Listed) bool {
		if _, fetches := l.Order.(Fetch); fetches {
			return l.Why == soOrdered
		}
		return slices.ContainsFunc(given, func(o Order) bool {
			switch o := o.(type) {
			case Jam:
				_, jams := l.Order.(Jam)
				return jams
			case Unite:
				return l.Order == Order(Unite{f.loweredVar(o.Var)})
			}
			return false
		})
	})
}

// listLoops lists the orders for the outermost loops.
func (f *facts) listLoops(v *Value, add func(o Order, why string, minor bool)) {
	top := outermost(f.stmt)
	each := func(order func(l *cin.Forall, x Loop, r Ref) (Order, string)) {
		done := map[string]bool{}
		for _, l := range top {
			same := true
			one, why := order(l, v.Of(l), Ref{Var: l.Var})
			for _, m := range top {
				if m.Var == l.Var {
					other, _ := order(m, v.Of(m), Ref{Var: m.Var})
					same = same && other == one
				}
			}
			if !same {
				one, why = order(l, v.Of(l), f.ref(l))
			}
			if one != nil && !done[one.String()] {
				done[one.String()] = true
				add(one, why, false)
			}
		}
	}
	each(func(l *cin.Forall, x Loop, r Ref) (Order, string) {
		if l.Unit != cin.CPUThread {
			return nil, ""
		}
		o := Threads{Loop: r, How: x.Cut.How, N: x.Cut.N}
		if o.Own = x.Cut.Own; o.Own == f.ownVar(l) {
			o.Own = ""
		}
		return o, x.Cut.Why
	})
	each(func(l *cin.Forall, x Loop, r Ref) (Order, string) {
		if x.OverPositions == "" {
			return nil, ""
		}
		return Flatten{r}, x.OverPositions
	})
	each(func(l *cin.Forall, x Loop, r Ref) (Order, string) {
		if x.Long.How == Kept {
			return nil, ""
		}
		return CutRows{r, f.short(x.Long.Key), x.Long.N}, x.Long.Why
	})
}

// ref returns the name of a loop among the loops over the same variable.
func (f *facts) ref(l *cin.Forall) Ref {
	n, at := 0, 0
	cin.Walk(f.stmt, func(s cin.Stmt) {
		if m, ok := s.(*cin.Forall); ok && m.Var == l.Var {
			if n++; m == l {
				at = n
			}
		}
	})
	return Ref{l.Var, at}
}

// short returns a short name for the access with the given key. It is the tensor's name if the
// tensor has only one access, or else the key.
func (f *facts) short(key string) string {
	name, several := "", false
	cin.Accesses(f.stmt, func(a *cin.Access) {
		if a.Key() == key {
			name = a.Name
		}
	})
	cin.Accesses(f.stmt, func(a *cin.Access) { several = several || a.Name == name && a.Key() != key })
	switch {
	case several:
		return key
	case name == "": // the key is the result's
		return cin.Target(f.stmt).Name
	}
	return name
}

func sortedKeys[V any](m map[string]V) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
