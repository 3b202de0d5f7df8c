package result

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/rewrite"
	"distaff/codegen/lower/scope"
	"distaff/io/tensor"
)

// PartedRow is a row of a result on a GPU that threads write together. Each thread writes a part of
// the row. The parts are the tiles of a loop over the row. The first pass sums the counts of the
// threads. In the second pass, each thread first counts its entries again, because the counts of
// earlier parts say where its own part begins.
type PartedRow struct {
	a     *twoPassResult
	e     *scope.Env
	level int
	most  int64 // the most parts
}

// Parted returns the row that e is in, if f is a loop on threads over parts of the row. Otherwise
// it returns nil.
func Parted(how Assembly, f *cin.Forall, e *scope.Env) *PartedRow {
	a, ok := how.(*twoPassResult)
	k := e.Res.Level
	if !ok || a.rows == nil || f.Unit != cin.GPUThread || e.OnThread || k == 0 ||
		k != a.out.Op.Order()-1 || !a.out.Op.Kind(k).HasPos() || !a.out.Leaf.Assigns(f) {
		return nil
	}
	most := a.out.Leaf.Graph.MaxValues(f.Var)
	if most == 0 || e.Warps > 0 && most > ir.WarpSize {
		a.out.Leaf.Refuse(f.Var, "threads write parts of a row of %s, so %s must have a constant "+
			"number of iterations, at most one for each thread", cin.Target(f).Key(), f.Var)
	}
	if a.counts() {
		return nil
	}
	return &PartedRow{a, e, k, most}
}

// Write emits code that counts or writes the entries of the row. loop emits the loop over the
// parts. At the start of an iteration it calls open with the number of the part, and at the end
// done. Write returns the condition that the row has an entry.
func (r *PartedRow) Write(loop func(open, done func(part ir.Expr))) ir.Expr {
	a, l := r.a, r.a.out.Leaf
	lev, vals := &a.levels[r.level], a.out.Values
	row, next := *lev, ir.Plus(r.e.Res.Pos, ir.Int(1))
	if row.closed != nil {
		closePos(l, lev, next)
	}
	from := l.B.Named(row.count.Name+"_from", row.count)
	if a.counting {
		r.count(lev, loop, func(_, n ir.Expr) { l.B.Incr(row.count, n) })
	} else {
		r.fill(lev, row, loop)
	}
	*lev, a.out.Values = row, vals
	l.B.Store(row.pos, next, row.count)
	if row.closed != nil {
		l.B.Set(row.closed, next)
	}
	if a.passes.isPos(&a.passes.levels[0]) {
		return ir.Truth(true) // nothing asks whether a row of a dense level has an entry
	}
	return ir.Less(from, row.count)
}

// count emits the loop over the parts. Each thread counts the entries of its part. took emits code
// for a part with n entries.
func (r *PartedRow) count(lev *growingLevel, loop func(open, done func(part ir.Expr)),
	took func(part, n ir.Expr)) {
	l, t := r.a.out.Leaf, r.a.passes
	b := l.B.Within(func() {
		loop(func(ir.Expr) {
			*lev = growingLevel{pos: t.discarded("pos", tensor.Int64),
				crd: t.discarded("crd", tensor.Int64), count: l.B.Declare("part_n", ir.Int(0))}
			r.a.out.Values = t.discarded("vals", r.a.out.Values.Elem)
		}, func(part ir.Expr) { took(part, lev.count) })
	})
	rewrite.Strip(b, t.drop)
	l.B.Append(b)
}

// fill emits code that counts the entries of each part and then writes them. row has the arrays of
// the level, and the number of entries before the row. Afterwards the number includes the row.
func (r *PartedRow) fill(lev *growingLevel, row growingLevel,
	loop func(open, done func(part ir.Expr))) {
	a, l, vals := r.a, r.a.out.Leaf, r.a.out.Values
	most := ir.Int(r.most)
	parts := l.B.AllocInScope(l.B.Array(a.out.Op.Prefix()+"_parts", tensor.Int64), most, false)
	l.B.Emit(&ir.Fill{A: parts, Lo: ir.Int(0), Hi: most, X: ir.Int(0)})
	r.count(lev, loop, func(part, n ir.Expr) { l.B.Store(parts, part, n) })
	loop(func(part ir.Expr) {
		at := l.B.Declare(row.count.Name+"_part", row.count)
		l.B.Loop("part", ir.Int(0), part, func(p *ir.Var) { l.B.Incr(at, ir.At(parts, p)) })
		*lev = growingLevel{pos: a.passes.discarded("pos", tensor.Int64), crd: row.crd, count: at,
			limit: l.B.Named(at.Name+"_end", ir.Plus(at, ir.At(parts, part)))}
		a.out.Values = vals
	}, func(ir.Expr) {})
	if !a.passes.isPos(&a.passes.levels[0]) { // otherwise the end of the row is known
		l.B.Loop("part", ir.Int(0), most, func(p *ir.Var) { l.B.Incr(row.count, ir.At(parts, p)) })
	}
}
