package choice

import (
	"fmt"

	"distaff/codegen/analysis"
	"distaff/codegen/cin"
	"distaff/codegen/strategy"
)

// LongRows is the choice that several threads share the work of a long row: longrows(i,T,N). A row
// is long if operand T has more than N entries in it. The loop over i is outermost and divided into
// chunks of equal work. Without this choice, a single thread computes each row. If the values of a
// row are terms of one sum, the number of parts of the row does not depend on the number of
// threads.
var LongRows = &Choice{
	Name: "longrows",
	Params: []Param{{Kind: LoopParam, Name: "i"}, {Kind: NameParam, Name: "T"},
		{Kind: NumberParam, Name: "N", Least: 1}},
	Meaning: "shares rows of over N entries among threads",
	CPUOnly: "long rows are divided among the threads of a CPU",
	Default: defaultLongRows,
	Follow:  followLongRows,
}

// followLongRows changes how loops on threads handle the long rows of an operand. If threadLoops
// finds none of the loops that o names, it changes nothing and returns nil.
func followLongRows(f *analysis.Facts, v *strategy.Value, o Order) error {
	a, _, err := f.Access(o.Name)
	if err != nil {
		return err
	}
	list, err := threadLoops(f, o.Loop)
	if err != nil {
		return nil
	}
	done := false
	for _, l := range list {
		loop := v.At(l)
		x := longRows(f, l, loop.Cut, o.N, func(key string, _, _ int64) bool { return key == a.Key() })
		if x.How != strategy.Kept && !loop.OverPositions {
			loop.Long, done = x, true
		}
	}
	if !done {
		return fmt.Errorf(
			"the loop over %s must run along the entries of %s that determine its chunks, and "+
				"must either add to one row of the result or append to it", o.Loop, a.Key())
	}
	return nil
}

// A row of a parallel loop with more than Target.LongRow entries is itself cut, so that a matrix
// with all its work in a few rows keeps every thread busy. The limit is a fixed number, because
// sums cross the cuts and must not depend on the number of threads.

// defaultLongRows returns the instructions for loops on threads whose operands may have long rows.
func defaultLongRows(f *analysis.Facts, v *strategy.Value) []Chosen {
	return eachLoop(f, func(l *cin.Forall) (Order, string, bool) {
		how := v.Of(l)
		if l.Unit != cin.CPUThread || fillsSpace(f, l) || how.OverPositions {
			return Order{}, "", false
		}
		longRow := f.Problem.Target.LongRow
		x := longRows(f, l, how.Cut, longRow, func(_ string, least, entries int64) bool {
			return entries < 0 || entries >= least
		})
		if x.How == strategy.Kept {
			return Order{}, "", false
		}
		if x.How == strategy.CutInside {
			x.N = min(x.N, f.Problem.Target.ChunkWork)
		}
		why := entriesOf(f, x.Key) + ", many of which may be in one row"
		if x.How == strategy.Precomputed {
			why = entriesOf(f, x.Key) + ", each of which adds a row of terms"
		}
		return Order{Name: f.ShortName(x.Key), N: x.N}, why, true
	})
}

// worth reports whether cutting the long rows of an operand is worthwhile. key is the key of the
// operand's access, entries is its number of entries (-1 if unknown), and least is the smallest
// number for which cutting is worthwhile.
type worth func(key string, least, entries int64) bool

// longRows returns how the parallel loop l handles long rows. c says how l is divided among
// threads. A row is long if it has more than n entries. pays reports whether it is worthwhile to
// handle the long rows of an operand separately.
func longRows(f *analysis.Facts, l *cin.Forall, c cin.Cut, n int64, pays worth) strategy.Long {
	switch {
	case analysis.IsSum(l):
		return strategy.Long{}
	case f.IsSparse() && !f.SharesLevels():
		if x := precomputedRows(f, l, n, pays); x.How != strategy.Kept {
			return x
		}
		if c.How == cin.Ordered || f.Problem.Assembly == strategy.FixedPattern {
			return cutInside(f, l, n, pays)
		}
	case c.How == cin.Blocks:
		return separateRows(f, l, n, pays)
	}
	return strategy.Long{}
}

// entriesOf returns a phrase with the number of entries of an operand, for the reasons in a plan.
// key is the key of the operand's access.
func entriesOf(f *analysis.Facts, key string) string {
	if n := f.TensorOf(key).NNZ; n >= 0 {
		return fmt.Sprintf("%s has %d entries", key, n)
	}
	return fmt.Sprintf("it is not known how many entries %s has", key)
}

// separateRows returns how the loop l can leave out long rows. The long rows then run one by one,
// each on all threads. The body of l must sum the segment of a sparse level into a scalar or into a
// row of a dense result, or write to the positions of a pattern that the result shares. If the body
// does neither, or if pays returns false, separateRows returns the zero value.
func separateRows(f *analysis.Facts, l *cin.Forall, n int64, pays worth) strategy.Long {
	d, _ := drivers(f, l)
	if d == nil || !pays(d.Key, n, d.Tensor.NNZ) {
		return strategy.Long{}
	}
	inner := alongRow(f, l)
	if inner == nil || d.Tensor.Order() < 2 || d.Vars[1] != inner.Var || !d.Tensor.Kind(1).HasPos() ||
		!d.Tensor.Kind(0).IsUnique() {
		return strategy.Long{}
	}
	return strategy.Long{How: strategy.Separate, Key: d.Key, N: n, Parts: rowParts(f, l)}
}

