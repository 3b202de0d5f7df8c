package schedule

import (
	"slices"
	"strings"

	"distaff/codegen/cin"
	"distaff/codegen/provenance"
)

// pos replaces a variable that runs over coordinates with one that runs over the positions of a
// tensor's level: pos(i, ip, T). T is a tensor or, if the tensor is accessed with different
// variables, an access. Later splits of ip cut the positions into tiles.
func pos(s *state) error {
	v, err := s.variable(0)
	if err != nil {
		return err
	}
	p, err := s.fresh(1)
	if err != nil {
		return err
	}
	if a := s.g.PositionsOf(v); a != "" {
		return s.refuse(0, "%s already runs over the positions of %s", v, a)
	}
	if s.isTileNumber(v) {
		return s.refuse(0, "%s counts tiles; pos needs a variable that runs over coordinates", v)
	}
	if err := s.mayReplace(0, v); err != nil {
		return err
	}
	a, err := s.access(2)
	if err != nil {
		return err
	}
	if err := s.positions(v, a); err != nil {
		return err
	}
	s.replace(v, func(f *cin.Forall) cin.Stmt {
		return &cin.Forall{Var: p, Gallop: f.Gallop, Body: f.Body}
	})
	return s.relate(provenance.Relation{Kind: provenance.Pos, From: []string{v}, To: []string{p},
		Access: a.Key()})
}

// isTileNumber reports whether v runs over numbers of tiles: v is the outer variable of a split or
// divide, or is derived from such a variable without a fuse.
func (s *state) isTileNumber(v string) bool {
	for r := s.g.MadeBy(v); r != nil; r = s.g.MadeBy(v) {
		switch {
		case r.Kind == provenance.Fuse:
			return false
		case (r.Kind == provenance.Split || r.Kind == provenance.Divide) && v == r.To[0]:
			return true
		}
		v = r.From[0]
	}
	return false
}

// access parses argument k as an access of the statement.
func (s *state) access(k int) (*cin.Access, error) {
	text := strings.Map(func(r rune) rune {
		if strings.ContainsRune(" \t\r\n", r) {
			return -1
		}
		return r
	}, s.cmd.Args[k].Text)
	var found []*cin.Access
	var all []string
	cin.Accesses(s.body, func(a *cin.Access) {
		if _, ok := s.problem.Formats[a.Name]; !ok {
			return
		}
		source := &cin.Access{Name: s.problem.Source(a.Name), Vars: a.Vars}
		all = append(all, source.Key())
		if text != source.Name && text != source.Key() {
			return
		}
		for _, b := range found {
			if b.Key() == a.Key() {
				return
			}
		}
		found = append(found, a)
	})
	switch len(found) {
	case 0:
		return nil, s.refuse(k,
			"got %s, want either a tensor of the statement or one of its accesses: %s",
			s.cmd.Args[k].Text, strings.Join(all, ", "))
	case 1:
		return found[0], nil
	}
	return nil, s.refuse(k,
		"%s is accessed with different variables; name one access, as in B(i,j)", text)
}

// positions returns an error if the loop over v cannot run over the positions of access a instead
// of over coordinates.
func (s *state) positions(v string, a *cin.Access) error {
	roots := s.g.Underived(v)
	f := s.problem.Formats[a.Name]
	first := -1
	for l, mode := range f.Order {
		if a.Vars[mode] == roots[0] {
			first = l
			break
		}
	}
	if first < 0 {
		return s.refuse(2, "got %s, want an access that has the variable %s", a.Key(), roots[0])
	}
	for k, r := range roots {
		if first+k >= len(f.Order) || a.Vars[f.Order[first+k]] != r {
			return s.refuse(2,
				"%s must be consecutive levels of %s, in this order (its format is %s)",
				strings.Join(roots, ", "), a.Key(), f)
		}
	}
	seen := map[string]bool{}
	for _, x := range a.Vars {
		if seen[x] {
			return s.refuse(2,
				"got %s, which has %s twice; want a tensor with each variable once", a.Key(), x)
		}
		seen[x] = true
	}
	last := first + len(roots) - 1
	caps := f.Levels[last]
	switch {
	case caps.CanLocate():
		return s.refuse(2,
			"level %d of %s is dense and has no positions; split its coordinates instead", last,
			a.Name)
	case caps.IsPadded():
		return s.refuse(2,
			"level %d of %s is padded, so its positions are not in order; want another level",
			last, a.Name)
	}
	for l := first + 1; l < last; l++ {
		if x := a.Vars[f.Order[l]]; f.Levels[l].CanLocate() && slices.Contains(s.problem.Parts, x) {
			return s.refuse(0,
				"the range of %s is divided into blocks, across ranks or by --split, but the "+
					"positions of the fused %s do not cover the blocks of its dense level",
				x, strings.Join(roots, ", "))
		}
	}
	for l := first; l < last; l++ {
		if f.Levels[l].IsPadded() {
			return s.refuse(2,
				"level %d of %s is padded, so its positions cannot be visited together with "+
					"the levels below it",
				l, a.Name)
		}
	}
	return nil
}
