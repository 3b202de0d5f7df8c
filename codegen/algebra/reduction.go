package algebra

import (
	"math"
	"slices"

	"distaff/io/tensor"
)

// Reduction combines the values of an expression at all coordinates of its variables to one value.
type Reduction struct {
	Name string
	// Combine is the function of two arguments that combines values. It is associative and
	// commutative. A sum has no Combine, because the compiler has its own code for sums.
	Combine *Function
	// Each is a function that is applied to each value first, or nil.
	Each *Function
	// Start returns the value of the reduction over no coordinates, in type t.
	Start func(t tensor.Type) tensor.Value
	// Complex is true if the values may be complex.
	Complex bool
	// Stored, if it is not nil, is the reduction that combines only the values that are present. It
	// is Start if none is. A reduction whose Stored is itself does this.
	Stored *Reduction
}

// Sum is the reduction that sums, and Times the function that multiplies.
var (
	Sum   = Reductions[0]
	Times = Find("times")
)

// MinStored and MaxStored are the least and the greatest of the values that are present. Only
// the compiler makes them.
var (
	MinStored = stored(&Reduction{Name: "minstored", Combine: Find("min"), Start: largest})
	MaxStored = stored(&Reduction{Name: "maxstored", Combine: Find("max"), Start: smallest})
)

func stored(r *Reduction) *Reduction {
	r.Stored = r
	return r
}

// Reductions lists all reductions. An absent value counts as 0. A reduction of absent values is 0,
// unless it is over no coordinates.
var Reductions = []*Reduction{
	{Name: "sum", Start: number(0), Complex: true},
	{Name: "prod", Combine: Times, Start: number(1), Complex: true},
	{Name: "min", Combine: Find("min"), Start: largest, Stored: MinStored},
	{Name: "max", Combine: Find("max"), Start: smallest, Stored: MaxStored},
	{Name: "any", Combine: Find("max"), Each: Find("nonzero"), Start: number(0)},
	{Name: "all", Combine: Find("min"), Each: Find("nonzero"), Start: number(1)},
	{Name: "count", Each: Find("nonzero"), Start: number(0)},
}

// FindReduction returns the reduction with a name, or nil.
func FindReduction(name string) *Reduction {
	for _, r := range slices.Concat(Reductions, []*Reduction{MinStored, MaxStored}) {
		if r.Name == name {
			return r
		}
	}
	return nil
}

// IsSum reports whether the reduction sums the values of Each. A nil reduction is a sum, too.
func (r *Reduction) IsSum() bool { return r == nil || r.Combine == nil }

func number(x int64) func(tensor.Type) tensor.Value {
	return func(t tensor.Type) tensor.Value {
		return tensor.Value{Type: t, I: x, C: complex(float64(x), 0)}
	}
}

// largest returns infinity, or the largest integer of type t.
func largest(t tensor.Type) tensor.Value {
	v := tensor.Value{Type: t, C: complex(math.Inf(1), 0)}
	if t.HoldsInts() {
		_, v.I = t.IntRange()
	}
	return v
}

// smallest returns minus infinity, or the smallest integer of type t.
func smallest(t tensor.Type) tensor.Value {
	v := tensor.Value{Type: t, C: complex(math.Inf(-1), 0)}
	if t.HoldsInts() {
		v.I, _ = t.IntRange()
	}
	return v
}
