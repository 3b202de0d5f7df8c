// Package space has the workspaces that sum values at random coordinates and return their sums in
// order. A workspace is a builder of code: its methods emit what it does at a place in the leaf.
// Its memory belongs to the scope that makes it, and it is empty between uses.
//
//	space.go    the maker of workspaces, and their interface
//	box.go      places for all coordinates of some variables
//	arrays.go   arrays that grow
//	rows.go     how a consumer reads a workspace: rows and lists
//	row.go      keys with a row of values each
//
// The kinds:
//
//	placed.go   the parts that kinds with a place for each coordinate have in common
//	list.go     a list of the places with values
//	bitmap.go   a bitmap
//	marks.go    values and marks without a list, which several threads may fill
//	terms.go    a list of all terms, which is sorted at the end
//	hash.go     a hash table
//	shared.go   a hash table that threads of a GPU fill together
//	ordered.go  a list that is filled in order
//	table.go    values and marks that the consumer looks up
package space

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/emit"
	"distaff/codegen/lower/tree"
	"distaff/codegen/strategy"
	"distaff/io/tensor"
)

// Workspace sums values by their coordinates, and returns the sums in order. The list in ordered.go
// must get the values in the order of their coordinates.
type Workspace interface {
	// Begin starts a use.
	Begin()
	// Add adds x at a point.
	Add(x ir.Expr, at Point)
	// Finish orders the sums and returns them as a sparse operand.
	Finish() *tree.Operand
	// End empties the workspace.
	End()
}

// Entries is the content of a workspace: N entries, in no particular order. Part(m, s) returns
// entry s's coordinate of variable m, and Sum(s) returns its sum. Each coordinate occurs once,
// except in a list of terms.
type Entries struct {
	N    ir.Expr
	Part func(m int, s ir.Expr) ir.Expr
	Sum  func(s ir.Expr) ir.Expr
}

// Listed is a workspace whose entries can be read before Finish sorts them.
type Listed interface {
	Workspace
	Entries() Entries
}

// keyed returns entries whose coordinates and sums are in arrays.
func keyed(n ir.Expr, keys []*ir.Array, vals *ir.Array) Entries {
	return Entries{n, func(m int, s ir.Expr) ir.Expr { return ir.Coord(keys[m], s) },
		func(s ir.Expr) ir.Expr { return ir.At(vals, s) }}
}

// Maker makes the workspaces of a leaf.
type Maker struct {
	B    *emit.Builder
	Args *tree.Arguments
	Type tensor.Type // the type of the sums
	// Range returns the part of a variable's range for which workspaces have places.
	Range func(v string) tree.Range
	// Width returns the width of a variable's coordinates in workspaces, 4 or 8 bytes.
	Width func(v string) uint8
	// Trips returns the number of a variable's coordinates, if the number is a constant in the
	// code.
	Trips func(v string) (n int64, ok bool)
	// Entries returns the number of entries of an operand.
	Entries func(operand string) ir.Expr
	// Tables, on a GPU, says how hash tables are made, and KeysOnly is true if only the number of
	// their entries is needed. Together emits a loop over [0, n) that the threads around a table run
	// together.
	Tables   *Tables
	KeysOnly bool
	Together func(name string, n ir.Expr, body func(k *ir.Var))
	// OneUse is true if each workspace that is made is filled only once.
	OneUse bool
	// Chunks emits and returns the number of chunks of a loop on threads.
	Chunks func() ir.Expr
}

// Make returns a workspace for t, of the given form.
func (m *Maker) Make(t *cin.Access, s strategy.Form) Workspace {
	switch s.Kind {
	case strategy.SortedList:
		return m.newOrdered(t, s.Once, s.Rows)
	case strategy.Bitmap:
		return m.newBitmap(t, s.Rows)
	case strategy.Marks:
		return m.newMarks(t)
	case strategy.MarkedList:
		return m.newList(t, s.Rows)
	case strategy.HashTable:
		if m.Tables != nil {
			return m.newShared(t)
		}
		return m.newHash(t, s)
	case strategy.Terms:
		return m.newTerms(t, s)
	case strategy.Table:
		return m.newTable(t, s)
	}
	panic("BUG: lower: no workspace of kind " + s.Kind.String())
}

// Box returns the box of all coordinates of some variables. If a thread has only a part of a
// variable's range, the box has only this part.
func (m *Maker) Box(vars []string) (b Box) {
	for _, v := range vars {
		s := m.Range(v)
		b.Lo, b.Hi = append(b.Lo, s.Lo), append(b.Hi, s.Hi)
	}
	return b
}

// CrdType returns the type of a variable's coordinates in workspaces.
func (m *Maker) CrdType(v string) tensor.Type { return tree.IntOf(m.Width(v)) }
