package scope

import (
	"slices"

	"distaff/codegen/ir"
	"distaff/codegen/lower/tree"
	"distaff/codegen/provenance"
)

// Component describes a component of the provenance graph, for lowering.
type Component struct {
	Roots, Leaves []string // as in provenance.Component
	Top           string
	Natural       bool // the loops are in natural order
}

// Unit says what an interval counts.
type Unit uint8

const (
	// coordinates; for several fused variables, their index in lexicographic order
	Coords    Unit = iota
	Positions      // positions of a level of an access
	Numbers        // tile numbers
)

// Interval is the range of values that a variable can still have inside the loops that were lowered
// so far (bounds inference).
type Interval struct {
	Unit   Unit
	Lo, Hi ir.Expr
	// Size is Hi-Lo if this is a known constant, or else -1.
	Size int64
	// Whole is true if the interval is the variable's whole range.
	Whole bool
	// Roots are the variables of a fused space, and Space is the variable that they were fused to.
	// If the points of the space are not numbered yet, Lo and Hi are nil.
	Roots []string
	Space string
	// Rows, for a fused space, is an interval of its first variables, if the interval has all
	// points whose first variables are in Rows. It is nil if the interval is cut in another way.
	Rows *Interval

	// The following fields are for an interval of positions. Key is the access. All is the range of
	// all its positions here, and Among is the interval of coordinates that contains them. First is
	// true if this is the first of the intervals that All was cut into. The first interval starts
	// where Among starts, even if it has no positions. Ancestor has the range of positions of each
	// root's level, outermost first, as pairs.
	Key      string
	All      [2]ir.Expr
	Among    *Interval
	First    ir.Expr
	Ancestor []ir.Expr
	// RowsKnown is true if Ancestor was narrowed to the rows of this interval: for compressed rows,
	// to the row of the interval's first position and the row of the first position after it.
	RowsKnown bool
	// AllRows is true if, in addition, each row without positions is in the range of exactly one
	// interval.
	AllRows bool
}

// OpenLoops is the state of a component's loops while they are lowered. It describes the part of
// the component's space that the loops inside the current one still have to visit.
type OpenLoops struct {
	Of   *Component
	Leaf string // the variable to loop over next
	Iv   Interval
	// Frames are the splits whose outer loops are still open, innermost last.
	Frames []Frame
	// At has the positions in the fused levels that contain the interval's first position, if they
	// were found before other loops, or else nil.
	At []ir.Expr
}

// Frame is a split of an interval.
type Frame struct {
	Tiling provenance.Tiling
	Iv     Interval
}

// Counts is the lowering state of a component whose loop variables count from 0 instead of visiting
// coordinates in order. It has the number of values of each variable, and the current values of the
// variables that are bound.
type Counts struct {
	Counting *provenance.Counting
	// Start is the first of the positions that a pos relation refers to.
	Start ir.Expr
}

// PrivateCopy is an array with a copy of a part of the result. One piece of a parallel loop adds to
// its copy instead of to the result. The value at position p of the result is at index p+Shift of
// the array.
type PrivateCopy struct {
	Vals  *ir.Array
	Shift ir.Expr
}

// PieceOf is a piece of the iterations of the loop over V. Number is its number, from 0, and Of is
// the number of pieces.
type PieceOf struct {
	V          string
	Number, Of ir.Expr
}

// Span describes the state of a cin.Span, which has a range of positions, [Lo, Hi). The positions
// belong to the access with the given key. Cur is a cursor of this access, at the level of the
// positions. P is the current position, or nil outside of the loop over the positions.
type Span struct {
	Key    string
	Cur    *tree.Cursor
	Lo, Hi ir.Expr
	P      *ir.Var
}

// InSpan returns a copy of e in which the position with the given name is s.
func (e *Env) InSpan(pos string, s Span) *Env {
	in := *e
	in.Spans = e.Spans.With(pos, s)
	return &in
}

// WithAccess returns a copy of o in which intervals of positions belong to another access. src is
// the key of the access that they belong to in o, and dst is the key of the other access. Both
// accesses must have the same level arrays.
func (o *OpenLoops) WithAccess(src, dst string) *OpenLoops {
	out := *o
	rename := func(iv Interval) Interval {
		if iv.Key == src {
			iv.Key = dst
		}
		return iv
	}
	out.Iv = rename(o.Iv)
	out.Frames = slices.Clone(o.Frames)
	for k := range out.Frames {
		out.Frames[k].Iv = rename(out.Frames[k].Iv)
	}
	return &out
}
