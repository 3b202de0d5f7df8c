package reference

import (
	"context"
	"fmt"
	"slices"

	"distaff/codegen/notation"
	"distaff/io/tensor"
)

// Problem is a statement with its data.
type Problem struct {
	Normal *notation.Normal
	// Sizes has the size of each variable of the normal form.
	Sizes map[string]int64
	// Compute is the type in which the statement is evaluated, and Result the type in which its
	// values are stored (notation.InferTypes).
	Compute, Result tensor.Type
	// Tensors has a finished tensor for each tensor on the right-hand side. A += may also have one
	// for its left-hand side, the old value.
	Tensors map[string]*Tensor

	slotSizes []int64 // the size of each variable
}

// Evaluator evaluates one Problem. Only one goroutine may use it at a time.
type Evaluator struct {
	p     Problem
	terms []*term
	sums  [][]int // the variables that each term sums
	left  []int   // the variables of the left-hand side
	env   []int64
	at    []*plan // for At: the plan of each term if the whole left-hand side is known
	inRow *row    // nil until a row is computed
	pulse *pulse
}

// New prepares the evaluation of a problem. It panics with BUG if the problem is not complete: a
// tensor is missing, unfinished or of a wrong size.
func New(p Problem) *Evaluator {
	e := &Evaluator{p: p, pulse: &pulse{}}
	slots := map[string]int{}
	for k, v := range p.Normal.Vars {
		size, ok := p.Sizes[v]
		if !ok {
			panic("BUG: reference: no size of " + v)
		}
		slots[v] = k
		e.p.slotSizes = append(e.p.slotSizes, size)
	}
	accesses := p.Normal.Accesses()
	terms := p.Normal.Terms
	if p.Normal.Accumulate && p.Tensors[p.Normal.LHS.Name] != nil {
		accesses = append(accesses, p.Normal.LHS)
		terms = append([]*notation.Term{{Factors: []notation.Factor{p.Normal.LHS}}}, terms...)
	}
	for _, a := range accesses {
		e.checkTensor(a)
	}
	b := &builder{p: &e.p, slots: slots, pulse: e.pulse}
	e.env = make([]int64, len(p.Normal.Vars))
	for _, v := range p.Normal.LHS.Vars {
		e.left = append(e.left, slots[v])
	}
	for _, t := range terms {
		tm := b.term(t)
		var open []int
		for _, v := range t.Sum {
			open = append(open, slots[v])
		}
		if slices.ContainsFunc(slices.Concat(e.left, open),
			func(s int) bool { return e.p.slotSizes[s] == 0 }) {
			continue // an empty index space, whose other variables may be huge
		}
		e.terms = append(e.terms, tm)
		e.sums = append(e.sums, open)
		e.at = append(e.at, nil)
	}
	return e
}

func (e *Evaluator) checkTensor(a *notation.Access) {
	t := e.p.Tensors[a.Name]
	switch {
	case t == nil:
		panic("BUG: reference: no tensor " + a.Name)
	case !t.finished:
		panic("BUG: reference: tensor " + a.Name + " is not finished")
	case len(t.Dims) != len(a.Vars):
		panic(fmt.Sprintf("BUG: reference: %s has %d modes", a, len(t.Dims)))
	case len(t.Dims) == 0 && t.n != 1:
		panic("BUG: reference: scalar " + a.Name + " without its value")
	}
	for m, v := range a.Vars {
		if t.Dims[m] != e.p.Sizes[v] {
			panic(fmt.Sprintf("BUG: reference: mode %d of %s has size %d, %s %d", m, a.Name, t.Dims[m], v,
				e.p.Sizes[v]))
		}
	}
}

// At evaluates the statement at one coordinate of the left-hand side. For an integer division by
// zero it returns a *diag.Error with exit code 3.
func (e *Evaluator) At(coord []int64) (Point, error) {
	for m, s := range e.left {
		e.env[s] = coord[m]
	}
	var acc accumulator
	for k, t := range e.terms {
		if e.at[k] == nil {
			e.at[k] = newPlan(t, e.sums[k], e.p.slotSizes, e.pulse)
		}
		err := e.at[k].each(e.env, func() error { return acc.addTerm(e.p.Compute, t, e.env) })
		if err != nil {
			return Point{}, err
		}
	}
	return e.point(&acc), nil
}

func (e *Evaluator) point(a *accumulator) Point {
	x := a.num()
	p := Point{Present: a.present, Mag: x.mag, Ops: x.ops, Exact: x.exact || !a.present,
		loose: x.flags&loose != 0, open: x.flags&open != 0, compute: e.p.Compute, result: e.p.Result}
	p.Value = Convert(x.v, e.p.Compute, e.p.Result)
	p.Overflow = e.p.Compute.HoldsInts() && p.Value.I != x.v.I
	// A sum may be accumulated in the result itself.
	p.Exact = p.Exact && (e.p.Compute.HoldsInts() || x.mag <= e.p.Result.ExactMax() || !a.present)
	return p
}

// Each calls f for every present coordinate in ascending order. f must not keep coord. Each stops
// at an integer division by zero, an error of f, or the end of the context, and returns the error.
//
// It works row by row: a row has one coordinate of the left-hand side's first mode, and its points
// are kept in memory until the row is complete.
func (e *Evaluator) Each(ctx context.Context, f func(coord []int64, p Point) error) error {
	t := &Team{members: []*Evaluator{e}}
	return t.Each(ctx, func(lo, hi int64) (Visitor, error) { return visitor(f), nil })
}

// visitor makes a function a Visitor.
type visitor func(coord []int64, p Point) error

func (f visitor) Point(coord []int64, p Point) error { return f(coord, p) }
func (f visitor) Close() error                       { return nil }

// All evaluates the whole statement. It returns the result tensor and the point of each of its
// entries. The result is held in memory, with about 100 bytes for each entry.
func (e *Evaluator) All(ctx context.Context) (*Tensor, []Point, error) {
	dims := make([]int64, len(e.left))
	for m, s := range e.left {
		dims[m] = e.p.slotSizes[s]
	}
	out := NewTensor(e.p.Result, dims...)
	var points []Point
	err := e.Each(ctx, func(coord []int64, p Point) error {
		out.Append(coord, p.Value)
		points = append(points, p)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return out.Finish(), points, nil
}

// candidates returns the coordinates of the result's first mode that may be present, in ascending
// order. A term is absent where an access that it needs has no entry. So the candidates of a term
// are the coordinates of one such access. ok is false if a term needs no access with the first
// mode's variable. Any coordinate may then be present.
func (e *Evaluator) candidates() (rows []int64, ok bool) {
	first := e.left[0]
	for _, t := range e.terms {
		var best []int64
		for _, a := range t.needs {
			m := slices.Index(a.slots, first)
			if m >= 0 && (best == nil || a.t.Len() < len(best)) {
				best = append([]int64{}, a.t.Coords[m]...)
			}
		}
		if best == nil {
			return nil, false
		}
		rows = append(rows, best...)
	}
	slices.Sort(rows)
	return slices.Compact(rows), true
}
