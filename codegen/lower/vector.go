package lower

import (
	"math"
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/format"
	"distaff/codegen/ir"
)

// vectorize marks the innermost loops of b that run along contiguous memory as
// Vector: their bodies declare values, add to scalars from outside (which are
// then reduced) and store to places one apart, and every load is of one place
// or of places one apart too. Those over a sparse level's segments that do
// nothing but sum what they gather are Vector from fewestLanes iterations on:
// several sums at once wait less for each other, whether or not the C compiler
// finds that a gather pays. Shorter ones run in masked lanes where what they gather
// is near: then the branch at a segment's end, seldom foreseen, is what takes time.
// Where it is far, that branch lets the next segments' loads start early.
func (l *lowerer) vectorize(b *ir.Block) {
	ir.Walk(b, func(s ir.Stmt) {
		if f, ok := s.(*ir.For); ok && f.Kind == ir.Serial && f.Step == 1 {
			v := &vectorLoop{f: f, inits: map[*ir.Var]ir.Expr{}, sums: map[*ir.Var]bool{}, stored: map[*ir.Array]bool{}}
			switch {
			case !v.fits():
			case v.contiguous():
				f.Kind, f.Reduce = ir.Vector, v.reduce
			case l.segments[f] != 0 && v.gathers():
				f.Kind, f.Reduce, f.Factor = ir.Vector, v.reduce, fewestLanes
				if v.plain() && l.gathered(v) <= float64(l.spec.NearBytes) {
					f.Lanes = l.segments[f]
				}
			}
		}
	})
}

// fewestLanes is from how many iterations on a loop that gathers runs in lanes.
// With fewer, adding up the lanes costs more than they save.
const fewestLanes = 17

// minSegment is how many entries the segments of a level have at least, on the
// average, for loops over them to be worth a test of fewestLanes.
const minSegment = 3

// Masked lanes, fewer where segments have less than longSegment entries on the
// average: lanes without work cost time, too, and so does one more group.
const (
	fewLanes    = 8
	manyLanes   = 16
	longSegment = 7
)

// segmentLoop notes of a loop over a segment below c whether it has many
// iterations now and then.
func (l *lowerer) segmentLoop(f *ir.For, c *cursor) *ir.For {
	k := c.level
	switch counts := c.op.Counts; {
	case k == 0:
		l.segments[f] = manyLanes
	case counts == nil && c.op.caps(k-1).Locate:
		l.segments[f] = fewLanes
	case counts == nil || counts[k] < minSegment*counts[k-1]:
	case counts[k] < longSegment*counts[k-1]:
		l.segments[f] = fewLanes
	default:
		l.segments[f] = manyLanes
	}
	return f
}

// gathered is how many bytes the dense operands have that the loop reads here and
// there; infinite where it reads other arrays so.
func (l *lowerer) gathered(v *vectorLoop) (bytes float64) {
	sizes := map[*ir.Array]float64{}
	cin.Accesses(l.spec.Stmt, func(a *cin.Access) {
		op := l.ops[a.Name]
		if op == nil || slices.ContainsFunc(op.Format.Levels, func(k format.Kind) bool { return !k.Caps().Locate }) {
			return
		}
		if vals := op.arrays[ir.Slot{Arg: op.Arg, Part: ir.Vals}]; vals != nil {
			n := float64(op.Type.Size())
			for _, x := range a.Vars {
				n *= float64(l.spec.Sizes[x])
			}
			sizes[vals] = n
		}
	})
	seen := map[*ir.Array]bool{}
	ir.WalkExprs(v.f.Body, func(x ir.Expr) {
		if x, ok := x.(*ir.Load); ok && !seen[x.A] {
			if step, linear := v.step(x.Index); linear && (step == 0 || step == 1) {
				return
			}
			seen[x.A] = true
			if n, ok := sizes[x.A]; ok {
				bytes += n
			} else {
				bytes = math.Inf(1)
			}
		}
	})
	return bytes
}

// plain tells whether the body's operations on values are additions, subtractions
// and products of numbers that a machine's lanes hold.
func (v *vectorLoop) plain() bool {
	ok := true
	lane := func(t ir.Type) bool { return t == ir.Float32 || t == ir.Float64 || t == ir.Int32 || t == ir.Int64 }
	for x := range v.sums {
		ok = ok && lane(x.Typ)
	}
	ir.WalkExprs(v.f.Body, func(x ir.Expr) {
		switch x := x.(type) {
		case *ir.Lit, *ir.Var:
		case *ir.Load:
			ok = ok && lane(x.A.Elem)
		case *ir.Binary:
			ok = ok && (x.Op == ir.Add || x.Op == ir.Sub || x.Op == ir.Mul)
		default:
			ok = false
		}
	})
	return ok
}

type vectorLoop struct {
	f      *ir.For
	inits  map[*ir.Var]ir.Expr // of the body's locals
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

// gathers tells whether the body only sums, and what it reads can be read in any order.
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

// contiguous checks what the body reads.
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

// step is by how much x grows with the loop's variable, where that is constant.
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
