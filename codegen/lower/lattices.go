package lower

import (
	"strings"

	"distaff/codegen/lattice"
)

// used records the lattices of the loops that were lowered, as a tree. A loop is a child of the
// loop around it. A loop that is lowered several times in the same way is recorded once.
type used struct {
	root, at *usedLoop
}

// usedLoop is a loop with the text of its lattice, and the loops inside it.
type usedLoop struct {
	text  string
	loops []*usedLoop
}

func newUsed() used {
	root := &usedLoop{}
	return used{root, root}
}

// enter records a loop over variables. Loops that are recorded before end is called are its
// children.
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

// Lattices prints the merge lattice of every loop that visits coordinates, one on each line,
// indented by depth. A lattice is a list of sets of operands, the largest set first, with U for
// every coordinate. A value may exist at the common coordinates of each set. A loop inside the
// cases of another loop has a line for each different lattice in these cases. Loops over tile
// numbers, and loops that count, have no lattice.
func (x *Lowered) Lattices() string {
	var b strings.Builder
	x.l.used.root.print(&b, "")
	return b.String()
}
