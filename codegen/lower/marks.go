package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/io/tensor"
)

// markSpace is a workspace with a value and a mark for every place of a box. It is for boxes whose
// places are mostly used. At the end it visits all marks. Additions to different places share no
// other data, so several threads may fill it. The marks are then visited in parts. Each part first
// counts its entries.
type markSpace struct {
	box         box
	spaceArrays spaceArrays
	vals, mark  *ir.Array
	list        *ir.Array // for one variable: the marked coordinates
	rows        *rowList  // for several variables: entries are copied out by rows
	crd, sums   *ir.Array
	n           *ir.Var
	shared      bool // threads have filled it, outside of all loops, once
}

func (l *lowerer) newMarkSpace(t *cin.Access) *markSpace {
	w := &markSpace{box: l.newBox(t), spaceArrays: newSpaceArrays(t.Name), rows: l.rowsIf(t, true)}
	w.vals, w.mark = l.newArray(t.Name+"_vals", l.spec.Compute),
		l.newArray(t.Name+"_mark", tensor.Bool)
	crd := l.crdType(t.Vars[w.box.last()])
	array := func(a *ir.Array, zero bool) {
		l.pre.Append(&ir.Alloc{A: a, Len: w.box.places(), Zero: zero})
		l.post.Append(&ir.Free{A: a})
	}
	array(w.vals, true)
	array(w.mark, true)
	if w.rows == nil {
		w.list = l.newArray(t.Name+"_list", crd)
		array(w.list, false)
		return w
	}
	w.crd, w.sums = w.spaceArrays.array(l, "crd", crd), w.spaceArrays.array(l, "sums", l.spec.Compute)
	return w
}

func (w *markSpace) begin(l *lowerer) { w.n = l.declare(w.spaceArrays.name+"_n", ir.Int(0)) }

func (w *markSpace) add(l *lowerer, a *cin.Access, x ir.Expr, e *env) {
	at := w.box.at(a, e)
	l.emit(&ir.Store{A: w.vals, Index: at, Accumulate: true, X: x})
	l.store(w.mark, at, ir.Truth(true))
}

func (w *markSpace) finish(l *lowerer) *operand {
	// the units are coordinates, or rows of the given width
	units, width := w.box.size(0), ir.Expr(ir.Int(1))
	if w.rows != nil {
		units, width = w.box.rows(), w.box.size(w.box.last())
	}
	switch {
	case w.shared:
		w.inParts(l, units, width)
	case w.rows == nil:
		w.copyOut(l, ir.Int(0), units, w.n)
	default:
		w.count(l, ir.Int(0), w.box.places(), w.n)
		w.makeRoom(l)
		w.copyOut(l, ir.Int(0), units, l.declare(w.spaceArrays.name+"_p", ir.Int(0)))
	}
	if w.rows == nil {
		return l.listed(w.spaceArrays.name, w.list, w.vals, w.box.lo[0], w.n)
	}
	l.store(w.rows.pos, units, w.n)
	return w.rows.operand(l, w.crd, w.sums)
}

// inParts copies the marked entries out on threads. The entries of a part are stored after the
// entries of the parts before it.
func (w *markSpace) inParts(l *lowerer, units, width ir.Expr) {
	chunks := l.chunks()
	units, counts := l.named(w.spaceArrays.name+"_units", units),
		l.alloc(w.spaceArrays.name+"_counts", tensor.Int64, chunks, false)
	each := func(body func(c *ir.Var, from, to ir.Expr)) {
		c := l.newVar("chunk")
		at := func(c ir.Expr) ir.Expr { return ir.Over(ir.Times(units, c), chunks) }
		l.emit(&ir.For{V: c, Lo: ir.Int(0), Hi: chunks, Step: 1, Kind: ir.Parallel, Dynamic: true,
			Chunk: 1, Body: l.within(func() {
				body(c, l.named(w.spaceArrays.name+"_begin", at(c)),
					l.named(w.spaceArrays.name+"_end", at(ir.Plus(c, ir.Int(1)))))
			})})
	}
	each(func(c *ir.Var, from, to ir.Expr) {
		n := l.declare(w.spaceArrays.name+"_n", ir.Int(0))
		w.count(l, ir.Times(from, width), ir.Times(to, width), n)
		l.store(counts, c, n)
	})
	c := l.newVar("chunk")
	l.emit(&ir.For{V: c, Lo: ir.Int(0), Hi: chunks, Step: 1, Body: l.within(func() {
		n := l.named(w.spaceArrays.name+"_n", ir.At(counts, c))
		l.store(counts, c, w.n)
		l.incr(w.n, n)
	})})
	w.makeRoom(l)
	each(func(c *ir.Var, from, to ir.Expr) {
		w.copyOut(l, from, to, l.declare(w.spaceArrays.name+"_p", ir.At(counts, c)))
	})
	l.emit(&ir.Free{A: counts})
}

