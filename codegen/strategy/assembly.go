package strategy

import (
	"distaff/io/tensor"
)

// Assembly says how a leaf writes its result.
type Assembly uint8

const (
	// Dense: all levels are dense. The values are in the caller's memory and are written at random.
	Dense Assembly = iota
	// SharedPattern: the result uses the level arrays of an operand, and the leaf writes values at
	// that operand's positions.
	SharedPattern
	// Mapped: the result already has values, and its pattern includes the pattern of the operand
	// named by Share. A map gives the result's position for each position of the operand, and the
	// leaf adds to the values there (accumulation into a union pattern).
	Mapped
	// FixedPattern: the caller gives the level arrays, and the leaf writes every value. It is the
	// numeric phase of a computation whose symbolic phase is finished.
	FixedPattern
	// Append: the leaf appends coordinates and values in order to arrays that grow.
	Append
	// TwoPass: a first pass counts the coordinates of each level, and a second pass writes
	// coordinates and values to their places.
	TwoPass
)

var assemblies = [...]string{"Dense", "SharedPattern", "Mapped", "FixedPattern", "Append",
	"TwoPass"}

func (a Assembly) String() string { return assemblies[a] }

// Pattern describes what is known about a result's pattern before the leaf runs.
type Pattern struct {
	Shared bool // the result's pattern is an operand's
	// with Shared: the result has further coordinates, and the leaf adds to its values
	Accumulate bool
	Fixed      bool // the caller has the level arrays
}

// AssemblyOf chooses the assembly of a result with format f and pattern p. insert is true if a
// schedule asks for two passes, with assemble(T, Insert), or if the leaf is for a GPU.
func AssemblyOf(f tensor.Format, p Pattern, insert bool) Assembly {
	switch {
	case f.AllDense():
		return Dense
	case p.Shared && p.Accumulate:
		return Mapped
	case p.Shared:
		return SharedPattern
	case p.Fixed:
		return FixedPattern
	case insert:
		return TwoPass
	}
	return Append
}