// longRowParts is the number of partial results of one row.
const longRowParts = 16

// rowParts returns how a long row of loop l is divided among the threads. If the result shares the
// pattern of an operand, no sum runs along the row, so the row may be divided into any number of
// chunks. Otherwise each part has a partial sum, and the number of parts does not depend on the
// threads. Such a row is divided if its sum is a scalar, if l is over the result's outermost
// variable, or if partial results are worthwhile. If not, the row stays whole.
func rowParts(f *analysis.Facts, l *cin.Forall) cin.Cut {
	switch _, scalar := l.Body.(*cin.Where); {
	case f.IsSparse():
		return cin.Cut{How: cin.Blocks}
	case scalar:
		return cin.Cut{How: cin.Reduction, N: sumChunks}
	case f.Vars[0] == l.Var:
		return cin.Cut{How: cin.Partial, N: longRowParts}
	}
	if n, _ := partials(f); n >= 2 {
		return cin.Cut{How: cin.Partial, N: n}
	}
	return cin.Cut{}
}

// alongRow returns the loop inside l that runs along a row, if all threads can share this loop to
// compute a long row. Otherwise it returns nil.
func alongRow(f *analysis.Facts, l *cin.Forall) *cin.Forall {
	switch s := l.Body.(type) {
	case *cin.Where:
		if len(cin.Target(s.Producer).Vars) == 0 && !f.IsSparse() {
			inner, _ := s.Producer.(*cin.Forall)
			return inner
		}
	case *cin.Forall:
		if analysis.IsSum(s) != f.IsSparse() {
			return s
		}
	}
	return nil
}

// manyTerms decides whether long rows of products are computed separately. The operand with these
// rows must have at least manyTerms * Target.LongRow entries. With fewer entries, the additional
// code is not worth compiling.
const manyTerms = 32

// bandsMost is the largest number of bands in a row if the row's size is known.
const bandsMost = 64

// precomputedRows returns how long rows are computed before loop l runs. They are computed one
// after another, and all threads work on each row. The loop must sum each row in a workspace. If it
// does not, precomputedRows returns the zero value. A row is long if an operand has many entries in
// it, because each entry adds terms to the row. If several operands have such rows, the operand
// with the most entries decides.
func precomputedRows(f *analysis.Facts, l *cin.Forall, n int64, pays worth) strategy.Long {
	s, ok := l.Body.(*cin.Where)
	if !ok || !f.Result.Kind(0).CanLocate() {
		return strategy.Long{}
	}
	t := cin.Target(s.Producer)
	p, ok := s.Producer.(*cin.Forall)
	if !ok || len(t.Vars) != 1 || p.Unit != cin.Serial || !analysis.IsSum(p) ||
		f.Spaces[t.Name].Form.Kind == strategy.HashTable ||
		f.Spaces[t.Name].Form.Kind == strategy.Terms ||
		p.Var == t.Vars[0] {
		return strategy.Long{}
	}
	var rows *analysis.Operand
	for _, x := range f.Operands(p.Body) {
		op := x.Tensor
		if op.Order() >= 2 && x.Vars[0] == l.Var && x.Vars[1] == p.Var && op.Kind(0).CanLocate() &&
			op.Kind(1).HasPos() && op.Kind(1).IsUnique() && pays(x.Key, manyTerms*n, op.NNZ) &&
			(rows == nil || rows.Tensor.NNZ < op.NNZ) {
			rows = x
		}
	}
	if rows == nil {
		return strategy.Long{}
	}
	each := 16.0
	if added := f.Additions(p, t); added > 0 {
		each = max(added/float64(max(rows.Tensor.NNZ, 1)), 1)
	}
	size := max(f.Problem.Sizes[t.Vars[0]], 1)
	return strategy.Long{How: strategy.Precomputed, Key: rows.Key, N: n,
		Band:    max(powerOfTwo(float64(n)/16), powerOfTwo(2*float64(size)/bandsMost)),
		Stretch: powerOfTwo(float64(n) / 4 / each)}
}

// cutInside returns how chunks of loop l can begin and end inside long rows. A row is long if it
// has more than n entries. Each operand whose entries are counted as work must have entries along
// the row. If the loop does not allow such chunks, or if pays returns false, cutInside returns the
// zero value.
func cutInside(f *analysis.Facts, l *cin.Forall, n int64, pays worth) strategy.Long {
	d, others := drivers(f, l)
	inner, ok := l.Body.(*cin.Forall)
	if !ok || d == nil || f.Result.Order() < 2 || !f.Result.Kind(0).CanLocate() ||
		!f.Result.Kind(1).HasPos() || inner.Var != f.Vars[1] {
		return strategy.Long{}
	}
	var entries int64
	for _, w := range append([]*analysis.Operand{d}, others...) {
		if !w.Tensor.Kind(0).CanLocate() || w.Tensor.Order() < 2 || !w.Tensor.Kind(1).HasPos() ||
			w.Vars[1] != inner.Var {
			return strategy.Long{}
		}
		if n := w.Tensor.NNZ; n < 0 || entries < 0 {
			entries = -1
		} else {
			entries += n
		}
	}
	if !pays(d.Key, n, entries) {
		return strategy.Long{}
	}
	return strategy.Long{How: strategy.CutInside, Key: d.Key, N: n}
}
