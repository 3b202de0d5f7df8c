package spmd

import (
	"distaff/codegen/notation"
	"distaff/io/tcs"
)

// planFull refuses a result of compressed levels that holds every coordinate,
// such as that of a number added to a sparse tensor, if it can't fit one rank: its size is
// known before anything is computed.
func (r *run) planFull() error {
	name := r.p.result
	f, dims := r.formats[name], r.sizes.Dims[name]
	max := r.limit.Max()
	if r.comm.Size() > 1 || f.AllDense() || max <= 0 || !r.full() {
		return nil
	}
	bytes := float64(r.entryBytes(name))
	for _, d := range dims {
		bytes *= float64(d)
	}
	if bytes <= float64(max) {
		return nil
	}
	return memoryErrorf("every coordinate of %s (%s) is present: stored as %s in %v they take %s, and the memory limit is %s (%s): raise --memory-limit, or leave out what makes them present",
		name, sizesString(dims), formatName(f), r.types[name], floatSize(bytes), tcs.Size(max), r.limitWhy)
}

// full reports whether a term of the statement alone makes every coordinate of
// the result present; false where that is not plain to see.
func (r *run) full() bool {
	for _, n := range r.sizes.Vars {
		if n == 0 {
			return false
		}
	}
	for _, t := range r.p.norm.Terms {
		all := true
		for _, f := range t.Factors {
			all = all && r.fullFactor(f)
		}
		if all {
			return true
		}
	}
	return false
}

func (r *run) fullFactor(f notation.Factor) bool {
	switch f := f.(type) {
	case *notation.Access:
		return r.fullExpr(f)
	case *notation.Number:
		return true
	case *notation.Group:
		return r.fullExpr(f.X)
	case *notation.Quotient:
		return r.fullExpr(f.Num)
	}
	return false
}

func (r *run) fullExpr(e notation.Expr) bool {
	switch e := e.(type) {
	case *notation.Access:
		return r.formats[e.Name].AllDense()
	case *notation.Number:
		return true
	case *notation.Neg:
		return r.fullExpr(e.X)
	case *notation.Binary:
		switch e.Op {
		case '*':
			return r.fullExpr(e.X) && r.fullExpr(e.Y)
		case '/':
			return r.fullExpr(e.X)
		}
		return r.fullExpr(e.X) || r.fullExpr(e.Y)
	}
	return false
}
