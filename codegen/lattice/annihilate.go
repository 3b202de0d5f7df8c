package lattice

import (
	"slices"

	"distaff/codegen/cin"
)

// Annihilates reports whether x is absent at every coordinate where the access with the given key
// is absent.
func Annihilates(x cin.Expr, key string) bool {
	switch x := x.(type) {
	case *cin.Access:
		return x.Key() == key
	case *cin.Neg:
		return Annihilates(x.X, key)
	case *cin.Call:
		if x.Func.NeedsAll {
			return slices.ContainsFunc(x.Args, func(y cin.Expr) bool { return Annihilates(y, key) })
		}
		return x.Func.KeepsZero && !slices.ContainsFunc(x.Args,
			func(y cin.Expr) bool { return !Annihilates(y, key) })
	case *cin.Binary:
		switch x.Op {
		case '*':
			return Annihilates(x.X, key) || Annihilates(x.Y, key)
		case '/':
			return Annihilates(x.X, key)
		}
		return Annihilates(x.X, key) && Annihilates(x.Y, key)
	}
	return false
}
