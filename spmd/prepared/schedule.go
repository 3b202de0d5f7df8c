package prepared

import (
	"cmp"
	"slices"

	"distaff/codegen/notation"
	"distaff/codegen/schedule"
	"distaff/spmd/plan"
)

// part returns the normal form of the given terms. It returns nil if a leaf of these terms computes
// exactly the statement that the user wrote. This is the case if one rank runs the whole statement.
// It is also the case if these terms are all terms, the statement is not a +=, and every operand
// has the name of its tensor.
func (p *Planned) part(terms []int) *notation.Normal {
	if p.Problem.Whole || len(terms) == len(p.Problem.Norm.Terms) && !p.Parsed.Norm.Accumulate &&
		!slices.ContainsFunc(p.Problem.Operands,
			func(o plan.Operand) bool { return o.Name != o.Tensor }) {
		return nil
	}
	part := *p.Problem.Norm
	part.Terms = nil
	for _, t := range terms {
		part.Terms = append(part.Terms, p.Problem.Norm.Terms[t])
	}
	return &part
}

// useDefaultSchedule lets the compiler choose the schedule of leaf s. The compiler may then use the
// sizes of variables that are not cut. A term with an empty index space adds nothing, and so the
// leaf omits such a term if its loops would be long.
func (s *leaf) useDefaultSchedule() {
	cut := s.p.Problem.Blocking.Splits()
	s.schedule, s.elsewhere, s.parts = nil, nil, nil
	s.exact = slices.DeleteFunc(slices.Clone(s.p.Problem.Norm.Vars),
		func(v string) bool { return slices.Contains(cut, v) })
	s.dropEmptyTerms()
}

// useSchedule gives leaf s the user's schedule list. terms are the terms of the leaf's group;
// commands that do not apply to them will be ignored. If no command applies, the leaf gets the
// default schedule. The commands order the loops inside a block.
func (s *leaf) useSchedule(list []string, terms []int) {
	elsewhere := s.p.elsewhere(terms)
	commands, err := schedule.Parse(list)
	if err == nil && len(commands) > 0 && len(schedule.Part(commands, elsewhere)) == 0 {
		s.useDefaultSchedule()
		return
	}
	s.schedule, s.elsewhere = list, elsewhere
	if !s.p.Problem.Whole {
		s.parts = s.p.Problem.Blocking.Splits()
	}
}

// checkCommands returns an error if a command of the user's schedule applies to no group of terms:
// the names in the command do not occur together in any group.
func (p *Planned) checkCommands() error {
	list, given := p.Problem.LeafSchedule()
	commands, err := schedule.Parse(list)
	if err != nil || !given {
		return nil // compiling a leaf reports the error
	}
	heard := map[*schedule.Command]bool{}
	for _, g := range p.Problem.Blocking.Groups {
		for _, c := range schedule.Part(commands, p.elsewhere(g.Terms)) {
			heard[c.Of()] = true
		}
	}
	for _, c := range commands {
		if !heard[c] {
			return p.Problem.AsWritten(c.Refuse(c.Name + ": the terms with these variables are " +
				"summed separately, each in its own loops"))
		}
	}
	return nil
}

// elsewhere returns the variables of the normal form, and the user's names of tensors, that occur
// in the statement but not in the given terms.
func (p *Planned) elsewhere(terms []int) (names []string) {
	if p.Problem.Whole {
		return nil
	}
	here, user := map[string]bool{p.Parsed.Result: true}, p.userNames()
	for _, v := range p.Parsed.Stmt.LHS.Vars {
		here[v] = true
	}
	for n, t := range p.Problem.Norm.Terms {
		notation.WalkTerm(t, func(e notation.Expr) bool {
			if a, ok := e.(*notation.Access); ok {
				for _, name := range append([]string{cmp.Or(user[a.Name], a.Name)}, a.Vars...) {
					if names = append(names, name); slices.Contains(terms, n) {
						here[name] = true
					}
				}
			}
			return true
		})
	}
	return slices.DeleteFunc(names, func(name string) bool { return here[name] })
}
