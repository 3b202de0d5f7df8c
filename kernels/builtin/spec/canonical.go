package spec

import (
	"fmt"
	"slices"

	"distaff/codegen"
	"distaff/codegen/notation"
)

// Sizes of every dimension in requests for built-in leaves. Positions and coordinates below
// narrowSize fit 32 bits; wideSize needs 64 bits.
const (
	narrowSize = 1000
	wideSize   = 1 << 33
)

// Names maps the names in a statement to their canonical names.
type Names struct{ Tensors, Vars map[string]string }

// Canonical returns a request with canonical names, one thread and fixed sizes, so that requests
// that differ only in names and sizes become equal. Tensors become T0, T1, ... and variables become
// i0, i1, ..., in the order of their first use in the statement. The leaf becomes "leaf".
//
// The fixed sizes keep one fact about the request: whether a tensor has positions or coordinates of
// 8 bytes. The code for the fixed sizes is correct for all sizes, although not always the fastest.
func Canonical(r codegen.Request) (codegen.Request, Names) {
	n := Names{map[string]string{}, map[string]string{}}
	c := r
	c.Statement.Stmt = &notation.Stmt{LHS: n.access(r.Statement.Stmt.LHS),
		Accumulate: r.Statement.Stmt.Accumulate,
		RHS:        n.expr(r.Statement.Stmt.RHS)}
	op := " = "
	if c.Statement.Stmt.Accumulate {
		op = " += "
	}
	c.Statement.Stmt.Src = notation.ExprString(c.Statement.Stmt.LHS) + op +
		notation.ExprString(c.Statement.Stmt.RHS)
	c.Ask.Name, c.Target.Threads, c.Ask.Trace = "leaf", 1, nil
	c.Tensors.All, c.Tensors.Sizes = map[string]codegen.Tensor{}, map[string]int64{}
	c.Tensors.Exact = nil
	size, entries := int64(narrowSize), int64(narrowSize)
	for _, t := range r.Tensors.All {
		if slices.Contains(t.PosWidth, 8) || slices.Contains(t.CrdWidth, 8) {
			size, entries = wideSize, -1
		}
	}
	for from, to := range n.Tensors {
		if t, ok := r.Tensors.All[from]; ok {
			t.NNZ, t.Counts, t.Dims = entries, nil, slices.Repeat([]int64{size}, len(t.Dims))
			c.Tensors.All[to] = t
		}
	}
	for from, to := range n.Vars {
		if _, ok := r.Tensors.Sizes[from]; ok {
			c.Tensors.Sizes[to] = size
		}
	}
	return c, n
}

func give(names map[string]string, prefix, name string) string {
	if _, ok := names[name]; !ok {
		names[name] = fmt.Sprint(prefix, len(names))
	}
	return names[name]
}

func (n Names) list(vars []string) []string {
	out := make([]string, len(vars))
	for i, v := range vars {
		out[i] = give(n.Vars, "i", v)
	}
	return out
}

func (n Names) access(a *notation.Access) *notation.Access {
	return &notation.Access{Name: give(n.Tensors, "T", a.Name), Vars: n.list(a.Vars),
		VarAt: make([]notation.Span, len(a.Vars))}
}

func (n Names) expr(e notation.Expr) notation.Expr {
	switch e := e.(type) {
	case *notation.Access:
		return n.access(e)
	case *notation.Number:
		c := *e
		c.At = notation.Span{}
		return &c
	case *notation.Neg:
		return &notation.Neg{X: n.expr(e.X)}
	case *notation.Binary:
		x := n.expr(e.X) // names are assigned from left to right
		return &notation.Binary{Op: e.Op, X: x, Y: n.expr(e.Y)}
	case *notation.Call:
		c := e.MapArgs(n.expr)
		c.At = notation.Span{}
		return c
	case *notation.Sum:
		vars := n.list(e.Vars)
		return &notation.Sum{Op: e.Op, Vars: vars, VarAt: make([]notation.Span, len(vars)), X: n.expr(e.X)}
	}
	panic(fmt.Sprintf("BUG: spec: a %T in a parsed statement", e))
}
