package simt

import "distaff/codegen/ir"

// onDevice reports whether a GPU thread must run s, a statement outside Blocks. This is so if s has
// an ir.Store, or a loop that reads an array, and if s contains nothing that only the host can do.
func onDevice(s ir.Stmt) bool {
	can, wants := true, false
	ir.WalkRows(s, func(t ir.Stmt, r *ir.Row) {
		switch t := t.(type) {
		case *ir.Fill: // becomes a loop
		case *ir.Copy:
			can = can && t.Dst != t.Src
		case *ir.Store:
			wants = true
		case *ir.For:
			can = can && (t.Kind == ir.Serial || t.Kind == ir.Unrolled || t.Kind == ir.Vector)
			wants = wants || hasReads(t.Body)
		case *ir.While:
			wants = wants || hasReads(t)
		default:
			can = can && r.Traits&ir.OnThread != 0
		}
	})
	return can && wants
}

// hasReads reports whether an expression in s reads memory.
func hasReads(s ir.Stmt) bool {
	found := false
	ir.WalkExprs(s, func(x ir.Expr) { found = found || ir.ArrayOf(x) != nil })
	return found
}

// one appends a launch of statements that a single thread runs. The parameter run lists the
// statements. If they set variables of the host, the thread stores the new values in GPU memory,
// and the host then reads them from there.
func (h *host) one(run []ir.Stmt, out *ir.Block) {
	l := h.newLauncher(nil, ir.WarpSize)
	body, after := &ir.Block{}, &ir.Block{}
	var cells []ir.Stmt
	for _, v := range setOutside(run) {
		here, cell := h.names.newVar(v.Name+"_here", v.Typ), h.names.newArray(v.Name+"_cell", v.Typ)
		l.rewriter.vars[v] = here
		body.Append(&ir.Declare{V: here, Init: v})
		cells = append(cells, &ir.Store{A: cell, Index: ir.Int(0), X: here})
		out.Append(&ir.Alloc{A: cell, Len: ir.Int(1)})
		after.Append(&ir.Assign{V: v, X: ir.At(cell, ir.Int(0))})
		after.Append(&ir.Free{A: cell})
	}
	for _, s := range run {
		l.stmt(s, ofThread, body)
	}
	body.List = append(body.List, cells...)
	first := &ir.If{Cond: ir.Equal(l.ids.thread, ir.Int(0)), Then: body}
	l.roles[first] = oneThread
	l.finish(ir.Seq(first), ir.Int(1), out)
	out.List = append(out.List, after.List...)
}

// setOutside returns the variables that the statements set and do not declare, in the order of the
// first assignment.
func setOutside(run []ir.Stmt) []*ir.Var {
	own := map[*ir.Var]bool{}
	var vars []*ir.Var
	for _, s := range run {
		ir.WalkRows(s, func(_ ir.Stmt, r *ir.Row) {
			for v, role := range r.Vars() {
				if role == ir.Sets && !own[v] {
					vars = append(vars, v)
				}
				own[v] = own[v] || role != ir.Sums
			}
		})
	}
	return vars
}
