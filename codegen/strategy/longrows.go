package strategy

import (
	"fmt"

	"distaff/codegen/cin"
)

// A row of a parallel loop with more than Target.LongRow entries is itself cut, so that a matrix
// with all its work in a few rows keeps every thread busy. The limit is a fixed number, because
// sums cross the cuts and must not depend on the number of threads.

// long returns what the default strategy does with long rows of a loop on threads. It returns
// Long{} if the loop has none.
func (f *facts) long(l *cin.Forall, c Cut) Long {
	x := f.longRows(l, c, f.problem.Target.LongRow,
		func(least int64, entries int64) bool { return entries < 0 || entries >= least })
	if x.How == CutInside {
		x.N = min(x.N, f.problem.Target.ChunkWork)
	}
	return x
}

// longRows returns what can be done about rows with more than n entries in a loop on threads. worth
// reports whether it pays for an operand with the given number of entries (-1 if unknown). least is
// the smallest number for which it pays.
func (f *facts) longRows(l *cin.Forall, c Cut, n int64,
	worth func(least, entries int64) bool) Long {
	switch {
	case sums(l):
		return Long{}
	case f.isSparse() && !f.shared():
		if x := f.precomputedRows(l, n, worth); x.How != Kept {
			return x
		}
		if c.How == Ordered || f.problem.Assembly == FixedPattern {
			return f.cutInside(l, n, worth)
		}
	case c.How == Blocks:
		return f.separateRows(l, n, worth)
	}
	return Long{}
}

// entriesOf says how many entries an operand has, for reasons.
func entriesOf(w *walked) string {
	if w.t.NNZ < 0 {
		return fmt.Sprintf("it is not known how many entries %s has", w.key)
	}
	return fmt.Sprintf("%s has %d entries", w.key, w.t.NNZ)
}

// separateRows handles the long rows of a loop whose body sums the segment of a sparse level into a
// scalar or into a row of a dense result, or writes to the positions of a pattern that the result
// shares.
func (f *facts) separateRows(l *cin.Forall, n int64, worth func(least, entries int64) bool) Long {
	d, _ := f.drivers(l)
	if d == nil || !worth(n, d.t.NNZ) {
		return Long{}
	}
	inner := f.alongRow(l)
	if inner == nil || d.t.order() < 2 || d.vars[1] != inner.Var || !d.t.caps(1).HasPos() ||
		!d.t.caps(0).IsUnique() {
		return Long{}
	}
	return Long{How: Separate, Key: d.key, N: n, Parts: f.rowParts(l),
		Why: entriesOf(d) + ", which may be in few rows"}
}

// longRowParts is the number of partial results of one row.
const longRowParts = 16

// rowParts returns how a row of l is cut. If a sum crosses the cuts, the number of parts is fixed.
// A result that shares an operand's pattern has no sums along the row, so it may be cut into any
// chunks.
func (f *facts) rowParts(l *cin.Forall) Cut {
	switch _, scalar := l.Body.(*cin.Where); {
	case f.isSparse():
		return Cut{How: Blocks}
	case scalar:
		return Cut{How: Reduction, N: sumChunks}
	case f.vars[0] == l.Var:
		return Cut{How: Partial, N: longRowParts}
	}
	if n, _ := f.partials(); n >= 2 {
		return Cut{How: Partial, N: n}
	}
	return Cut{}
}

// alongRow returns the loop along a row of l that can run on all threads for long rows, or nil.
func (f *facts) alongRow(l *cin.Forall) *cin.Forall {
	switch s := l.Body.(type) {
	case *cin.Where:
		if len(cin.Target(s.Producer).Vars) == 0 && !f.isSparse() {
			inner, _ := s.Producer.(*cin.Forall)
			return inner
		}
	case *cin.Forall:
		if sums(s) != f.isSparse() {
			return s
		}
	}
	return nil
}

// manyTerms times Target.LongRow is the smallest number of terms in all rows for which the code is
// worth compiling.
const manyTerms = 32

// bandsMost is the largest number of bands in a row if the row's size is known.
const bandsMost = 64

// precomputedRows handles the long rows of a loop that sums each row in a workspace. The terms of a
// row are counted by the operand with the most entries.
func (f *facts) precomputedRows(l *cin.Forall, n int64,
	worth func(least, entries int64) bool) Long {
	s, ok := l.Body.(*cin.Where)
	if !ok || !f.result.caps(0).CanLocate() {
		return Long{}
	}
	t := cin.Target(s.Producer)
	p, ok := s.Producer.(*cin.Forall)
	if !ok || len(t.Vars) != 1 || p.Unit != cin.Serial || !sums(p) ||
		f.spaces[t.Name].Form.Kind == HashTable || f.spaces[t.Name].Form.Kind == Terms ||
		p.Var == t.Vars[0] {
		return Long{}
	}
	var rows *walked
	cin.Accesses(p.Body, func(a *cin.Access) {
		x := f.tensor(a.Name)
		if x == nil || x.order() < 2 {
			return
		}
		w := &walked{a.Key(), x, x.levels(a)}
		if w.vars[0] != l.Var || w.vars[1] != p.Var || !x.caps(0).CanLocate() || !x.caps(1).HasPos() ||
			!x.caps(1).IsUnique() {
			return
		}
		if !worth(manyTerms*n, x.NNZ) {
			return
		}
		if rows == nil || rows.t.NNZ < x.NNZ {
			rows = w
		}
	})
	if rows == nil {
		return Long{}
	}
	each := 16.0
	if added := f.additions(p, t); added > 0 {
		each = max(added/float64(max(rows.t.NNZ, 1)), 1)
	}
	size := max(f.problem.Sizes[t.Vars[0]], 1)
	return Long{How: Precomputed, Key: rows.key, N: n,
		Why:     entriesOf(rows) + ", each of which is a row of terms",
		Band:    max(powerOfTwo(float64(n)/16), powerOfTwo(2*float64(size)/bandsMost)),
		Stretch: powerOfTwo(float64(n) / 4 / each)}
}

// cutInside handles rows inside which chunks may begin and end. Every operand that counts must have
// entries along the row.
func (f *facts) cutInside(l *cin.Forall, n int64, worth func(least, entries int64) bool) Long {
	d, others := f.drivers(l)
	inner, ok := l.Body.(*cin.Forall)
	if !ok || d == nil || f.result.order() < 2 || !f.result.caps(0).CanLocate() ||
		!f.result.caps(1).HasPos() || inner.Var != f.vars[1] {
		return Long{}
	}
	var entries int64
	for _, w := range append([]*walked{d}, others...) {
		if !w.t.caps(0).CanLocate() || w.t.order() < 2 || !w.t.caps(1).HasPos() ||
			w.vars[1] != inner.Var {
			return Long{}
		}
		if n := w.t.NNZ; n < 0 || entries < 0 {
			entries = -1
		} else {
			entries += n
		}
	}
	if !worth(n, entries) {
		return Long{}
	}
	return Long{How: CutInside, Key: d.key, N: n, Why: entriesOf(d) + ", which may be in few rows"}
}
