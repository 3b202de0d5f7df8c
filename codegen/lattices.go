package codegen

import (
	"slices"
	"strings"

	"distaff/codegen/cin"
	"distaff/codegen/lattice"
)

// Lattices prints the merge lattice of every loop, a line each, indented by depth:
// the sets of operands at whose common coordinates there may be a value, the
// largest first, with U for every coordinate. A loop without such operands runs
// over its whole range.
func (u *Unit) Lattices() string {
	p := &latticePrinter{args: map[string]Arg{}}
	for _, a := range u.Args[1:] {
		p.args[a.Name] = a
	}
	p.print(u.CIN)
	return p.b.String()
}

type latticePrinter struct {
	args  map[string]Arg
	bound []string
	b     strings.Builder
}

func (p *latticePrinter) print(s cin.Stmt) {
	switch s := s.(type) {
	case *cin.Forall:
		p.b.WriteString(strings.Repeat("  ", len(p.bound)) + s.Var + ": ")
		text := lattice.Of(s.Body, p.query(s.Var)).String()
		if text == "" {
			text = "{}"
		}
		p.b.WriteString(text + "\n")
		p.bound = append(p.bound, s.Var)
		p.print(s.Body)
		p.bound = p.bound[:len(p.bound)-1]
	case *cin.Where:
		p.print(s.Producer)
		p.print(s.Consumer)
	case *cin.Seq:
		for _, t := range s.List {
			p.print(t)
		}
	}
}

// query tells what an access is to a loop over v inside the bound variables'.
func (p *latticePrinter) query(v string) lattice.Query {
	return func(a *cin.Access) lattice.Kind {
		arg, ok := p.args[a.Name]
		if !ok {
			return lattice.Full // a temporary
		}
		for level, mode := range arg.Format.Order {
			w := a.Vars[mode]
			if slices.Contains(p.bound, w) {
				continue
			}
			if w == v && !arg.Format.Levels[level].Caps().Locate {
				return lattice.Iterate
			}
			break
		}
		return lattice.Full
	}
}
