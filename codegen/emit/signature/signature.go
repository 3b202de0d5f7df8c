// Package signature says what the caller of a compiled statement must know: the
// sizes that the leaf takes, and of each argument its type, its levels with their
// variables and widths, and what becomes of it. The packages that print a statement
// for other programs (gopkg, clib) read it.
package signature

import (
	"math"
	"slices"

	"distaff/codegen"
	"distaff/codegen/format"
	"distaff/codegen/ir"
	"distaff/codegen/notation"
)

// Signature is that of a leaf.
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
	// Most is the largest size for which the leaf was compiled: it keeps coordinates of
	// the variable in so many bits.
	Most int64
}

// Same says that two variables have one size, since both stand at one mode of a tensor.
type Same struct {
	A, B   int // of Vars
	Tensor string
	Mode   int
}

// Arg is an argument of the leaf.
type Arg struct {
	Tensor string
	Type   ir.Type
	Format format.Format // as the leaf reads or writes it
	Levels []Level
	// Convert: the statement reads the tensor in another order than it was asked for, so
	// that the caller converts it.
	Convert bool
	// Old: what += adds to.
	Old bool
}

// Level is a storage level of an argument.
type Level struct {
	Kind     format.Kind
	Var      int   // whose coordinates it has, of Vars
	Pos, Crd uint8 // bytes of an element; 0 where there is no such array
	// Of a level with coordinates under a pos array, or outermost, Order says how they
	// are sorted, together with those of the singletons below it.
	Order Order
}

// Order is how the coordinates of a chain of levels are sorted within a segment: a level
// with segments, and the singletons below it.
type Order struct {
	End int // the level behind the chain; 0 where no chain begins
	// Unique is the first level of the chain that does not repeat coordinates: two
	// neighbours differ in it or above.
	Unique int
	// Repeats: neighbours may be the same in all levels.
	Repeats bool
}

// Result is what becomes of argument 0.
type Result struct {
	Dense bool
	// Shares is the argument whose level arrays the result has, -1 for none.
	Shares int
	// Pattern: the level arrays are given (codegen.Result.FixedPattern).
	Pattern bool
	// Repack: the statement was asked for a result in another format.
	Repack bool
}

// Of is the signature of a unit, whose arguments have these types.
func Of(statement string, u *codegen.Unit, types []ir.Type) *Signature {
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

// Normal is the normal form that a unit computes.
func Normal(u *codegen.Unit) *notation.Normal {
	if u.Request.Normal != nil {
		return u.Request.Normal
	}
	return notation.Normalize(u.Request.Stmt)
}

// most is the largest number of as many bits as the compiler takes for n.
func most(n int64) int64 {
	if n <= math.MaxInt32 {
		return math.MaxInt32
	}
	return math.MaxInt64
}

// size is that which a variable was compiled for.
func size(u *codegen.Unit, n *notation.Normal, v string) int64 {
	if k, ok := u.Request.Sizes[v]; ok {
		return k
	}
	return u.Request.Sizes[n.Source[v]]
}

// modes finds the variable of each tensor's modes, and which others stand there too.
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

func levels(f format.Format, modes []int, pos, crd []uint8) []Level {
	out := make([]Level, len(f.Levels))
	sharing := f.Sharing()
	for l, k := range f.Levels {
		caps := k.Caps()
		out[l] = Level{Kind: k, Var: modes[f.Order[l]]}
		if caps.HasPos {
			out[l].Pos = pos[l]
		}
		if caps.HasCrd {
			out[l].Crd = crd[l]
		}
		if !caps.HasPos {
			continue
		}
		o := Order{End: f.RunEnd(l) + 1, Repeats: sharing[l] == len(f.Levels)}
		for o.Unique = l; o.Unique < o.End-1 && !f.Levels[o.Unique].Caps().Unique; {
			o.Unique++
		}
		out[l].Order = o
	}
	return out
}
