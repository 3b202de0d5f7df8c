package codegen

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"distaff/codegen/notation"
	"distaff/io/tensor"
)

// use is a tensor of the right side with the variables of an access. All accesses with the same
// tensor and variables are one use. The old value that += reads is a further use.
type use struct {
	tensor  string
	old     bool
	vars    []string
	given   Tensor
	format  tensor.Format // the format that the leaf reads
	convert bool          // it is converted, or copied, from given.Format to format
	name    string        // the operand's name in concrete index notation
}

// useKey returns the key of an access's use in compilation.byKey.
func useKey(a *notation.Access) string { return a.Name + "(" + strings.Join(a.Vars, ",") + ")" }

// fit finds one order for all loops. If the storage orders of the uses contradict each other, it
// converts some operands to storage that fits the order required by the others. It chooses the
// operands whose conversion costs least; cost returns the cost of converting one. sizes returns the
// size of a variable. fit sets the formats of the uses, and returns the order with a note for each
// conversion.
func fit(n *notation.Normal, result tensor.Format, uses []*use, sizes func(string) int64,
	cost func(*use) float64) (order []string, notes []string) {
	fixed := newGraph(n.Vars)
	fixed.access(n.LHS.Vars, result)
	for _, t := range n.Terms {
		notation.WalkTerm(t, func(e notation.Expr) bool { fixed.reductions(e); return true })
	}
	with := func(converted func(*use) bool) *graph {
		g := fixed.clone()
		for _, u := range uses {
			if !converted(u) {
				g.access(u.vars, u.given.Format)
			}
		}
		return g
	}
	none := func(*use) bool { return false }
	for _, u := range uses {
		u.format = u.given.Format
	}
	if g := with(none); g.sort(nil) != nil {
		return g.sort(ranks(n, result, uses)), nil
	}
	chosen := cheapest(uses, cost, func(set []*use) bool {
		return with(func(u *use) bool { return slices.Contains(set, u) }).sort(nil) != nil
	})
	order = with(func(u *use) bool { return slices.Contains(chosen, u) }).sort(ranks(n, result, uses))
	said := map[string]bool{}
	for _, u := range chosen {
		u.format, u.convert = reordered(u, order, sizes), true
		note := fmt.Sprintf("converting %s from %s to %s", u.tensor, u.given.Format, u.format)
		if !said[note] {
			said[note] = true
			notes = append(notes, note)
		}
	}
	return order, notes
}

// cheapest returns the set of uses that costs least to convert, among the sets for which ok returns
// true. ok must return true for the set of all uses, and for each superset of a set that it
// accepts. Dense operands are never in the set. If more than 12 operands are sparse, not all sets
// are tried: see shrunk.
func cheapest(uses []*use, cost func(*use) float64, ok func([]*use) bool) []*use {
	var sparse []*use
	for _, u := range uses {
		if !u.given.Format.AllDense() {
			sparse = append(sparse, u)
		}
	}
	if len(sparse) > 12 {
		return shrunk(sparse, cost, ok)
	}
	best, least := sparse, math.Inf(1)
	for set := uint(0); set < 1<<len(sparse); set++ {
		var chosen []*use
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
func shrunk(uses []*use, cost func(*use) float64, ok func([]*use) bool) []*use {
	chosen := slices.Clone(uses)
	slices.SortStableFunc(chosen, func(u, v *use) int { return cmp.Compare(cost(v), cost(u)) })
	for k := 0; k < len(chosen); {
		if less := slices.Delete(slices.Clone(chosen), k, k+1); ok(less) {
			chosen = less
		} else {
			k++
		}
	}
	return chosen
}

// conversionCost returns the cost of converting a use. The cost is the number of the use's entries.
// If the choice must not depend on this number (Ask.ConvertBySize), the cost is the number of
// coordinates of the use's tensor. If the number of entries is unknown, it counts as 10^12.
func (c *compilation) conversionCost(u *use) float64 {
	if !c.request.Ask.ConvertBySize {
		if u.given.NNZ < 0 {
			return 1e12
		}
		return float64(u.given.NNZ)
	}
	cost := 1.0
	for _, n := range u.given.Dims {
		cost *= float64(n)
	}
	return cost
}

// reordered returns a format for u's tensor whose modes are in the order of the loops. A list of
// coordinates without padding stays a list. Otherwise all levels become compressed, except that an
// outermost dense level stays dense if its size is at most 2^20 plus four times the number of
// entries, or if the number of entries is unknown.
func reordered(u *use, order []string, sizes func(string) int64) tensor.Format {
	old := u.given.Format
	f := tensor.Format{Levels: slices.Clone(old.Levels), Order: slices.Clone(old.Order)}
	slices.SortStableFunc(f.Order, func(a, b int) int {
		return slices.Index(order, u.vars[a]) - slices.Index(order, u.vars[b])
	})
	list := len(f.Levels) > 1 && old.Levels[0] == tensor.CompressedNonunique &&
		old.RunEnd(0) == len(f.Levels)-1 &&
		!slices.Contains(old.Levels, tensor.SingletonPadded)
	if list && slices.Index(old.Levels, tensor.Singleton) >= 0 {
		list = slices.Index(old.Levels, tensor.Singleton) == len(old.Levels)-1
	}
	if list {
		return f
	}
	for l, k := range f.Levels {
		moderate := u.given.NNZ < 0 || sizes(u.vars[f.Order[0]]) <= 1<<20+4*u.given.NNZ
		if l > 0 || k != tensor.Dense || !moderate {
			f.Levels[l] = tensor.Compressed
		}
	}
	return f
}
