package distribute

import (
	"slices"
	"strings"

	"distaff/codegen/place"
	"distaff/codegen/schedule"
)

// maxIterations is the largest number of chunks of a variable, and the largest number of iterations
// on one rank. More are refused because each iteration runs a leaf, which takes at least
// microseconds.
const maxIterations = 1 << 24

// nest returns the nest that the commands describe. It must be called after all commands have been
// read. first is the first distribute command, which is named if the nest has too many iterations.
func (p *peeling) nest(first *schedule.Command) (*place.Nest, error) {
	p.lift()
	last := len(p.loops) - 1
	for last >= 0 && p.loops[last].by == nil {
		last--
	}
	p.peeled = p.loops[:last+1]
	for k, v := range p.peeled {
		if err := p.checkPeelable(k, v); err != nil {
			return nil, err
		}
	}
	n := &place.Nest{Machine: p.machine}
	for _, v := range p.peeled {
		n.Loops = append(n.Loops, place.Loop{Var: v.name, Dim: v.dim, Communicate: v.communicate})
	}
	for _, name := range p.statement.Loops {
		if p.stored != nil && slices.Contains(p.stored.vars, name) {
			continue
		}
		if err := p.chunks(n, name); err != nil {
			return nil, err
		}
	}
	if p.stored != nil {
		if err := p.positions(n); err != nil {
			return nil, err
		}
	}
	if err := p.checkIterations(n, first); err != nil {
		return nil, err
	}
	err := p.leaf(n)
	n.Scheduled = len(n.Leaf) > 0
	return n, err
}

// checkIterations returns an error if one rank would run more than maxIterations iterations of the
// nest. The error names the command first.
func (p *peeling) checkIterations(n *place.Nest, first *schedule.Command) error {
	extents := p.machine.Dims()
	runs := int64(1)
	for _, l := range n.Loops {
		here := l.N
		if l.Dim >= 0 {
			here = (l.N + extents[l.Dim] - 1) / extents[l.Dim]
		}
		if runs > maxIterations/here {
			return refuse(first,
				"distribute: the loops %s have more than %d iterations on one rank, and each "+
					"runs the leaf; want fewer chunks",
				strings.Join(names(p.peeled), ", "), maxIterations)
		}
		runs *= here
	}
	return nil
}

// checkPeelable refuses loop k, over v, if it cannot be peeled.
func (p *peeling) checkPeelable(k int, v *variable) error {
	if v.by == nil && (v.kind != outerOf || v.leaf != nil) {
		inner := p.peeled[k+1:][slices.IndexFunc(p.peeled[k+1:],
			func(w *variable) bool { return w.by != nil })]
		return refuse(inner.by,
			"%s: the loop over %s must be outside the loop over %s, which belongs to the "+
				"leaf; use reorder",
			inner.by.Name, inner.name, v.name)
	}
	at := v.by // the responsible command
	if at == nil {
		at = v.made
	}
	switch v.kind {
	case rotated:
		for _, w := range v.plus {
			if out := slices.Index(p.peeled, w); out < 0 || out > k {
				return refuse(v.by,
					"rotate: %s is rotated by %s, so the loop over %[2]s must be outside the "+
						"loop over %[1]s", v.turned.name, w.name)
			}
		}
		return p.checkCut(at, v.turned.from)
	case outerOf:
		return p.checkCut(at, v.from)
	}
	return p.checkWhole(at, v, v.name)
}

// checkCut refuses a cut that cannot be made outside the leaf.
func (p *peeling) checkCut(at *schedule.Command, x *cut) error {
	if c := x.of.leaf; c != nil {
		return refuse(at,
			"%s: %s must come after all commands that distribute, because it is for loops of "+
				"the leaf and names %s, which %s divides", at.Name, c,
			x.of.name, x.by)
	}
	return p.checkWhole(at, x.of, x.outer.name)
}

// checkWhole returns an error if a peeled loop cannot run over v or over chunks of v. name is the
// variable of this loop. Three kinds of v are allowed:
//
//   - a variable of the statement
//   - the variable within a chunk, if the loop over these chunks is also peeled
//   - the variable of a pos command (see ofPositions)
func (p *peeling) checkWhole(at *schedule.Command, v *variable, name string) error {
	switch v.kind {
	case ofLeafCommand:
		return p.ofPositions(at, v, name)
	case outerOf, rotated:
		return refuse(at,
			"%s: %s divides %s, which counts chunks; want to divide the variable inside the "+
				"chunks", at.Name,
			name, v.name)
	case innerOf:
		if !p.runsOver(v.from.outer) {
			return refuse(at,
				"%s: the loop over %s must be outside the loop over chunks of %s; use reorder",
				at.Name, name, v.from.outer.name)
		}
		return p.checkWhole(at, v.from.of, v.from.outer.name)
	}
	return nil
}

// loopOf returns the index of the peeled loop that runs over v or over a variable into which v was
// rotated. It returns -1 if there is none.
func (p *peeling) loopOf(v *variable) int {
	return slices.IndexFunc(p.peeled, func(l *variable) bool { return l == v || l.turned == v })
}

func (p *peeling) runsOver(v *variable) bool { return p.loopOf(v) >= 0 }
