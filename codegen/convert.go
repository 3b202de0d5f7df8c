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

// use is a tensor of the right side read at certain variables: accesses alike
// in both are one use. += reads the left tensor's old value as one more.
type use struct {
	tensor  string
	old     bool
	vars    []string
	given   Tensor
	format  tensor.Format // as the leaf reads it
	convert bool
	name    string // of the operand in concrete index notation
}

func useKey(a *notation.Access) string { return a.Name + "(" + strings.Join(a.Vars, ",") + ")" }

// fit finds one order for all loops. Where the storage orders allow none, it
// converts the operands that are cheapest to convert, each at the cost of its use, to
// storage that fits the order of the others. It sets the uses' formats and
// returns the order, with a note for each conversion.
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

// cheapest is the set of uses of least cost for which ok holds; ok holds for
// all of them together, and for a set that holds a set for which it does.
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

// shrunk leaves uses out of the whole set while it can, expensive ones first.
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

// conversionCost is what it costs to convert a use: the entries that are stored, or, where the
// choice is not to hang on them (Request.ConvertBySize), all that its tensor has room for.
func (c *compilation) conversionCost(u *use) float64 {
	if !c.request.ConvertBySize {
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

// reordered is a format of u's tensor with its modes in the order of the
// loops. Coordinates that were stored as a list stay one; otherwise levels
// become compressed, but for an outermost dense one of moderate size.
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
