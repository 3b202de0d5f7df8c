package lower

import (
	"distaff/codegen/ir"
	"distaff/codegen/provenance"
)

// component is a component of the provenance graph while it is lowered.
type component struct {
	component *provenance.Component
	natural   bool
}

// schedule has the data that only the lowering of a scheduled statement needs.
type schedule struct {
	g     *provenance.Graph
	comps map[string]*component // by each variable of the component
}

// unit says what an interval counts.
type unit uint8

const (
	// coordinates; for several fused variables, their index in lexicographic order
	coords    unit = iota
	positions      // positions of a level of an access
	numbers        // tile numbers
)

// interval is the range of values of a variable that remains inside the loops so far (bounds
// inference).
type interval struct {
	unit   unit
	lo, hi ir.Expr
	// size is hi-lo if this is a known constant, or else -1.
	size int64
	// whole is true if the interval is the variable's whole range.
	whole bool
	// roots are the variables of a fused space, and space is the variable that they were fused to.
	// The points of the space are numbered only after counted has been called. Before, lo and hi
	// are nil.
	roots []string
	space string
	// rows, for a fused space, is an interval of its first variables, if the interval has all
	// points whose first variables are in rows. It is nil if the interval is cut in another way.
	rows *interval

	// The following fields are for an interval of positions. key is the access. all is the range of
	// all its positions here, and among is the interval of coordinates that contains them. first is
	// true if this is the first of the intervals that all was cut into. The first interval starts
	// where among starts, even if it has no positions. ancestor has the range of positions of each
	// root's level, outermost first, as pairs.
	key      string
	all      [2]ir.Expr
	among    *interval
	first    ir.Expr
	ancestor []ir.Expr
	// rowsKnown is true if ancestor was narrowed to the rows of this interval: for compressed rows,
	// to the row of the interval's first position and the first row after the interval.
	rowsKnown bool
}

// openLoops is the state of a component's loops while they are lowered. It describes the part of
// the component's space that the loops inside the current one still have to visit.
type openLoops struct {
	leaf string // the variable to loop over next
	iv   interval
	// frames are the splits whose outer loops are still open, innermost last.
	frames []frame
	// at has the positions in the fused levels that contain the interval's first position, if they
	// were found before other loops, or else nil.
	at []ir.Expr
}

// frame is a split of an interval.
type frame struct {
	tiling provenance.Tiling
	iv     interval
}

// counts is the state of a component whose loops count. It has the number of values of each
// variable, and the current values of the variables that are bound.
type counts struct {
	counting *provenance.Counting
	// start is the first of the positions that a pos relation refers to.
	start ir.Expr
}

// privateCopy is the target of additions that would otherwise go to the result. The value at
// position p of the result is at p+shift.
type privateCopy struct {
	vals  *ir.Array
	shift ir.Expr
}

// pieceOf is a piece of the iterations of the loop over v. number is its number, from 0, and of is
// the number of pieces.
type pieceOf struct {
	v          string
	number, of ir.Expr
}