// count adds the number of marked places from lo to hi to n.
func (w *markSpace) count(l *lowerer, lo, hi ir.Expr, n *ir.Var) {
	place := l.newVar(w.spaceArrays.name + "_place")
	l.emit(&ir.For{V: place, Lo: lo, Hi: hi, Step: 1, Body: l.within(func() {
		l.when(ir.At(w.mark, place), func() { l.incr(n, ir.Int(1)) })
	})})
}

// makeRoom reserves capacity for all entries of rows.
func (w *markSpace) makeRoom(l *lowerer) {
	if w.rows != nil {
		w.spaceArrays.reserve(l, w.crd, w.n)
		w.spaceArrays.reserve(l, w.sums, w.n)
	}
}

// copyOut writes the marked entries of the coordinates, or rows, from lo to hi in order, starting
// at entry p.
func (w *markSpace) copyOut(l *lowerer, lo, hi ir.Expr, p *ir.Var) {
	last := w.box.last()
	if w.rows == nil {
		w.each(l, ir.Int(0), lo, hi, func(_, crd ir.Expr) {
			l.store(w.list, p, crd)
			l.incr(p, ir.Int(1))
		})
		return
	}
	row := l.newVar(w.spaceArrays.name + "_row")
	l.emit(&ir.For{V: row, Lo: lo, Hi: hi, Step: 1, Body: l.within(func() {
		l.store(w.rows.pos, row, p)
		w.each(l, l.named(w.spaceArrays.name+"_from", ir.Times(row, w.box.size(last))), ir.Int(0),
			w.box.size(last), func(at, crd ir.Expr) {
				l.store(w.crd, p, crd)
				l.store(w.sums, p, ir.At(w.vals, at))
				l.incr(p, ir.Int(1))
				if !w.shared {
					w.clear(l, at)
				}
			})
	})})
}

// each emits a loop over the coordinates from lo to hi of a row that begins at place from. body is
// called for the marked coordinates.
func (w *markSpace) each(l *lowerer, from, lo, hi ir.Expr, body func(at, crd ir.Expr)) {
	c := l.newVar(w.spaceArrays.name + "_c")
	l.emit(&ir.For{V: c, Lo: lo, Hi: hi, Step: 1, Body: l.within(func() {
		at := l.named(w.spaceArrays.name+"_at", ir.Plus(from, c))
		l.when(ir.At(w.mark, at), func() { body(at, ir.Plus(w.box.lo[w.box.last()], c)) })
	})})
}

// clear empties a place.
func (w *markSpace) clear(l *lowerer, at ir.Expr) {
	l.store(w.mark, at, ir.Truth(false))
	l.store(w.vals, at, ir.Zero(w.vals.Elem))
}

func (w *markSpace) end(l *lowerer) {
	if w.rows != nil || w.shared {
		return
	}
	p := l.newVar(w.spaceArrays.name + "_p")
	l.emit(&ir.For{V: p, Lo: ir.Int(0), Hi: w.n, Step: 1, Body: l.within(func() {
		w.clear(l, ir.Minus(ir.Coord(w.list, p), w.box.lo[0]))
	})})
}

// parallelSpace lowers a loop outside all other loops whose iterations fill different places of a
// workspace. Chunks of equal work run on threads.
func (l *lowerer) parallelSpace(f *cin.Forall, e *env, want bool) ir.Expr {
	if w, ok := l.made[cin.Target(f).Name].(*markSpace); ok {
		w.shared = len(e.coord) == 0
	}
	chunks := l.chunks()
	var flags *ir.Array
	if want {
		flags = l.alloc(cin.Target(f).Name+"_some", tensor.Bool, chunks, false)
	}
	w := l.work(f, e, chunks)
	some := ir.Expr(ir.Truth(false))
	c := l.newVar("chunk")
	body := l.inScope(func() {
		in := e.clone()
		in.ranges[f.Var] = w.chunk(f.Var, c)
		if some = l.serial(f, in, want); want {
			l.store(flags, c, some)
		}
	})
	l.emit(&ir.For{V: c, Lo: ir.Int(0), Hi: chunks, Step: 1, Kind: ir.Parallel, Dynamic: true,
		Chunk: 1, Body: body})
	if !want {
		return some
	}
	any := ir.NewVar(l.fresh("some_"+f.Var), tensor.Bool)
	l.emit(&ir.Declare{V: any, Init: ir.Truth(false)})
	k := l.newVar("chunk")
	l.emit(&ir.For{V: k, Lo: ir.Int(0), Hi: chunks, Step: 1,
		Body: l.within(func() { l.set(any, ir.Either(any, ir.At(flags, k))) })})
	l.emit(&ir.Free{A: flags})
	if never(some) {
		return some
	}
	return any
}
