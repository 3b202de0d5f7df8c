package operand

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"distaff/codegen/notation"
	"distaff/io/tensor"
)

// Fit finds one order for all loops. The storage orders of the operands, the storage order of the
// result and the explicit sums may contradict each other. In this case Fit converts some operands
// to storage that fits the order required by the others. It chooses the set of operands whose
// conversion costs least (see cheapest). The cost of an operand is its number of entries or, if
// bySize is true, its number of coordinates (see cost). size returns the size of a variable. Fit
// sets the formats of the uses, and returns the order with a note for each conversion.
func (x *Uses) Fit(n *notation.Normal, result tensor.Format, size func(string) int64,
	bySize bool) (order []string, notes []string) {
	uses := x.List
	fixed := NewGraph(n.Vars)
	fixed.Access(n.LHS.Vars, result)
	for _, t := range n.Terms {
		notation.WalkTerm(t, func(e notation.Expr) bool { fixed.reductions(e); return true })
	}
	with := func(converted func(*Use) bool) *Graph {
		g := fixed.clone()
		for _, u := range uses {
			if !converted(u) {
				g.Access(u.Vars, u.Given.Format)
			}
		}
		return g
	}
	for _, u := range uses {
		u.Format, u.Convert = u.Given.Format, false
	}
	if g := with(func(*Use) bool { return false }); g.sort(nil) != nil {
		return g.sort(ranks(n, result, uses)), nil
	}
	chosen := cheapest(uses, func(u *Use) float64 { return u.cost(bySize) }, func(set []*Use) bool {
		return with(func(u *Use) bool { return slices.Contains(set, u) }).sort(nil) != nil
	})
	order = with(func(u *Use) bool { return slices.Contains(chosen, u) }).sort(ranks(n, result, uses))
	for _, u := range chosen {
		notes = u.Reorder(order, size, notes)
	}
	return order, notes
}

// cheapest returns the set of uses that costs least to convert, among the sets that ok accepts. ok
// must accept the set of all sparse uses. It must also accept each superset of a set that it
// accepts. Dense operands are never in the set. If more than 12 operands are sparse, not all sets
// are tried (see shrunk).
func cheapest(uses []*Use, cost func(*Use) float64, ok func([]*Use) bool) []*Use {
	var sparse []*Use
	for _, u := range uses {
		if !u.Given.Format.AllDense() {
			sparse = append(sparse, u)
		}
	}
	if len(sparse) > 12 {
		return shrunk(sparse, cost, ok)
	}
	best, least := sparse, math.Inf(1)
	for set := uint(0); set < 1<<len(sparse); set++ {
		var chosen []*Use
		for k, u := range sparse {
			if set>>k&1 != 0 {
				chosen = append(chosen, u)
			}
		}
		c := float64(bits.OnesCount(set))
		for _, u := range chosen {
			c += cost(u)
		}
		if c < least && ok(chosen) {
			best, least = chosen, c
		}
	}
	return best
}

// shrunk returns a small subset of uses for which ok returns true. It starts from all uses and
// tries to leave out one after another, the most expensive first. A use is left out if ok accepts
// the uses that remain. cost returns the cost of a use.
func shrunk(uses []*Use, cost func(*Use) float64, ok func([]*Use) bool) []*Use {
	chosen := slices.Clone(uses)
	slices.SortStableFunc(chosen, func(u, v *Use) int { return cmp.Compare(cost(v), cost(u)) })
	for k := 0; k < len(chosen); {
		if less := slices.Delete(slices.Clone(chosen), k, k+1); ok(less) {
			chosen = less
		} else {
			k++
		}
	}
	return chosen
}

// cost returns the cost of converting a use: its number of entries, or 10^12 if this is unknown.
// If bySize is true, it returns the number of coordinates of the use's tensor instead.
func (u *Use) cost(bySize bool) float64 {
	switch {
	case bySize:
		return u.Given.coordinates()
	case u.Given.NNZ < 0:
		return 1e12
	}
	return float64(u.Given.NNZ)
}

// coordinates returns the number of coordinates of a tensor.
func (t *Tensor) coordinates() float64 {
	all := 1.0
	for _, n := range t.Dims {
		all *= float64(n)
	}
	return all
}

// Reorder converts an operand to a format whose modes are in the order of the loops. It adds a note
// about the conversion to notes. A list of coordinates without padding stays a list. In other
// formats, all levels become compressed, except for some outermost dense levels. An outermost dense
// level stays dense if its size is at most 2^20 plus four times the number of entries, or if the
// number of entries is unknown.
func (u *Use) Reorder(order []string, size func(string) int64, notes []string) []string {
	old := u.Given.Format
	f := tensor.Format{Levels: slices.Clone(old.Levels), Order: u.modesIn(order)}
	list := len(f.Levels) > 1 && old.Levels[0] == tensor.CompressedNonunique &&
		old.RunEnd(0) == len(f.Levels)-1 &&
		!slices.Contains(old.Levels, tensor.SingletonPadded)
	if list && slices.Index(old.Levels, tensor.Singleton) >= 0 {
		list = slices.Index(old.Levels, tensor.Singleton) == len(old.Levels)-1
	}
	if list {
		return u.readAs(f, "converting", notes)
	}
	for l, k := range f.Levels {
		moderate := u.Given.NNZ < 0 || size(u.Vars[f.Order[0]]) <= 1<<20+4*u.Given.NNZ
		if l > 0 || k != tensor.Dense || !moderate {
			f.Levels[l] = tensor.Compressed
		}
	}
	return u.readAs(f, "converting", notes)
}

// modesIn returns the modes of an operand's levels, sorted by the order of the loops.
func (u *Use) modesIn(order []string) []int {
	modes := slices.Clone(u.Given.Format.Order)
	slices.SortStableFunc(modes, func(a, b int) int {
		return slices.Index(order, u.Vars[a]) - slices.Index(order, u.Vars[b])
	})
	return modes
}
