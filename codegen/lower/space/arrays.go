package space

import (
	"distaff/codegen/ir"
	"distaff/io/tensor"
)

// Arrays are arrays of a workspace whose capacity grows with its entries.
type Arrays struct {
	m     *Maker
	name  string
	caps  map[*ir.Array]*ir.Var
	first ir.Expr // the initial capacity in elements; if it is nil, a small one
}

func (m *Maker) newArrays(name string) Arrays {
	return Arrays{m: m, name: name, caps: map[*ir.Array]*ir.Var{}}
}

// RoomFor returns the arrays of the workspace with the given name. If operand is not "", the arrays
// are allocated with room for all entries of this operand. If operand is "", the arrays start small
// and grow.
func (m *Maker) RoomFor(name, operand string) Arrays {
	s := m.newArrays(name)
	if operand != "" {
		m.B.BeforeScope(func() {
			s.first = m.B.Declare(name+"_first", ir.Plus(m.Entries(operand), ir.Int(1)))
		})
	}
	return s
}

// Array makes an array with elements of type t in the enclosing scope. The array's name is the name
// of the workspace, an underscore and part.
func (s Arrays) Array(part string, t tensor.Type) *ir.Array {
	first := s.first
	if first == nil {
		first = ir.Int(64)
	}
	return s.arrayOf(part, t, first)
}

// arrayOf makes an array with the given initial capacity.
func (s Arrays) arrayOf(part string, t tensor.Type, first ir.Expr) *ir.Array {
	a := s.m.B.Array(s.name+"_"+part, t)
	s.m.B.BeforeScope(func() { s.caps[a] = s.m.B.Declare(a.Name+"_cap", first) })
	return s.m.B.AllocInScope(a, s.caps[a], false)
}

// grow grows an array to at least need elements.
func (s Arrays) grow(a *ir.Array, need ir.Expr) {
	s.m.B.Emit(&ir.Grow{A: a, Cap: s.caps[a], Need: need})
}

// Reserve grows an array if it has room for fewer than need elements.
func (s Arrays) Reserve(a *ir.Array, need ir.Expr) {
	s.m.B.When(ir.Less(s.caps[a], need), func() { s.grow(a, need) })
}
