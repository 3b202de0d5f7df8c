package merge

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/scope"
	"distaff/codegen/lower/tree"
)

// maxCopied is the largest size in bytes of a row that is read from a copy in registers.
const maxCopied = 256

// copyRows makes the loops in p's body read rows of operands from copies in registers. p's variable
// must select the rows. A row is copied only if its length is a constant in the leaf and at least
// two loops in p's body are around the loop along the row, so that the row is read repeatedly. Rows
// of more than maxCopied bytes are not copied.
//
// The C compiler does not make such copies, because it cannot move a load out of a loop that may
// have no iterations.
func (p *Loop) copyRows(in *scope.Env) {
	l := p.E.Leaf
	if l.Spec.GPU || p.onUnits() {
		return
	}
	inner := 0
	f, ok := p.F.Body.(*cin.Forall)
	for ; ok && f.Unit == cin.Serial && f.Unroll == 0 && l.LoopStrategy(f).Extern == nil &&
		l.LoopStrategy(f).Gemm == 0; inner++ {
		if s, fits := knownRange(in, f.Var); fits && inner >= 2 {
			p.copyRowsAlong(f, s, in)
			return
		}
		f, ok = f.Body.(*cin.Forall)
	}
}

// knownRange returns the range of a variable. ok is true if the length of the range is known,
// because the range is a tile, or because its length is a constant in the code.
func knownRange(e *scope.Env, v string) (s tree.Range, ok bool) {
	s = e.RangeOf(v)
	if n, found := e.Leaf.Spec.Strategy.Trips[v]; found && s.Width == 0 {
		s.Width = n
	}
	return s, s.Width > 0
}

// copyRowsAlong emits code that copies rows of operands. The rows run along f's variable, and the
// current iteration of p selects them. s is the range of f. copyRowsAlong also changes cursors in
// the environment of the iteration, so that they read the copies.
func (p *Loop) copyRowsAlong(f *cin.Forall, s tree.Range, in *scope.Env) {
	l := p.E.Leaf
	var done []string
	cin.Accesses(f, func(a *cin.Access) {
		c, before := in.Cur[a.Key()], p.E.Cur[a.Key()]
		if c == nil || slices.Contains(done, a.Key()) || c.Next() != f.Var || c.Base == nil ||
			before == nil || before.Base == c.Base || !ir.Always(c.Present) ||
			c.Of.Argument.Number <= 0 || c.Level != c.Of.Order()-1 || !c.Of.Kind(c.Level).CanLocate() ||
			s.Width*c.Of.Argument.Type.Size() > maxCopied {
			return
		}
		done = append(done, a.Key())
		row := l.B.Array(c.Of.Prefix()+"_row", c.Of.Argument.Type)
		l.B.Emit(&ir.Local{A: row, Len: s.Width})
		k := l.B.Var(f.Var + "_lane")
		first := l.B.Named(row.Name+"_first", ir.Plus(c.Base, s.Lo))
		l.B.Emit(&ir.For{V: k, Lo: ir.Int(0), Hi: ir.Int(s.Width), Step: 1, Body: l.B.Within(func() {
			l.B.Store(row, k, ir.At(c.Of.Vals(), ir.Plus(first, k)))
		})})
		d := *c
		d.Row = &tree.Copy{A: row, Lo: s.Lo}
		in.Cur[a.Key()] = &d
	})
}
