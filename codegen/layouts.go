package codegen

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"distaff/codegen/analysis"
	"distaff/codegen/choice"
	"distaff/io/tensor"
)

// layoutGain is the number of times that each value of a dense operand must be read so that a copy
// pays off. In the copy, the innermost loop reads adjacent values. Copying a value takes about 3
// ns. Reading a value that is not adjacent to the one before takes 1 ns more from a cache, and 10
// ns more from memory.
const layoutGain = 4

// layouts chooses dense operands that are read from copies, so that the innermost loop runs along
// the memory of the copy. With a schedule, its layout commands name the operands. Without a
// schedule, and on a CPU, layouts chooses an operand if its values are read often enough for the
// faster loop to save more time than the copy costs (layoutGain). On a GPU without a schedule, it
// chooses none.
func (c *compilation) layouts() error {
	if c.request.Ask.Schedule != nil {
		return c.givenLayouts()
	}
	v := c.innermostDense()
	if v == "" || c.request.Target.Kind != CPU || c.request.Ask.AsStored {
		return nil
	}
	for _, u := range c.uses {
		at := slices.Index(u.vars, v)
		if !c.canCopy(u) || len(u.vars) < 2 || at < 0 || slices.Contains(u.vars[at+1:], v) ||
			u.format.Order[len(u.vars)-1] == at {
			continue
		}
		values := 1.0
		for _, n := range u.given.Dims {
			values *= float64(n)
		}
		if times := c.reads(v) / values / c.readers(u); times >= layoutGain {
			f := withOrder(u.format, slices.Clone(u.format.Order))
			slices.SortStableFunc(f.Order, func(a, b int) int {
				return slices.Index(c.unit.Order, u.vars[a]) - slices.Index(c.unit.Order, u.vars[b])
			})
			c.copyUse(u, f)
			c.copies = append(c.copies, analysis.Copy{Access: c.useText(u), Modes: f.Order,
				Why: fmt.Sprintf("a copy, in which the innermost loop, over %s, runs along memory; "+
					"each value is read about %.0f times", v, times)})
		}
	}
	return nil
}

// innermostDense returns the variable of the innermost loop if all terms are computed in one nest,
// there are at least two loops, and this is the only loop that walks no sparse operand. Otherwise
// it returns "".
func (c *compilation) innermostDense() string {
	for _, x := range c.contractions {
		if x != nil && (!x.plan.Whole() || x.plan.Root.Gemm != nil) {
			return ""
		}
	}
	walked := walkedBy(c.uses)
	order := c.unit.Order
	if len(order) < 2 || len(walked) != len(order)-1 || walked[order[len(order)-1]] {
		return ""
	}
	return order[len(order)-1]
}

// canCopy reports whether the leaf may read the operand of use u from a copy with another layout.
// The operand must be dense.
func (c *compilation) canCopy(u *use) bool {
	return !u.old && !u.convert && u.given.Format.AllDense() && u.tensor != c.request.Tensors.InPlace
}

// reads estimates the total number of iterations of the innermost loop, which is over v. The loop
// runs over the whole range of v for each entry of the sparse operand with the fewest entries.
// reads returns 0 if that number of entries is unknown.
func (c *compilation) reads(v string) float64 {
	least := int64(math.MaxInt64)
	for _, u := range c.uses {
		if !u.given.Format.AllDense() {
			least = min(least, u.given.NNZ)
		}
	}
	return float64(max(least, 0)) * float64(c.size(v))
}

// readers returns the number of ranks that copy the same value of an operand. Two ranks copy the
// same values if they compute the same ranges of the operand's variables. The ranges of all other
// variables may differ.
func (c *compilation) readers(u *use) float64 {
	n := 1.0
	for _, cut := range c.request.Ask.Cuts {
		if !slices.Contains(u.vars, cut.Vars[0]) {
			n *= float64(cut.N)
		}
	}
	return min(n, float64(max(c.request.Ask.Ranks, 1)))
}

// copyUse records that the leaf reads the operand of use u from a copy in format f.
func (c *compilation) copyUse(u *use, f tensor.Format) {
	u.format, u.convert = f, true
	note := fmt.Sprintf("copying %s from %s to %s", u.tensor, u.given.Format, f)
	if !slices.Contains(c.unit.Notes, note) {
		c.unit.Notes = append(c.unit.Notes, note)
	}
}

// useText returns the access as a schedule names it.
func (c *compilation) useText(u *use) string {
	name := cmp.Or(c.request.Statement.Names[u.tensor], u.tensor)
	return name + "(" + strings.Join(u.vars, ",") + ")"
}

// givenLayouts carries out the schedule's layout commands. It ignores mistakes in other commands,
// which are reported when those are applied.
func (c *compilation) givenLayouts() error {
	list, err := c.parsed()
	if err != nil {
		return nil
	}
	for _, x := range list {
		if x.Name != choice.Layout.Name || len(x.Args) == 0 {
			continue
		}
		modes, err := x.Layout()
		if err != nil {
			return err
		}
		at := x.Args[0]
		k := slices.IndexFunc(c.uses,
			func(u *use) bool { return c.useText(u) == strings.ReplaceAll(at.Text, " ", "") })
		if k < 0 {
			return at.Refuse("layout: got " + at.Text + ", want an access of the right side: " +
				c.usesRead())
		}
		u := c.uses[k]
		switch {
		case !u.given.Format.AllDense():
			return at.Refuse(fmt.Sprintf(
				"layout: %s is stored as %s, but only operands whose levels are all dense can "+
					"be copied to another order of modes", u.tensor, u.given.Format))
		case u.convert:
			return at.Refuse("layout: " + at.Text + " already has a layout command")
		case !c.canCopy(u):
			return at.Refuse("layout: " + u.tensor + " cannot be copied to another layout, because the " +
				"statement adds to it")
		case len(modes) != len(u.vars):
			return at.Refuse(fmt.Sprintf(
				"layout: got an order of %[3]d modes for %[1]s, want %[2]d", u.tensor,
				len(u.vars), len(modes)))
		}
		if f := withOrder(u.given.Format, modes); !slices.Equal(modes, u.given.Format.Order) {
			c.copyUse(u, f)
		}
	}
	return nil
}

// usesRead lists the accesses of the right side, as a schedule names them, for a message.
func (c *compilation) usesRead() string {
	var list []string
	for _, u := range c.uses {
		if !u.old {
			list = append(list, c.useText(u))
		}
	}
	return strings.Join(list, ", ")
}

// withOrder returns a format whose levels are over the modes in the given order. The format shares
// the slice modes with the caller.
func withOrder(f tensor.Format, modes []int) tensor.Format {
	f.Order = modes
	return f
}

// verifyLayouts checks that a copy of a dense operand is dense and has each mode once.
func (c *compilation) verifyLayouts() error {
	for _, u := range c.uses {
		modes := slices.Sorted(slices.Values(u.format.Order))
		if u.given.Format.AllDense() &&
			!(u.format.AllDense() && len(modes) == len(u.vars) &&
				slices.Equal(slices.Compact(modes), modes)) {
			return fmt.Errorf("a copy of %s would be stored as %s, but a copy can only have dense levels", u.tensor, u.format)
		}
	}
	return nil
}
