package oracle

import (
	"context"
	"fmt"

	"distaff/codegen/algebra"
	"distaff/codegen/diag"
	"distaff/codegen/notation"
	"distaff/codegen/reference"
	"distaff/io/tensor"
)

// bruteEngine is an engine that evaluates cases of float64 or int64 with brute.
type bruteEngine struct{}

func (bruteEngine) Name() string { return "brute" }

func (bruteEngine) Run(_ context.Context, p *Prepared) (*Output, error) {
	b := &brute{sizes: map[string]int64{}, tensors: map[string]map[string]float64{},
		integer: p.Compute.HoldsInts()}
	for _, v := range p.Normal.Vars {
		// In these cases all variables with the same name have the same size.
		name := v
		if user, ok := p.Normal.Source[v]; ok {
			name = user
		}
		b.sizes[name] = p.Sizes.Vars[v]
	}
	for _, t := range p.Case.Tensors {
		b.tensors[t.Name] = map[string]float64{}
		if !t.Input {
			continue
		}
		r := t.Reference()
		for k := range r.Len() {
			coord := make([]int64, len(t.Dims))
			r.Coord(k, coord)
			b.tensors[t.Name][fmt.Sprint(coord)] = float64(r.Value(k).I) + real(r.Value(k).C)
		}
	}
	if p.old != "" {
		b.tensors[p.Source.LHS.Name] = b.tensors[p.old]
	}
	cells := b.run(p.Source)
	if b.err {
		return nil, &diag.Error{Exit: diag.ExitData, Msg: "division by zero"}
	}
	out := &Output{Dense: true}
	left := p.Case.Tensors[0]
	var coords [][]int64
	for key := range cells {
		coord := make([]int64, len(left.Dims))
		parseCoord(key, coord)
		coords = append(coords, coord)
	}
	for _, c := range storedCoords(left.Format, left.Dims, coords) {
		v := cells[fmt.Sprint(c)]
		value := reference.Float(v)
		if p.Result.HoldsInts() {
			value = reference.Int(int64(v))
		}
		out.Entries = append(out.Entries, Entry{c, value})
	}
	out.Dense = false
	return out, nil
}

func parseCoord(key string, coord []int64) {
	rest := key[1:]
	for m := range coord {
		fmt.Sscanf(rest, "%d", &coord[m])
		rest = rest[len(fmt.Sprint(coord[m]))+1:]
	}
}

// brute is a second evaluator, which tests the reference evaluator. It evaluates the syntax tree at
// every point of the dense space, with int64 or float64 as exact numbers. It expands the statement
// to products by choosing one operand of every + and - in all possible ways. It sums each product
// over the product's variables that the left side lacks.
type brute struct {
	sizes   map[string]int64
	tensors map[string]map[string]float64 // the values by name and coordinate, as in "[1 2]"
	integer bool
	err     bool
}

type cell struct {
	v   float64
	ok  bool
	err bool // divided by zero; counts only if ok
}

// run returns the values at the present coordinates.
func (b *brute) run(s *notation.Stmt) map[string]float64 {
	out := map[string]float64{}
	if s.KeepsOld() {
		for k, v := range b.tensors[s.LHS.Name] {
			out[k] = v
		}
	}
	left, vars := map[string]bool{}, s.LeftVars()
	for _, v := range vars {
		left[v] = true
	}
	if !s.Accumulate { // the places that are assigned lose their old values
		b.points(vars, map[string]int64{}, func(env map[string]int64) { delete(out, b.at(s.LHS, env)) })
	}
	for _, choice := range choices(s.RHS) {
		var summed []string
		for _, v := range notation.FreeVars(choice) {
			if !left[v] {
				summed = append(summed, v)
			}
		}
		b.points(append(append([]string{}, vars...), summed...), map[string]int64{},
			func(env map[string]int64) {
				if c := b.eval(choice, env); c.ok {
					b.err = b.err || c.err
					out[b.at(s.LHS, env)] += c.v
				}
			})
	}
	return out
}

// at returns the coordinates of an access as text.
func (b *brute) at(a *notation.Access, env map[string]int64) string {
	coord := make([]int64, len(a.Vars))
	for m, v := range a.Vars {
		if coord[m] = env[v]; v == "" {
			coord[m] = int64(b.eval(a.Index[m], env).v)
		}
	}
	return fmt.Sprint(coord)
}

func (b *brute) points(vars []string, env map[string]int64, f func(map[string]int64)) {
	if len(vars) == 0 {
		f(env)
		return
	}
	old, had := env[vars[0]]
	for c := int64(0); c < b.sizes[vars[0]]; c++ {
		env[vars[0]] = c
		b.points(vars[1:], env, f)
	}
	if delete(env, vars[0]); had {
		env[vars[0]] = old
	}
}

