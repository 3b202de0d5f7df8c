package strategy

import (
	"fmt"

	"distaff/codegen/cin"
)

// A row of a parallel loop with more than Target.LongRow entries is itself cut,
// so that a matrix with all its work in a few rows keeps every thread busy. That number
// is fixed, since sums cross the parts.

// long is what is done about the long rows of a loop on threads, where there may be such.
func (f *facts) long(l *cin.Forall, c Cut) Long {
	x := f.longRows(l, c, f.problem.Target.LongRow,
		func(least int64, entries int64) bool { return entries < 0 || entries >= least })
	if x.How == CutInside {
		x.N = min(x.N, f.problem.Target.ChunkWork)
	}
	return x
}

// longRows is what can be done about rows of more than n entries of a loop on threads.
// worth tells whether it pays for operands of so many entries, -1 unknown, from least on.
func (f *facts) longRows(l *cin.Forall, c Cut, n int64,
	worth func(least, entries int64) bool) Long {
	switch {
	case sums(l):
		return Long{}
	case f.sparse() && !f.shared():
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

// entriesOf says how many entries an operand has.
func entriesOf(w *walked) string {
	if w.t.NNZ < 0 {
		return fmt.Sprintf("it is not known how many entries %s has", w.key)
	}
	return fmt.Sprintf("%s has %d entries", w.key, w.t.NNZ)
}

// separateRows are the long rows of a loop whose body sums the segment of a sparse level
// into a scalar or a row of a dense result, or writes to the positions of a
// pattern that the result shares.
func (f *facts) separateRows(l *cin.Forall, n int64, worth func(least, entries int64) bool) Long {
	d, _ := f.drivers(l)
	if d == nil || !worth(n, d.t.NNZ) {
		return Long{}
	}
	inner := f.alongRow(l)
	if inner == nil || d.t.order() < 2 || d.vars[1] != inner.Var || !d.t.caps(1).HasPos ||
		!d.t.caps(0).Unique {
		return Long{}
	}
	return Long{How: Separate, Key: d.key, N: n, Parts: f.rowParts(l),
		Why: entriesOf(d) + ", which may be in few rows"}
}

// longRowParts is the number of partial results of one row.
const longRowParts = 16

// rowParts is how a row of l is cut: into parts whose number is fixed, as sums
// cross them. A result that shares an operand's pattern has no sums along it: any
// chunks do.
func (f *facts) rowParts(l *cin.Forall) Cut {
	switch _, scalar := l.Body.(*cin.Where); {
	case f.sparse():
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

// alongRow is the loop along a row whose long ones may run on all threads; nil for none.
func (f *facts) alongRow(l *cin.Forall) *cin.Forall {
	switch s := l.Body.(type) {
	case *cin.Where:
		if len(cin.Target(s.Producer).Vars) == 0 && !f.sparse() {
			inner, _ := s.Producer.(*cin.Forall)
			return inner
		}
	case *cin.Forall:
		if sums(s) != f.sparse() {
			return s
		}
	}
	return nil
}

// manyTerms is how many times Target.LongRow the terms of all rows are at least for the
// code to be worth its compilation.
const manyTerms = 32

// bandsMost is the most bands of a row whose size is known.
const bandsMost = 64

// precomputedRows are the long rows of a loop that sums each in a workspace: their terms
// are those of the operand with most entries.
func (f *facts) precomputedRows(l *cin.Forall, n int64,
	worth func(least, entries int64) bool) Long {
	s, ok := l.Body.(*cin.Where)
	if !ok || !f.result.caps(0).Locate {
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
		if w.vars[0] != l.Var || w.vars[1] != p.Var || !x.caps(0).Locate || !x.caps(1).HasPos ||
			!x.caps(1).Unique {
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

// cutInside are the rows that chunks may begin and end inside of, where every operand
// that counts has entries along it.
func (f *facts) cutInside(l *cin.Forall, n int64, worth func(least, entries int64) bool) Long {
	d, others := f.drivers(l)
	inner, ok := l.Body.(*cin.Forall)
	if !ok || d == nil || f.result.order() < 2 || !f.result.caps(0).Locate ||
		!f.result.caps(1).HasPos || inner.Var != f.vars[1] {
		return Long{}
	}
	var entries int64
	for _, w := range append([]*walked{d}, others...) {
		if !w.t.caps(0).Locate || w.t.order() < 2 || !w.t.caps(1).HasPos || w.vars[1] != inner.Var {
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
