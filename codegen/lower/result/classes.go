package result

import (
	"math/bits"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/rewrite"
	"distaff/codegen/lower/scope"
	"distaff/codegen/lower/space"
	"distaff/codegen/lower/units"
	"distaff/codegen/strategy"
	"distaff/io/tensor"
)

// rowClasses divides the rows of a result on a GPU by the number of values that their hash tables
// get (space.Shared), because the size of a table must be known before a launch. Each pass over the
// result launches the statement once for each class, and a launch skips the rows of other classes.
//
//   - Small tables are in the shared memory of a warp, which computes a row.
//   - Tables of the middle class are in the shared memory of a block. The rows of its warps are
//     computed one after another, each by all threads of the block.
//   - Large tables are in global memory. Each power of two is a class of its own, and a loop of the
//     host launches them. Blocks compute rows as in the middle class.
//
// If one thread computes a row, all tables are large.
type rowClasses struct {
	a    *twoPassResult
	n    ir.Expr                   // the number of rows
	most *ir.Array                 // by row: the most values that a table gets
	size func(row ir.Expr) ir.Expr // the size of a row's tables in the current pass
	top  *ir.Var                   // the largest power of two that has rows, as an exponent
	// The current class has rows with more values than lo, and at most hi.
	lo, hi ir.Expr
	owner  cin.Unit // the unit that computes a row
	// exact is true if a row of the result has the entries of one table. The first pass then finds
	// how many the second pass stores.
	exact bool
}

// table describes a table in shared memory. slots is its length, a power of two, and most is the
// most values that it gets. At least a quarter of the slots stay free, so that searches are short.
type table struct{ slots, most int64 }

// Tables in the first pass have keys without sums, so larger tables fit into shared memory. With 8
// warps, the tables of a block need at most 37 kB.
var (
	countedTables = [2]table{{512, 384}, {8192, 6144}} // small tables, and the middle class
	filledTables  = [2]table{{256, 192}, {2048, 1536}}
)

// The numbers of warps of the blocks that fill a table of the middle class, and a large table.
const (
	middleWarps = 8
	largeWarps  = 16
)

// HasTables reports whether s fills a hash table.
func HasTables(l *scope.Leaf, s cin.Stmt) bool {
	found := false
	cin.Walk(s, func(s cin.Stmt) {
		if w, ok := s.(*cin.Where); ok {
			t := cin.Target(w.Producer)
			found = found || len(t.Vars) > 0 &&
				l.Spec.Strategy.Spaces[t.Name].Form.Kind == strategy.HashTable
		}
	})
	return found
}

// newClasses emits the pass that counts the values of each row's tables. run lowers the statement.
// The rows are the n coordinates of level 0 from lo on.
func (a *twoPassResult) newClasses(lo, n ir.Expr, run func()) *rowClasses {
	l := a.out.Leaf
	c := &rowClasses{a: a, n: n, owner: ownerOf(l, l.Spec.Stmt, cin.Serial),
		exact: len(l.ResultVars) == 2 && copiesTable(l)}
	c.most = l.B.Alloc("row_most", tensor.Int64, n, true)
	var most *ir.Var
	a.rows = &rowChunks{lo, func(_, _ ir.Expr) {
		most = l.B.Declare("most", ir.Int(0))
		l.Tables = &space.Tables{Most: most}
	}, func(row, _ ir.Expr) { l.B.Store(c.most, row, most) }}
	vals := l.B.Array("vals", a.out.Op.Argument.Type)
	a.levels, a.out.Values = make([]growingLevel, a.out.Op.Order()), vals
	l.Tables = &space.Tables{Most: l.B.Var("most")}
	b := l.B.Within(run)
	rewrite.Strip(b, map[*ir.Array]bool{vals: true})
	rewrite.Tally(b, c.owner != cin.GPUThread)
	l.B.Append(b)
	a.rows, l.Tables = nil, nil
	c.findTop(c.values)
	return c
}

// values returns the most values that a table of a row gets.
func (c *rowClasses) values(row ir.Expr) ir.Expr { return ir.At(c.most, row) }

// stored returns the number of entries that the second pass stores in a row.
func (c *rowClasses) stored(row ir.Expr) ir.Expr {
	p := &c.a.passes.levels[len(c.a.passes.levels)-1]
	return ir.Minus(p.at(ir.Plus(row, ir.Int(1))), p.at(row))
}

// copiesTable reports whether the statement consists of one table, and loops that copy it to the
// result.
func copiesTable(l *scope.Leaf) bool {
	tables, others := 0, 0
	cin.Walk(l.Spec.Stmt, func(s cin.Stmt) {
		switch s := s.(type) {
		case *cin.Where:
			if HasTables(l, s) && cin.Copies(s.Consumer, cin.Target(s.Producer)) {
				tables++
			}
		case *cin.Assign:
			if l.Assigns(s) {
				others++
			}
		}
	})
	return tables == 1 && others == 1
}

// rowsEach is the number of rows that a thread looks at to find the largest table.
const rowsEach = 64

