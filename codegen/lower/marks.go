package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
)

// markSpace is a workspace with a value and a mark for every place of a box, of which most are used: in the end
// it goes over all marks. Nothing else is shared by what adds to different places, so that threads may fill it.
type markSpace struct {
	box
	spaceArrays
	vals, mark *ir.Array
	list       *ir.Array // over one variable, the coordinates that are marked
	rows       *rowList  // over several, entries are copied out by rows
	crd, sums  *ir.Array
	n          *ir.Var
}

func (l *lowerer) newMarkSpace(t *cin.Access) *markSpace {
	w := &markSpace{box: l.newBox(t), spaceArrays: newSpaceArrays(t.Name), rows: l.rowsIf(t, true)}
	w.vals, w.mark = l.newArray(t.Name+"_vals", l.spec.Compute), l.newArray(t.Name+"_mark", ir.Bool)
	crd := l.crdType(t.Vars[w.last()])
	array := func(a *ir.Array, zero bool) {
		l.pre.Append(&ir.Alloc{A: a, Len: w.places(), Zero: zero})
		l.post.Append(&ir.Free{A: a})
	}
	array(w.vals, true)
	array(w.mark, true)
	if w.rows == nil {
		w.list = l.newArray(t.Name+"_list", crd)
		array(w.list, false)
		return w
	}
	w.crd, w.sums = w.array(l, "crd", crd), w.array(l, "sums", l.spec.Compute)
	return w
}

func (w *markSpace) begin(l *lowerer) { w.n = l.declare(w.name+"_n", ir.Int(0)) }

func (w *markSpace) add(l *lowerer, a *cin.Access, x ir.Expr, e *env) {
	at := w.at(a, e)
	l.emit(&ir.Store{A: w.vals, Index: at, Accumulate: true, X: x})
	l.store(w.mark, at, ir.Truth(true))
}

// clear empties a place.
func (w *markSpace) clear(l *lowerer, at ir.Expr) {
	l.store(w.mark, at, ir.Truth(false))
	l.store(w.vals, at, ir.Zero(w.vals.Elem))
}

// each emits a loop over the coordinates of a row that begins at place from, and body for those that are marked.
func (w *markSpace) each(l *lowerer, from ir.Expr, body func(at, crd ir.Expr)) {
	last := w.last()
	c := l.newVar(w.name + "_c")
	l.emit(&ir.For{V: c, Lo: ir.Int(0), Hi: w.size(last), Step: 1, Body: l.within(func() {
		at := l.named(w.name+"_at", ir.Plus(from, c))
		l.when(ir.At(w.mark, at), func() { body(at, ir.Plus(w.lo[last], c)) })
	})})
}

func (w *markSpace) finish(l *lowerer) *operand {
	if w.rows == nil {
		w.each(l, ir.Int(0), func(_, crd ir.Expr) {
			l.store(w.list, w.n, crd)
			l.incr(w.n, ir.Int(1))
		})
		return l.listed(w.name, w.list, w.vals, w.lo[0], w.n)
	}
	places := l.newVar(w.name + "_place")
	l.emit(&ir.For{V: places, Lo: ir.Int(0), Hi: w.places(), Step: 1, Body: l.within(func() {
		l.when(ir.At(w.mark, places), func() { l.incr(w.n, ir.Int(1)) })
	})})
	for _, a := range []*ir.Array{w.crd, w.sums} {
		w.reserve(l, a, w.n)
	}
	p := l.declare(w.name+"_p", ir.Int(0))
	l.store(w.rows.pos, ir.Int(0), p)
	row := l.newVar(w.name + "_row")
	l.emit(&ir.For{V: row, Lo: ir.Int(0), Hi: w.box.rows(), Step: 1, Body: l.within(func() {
		from := l.named(w.name+"_from", ir.Times(row, w.size(w.last())))
		w.each(l, from, func(at, crd ir.Expr) {
			l.store(w.crd, p, crd)
			l.store(w.sums, p, ir.At(w.vals, at))
			l.incr(p, ir.Int(1))
			w.clear(l, at)
		})
		l.store(w.rows.pos, ir.Plus(row, ir.Int(1)), p)
	})})
	return w.rows.operand(l, w.crd, w.sums)
}

func (w *markSpace) end(l *lowerer) {
	if w.rows != nil {
		return
	}
	p := l.newVar(w.name + "_p")
	l.emit(&ir.For{V: p, Lo: ir.Int(0), Hi: w.n, Step: 1, Body: l.within(func() {
		w.clear(l, ir.Minus(ir.Coord(w.list, p), w.lo[0]))
	})})
}

// parallelSpace lowers a loop outside of all others whose iterations fill places of a workspace of their own: chunks of equal
// work run on threads.
func (l *lowerer) parallelSpace(f *cin.Forall, e *env, want bool) ir.Expr {
	chunks := l.chunks()
	var flags *ir.Array
	if want {
		flags = l.alloc(cin.Target(f).Name+"_some", ir.Bool, chunks, false)
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
	l.emit(&ir.For{V: c, Lo: ir.Int(0), Hi: chunks, Step: 1, Kind: ir.Parallel, Dynamic: true, Chunk: 1, Body: body})
	if !want {
		return some
	}
	any := ir.NewVar(l.fresh("some_"+f.Var), ir.Bool)
	l.emit(&ir.Declare{V: any, Init: ir.Truth(false)})
	k := l.newVar("chunk")
	l.emit(&ir.For{V: k, Lo: ir.Int(0), Hi: chunks, Step: 1, Body: l.within(func() { l.set(any, ir.Either(any, ir.At(flags, k))) })})
	l.emit(&ir.Free{A: flags})
	if never(some) {
		return some
	}
	return any
}
