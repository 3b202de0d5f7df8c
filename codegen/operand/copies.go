package operand

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"distaff/codegen/analysis"
	"distaff/codegen/choice"
	"distaff/codegen/schedule"
	"distaff/io/tensor"
)

// layoutGain is the number of times that each value of a dense operand must be read so that a copy
// pays off. In the copy, the innermost loop reads adjacent values. Copying a value takes about 3
// ns. Reading a value that is not adjacent to the one before takes 1 ns more from a cache, and 10
// ns more from memory.
const layoutGain = 4

// Copier chooses dense operands that are read from copies. If it chooses one, it sets the format
// of the use.
type Copier struct {
	Uses    *Uses
	InPlace string            // the operand whose memory the result may overwrite; it is not copied
	Names   map[string]string // the user's names of tensors that have other names in the uses
	Notes   []string          // gets a note for each copy
}

// Choose chooses the dense operands that the default schedule reads from copies. The innermost loop
// runs along the memory of such a copy. Choose takes an operand if its values are read often
// enough. The faster loop must save more time than the copy costs (layoutGain). order lists the
// variables of the loops, which are one nest. size returns the size of a variable. readers returns
// the number of ranks that copy the same value of an operand.
func (c *Copier) Choose(order []string, size func(string) int64,
	readers func(*Use) float64) (copies []analysis.Copy) {
	v := c.Uses.innermostDense(order)
	if v == "" {
		return nil
	}
	for _, u := range c.Uses.List {
		at := slices.Index(u.Vars, v)
		if !c.canCopy(u) || len(u.Vars) < 2 || at < 0 || slices.Contains(u.Vars[at+1:], v) ||
			u.Format.Order[len(u.Vars)-1] == at {
			continue
		}
		reads := c.Uses.leastEntries() * float64(size(v))
		if times := reads / u.Given.coordinates() / readers(u); times >= layoutGain {
			f := tensor.Format{Levels: u.Format.Levels, Order: u.modesIn(order)}
			c.Notes = u.readAs(f, "copying", c.Notes)
			copies = append(copies, analysis.Copy{Access: c.text(u), Modes: f.Order,
				Why: fmt.Sprintf("a copy, in which the innermost loop, over %s, runs along memory; "+
					"each value is read about %.0f times", v, times)})
		}
	}
	return copies
}

// innermostDense returns the variable of the innermost loop if this loop walks no sparse operand
// and all other loops walk one. It returns "" if this is not so, or if there are fewer than two
// loops.
func (x *Uses) innermostDense(order []string) string {
	walked := walkedBy(x.List)
	if len(order) < 2 || len(walked) != len(order)-1 || walked[order[len(order)-1]] {
		return ""
	}
	return order[len(order)-1]
}

// canCopy reports whether the leaf may read the operand of use u from a copy with another layout.
// The operand must be dense.
func (c *Copier) canCopy(u *Use) bool {
	return !u.Old && !u.Convert && u.Given.Format.AllDense() && u.Tensor != c.InPlace
}

// leastEntries returns the number of entries of the sparse operand that has the fewest entries. It
// returns 0 if this number is unknown. The innermost loop begins about this number of times.
func (x *Uses) leastEntries() float64 {
	least := int64(math.MaxInt64)
	for _, u := range x.List {
		if !u.Given.Format.AllDense() {
			least = min(least, u.Given.NNZ)
		}
	}
	return float64(max(least, 0))
}

// text returns an access as a schedule names it.
func (c *Copier) text(u *Use) string {
	return useKey(cmp.Or(c.Names[u.Tensor], u.Tensor), u.Vars)
}

// Follow carries out the layout commands of a schedule.
func (c *Copier) Follow(list []*schedule.Command) error {
	for _, x := range list {
		if x.Name != choice.Layout.Name || len(x.Args) == 0 {
			continue
		}
		modes, err := x.Layout()
		if err != nil {
			return err
		}
		at := x.Args[0]
		k := slices.IndexFunc(c.Uses.List,
			func(u *Use) bool { return c.text(u) == strings.ReplaceAll(at.Text, " ", "") })
		if k < 0 {
			return at.Refuse("layout: got " + at.Text + ", want an access of the right side: " +
				c.reads())
		}
		u := c.Uses.List[k]
		switch {
		case !u.Given.Format.AllDense():
			return at.Refuse(fmt.Sprintf(
				"layout: %s is stored as %s, but only operands whose levels are all dense can "+
					"be copied to another order of modes", u.Tensor, u.Given.Format))
		case u.Convert:
			return at.Refuse("layout: " + at.Text + " already has a layout command")
		case !c.canCopy(u):
			return at.Refuse("layout: " + u.Tensor + " cannot be copied to another layout, because the " +
				"statement adds to it")
		case len(modes) != len(u.Vars):
			return at.Refuse(fmt.Sprintf(
				"layout: got an order of %[3]d modes for %[1]s, want %[2]d", u.Tensor,
				len(u.Vars), len(modes)))
		}
		if f := u.Given.Format; !slices.Equal(modes, f.Order) {
			f.Order = modes
			c.Notes = u.readAs(f, "copying", c.Notes)
		}
	}
	return nil
}

// reads lists the accesses of the right side, as a schedule names them, for a message.
func (c *Copier) reads() string {
	var list []string
	for _, u := range c.Uses.List {
		if !u.Old {
			list = append(list, c.text(u))
		}
	}
	return strings.Join(list, ", ")
}

// VerifyCopies checks that a copy of a dense operand is dense and has each mode once.
func (x *Uses) VerifyCopies() error {
	for _, u := range x.List {
		modes := slices.Sorted(slices.Values(u.Format.Order))
		if u.Given.Format.AllDense() &&
			!(u.Format.AllDense() && len(modes) == len(u.Vars) &&
				slices.Equal(slices.Compact(modes), modes)) {
			return fmt.Errorf(
				"a copy of %s would be stored as %s, but a copy can only have dense levels", u.Tensor,
				u.Format)
		}
	}
	return nil
}
