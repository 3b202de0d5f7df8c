package lower

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
)

// At most prefetchLines cache lines of a row are fetched ahead.
const (
	prefetchLines = 8
	cacheLine     = 64
)

// MapAhead is how far behind the last position the map of a result that is added
// to is read.
const MapAhead = 16

// prefetch emits, at the head of a loop over a sparse operand's entries, the
// prefetching of the rows that a later iteration reads.
func (l *lowerer) prefetch(p *loop, it *iter) {
	op := it.cur.op
	if op.rootLen != nil || it.cur.level != op.order()-1 || it.padded {
		return
	}
	var done []string
	fetch := map[int64][]func(next ir.Expr){} // by how far ahead
	var order []int64
	cin.Accesses(p.f.Body, func(a *cin.Access) {
		key := a.Key()
		c := p.e.cur[key]
		if c == nil || slices.Contains(done, key) || c.base == nil || !always(c.pres) {
			return
		}
		k := c.op.order() - 2
		if c.level != k || c.next() != p.v() || !c.op.caps(k+1).Locate || c.op.Arg < 0 {
			return
		}
		v := c.vars[k+1]
		if _, bound := p.e.coord[v]; bound || v == p.v() {
			return
		}
		size := c.op.Type.Size()
		n := l.spec.Strategy.Ahead(key, p.v())
		if n == 0 {
			return
		}
		done = append(done, key)
		s := l.rangeOf(p.e, v)
		width := l.spec.Sizes[v]
		if s.width > 0 {
			width = s.width
		}
		if fetch[n] == nil {
			order = append(order, n)
		}
		fetch[n] = append(fetch[n], func(next ir.Expr) {
			row := ir.Minus(ir.Times(ir.Plus(c.base, next), c.op.size(k+1)), c.op.offset(k+1))
			start := l.named(c.op.prefix()+"_next", ir.Plus(row, s.lo))
			for x := int64(0); x < min(width, prefetchLines*cacheLine/size); x += cacheLine / size {
				l.emit(&ir.Prefetch{A: c.op.vals(), Index: ir.Plus(start, ir.Int(x))})
			}
		})
	})
	for _, n := range order {
		ahead := ir.Plus(it.p, ir.Int(n))
		l.when(ir.Less(ahead, op.nnz()), func() {
			next := l.named(p.v()+"_next", it.at(ahead))
			for _, f := range fetch[n] {
				f(next)
			}
		})
	}
}
