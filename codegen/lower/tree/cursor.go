// Package tree has coordinate trees as the code of a leaf sees them: a tensor's level arrays, and
// cursors that say how far an access has been followed down its levels.
//
//	operand.go  a tensor's arrays and sizes, which are parameters of the leaf or a workspace's
//	cursor.go   cursors, and ranges of coordinates
//	locate.go   finds positions and coordinates
package tree

import (
	"distaff/codegen/ir"
	"distaff/codegen/lower/emit"
)

// Cursor says how far an access has been followed down its levels. A cursor is immutable.
type Cursor struct {
	Of    *Operand
	Vars  []string // the variable of each level
	Level int      // the next level to enter
	// Pos is the position at the level above. If End is not nil, the cursor is at all positions
	// from Pos to End.
	Pos, End ir.Expr
	// If the next level is dense, Base is added to its coordinate to give its position.
	Base    ir.Expr
	Present ir.Expr // whether the positions exist
	Value   ir.Expr // the value, once all levels are entered; 0 if it is absent
	Row     *Copy   // a copy of the row in the last level, if there is one
}

// Copy is a local array that holds a copy of values of an operand: a row, or a tile of a row. The
// first element of the array belongs to coordinate Lo.
type Copy struct {
	A  *ir.Array
	Lo ir.Expr
}

// Next returns the variable of the next level, or "".
func (c *Cursor) Next() string {
	if c.Level == len(c.Vars) {
		return ""
	}
	return c.Vars[c.Level]
}

// Absent returns c with no entry.
func (c *Cursor) Absent() *Cursor {
	return &Cursor{Of: c.Of, Vars: c.Vars, Level: len(c.Vars), Present: ir.Truth(false)}
}

// Range is the range of coordinates [Lo, Hi) that a loop visits.
type Range struct {
	Lo, Hi ir.Expr
	// Clip is true if operands may have coordinates outside the range. If When is not nil, they
	// have such coordinates only if When is true at run time.
	Clip bool
	When ir.Expr
	// Width, if it is not 0, says that the range is a tile of a row, with this number of
	// coordinates. For the rest of a row it is minus the number of coordinates of a tile.
	Width int64
	Size  int64 // Hi-Lo if this is known, or else 0
	// Open, for a row that may be cut, is true if the row continues after the range.
	Open ir.Expr
}

// Clipped returns the positions [from, to) whose coordinates are in the range s. It searches the
// positions [lo, hi). The array crd has their coordinates.
func (s Range) Clipped(b *emit.Builder, name string, crd *ir.Array, lo, hi ir.Expr) (from,
	to ir.Expr) {
	find := func(key ir.Expr) ir.Expr { return &ir.Search{A: crd, Lo: lo, Hi: hi, Key: key} }
	if s.When == nil {
		return b.Named(name+"_s", find(s.Lo)), b.Named(name+"_e", find(s.Hi))
	}
	vlo, vhi := b.Declare(name+"_s", lo), b.Declare(name+"_e", hi)
	b.When(s.When, func() {
		b.Set(vlo, find(s.Lo))
		b.Set(vhi, find(s.Hi))
	})
	return vlo, vhi
}
