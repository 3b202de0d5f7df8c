package cuda

import (
	"fmt"

	"distaff/codegen/emit/clike"
	"distaff/codegen/ir"
)

func (k *kernel) loop(s *ir.For) {
	if s.Kind != ir.Serial && s.Kind != ir.Unrolled {
		panic(fmt.Sprintf("BUG: emit/cuda: a loop of kind %d in a launch", s.Kind))
	}
	v := k.Variable(s.V)
	end := k.end(s.Hi, v, s.Body)
	if s.Kind == ir.Unrolled {
		k.Margin("#pragma unroll %d", unrollFactor(s))
	}
	step := v + "++"
	if s.Step != 1 {
		step = fmt.Sprintf("%s += %s", v, clike.Integer(k, s.Step, 0))
	}
	k.Line("for (long long %s = %s; %s < %s; %s) {", v, k.expr(s.Lo, 0), v, end, step)
	k.loops++
	k.nested(s.Body)
	k.loops--
	k.Line("}")
}

// end is a loop's upper bound as it is evaluated before every iteration: itself if the body
// cannot change it, else a constant declared before the loop.
func (k *kernel) end(hi ir.Expr, v string, body *ir.Block) string {
	if k.stable(hi, body) {
		return k.expr(hi, clike.PrecSum)
	}
	name := k.Temps.Fresh(v + "_end")
	k.Line("const long long %s = %s;", name, k.expr(hi, 0))
	return name
}

// stable tells whether the bound may be evaluated again and again: loads are not, as a
// compiler moves them out of a loop with atomic additions or barriers only where it knows
// that they cannot change.
func (k *kernel) stable(hi ir.Expr, body *ir.Block) bool {
	ok := clike.Stable(hi, body)
	ir.WalkExpr(hi, func(x ir.Expr) {
		if _, load := x.(*ir.Load); load {
			ok = false
		}
	})
	return ok
}

// mostStatements is about the largest number of statements that an unrolled loop becomes. Beyond
// it, instructions that are fetched cost more than the loop's, and the compiler takes seconds.
const mostStatements = 4096

// unrollFactor is how many copies of an unrolled loop's body stand one after another: as
// many as are asked for, or for a full unrolling the number of iterations where it is known,
// as far as all of them together stay small.
func unrollFactor(s *ir.For) int64 {
	n := s.Factor
	if trips, ok := clike.Trips(s); ok && (n == 0 || n > trips) {
		n = max(trips, 1)
	} else if n == 0 {
		n = 16
	}
	return max(1, min(n, mostStatements/statements(s.Body)))
}

// statements is about the number of statements of a block whose loops are unrolled.
func statements(b *ir.Block) int64 {
	n := int64(1)
	for _, s := range b.List {
		switch s := s.(type) {
		case *ir.Block:
			n += statements(s)
		case *ir.For:
			copies := int64(1)
			if s.Kind == ir.Unrolled {
				copies = unrollFactor(s)
			}
			n += 1 + copies*statements(s.Body)
		case *ir.While:
			n += 1 + statements(s.Body)
		case *ir.If:
			n += 1 + statements(s.Then)
			if s.Else != nil {
				n += statements(s.Else)
			}
		default:
			n++
		}
	}
	return n
}