// findTop emits code that sets c.top. size returns the size of a row's tables.
func (c *rowClasses) findTop(size func(row ir.Expr) ir.Expr) {
	l := c.a.out.Leaf
	c.size = size
	sizes := l.B.Alloc("row_sizes", tensor.Int64, ir.Int(64), true)
	threads := l.B.Named("row_shares", ir.Over(ir.Plus(c.n, ir.Int(rowsEach-1)), ir.Int(rowsEach)))
	units.Spread(l, "row_share", ir.Int(0), threads, func(first ir.Expr) {
		most := l.B.Declare("most", ir.Int(0))
		l.B.Loop("row_turn", ir.Int(0), ir.Int(rowsEach), func(k *ir.Var) {
			row := l.B.Named("row", ir.Plus(first, ir.Times(k, threads)))
			l.B.When(ir.Less(row, c.n),
				func() { l.B.Set(most, ir.Greatest(most, size(row))) })
		})
		power, log := l.B.Declare("power", ir.Int(1)), l.B.Declare("power_log", ir.Int(0))
		l.B.While(ir.Less(power, most), func() {
			l.B.Set(power, ir.Times(power, ir.Int(2)))
			l.B.Incr(log, ir.Int(1))
		})
		had := l.B.Declare("had", ir.Int(0))
		l.B.Emit(&ir.Fetch{V: had, A: sizes, Index: log, X: ir.Int(1), Claim: true})
	})
	c.top = l.B.Declare("top", ir.Int(0))
	l.B.Loop("size_log", ir.Int(0), ir.Int(64), func(k *ir.Var) {
		l.B.When(ir.Less(ir.Int(0), ir.At(sizes, k)), func() { l.B.Set(c.top, k) })
	})
	l.B.Free(sizes)
}

// ownerOf returns the unit of the innermost loop around the statements that fill hash tables in s.
// unit is the unit of the innermost loop around s.
func ownerOf(l *scope.Leaf, s cin.Stmt, unit cin.Unit) cin.Unit {
	switch s := s.(type) {
	case *cin.Forall:
		if s.Unit.OnGPU() {
			unit = s.IterationUnit()
		}
		return ownerOf(l, s.Body, unit)
	case *cin.Seq:
		for _, x := range s.List {
			if HasTables(l, x) {
				return ownerOf(l, x, unit)
			}
		}
	}
	return unit
}

// each calls run for each class.
func (c *rowClasses) each(run func()) {
	l, shared := c.a.out.Leaf, filledTables
	switch {
	case c.a.counting:
		shared = countedTables
	case c.exact:
		c.findTop(c.stored)
	}
	class := func(lo, hi, slots ir.Expr, warps int64) {
		c.lo, c.hi = lo, hi
		l.Tables = &space.Tables{Slots: slots, Room: hi}
		b := l.B.Within(run)
		rewrite.RowsOfBlocks(b, warps)
		l.B.Append(b)
		l.Tables = nil
	}
	least, first := ir.Int(-1), int64(0)
	if c.owner != cin.GPUThread {
		small, middle := shared[0], shared[1]
		class(least, ir.Int(small.most), ir.Int(small.slots), 0)
		l.B.When(ir.AtMost(ir.Int(log2(small.most)), c.top), func() {
			class(ir.Int(small.most), ir.Int(middle.most), ir.Int(middle.slots), middleWarps)
		})
		least, first = ir.Int(middle.most), log2(middle.most)
	}
	most := l.B.Declare("table", ir.Int(1<<first))
	l.B.Loop("table_log", ir.Int(first), ir.Plus(c.top, ir.Int(1)), func(k *ir.Var) {
		lo := ir.Choose(ir.Equal(k, ir.Int(first)), least, ir.Over(most, ir.Int(2)))
		class(l.B.Named("table_least", lo), most, ir.Times(most, ir.Int(2)), largeWarps)
		l.B.Set(most, ir.Times(most, ir.Int(2)))
	})
}

// log2 returns the exponent of the smallest power of two that is at least n.
func log2(n int64) int64 { return int64(bits.Len64(uint64(n - 1))) }

// has returns the condition that the row with the given number is in the current class.
func (c *rowClasses) has(row ir.Expr) ir.Expr {
	n := c.a.out.Leaf.B.Named("most", c.size(row))
	return ir.Both(ir.Less(c.lo, n), ir.AtMost(n, c.hi))
}

func (c *rowClasses) free(l *scope.Leaf) {
	if c != nil {
		l.B.Free(c.most)
	}
}

// TableRow is a row of the result that a hash table is copied to.
type TableRow struct{ a *twoPassResult }

// CopiedRow returns the row of the result that e is in, if the statement consumer only copies the
// table t to this row. Otherwise it returns nil.
func CopiedRow(how Assembly, consumer cin.Stmt, t *cin.Access, e *scope.Env) *TableRow {
	a, ok := how.(*twoPassResult)
	if k := e.Res.Level; !ok || k != a.out.Op.Order()-1 || !a.out.Op.Kind(k).HasPos() ||
		!copiesTo(a.out.Leaf, consumer, t, k) {
		return nil
	}
	return &TableRow{a}
}

// Counts reports whether only the number of entries is needed.
func (r *TableRow) Counts() bool { return r.a.counting }

// Copy emits code that appends the entries of a table to the row. It returns the condition that
// there are any.
func (r *TableRow) Copy(w *space.Shared, e *scope.Env) ir.Expr {
	a := r.a
	l, lev := a.out.Leaf, &a.levels[e.Res.Level]
	n, next := w.Len(), ir.Plus(e.Res.Pos, ir.Int(1))
	if lev.closed != nil {
		closePos(l, lev, next)
	}
	if !a.counting {
		from := l.B.Named(lev.count.Name+"_from", lev.count)
		w.Sort(n)
		w.Each(n, func(p *ir.Var, place, slot ir.Expr) {
			at := l.B.Named(lev.count.Name+"_at", ir.Plus(from, p))
			l.B.Store(lev.crd, at, ir.Plus(w.First(), place))
			l.B.Store(a.out.Values, at, ir.Convert(a.out.Values.Elem, w.Sum(slot)))
		})
	}
	l.B.Incr(lev.count, n)
	l.B.Store(lev.pos, next, lev.count)
	if lev.closed != nil {
		l.B.Set(lev.closed, next)
	}
	return ir.Less(ir.Int(0), n)
}
