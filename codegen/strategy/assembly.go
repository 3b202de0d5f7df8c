package strategy

import "distaff/codegen/format"

// Assembly is how a leaf writes its result.
type Assembly uint8

const (
	// Dense: all levels are dense. The values are the caller's memory, written at random.
	Dense Assembly = iota
	// SharedPattern: the level arrays of an operand are the result's own, and the leaf
	// writes values at that operand's positions.
	SharedPattern
	// Mapped: the result has a pattern that holds the operand's of SharedPattern among
	// others', and values already. The leaf adds to those at the positions that a map
	// gives for the operand's (accumulation into a union pattern).
	Mapped
	// FixedPattern: the level arrays are given, and the leaf writes every value (the
	// numeric phase of a computation whose symbolic phase was done before).
	FixedPattern
	// Append: coordinates and values are appended in order to arrays that grow.
	Append
	// TwoPass: a first pass counts the coordinates of each level, a second one writes
	// them and the values to their places.
	TwoPass
)

var assemblies = [...]string{"Dense", "SharedPattern", "Mapped", "FixedPattern", "Append",
	"TwoPass"}

func (a Assembly) String() string { return assemblies[a] }

// Pattern is what is known of a result's pattern before the leaf runs.
type Pattern struct {
	Shared     bool // it is that of an operand
	Accumulate bool // with Shared: the result holds other coordinates too, and the leaf adds to it
	Fixed      bool // the caller has the level arrays
}

// AssemblyOf chooses the assembly of a result. insert says that a schedule asks for
// two passes (assemble(T, Insert)).
func AssemblyOf(f format.Format, p Pattern, insert bool) Assembly {
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
