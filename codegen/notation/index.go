package notation

import (
	"math"
	"slices"

	"distaff/codegen/diag"
)

// Resolve returns s with a Coordinate in place of each bare name that is an index variable of the
// statement. A name is an index variable if it is the index of an access, if a sum() binds it, or
// if it is a bare name inside an index. A statement OP= becomes a statement with =.
func Resolve(s *Stmt) *Stmt {
	vars := map[string]bool{}
	note := func(a *Access) {
		for m, v := range a.Vars {
			if v != "" {
				vars[v] = true
				continue
			}
			Walk(a.Index[m], func(e Expr) bool {
				if x, ok := e.(*Access); ok && len(x.Vars) == 0 {
					vars[x.Name] = true
				}
				return true
			})
		}
	}
	for _, a := range append(s.Accesses(), s.LHS) {
		note(a)
	}
	Walk(s.RHS, func(e Expr) bool {
		if x, ok := e.(*Sum); ok {
			for _, v := range x.Vars {
				vars[v] = true
			}
		}
		return true
	})
	out := s.Map(func(a *Access) Expr {
		if len(a.Vars) == 0 && vars[a.Name] && a.At.End == a.At.Pos+len(a.Name) {
			return &Coordinate{Var: a.Name, At: a.At}
		}
		return a
	})
	if out.update != "" {
		out.RHS, out.update = updated(out, out.update), ""
	}
	return out
}

// Map returns a copy of s with f(a) in place of each access a of the right side and of the indices
// of both sides.
func (s *Stmt) Map(f func(*Access) Expr) *Stmt {
	out := *s
	out.LHS, out.RHS = mapIndices(s.LHS, f), MapExpr(s.RHS, f)
	return &out
}

// MapExpr returns a copy of e, an expression of a syntax tree, with f(a) in place of each access a,
// also inside indices.
func MapExpr(e Expr, f func(*Access) Expr) Expr {
	switch e := e.(type) {
	case *Access:
		return f(mapIndices(e, f))
	case *Neg:
		return &Neg{X: MapExpr(e.X, f), At: e.At}
	case *Binary:
		return &Binary{Op: e.Op, X: MapExpr(e.X, f), Y: MapExpr(e.Y, f)}
	case *Sum:
		c := *e
		c.X = MapExpr(e.X, f)
		return &c
	case *Call:
		return e.MapArgs(func(x Expr) Expr { return MapExpr(x, f) })
	}
	return e
}

// mapIndices returns a with f(x) in place of each access x inside its indices.
func mapIndices(a *Access, f func(*Access) Expr) *Access {
	if a.Index == nil {
		return a
	}
	c := *a
	c.Index = slices.Clone(a.Index)
	for m, x := range c.Index {
		if x != nil {
			c.Index[m] = MapExpr(x, f)
		}
	}
	return &c
}

// affine is an index: the sum of c and coef[k] times the coordinate of vars[k]. If gather is not
// nil, the index is the value of this access instead. The coefficients of i-i and of 0*i are 0: the
// index does not depend on i, but its term has i, and sums over i if the left side lacks i.
type affine struct {
	vars   []string
	coef   []int64
	c      int64
	gather *Access
}

// maxIndex is the largest absolute value of a number in an index.
const maxIndex = 1 << 61

// affineOf returns the affine form of an index of access a. src is the text of the statement.
func affineOf(src string, e Expr) (*affine, error) {
	if a, ok := e.(*Access); ok && len(a.Vars) > 0 {
		return &affine{gather: a}, nil
	}
	f := &affine{}
	if err := f.add(src, e, 1); err != nil {
		return nil, err
	}
	return f, nil
}

