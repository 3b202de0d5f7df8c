package lattice

import "strings"

// Record has the lattices of the loops that were lowered, as a tree. A loop is a child of the loop
// around it. A loop that is lowered several times in the same way is recorded once.
type Record struct {
	root, at *recorded
}

// recorded is a loop with the text of its lattice, and the loops inside it.
type recorded struct {
	text  string
	loops []*recorded
}

// NewRecord returns an empty record.
func NewRecord() *Record {
	root := &recorded{}
	return &Record{root, root}
}

// Enter records a loop over variables. Loops that are recorded before end is called are its
// children.
func (r *Record) Enter(vars string, lat *Lattice) (end func()) {
	outer := r.at
	text := vars + ": " + lat.String()
	r.at = nil
	for _, x := range outer.loops {
		if x.text == text {
			r.at = x
		}
	}
	if r.at == nil {
		r.at = &recorded{text: text}
		outer.loops = append(outer.loops, r.at)
	}
	return func() { r.at = outer }
}

func (x *recorded) print(b *strings.Builder, indent string) {
	for _, y := range x.loops {
		b.WriteString(indent + y.text + "\n")
		y.print(b, indent+"  ")
	}
}

// String returns the recorded merge lattices, one on each line, indented by depth. A lattice is a
// list of sets of operands, the largest set first. U means every coordinate. A value may exist at
// the common coordinates of each set. The cases of a loop may contain an inner loop with different
// lattices. The inner loop then has a line for each of these lattices.
func (r *Record) String() string {
	var b strings.Builder
	r.root.print(&b, "")
	return b.String()
}
