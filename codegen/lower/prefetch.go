package lower

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
)

// Rows of a dense operand that a sparse level's coordinates pick are fetched
// prefetchAhead entries before their turn, where the operand, of at least
// Spec.FarBytes, does not stay in a cache; at most prefetchLines cache lines of
// each.
const (
	prefetchAhead = 16
	prefetchLines = 8
	cacheLine     = 64
)

// MapAhead is how far behind the last position the map of a result that is added
// to is read.
const MapAhead = prefetchAhead

// prefetch emits, at the head of a loop over a sparse operand's entries, the
// prefetching of the rows that a later iteration reads.
func (l *lowerer) prefetch(p *loop, it *iter) {
	op := it.cur.op
	if op.rootLen != nil || it.cur.level != op.order()-1 || it.padded {
		return
	}
	var done []string
	var fetch []func(next ir.Expr)
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
		if float64(l.spec.Sizes[p.v()])*float64(l.spec.Sizes[v])*float64(size) < float64(l.spec.FarBytes) {
			return
		}
		done = append(done, key)
		s := l.span(p.e, v)
		width := l.spec.Sizes[v]
		if s.width > 0 {
			width = s.width
		}
		fetch = append(fetch, func(next ir.Expr) {
			row := ir.Minus(ir.Times(ir.Plus(c.base, next), c.op.size(k+1)), c.op.offset(k+1))
			start := l.named(c.op.prefix()+"_next", ir.Plus(row, s.lo))
			for x := int64(0); x < min(width, prefetchLines*cacheLine/size); x += cacheLine / size {
				l.emit(&ir.Prefetch{A: c.op.vals(), Index: ir.Plus(start, ir.Int(x))})
			}
		})
	})
	if len(fetch) == 0 {
		return
	}
	ahead := ir.Plus(it.p, ir.Int(prefetchAhead))
	l.when(ir.Less(ahead, op.nnz()), func() {
		next := l.named(p.v()+"_next", it.at(ahead))
		for _, f := range fetch {
			f(next)
		}
	})
}
