package rewrite

import "distaff/codegen/ir"

// Lanes has the facts about a leaf's loops that Vectorize needs.
type Lanes struct {
	// Over has the variable of each loop of the statement.
	Over map[*ir.For]string
	// Segments has the variable of each loop over a segment that runs in lanes although it gathers.
	Segments map[*ir.For]string
	// Asked reports whether the loop over a variable is to run in lanes.
	Asked func(v string) bool
	// Once lists the stores of values that are written once to the caller's memory. It is used if
	// such values are stored past the caches.
	Once map[*ir.Store]bool
}

// Vectorize marks innermost loops of b as Vector. It returns the variables of the loops that gather
// in lanes. There are two kinds of marked loops:
//
//   - A loop along contiguous memory. Its body may only declare values, add to scalars from outside
//     (which are then reduced), and store to consecutive elements. Every load must be from one
//     element or from consecutive elements. If the loop is a loop of the statement, o.Asked must
//     accept its variable.
//   - A loop over a segment of a sparse level. It must be in o.Segments, and its body must only sum
//     gathered values.
//
// A marked loop is Nontemporal if its body has one store, the store is in o.Once, and the body sums
// nothing.
func Vectorize(b *ir.Block, o *Lanes) map[string]bool {
	gathered := map[string]bool{}
	ir.Walk(b, func(s ir.Stmt) {
		f, ok := s.(*ir.For)
		if !ok || f.Kind != ir.Serial || f.Step != 1 {
			return
		}
		v := &vectorLoop{f: f, inits: map[*ir.Var]ir.Expr{}, sums: map[*ir.Var]bool{},
			stored: map[*ir.Array]bool{}}
		if !v.fits() {
			return
		}
		over, made := o.Over[f]
		along := o.Segments[f]
		contiguous := v.contiguous()
		gathers := along != "" && !contiguous && v.gathers()
		if contiguous && (!made || o.Asked(over)) || gathers {
			f.Kind, f.Reduce = ir.Vector, v.reduce
			if gathers {
				gathered[along] = true
			}
			f.Nontemporal = v.storesOnce(o.Once)
		}
	})
	return gathered
}

type vectorLoop struct {
	f      *ir.For
	inits  map[*ir.Var]ir.Expr // initial values of the body's locals
	sums   map[*ir.Var]bool
	reduce []*ir.Var
	stored map[*ir.Array]bool
}

func (v *vectorLoop) fits() bool {
	useful := false
	for _, s := range v.f.Body.List {
		switch s := s.(type) {
		case *ir.Declare:
			v.inits[s.V] = s.Init
		case *ir.Store:
			if s.Atomic || v.stored[s.A] {
				return false
			}
			v.stored[s.A] = true
			if step, ok := v.step(s.Index); !ok || step != 1 {
				return false
			}
			useful = true
		case *ir.Assign:
			if !s.Accumulate || v.inits[s.V] != nil || !(s.V.Typ.IsFloat() || s.V.Typ.IsInt()) {
				return false
			}
			if !v.sums[s.V] {
				v.sums[s.V] = true
				v.reduce = append(v.reduce, s.V)
			}
			useful = true
		default:
			return false
		}
	}
	return useful
}

// storesOnce reports whether the loop's body has a single store, this store is in onceStores, and
// the body sums nothing. onceStores has the stores that write each element at most once.
func (v *vectorLoop) storesOnce(onceStores map[*ir.Store]bool) bool {
	n := 0
	for _, s := range v.f.Body.List {
		if s, ok := s.(*ir.Store); ok && onceStores[s] {
			n++
		}
	}
	return n == 1 && len(v.stored) == 1 && len(v.sums) == 0
}

// gathers reports whether vector lanes may run the loop and gather the values that it reads. This
// requires that the body only adds to sums that are not complex, does not read the sums, and does
// not search.
func (v *vectorLoop) gathers() bool {
	ok := len(v.stored) == 0 && len(v.sums) > 0
	for x := range v.sums {
		ok = ok && !x.Typ.IsComplex()
	}
	ir.WalkExprs(v.f.Body, func(x ir.Expr) {
		switch x := x.(type) {
		case *ir.Var:
			ok = ok && !v.sums[x]
		case *ir.Search:
			ok = false
		}
	})
	return ok
}

// contiguous reports whether every load of the body is from one place or from consecutive places.
// It returns false if the body reads a sum or an array that it stores to, or if it searches.
func (v *vectorLoop) contiguous() bool {
	ok := true
	ir.WalkExprs(v.f.Body, func(x ir.Expr) {
		switch x := x.(type) {
		case *ir.Var:
			ok = ok && !v.sums[x]
		case *ir.Load:
			step, linear := v.step(x.Index)
			ok = ok && linear && (step == 0 || step == 1) && !v.stored[x.A]
		case *ir.Search:
			ok = false
		}
	})
	return ok
}

// step returns the change of x if the loop's variable grows by 1. ok is false if the change is not
// known to be constant.
func (v *vectorLoop) step(x ir.Expr) (step int64, ok bool) {
	switch x := x.(type) {
	case *ir.Lit:
		return 0, true
	case *ir.Var:
		if x == v.f.V {
			return 1, true
		}
		if init := v.inits[x]; init != nil {
			return v.step(init)
		}
		return 0, !v.sums[x]
	case *ir.Binary:
		p, okp := v.step(x.X)
		q, okq := v.step(x.Y)
		switch {
		case !okp || !okq:
			return 0, false
		case x.Op == ir.Add:
			return p + q, true
		case x.Op == ir.Sub:
			return p - q, true
		}
		return 0, p == 0 && q == 0
	case *ir.Load:
		p, okp := v.step(x.Index)
		return 0, okp && p == 0 && !v.stored[x.A]
	}
	return 0, false
}
