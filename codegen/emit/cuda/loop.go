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

// end returns the CUDA text of a loop's upper bound hi. The loop evaluates this text before every
// iteration. If it may not do so (see stable), end first prints the declaration of a constant with
// the value of hi, and returns the constant's name. v is the name of the loop's variable.
func (k *kernel) end(hi ir.Expr, v string, body *ir.Block) string {
	if k.stable(hi, body) {
		return k.expr(hi, clike.PrecSum)
	}
	name := k.Temps.Fresh(v + "_end")
	k.Line("const long long %s = %s;", name, k.expr(hi, 0))
	return name
}

// stable reports whether a loop may evaluate its upper bound hi before every iteration. It may not
// if clike.Stable refuses, or if hi contains a load. A load would often be repeated: in a loop with
// atomic additions or barriers, a compiler does not know that the loaded value stays the same.
func (k *kernel) stable(hi ir.Expr, body *ir.Block) bool {
	ok := clike.Stable(hi, body)
	ir.WalkExpr(hi, func(x ir.Expr) {
		if _, load := x.(*ir.Load); load {
			ok = false
		}
	})
	return ok
}

// mostStatements is approximately the largest number of statements of a loop's body after
// unrolling. In longer code, fetching the instructions takes more time than unrolling saves, and
// compiling takes seconds.
const mostStatements = 4096

// unrollFactor returns the number of copies of an unrolled loop's body. Normally this is the
// requested number, but not more than the number of iterations. If full unrolling is requested, it
// is the number of iterations, or 16 if the number of iterations is unknown. The result is smaller
// if all copies together would be too large.
func unrollFactor(s *ir.For) int64 {
	n := s.Factor
	if trips, ok := clike.Trips(s); ok && (n == 0 || n > trips) {
		n = max(trips, 1)
	} else if n == 0 {
		n = 16
	}
	return max(1, min(n, mostStatements/statements(s.Body)))
}

// statements returns the approximate number of statements of a block after unrolling its loops.
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
