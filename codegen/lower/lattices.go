package lower

import (
	"strings"

	"distaff/codegen/lattice"
)

// used records the lattices of the loops that were lowered, as a tree: a loop is below
// the one that it is in. One that is lowered several times alike stands there once.
type used struct {
	root, at *usedLoop
}

// usedLoop is a loop with its lattice, as text, and the loops in it.
type usedLoop struct {
	text  string
	loops []*usedLoop
}

func newUsed() used {
	root := &usedLoop{}
	return used{root, root}
}

// enter notes a loop over variables; what is noted until end is called is in it.
func (u *used) enter(vars string, lat *lattice.Lattice) (end func()) {
	outer := u.at
	text := vars + ": " + lat.String()
	u.at = nil
	for _, x := range outer.loops {
		if x.text == text {
			u.at = x
		}
	}
	if u.at == nil {
		u.at = &usedLoop{text: text}
		outer.loops = append(outer.loops, u.at)
	}
	return func() { u.at = outer }
}

func (x *usedLoop) print(b *strings.Builder, indent string) {
	for _, y := range x.loops {
		b.WriteString(indent + y.text + "\n")
		y.print(b, indent+"  ")
	}
}

// Lattices prints the merge lattice of every loop that steps through coordinates, a line
// each, indented by depth: the sets of operands at whose common coordinates there may be a
// value, the largest first, with U for every coordinate. A loop inside the cases of
// another has a line for each lattice that these leave it. Loops over tile numbers, and
// loops that count, have none.
func (x *Lowered) Lattices() string {
	var b strings.Builder
	x.l.used.root.print(&b, "")
	return b.String()
}
