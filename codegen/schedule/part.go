package schedule

import (
	"cmp"
	"slices"
	"strings"
)

// Part returns the commands in list that apply to one part of a statement: some of its terms, which
// are computed separately. absent lists the variables and tensors that only the other terms have.
//
// Part omits each command that names one of them. It also omits each later command that names a
// variable or workspace which an omitted command would have made. A reorder command is an
// exception: Part removes only the absent variables, and omits the command only if fewer than two
// variables remain.
func Part(list []*Command, absent []string) (part []*Command) {
	absent = slices.Clone(absent)
	lacks := func(a Arg) bool {
		return slices.ContainsFunc(a.names(), func(name string) bool {
			return slices.Contains(absent, name)
		})
	}
	for _, c := range list {
		words, args := c.Words(), []Arg{}
		for k, a := range c.Args {
			if words[k] || !lacks(a) {
				args = append(args, a)
			}
		}
		switch {
		case len(args) == len(c.Args):
			part = append(part, c)
		case c.Name == "reorder":
			if len(args) > 1 {
				part = append(part, &Command{c.Name, args, c.arg, c})
			}
		default:
			for _, k := range newNames(c.Name) {
				if k >= len(c.Args) {
					continue
				}
				for _, name := range c.Args[k].names() {
					// The new variable of a precompute may be the old one.
					if c.Name != "precompute" || !slices.Contains(c.Args[1].names(), name) {
						absent = append(absent, name)
					}
				}
			}
		}
	}
	return part
}

// Of returns the command from which Part made c. If Part did not make c, Of returns c itself.
func (c *Command) Of() *Command { return cmp.Or(c.of, c) }

// names returns the names in an argument. For a list in braces these are the names in all elements.
func (a Arg) names() (names []string) {
	for _, b := range a.List {
		names = append(names, b.names()...)
	}
	if a.List != nil || strings.HasPrefix(a.Text, `"`) {
		return names
	}
	for k := 0; k < len(a.Text); k++ {
		from := k
		for k < len(a.Text) && nameByte(a.Text[k], k > from) {
			k++
		}
		if k > from {
			names = append(names, a.Text[from:k])
		}
	}
	return names
}
