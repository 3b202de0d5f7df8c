package lower

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
)

// maxCopied is the largest size in bytes of a row that is read from a copy in registers.
const maxCopied = 256

// rowCopy is a row of an operand, or a tile of one, in a local array.
type rowCopy struct {
	a  *ir.Array
	at func(e *env) ir.Expr // returns the place of the last level's coordinate
}

// copyRows makes the loops in p's body read rows of operands from copies in registers, if p's
// variable selects the rows. A row is copied if its length is compiled in and two or more loops are
// around the loop along the row, so that it is read repeatedly. The C compiler does not do this: it
// cannot move a load before a loop that may have no iterations, and loads a row again for each of
// the inner loops' segments.
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

// rowRange returns the range of a variable. ok is true if the range is a tile, or compiled in.
func (l *lowerer) rowRange(e *env, v string) (s coordRange, ok bool) {
	s = l.rangeOf(e, v)
	if n, found := l.spec.Strategy.Trips[v]; found && s.width == 0 {
		s.width = n
	}
	return s, s.width > 0
}

// copyRowsAlong copies the rows along the variable of the loop f, whose range is s, that become
// known in an iteration of p. in is the environment of the iteration.
func (l *lowerer) copyRowsAlong(p *loop, f *cin.Forall, s coordRange, in *env) {
	var done []string
	cin.Accesses(f, func(a *cin.Access) {
		c, before := in.cur[a.Key()], p.e.cur[a.Key()]
		if c == nil || slices.Contains(done, a.Key()) || c.next() != f.Var || c.base == nil ||
			before == nil || before.base == c.base || !always(c.pres) ||
			c.op.operand.Arg <= 0 || c.level != c.op.order()-1 || !c.op.caps(c.level).CanLocate() ||
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
