package lower

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
)

// maxCopied is how many bytes a row has at most that is read from a copy in registers.
const maxCopied = 256

// rowCopy is a row of an operand, or a tile of one, in a local array.
type rowCopy struct {
	a  *ir.Array
	at func(e *env) ir.Expr // the place of the last level's coordinate
}

// copyRows has the loops in p's body read the rows of operands that p's variable picks from copies,
// which are in registers: rows whose length is compiled in, which two or more loops around that
// along the row come to again. The C compiler moves no load to the front of a loop that may have no
// iteration, and loads a row again for each of the inner loops' segments.
func (l *lowerer) copyRows(p *loop, in *env) {
	if l.spec.GPU || l.onUnits(p) {
		return
	}
	inner := 0
	f, ok := p.f.Body.(*cin.Forall)
	for ; ok && f.Unit == cin.Serial && f.Unroll == 0 && l.orders(f).Extern == nil &&
		l.orders(f).Gemm == 0; inner++ {
		if s, fits := l.rowRange(in, f.Var); fits && inner >= 2 {
			l.copyRowsAlong(p, f, s, in)
			return
		}
		f, ok = f.Body.(*cin.Forall)
	}
}

// rowRange is the range of a variable that is a tile's, or compiled in.
func (l *lowerer) rowRange(e *env, v string) (s coordRange, ok bool) {
	s = l.rangeOf(e, v)
	if t, found := l.spec.Strategy.Trips[v]; found && s.width == 0 {
		s.width = t.N
	}
	return s, s.width > 0
}

// copyRowsAlong copies the rows along the variable of the loop f, whose range is s, that are known
// in the environment of an iteration of p, and were not before.
func (l *lowerer) copyRowsAlong(p *loop, f *cin.Forall, s coordRange, in *env) {
	var done []string
	cin.Accesses(f, func(a *cin.Access) {
		c, before := in.cur[a.Key()], p.e.cur[a.Key()]
		if c == nil || slices.Contains(done, a.Key()) || c.next() != f.Var || c.base == nil ||
			before == nil || before.base == c.base || !always(c.pres) ||
			c.op.operand.Arg <= 0 || c.level != c.op.order()-1 || !c.op.caps(c.level).Locate ||
			s.width*c.op.operand.Type.Size() > maxCopied {
			return
		}
		done = append(done, a.Key())
		row := l.newArray(c.op.prefix()+"_row", c.op.operand.Type)
		l.emit(&ir.Local{A: row, Len: s.width})
		k := l.newVar(f.Var + "_lane")
		first := l.named(row.Name+"_first", ir.Plus(c.base, s.lo))
		l.emit(&ir.For{V: k, Lo: ir.Int(0), Hi: ir.Int(s.width), Step: 1, Body: l.within(func() {
			l.store(row, k, ir.At(c.op.vals(), ir.Plus(first, k)))
		})})
		d := *c
		d.row = &rowCopy{row, func(e *env) ir.Expr {
			if x, ok := e.lanes[f.Var]; ok {
				return x
			}
			return ir.Minus(e.coord[f.Var], s.lo)
		}}
		in.cur[a.Key()] = &d
	})
}