// choices returns the expressions without + and - whose sum is e. Quotients are not expanded.
func choices(e notation.Expr) (out []notation.Expr) {
	switch e := e.(type) {
	case *notation.Neg:
		for _, x := range choices(e.X) {
			out = append(out, &notation.Neg{X: x})
		}
		return out
	case *notation.Sum:
		if !e.Op.IsSum() || e.Op != nil && e.Op.Each != nil {
			return []notation.Expr{e}
		}
		for _, x := range choices(e.X) {
			out = append(out, &notation.Sum{Op: e.Op, Vars: e.Vars, X: x})
		}
		return out
	case *notation.Binary:
		switch e.Op {
		case '+':
			return append(choices(e.X), choices(e.Y)...)
		case '-':
			return append(choices(e.X), choices(&notation.Neg{X: e.Y})...)
		case '*':
			for _, x := range choices(e.X) {
				for _, y := range choices(e.Y) {
					out = append(out, &notation.Binary{Op: '*', X: x, Y: y})
				}
			}
			return out
		}
	}
	return []notation.Expr{e}
}

// reduce evaluates a reduction that is not a plain sum. Absent values count as zeros.
func (b *brute) reduce(e *notation.Sum, env map[string]int64) cell {
	typ := tensor.Float64
	if b.integer {
		typ = tensor.Int64
	}
	start := e.Op.Start(typ)
	total, points := cell{v: real(start.C)}, 0
	if b.integer {
		total.v = float64(start.I)
	}
	b.points(e.Vars, env, func(env map[string]int64) {
		c := b.eval(e.X, env)
		if !c.ok {
			c = cell{}
		}
		if e.Op.Each != nil {
			c.v = e.Op.Each.Value(c.v, 0)
		}
		switch points++; {
		case e.Op.IsSum():
			total.v += c.v
		case e.Op.Stored == e.Op && !c.ok:
			points--
		case points == 1:
			total.v = c.v
		default:
			total.v = e.Op.Combine.Value(total.v, c.v)
		}
		total.ok, total.err = total.ok || c.ok, total.err || c.err
	})
	total.ok = total.ok || points == 0 && !e.Op.IsSum() || e.Op.Stored == e.Op
	return total
}

func (b *brute) eval(e notation.Expr, env map[string]int64) cell {
	switch e := e.(type) {
	case *notation.Number:
		return cell{v: e.Float, ok: true}
	case *notation.Coordinate:
		return cell{v: float64(env[e.Var]), ok: true}
	case *notation.Access:
		v, ok := b.tensors[e.Name][b.at(e, env)]
		return cell{v: v, ok: ok || len(e.Vars) == 0}
	case *notation.Neg:
		c := b.eval(e.X, env)
		if c.ok { // absent values are +0, also after a minus sign
			c.v = -c.v
		}
		return c
	case *notation.Sum:
		if e.Op != nil && e.Op != algebra.Sum {
			return b.reduce(e, env)
		}
		total := cell{}
		b.points(e.Vars, env, func(env map[string]int64) {
			if c := b.eval(e.X, env); c.ok {
				total = cell{total.v + c.v, true, total.err || c.err}
			}
		})
		return total
	case *notation.Call:
		if x := b.eval(e.Args[0], env); e.Func.Fills && x.ok {
			return x
		} else if e.Func.Fills {
			return b.eval(e.Args[1], env)
		}
		if e.Func.NeedsAll {
			x, y := b.eval(e.Args[0], env), b.eval(e.Args[1], env)
			if !x.ok || !y.ok {
				return cell{}
			}
			return cell{x.v + y.v, true, x.err || y.err}
		}
		c := cell{ok: e.Func.Value(0, 0) != 0}
		var args [2]float64
		for k, x := range e.Args {
			y := b.eval(x, env)
			if y.ok {
				c.ok, args[k] = true, y.v
			}
			c.err = c.err || y.ok && y.err
		}
		c.v = e.Func.Value(args[0], args[1])
		return c
	case *notation.Binary:
		x, y := b.eval(e.X, env), b.eval(e.Y, env)
		switch e.Op {
		case '+', '-':
			if e.Op == '-' {
				y.v = -y.v
			}
			return cell{x.v + y.v, x.ok || y.ok, x.err || y.err}
		case '*':
			if !x.ok || !y.ok {
				return cell{}
			}
			return cell{x.v * y.v, true, x.err || y.err}
		}
		if !x.ok {
			return cell{}
		}
		if b.integer {
			if y.v == 0 || x.err || y.err {
				return cell{0, true, true}
			}
			return cell{float64(int64(x.v) / int64(y.v)), true, false}
		}
		return cell{v: x.v / y.v, ok: true}
	}
	panic("unknown expression")
}
