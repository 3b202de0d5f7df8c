package program

import (
	"cmp"
	"fmt"

	"distaff/codegen/diag"
	"distaff/codegen/notation"
	"distaff/io/tensor"
	"distaff/spmd/input"
)

// given returns the statement's text with what the program knows of its tensors: formats, types,
// sizes and inputs.
func (s *Statement) given() (*input.Given, error) {
	p := s.p
	stmt, err := notation.Parse(s.text)
	if err != nil {
		return nil, err
	}
	g := &input.Given{Statement: s.text, Formats: map[string]string{}, Types: map[string]string{},
		Sizes: map[string][]int64{}, Inputs: map[string]input.Input{}, Partial: true,
		Machine: s.how.Machine, Placements: s.how.Placements, Schedule: s.how.Schedule,
		MemoryOf: p.memoryOf, SizesFrom: p.givesSize}
	result := stmt.LHS.Name
	old := false // the right side reads the result's old value
	for _, x := range reading(stmt) {
		old = old || x == result
		if x == result {
			continue
		}
		t, err := p.tensor(x)
		if err != nil {
			return nil, err
		}
		if err := t.checkOrder(stmt); err != nil {
			return nil, err
		}
		if g.Inputs[x], err = t.input(); err != nil {
			return nil, err
		}
		addStorage(g, t)
	}
	t := p.tensors[result]
	s.sizes, s.adds, s.wrote = nil, false, nil
	if t == nil {
		if old {
			_, err := p.tensor(result)
			return nil, err
		}
		return g, nil
	}
	s.adds = stmt.KeepsOld() && t.isAddedTo()
	if old || s.adds {
		if t, err = p.tensor(result); err != nil {
			return nil, err
		}
		if g.Inputs[result], err = t.input(); err != nil {
			return nil, err
		}
	}
	addStorage(g, t)
	if s.sizes = t.sizes(s.sized); len(s.sizes) > 0 {
		g.Sizes[result] = s.sizes
	}
	return g, nil
}

// checkOrder returns an error if an access of the statement has another number of modes than t, whose
// values are in memory.
func (t *programTensor) checkOrder(stmt *notation.Stmt) error {
	if t.held == nil {
		return nil
	}
	n := len(t.held.Blocks.Layout.Dims)
	for _, a := range stmt.Accesses() {
		if a.Name == t.name && len(a.Vars) != n {
			return &diag.Error{Code: diag.OrderMismatch, Src: stmt.Src, Pos: a.At.Pos, End: a.At.End,
				Msg: fmt.Sprintf("%s has %s in the statement, but the tensor has %s", t.name,
					tensor.Count(len(a.Vars), "mode"), tensor.Count(n, "mode"))}
		}
	}
	return nil
}

// addStorage adds to g the format and the type of t, if they are known, and its declared sizes.
func addStorage(g *input.Given, t *programTensor) {
	if f := t.format(); f != "" {
		g.Formats[t.name] = f
	}
	if typ := t.typ(); typ != "" {
		g.Types[t.name] = typ
	}
	if len(t.how.Sizes) > 0 {
		g.Sizes[t.name] = t.how.Sizes
	}
}

// sizesFrom returns the text that names the source of the size of a tensor's mode, or "" if the
// source is unknown.
func (p *Program) sizesFrom(tensor string, mode int) string {
	if t := p.tensors[tensor]; t != nil && mode < len(t.how.SizesFrom) {
		return t.how.SizesFrom[mode]
	}
	return ""
}

// givesSize returns a phrase for messages that says where the size of a tensor's mode came from. If
// the program has no tensor with the given name, the name is the name of an index variable, and
// givesSize returns "".
func (p *Program) givesSize(tensor string, mode int) string {
	if p.tensors[tensor] == nil {
		return ""
	}
	return input.SizeFrom(tensor, mode, cmp.Or(p.sizesFrom(tensor, mode), "as declared"))
}

// reading returns the names of the tensors on the right side, each once.
func reading(stmt *notation.Stmt) []string {
	var list []string
	seen := map[string]bool{}
	notation.Walk(stmt.RHS, func(e notation.Expr) bool {
		if a, ok := e.(*notation.Access); ok && !seen[a.Name] {
			seen[a.Name] = true
			list = append(list, a.Name)
		}
		return true
	})
	return list
}
