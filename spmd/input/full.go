package input

import (
	"distaff/codegen/notation"
	"distaff/io/tcs"
	"distaff/spmd/fault"
)

// planFull refuses a result of compressed levels that holds every coordinate,
// such as that of a number added to a sparse tensor, if it can't fit one rank: its size is
// known before anything is computed.
func (r *Reader) planFull() error {
	name := r.p.Result
	f, dims := r.Formats[name], r.Sizes.Dims[name]
	max := r.Limit.Max()
	if r.Comm.Size() > 1 || f.AllDense() || max <= 0 || !r.full() {
		return nil
	}
	bytes := float64(r.entryBytes(name))
	for _, d := range dims {
		bytes *= float64(d)
	}
	if bytes <= float64(max) {
		return nil
	}
	return fault.Memoryf("every coordinate of %s (%s) is present: stored as %s in %v they take %s, and the memory limit is %s (%s): raise --memory-limit, or leave out what makes them present",
		name, fault.Sizes(dims), fault.Format(f), r.Types[name], fault.Bytes(bytes), tcs.Size(max), r.LimitWhy)
}

// full reports whether a term of the statement alone makes every coordinate of
// the result present; false where that is not plain to see.
func (r *Reader) full() bool {
	for _, n := range r.Sizes.Vars {
		if n == 0 {
			return false
		}
	}
	for _, t := range r.p.Norm.Terms {
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

func (r *Reader) fullFactor(f notation.Factor) bool {
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

func (r *Reader) fullExpr(e notation.Expr) bool {
	switch e := e.(type) {
	case *notation.Access:
		return r.Formats[e.Name].AllDense()
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