// add adds by times e to the form.
func (f *affine) add(src string, e Expr, by int64) error {
	wrong := func(want string) error {
		at := e.Span()
		return diag.At(diag.BadIndex, src, at.Pos, at.End, "got %s in an index, want %s",
			ExprString(e), want)
	}
	const form = "a sum of index variables times integers, as in 2*i+1, or one access, as in p(i)"
	switch e := e.(type) {
	case *Number:
		if !e.IsInt {
			return wrong("an integer")
		}
		return f.plus(&f.c, e.Int, by, wrong)
	case *Coordinate:
		k := slices.Index(f.vars, e.Var)
		if k < 0 {
			k = len(f.vars)
			f.vars, f.coef = append(f.vars, e.Var), append(f.coef, 0)
		}
		return f.plus(&f.coef[k], 1, by, wrong)
	case *Neg:
		return f.add(src, e.X, -by)
	case *Binary:
		switch e.Op {
		case '+', '-':
			if err := f.add(src, e.X, by); err != nil {
				return err
			}
			if e.Op == '-' {
				by = -by
			}
			return f.add(src, e.Y, by)
		case '*':
			for _, side := range [][2]Expr{{e.X, e.Y}, {e.Y, e.X}} {
				n := &affine{}
				if n.add(src, side[0], 1) != nil || len(n.vars) > 0 {
					continue
				}
				scaled := int64(0)
				if err := f.plus(&scaled, n.c, by, wrong); err != nil {
					return err
				}
				return f.add(src, side[1], scaled)
			}
		}
	}
	return wrong(form)
}

// plus adds x times by to *to. It returns an error if the numbers are too large.
func (f *affine) plus(to *int64, x, by int64, wrong func(string) error) error {
	if math.Abs(float64(*to)+float64(x)*float64(by)) > maxIndex {
		return wrong("numbers up to 2^61")
	}
	*to += x * by
	return nil
}

// checkIndices checks the indices of access a that are not variables.
func (c *checker) checkIndices(a *Access) {
	for m, x := range a.Index {
		if x == nil || c.err != nil {
			continue
		}
		f, err := affineOf(c.s.Src, x)
		if err != nil {
			c.err = err
			return
		}
		Walk(x, func(e Expr) bool {
			switch e := e.(type) {
			case *Coordinate:
				c.variable(e.Var, []Span{e.At}, 0, a.At)
			case *Access:
				c.use(e)
			}
			return true
		})
		if f.gather != nil {
			c.checkGather(a, m, f.gather)
		}
	}
}

// checkGather refuses index m of access a, which is the value of access p.
func (c *checker) checkGather(a *Access, m int, p *Access) {
	c.err = c.at(diag.BadIndex, a.VarAt, m, a.At,
		"got the values of %s as an index of %s, want a sum of index variables times integers, as in "+
			"2*i+1: indices cannot yet be values of tensors", p, a.Name)
}

// left checks the indices of the left side. The variables of an index may be variables of the left
// side by themselves too, but must not be in another index.
func (c *checker) left() {
	in := map[string]int{}
	plain := map[string]bool{}
	for _, v := range c.s.LHS.Vars {
		plain[v] = true
	}
	for m, x := range c.s.LHS.Index {
		if x == nil || c.err != nil {
			continue
		}
		if c.s.LHS.Outside[m] {
			c.err = c.at(diag.BadIndex, c.s.LHS.VarAt, m, c.s.LHS.At,
				"got ~ on the left side, want an index that is in range")
			return
		}
		for _, v := range FreeVars(x) {
			if n, ok := in[v]; ok && n != m && !plain[v] {
				c.err = c.at(diag.LeftRepeat, c.s.LHS.VarAt, m, c.s.LHS.At, "got variable %s in two "+
					"indices of the left side, want it in one, or alone as a further index, as in "+
					"%s(%s,%[1]s+1)", v, c.s.LHS.Name, v)
				return
			}
			in[v] = m
		}
	}
}

// AssignsPart reports whether the statement assigns a part of the left tensor, and the rest keeps
// its old values: an index of the left side is not a variable, or a variable is two indices.
func (s *Stmt) AssignsPart() bool { return s.New != nil || s.LHS.Index != nil || repeats(s.LHS) }

// KeepsOld reports whether the result depends on the old values of the left tensor, if there are
// any, although the right side may not read them.
func (s *Stmt) KeepsOld() bool { return s.Accumulate || s.AssignsPart() }

// repeats reports whether a variable is the index of two modes.
func repeats(a *Access) bool {
	for m, v := range a.Vars {
		if v != "" && slices.Contains(a.Vars[:m], v) {
			return true
		}
	}
	return false
}
