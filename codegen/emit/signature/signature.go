// Package signature describes a compiled statement for its callers: the sizes that the leaf takes
// and, for each argument, its type, its levels with their variables and widths, and its use. The
// packages that print a statement for other programs (gopkg, clib) use it.
package signature

import (
	"math"
	"slices"

	"distaff/codegen"
	"distaff/codegen/notation"
	"distaff/io/tensor"
)

// Signature describes a leaf.
type Signature struct {
	Statement string
	Vars      []Var // in the order of the leaf's bounds
	Args      []Arg // in the order of the leaf's arguments; Args[0] is the result
	Same      []Same
	Result    Result
}

// Var is a variable of the statement.
type Var struct {
	Name string
	// MaxSize is the largest size that the leaf accepts, because it keeps coordinates of the
	// variable in 32 or 64 bits.
	MaxSize int64
}

// Same says that two variables must have the same size, because both index the same mode of a
// tensor.
type Same struct {
	A, B   int // indices in Vars
	Tensor string
	Mode   int
}

// Arg is an argument of the leaf.
type Arg struct {
	Tensor string
	Type   tensor.Type
	Format tensor.Format // the format that the leaf reads or writes
	Levels []Level
	// Convert is true if the statement reads the tensor in another order than requested, so that
	// the caller must convert it.
	Convert bool
	// Old is true if the argument has the old values of a +=.
	Old bool
}

// Level is a storage level of an argument.
type Level struct {
	Kind     tensor.Kind
	Var      int   // index in Vars of the variable whose coordinates it has
	Pos, Crd uint8 // bytes of an element; 0 if the level does not have the array
	// Order says how the coordinates of this level and of the singletons below it are sorted. It is
	// set for a level that has a pos array.
	Order Order
}

// Order says how the coordinates of a chain of levels are sorted within a segment. A chain is a
// level with segments together with the singletons below it.
type Order struct {
	End int // the level after the chain, or 0 if no chain begins here
	// Unique is the first level of the chain that does not repeat coordinates, or the last level if
	// all may repeat them. Two neighbouring entries differ in this level or in one above it, unless
	// Repeats is true.
	Unique int
	// Repeats is true if neighbours may be equal in all levels.
	Repeats bool
}

// Result describes argument 0.
type Result struct {
	Dense bool
	// Shares is the argument whose level arrays the result uses, or -1.
	Shares int
	// Pattern is true if the level arrays are given (codegen.Result.FixedPattern).
	Pattern bool
	// Repack is true if another format was requested for the result.
	Repack bool
}

// Of returns the signature of a unit. types has the types of its arguments.
func Of(statement string, u *codegen.Unit, types []tensor.Type) *Signature {
	if u.Result.Accumulate {
		panic("BUG: signature: a leaf that adds to a result by a map of positions")
	}
	n := Normal(u)
	s := &Signature{Statement: statement, Result: Result{
		Dense: u.Result.Format.AllDense(), Shares: u.Result.Shares, Pattern: u.Result.FixedPattern,
		Repack: u.Result.Repack,
	}}
	for _, v := range u.Vars {
		s.Vars = append(s.Vars, Var{v, most(size(u, n, v))})
	}
	modes := s.modes(n)
	for k, a := range u.Args {
		arg := Arg{Tensor: a.Tensor, Type: types[k], Format: a.Format, Convert: a.Convert, Old: a.Old}
		pos, crd := a.PosWidth, a.CrdWidth
		if k == 0 {
			arg.Format, pos, crd = u.Result.Format, u.Result.PosWidth, u.Result.CrdWidth
		}
		arg.Levels = levels(arg.Format, modes[a.Tensor], pos, crd)
		s.Args = append(s.Args, arg)
	}
	return s
}

// Normal returns the normal form that a unit computes.
func Normal(u *codegen.Unit) *notation.Normal {
	if u.Request.Statement.Normal != nil {
		return u.Request.Statement.Normal
	}
	return notation.Normalize(u.Request.Statement.Stmt)
}

// most returns the largest size that a leaf accepts for a variable if it was compiled for size n.
// The leaf keeps the variable's coordinates in 32 bits if n fits, and otherwise in 64.
func most(n int64) int64 {
	if n <= math.MaxInt32 {
		return math.MaxInt32
	}
	return math.MaxInt64
}

// size returns the size that a variable was compiled for.
func size(u *codegen.Unit, n *notation.Normal, v string) int64 {
	if k, ok := u.Request.Tensors.Sizes[v]; ok {
		return k
	}
	return u.Request.Tensors.Sizes[n.Source[v]]
}

// modes returns the variables that index the modes of each tensor. A key is a tensor's name.
// Element k of its list is the variable of mode k, as an index in s.Vars. If several variables
// index the same mode, the list has the first one, and modes adds the others to s.Same.
func (s *Signature) modes(n *notation.Normal) map[string][]int {
	out := map[string][]int{}
	index := func(v string) int {
		return slices.IndexFunc(s.Vars, func(x Var) bool { return x.Name == v })
	}
	for _, a := range append([]*notation.Access{n.LHS}, n.Accesses()...) {
		vars, seen := out[a.Name]
		for m, v := range a.Vars {
			k := index(v)
			switch {
			case !seen:
				vars = append(vars, k)
			case vars[m] != k && !slices.ContainsFunc(s.Same,
				func(x Same) bool { return x.A == vars[m] && x.B == k }):
				s.Same = append(s.Same, Same{vars[m], k, a.Name, m})
			}
		}
		out[a.Name] = vars
	}
	return out
}

func levels(f tensor.Format, modes []int, pos, crd []uint8) []Level {
	out := make([]Level, len(f.Levels))
	sharing := f.Sharing()
	for l, k := range f.Levels {
		caps := k
		out[l] = Level{Kind: k, Var: modes[f.Order[l]]}
		if caps.HasPos() {
			out[l].Pos = pos[l]
		}
		if caps.HasCrd() {
			out[l].Crd = crd[l]
		}
		if !caps.HasPos() {
			continue
		}
		o := Order{End: f.RunEnd(l) + 1, Repeats: sharing[l] == len(f.Levels)}
		for o.Unique = l; o.Unique < o.End-1 && !f.Levels[o.Unique].IsUnique(); {
			o.Unique++
		}
		out[l].Order = o
	}
	return out
}
