package codegen

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"distaff/io/tensor"
)

// layoutGain is how many times a leaf reads each value of a dense operand at least, where these lie
// apart along the innermost loop, for a copy to be made in which they lie side by side. A copied
// value takes about 3 ns, one read from afar 1 ns more in a cache, and 10 more than one of a line
// that is read as a whole in memory.
const layoutGain = 4

// layouts has dense operands read from copies in which the innermost loop runs along memory: those
// that the schedule names, or, without one, those for which it pays on a CPU.
func (c *compilation) layouts() error {
	if c.request.Schedule != nil {
		return c.givenLayouts()
	}
	v := c.alongRows()
	if v == "" || c.request.Target != CPU || c.request.AsStored {
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
			f := ordered(u.format, slices.Clone(u.format.Order))
			slices.SortStableFunc(f.Order, func(a, b int) int {
				return slices.Index(c.unit.Order, u.vars[a]) - slices.Index(c.unit.Order, u.vars[b])
			})
			c.copyUse(u, f)
			c.layoutLines = append(c.layoutLines,
				ScheduleLine{fmt.Sprintf("layout(%s,%s)", c.useText(u), modesText(f.Order)),
					fmt.Sprintf(
						"a copy, in which the innermost loop, over %s, runs along memory; each value is read about %.0f times", v, times)})
		}
	}
	return nil
}

// alongRows is the variable of the innermost loop, where this is the only one whose coordinates no
// operand with sparse levels tells, and all terms are computed in one nest of loops; "" where that
// is not so.
func (c *compilation) alongRows() string {
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

// canCopy tells whether a use of a dense operand can be read from a copy.
func (c *compilation) canCopy(u *use) bool {
	return !u.old && !u.convert && u.given.Format.AllDense() && u.tensor != c.request.InPlace
}

// reads is how often the innermost loop, over v, runs at most: at each entry of the operand with
// sparse levels that has the fewest. 0 where that is not known.
func (c *compilation) reads(v string) float64 {
	least := int64(math.MaxInt64)
	for _, u := range c.uses {
		if !u.given.Format.AllDense() {
			least = min(least, u.given.NNZ)
		}
	}
	return float64(max(least, 0)) * float64(c.size(v))
}

// readers is how many ranks have a copy of each value of an operand: those of the parts of all
// other variables.
func (c *compilation) readers(u *use) float64 {
	n := 1.0
	for _, cut := range c.request.Cuts {
		if !slices.Contains(u.vars, cut.Vars[0]) {
			n *= float64(cut.N)
		}
	}
	return min(n, float64(max(c.request.Ranks, 1)))
}

// copyUse has a use read from a copy in another format.
func (c *compilation) copyUse(u *use, f tensor.Format) {
	u.format, u.convert = f, true
	note := fmt.Sprintf("copying %s from %s to %s", u.tensor, u.given.Format, f)
	if !slices.Contains(c.unit.Notes, note) {
		c.unit.Notes = append(c.unit.Notes, note)
	}
}

// useText is the access as a schedule names it.
func (c *compilation) useText(u *use) string {
	return cmp.Or(c.request.Names[u.tensor], u.tensor) + "(" + strings.Join(u.vars, ",") + ")"
}

// givenLayouts does what the schedule's layout commands say. What is wrong with other commands is
// told when these are applied.
func (c *compilation) givenLayouts() error {
	list, err := c.parsed()
	if err != nil {
		return nil
	}
	for _, x := range list {
		if x.Name != "layout" {
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
			return at.Refuse("layout: " + at.Text + " is none of what the statement reads: " + c.usesRead())
		}
		u := c.uses[k]
		switch {
		case !u.given.Format.AllDense():
			return at.Refuse(fmt.Sprintf(
				"layout: %s is stored as %s, and only operands whose levels are all dense are copied to another order of these", u.tensor, u.given.Format))
		case u.convert:
			return at.Refuse("layout: " + at.Text + " has a layout by another command")
		case !c.canCopy(u):
			return at.Refuse("layout: " + u.tensor + " is what the result is added to, and is not copied")
		case len(modes) != len(u.vars):
			return at.Refuse(fmt.Sprintf("layout: %s has %d modes, got an order of %d", u.tensor,
				len(u.vars), len(modes)))
		}
		if f := ordered(u.given.Format, modes); !slices.Equal(modes, u.given.Format.Order) {
			c.copyUse(u, f)
		}
	}
	return nil
}

// usesRead are the accesses of the right side.
func (c *compilation) usesRead() string {
	var list []string
	for _, u := range c.uses {
		if !u.old {
			list = append(list, c.useText(u))
		}
	}
	return strings.Join(list, ", ")
}

// ordered is a format with its levels over the modes in that order, which is kept.
func ordered(f tensor.Format, modes []int) tensor.Format {
	f.Order = modes
	return f
}

// verifyLayouts: a copy of a dense operand has each mode once, in levels as dense as it was.
func (c *compilation) verifyLayouts() error {
	for _, u := range c.uses {
		modes := slices.Sorted(slices.Values(u.format.Order))
		if u.given.Format.AllDense() &&
			!(u.format.AllDense() && len(modes) == len(u.vars) &&
				slices.Equal(slices.Compact(modes), modes)) {
			return fmt.Errorf("a copy of %s is stored as %s", u.tensor, u.format)
		}
	}
	return nil
}

func modesText(modes []int) string {
	var list []string
	for _, m := range modes {
		list = append(list, strconv.Itoa(m))
	}
	return strings.Join(list, ",")
}
