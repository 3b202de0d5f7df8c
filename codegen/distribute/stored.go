package distribute

import (
	"slices"
	"strings"
	"unicode"

	"distaff/codegen/place"
	"distaff/codegen/schedule"
)

// stored describes the positions of a tensor that peeled loops visit.
type stored struct {
	at     *variable // the variable that runs over them
	access *Access
	level  int       // the level of the positions
	vars   []string  // the variables of the levels down to that level, outermost first
	outer  *variable // the part of the first of vars that remains under the cuts of its coordinates
}

// lift moves peeled loops over chunks of positions outwards, past loops over variables of higher
// levels. The reason is that a chunk may continue from one row to the next. For example, pos(j,p,B)
// numbers the positions of j in all rows of a range, so the loop over the rows must be inside the
// loop over the chunks.
func (p *peeling) lift() {
	for k, v := range p.loops {
		at := p.positionVariable(v)
		if v.by == nil || at == nil {
			continue
		}
		a, err := p.access(at.made)
		if err != nil {
			continue // the error is reported when the loop is peeled
		}
		above := a.levelVars()[:max(a.levelOf(p.root(at.fused()[0]).name), 0)]
		to := k
		for to > 0 && p.loops[to-1].by == nil && slices.Contains(above, p.root(p.loops[to-1]).name) {
			to--
		}
		p.loops = slices.Insert(slices.Delete(slices.Clone(p.loops), k, k+1), to, v)
	}
}

// positionVariable returns the variable of a pos command if the loop over v visits the command's
// positions in chunks. Otherwise it returns nil.
func (p *peeling) positionVariable(v *variable) *variable {
	if v.kind == rotated {
		v = v.turned
	}
	if v.kind != outerOf {
		return nil
	}
	for v.from != nil {
		v = v.from.of
	}
	if v.made == nil || v.made.Name != "pos" || v.parts == nil {
		return nil
	}
	return v
}

// root returns the variable that was divided to make v, a variable within chunks. The division may
// have several steps. If v is not a variable within chunks, root returns v itself.
func (p *peeling) root(v *variable) *variable {
	for v.kind == innerOf {
		v = v.from.of
	}
	return v
}

// ofPositions records that a peeled loop runs over chunks of stored positions. name is the variable
// of this loop. v is the variable that is divided into the chunks. A command of the leaf made v.
// ofPositions returns an error if that command is not pos, or if the positions cannot be
// distributed.
func (p *peeling) ofPositions(at *schedule.Command, v *variable, name string) error {
	switch {
	case v.parts == nil || v.made.Name != "pos":
		return refuse(at,
			"%s: the loop over %s runs over %s, which %s made; want chunks of either an index "+
				"variable or the positions of a tensor", at.Name, name, v.name, v.made)
	case name == v.name:
		return refuse(at,
			"%s: the loop over %s runs over single positions; want chunks of positions, as "+
				"divide makes them",
			at.Name, name)
	case p.stored != nil && p.stored.at != v:
		return refuse(at,
			"%s: the loop over %s runs over positions of %s, but another loop runs over "+
				"positions of %s; want positions of only one tensor",
			at.Name, name, v.made, p.stored.at.made)
	case p.stored != nil:
		return nil
	}
	a, err := p.access(v.made)
	if err != nil {
		return err
	}
	s := &stored{at: v, access: a}
	if err := p.levels(s); err != nil {
		return err
	}
	p.stored = s
	return nil
}

// access returns the access that the third argument of a pos command names. The variable that the
// command makes counts the stored positions of this access. If the argument names no access or
// several, the function returns an error.
func (p *peeling) access(c *schedule.Command) (*Access, error) {
	text := strings.Map(func(r rune) rune {
		if strings.ContainsRune(" \t\r\n", r) {
			return -1
		}
		return r
	}, c.Args[2].Text)
	var found []*Access
	var all []string
	for k := range p.statement.Accesses {
		a := &p.statement.Accesses[k]
		all = append(all, a.key())
		if text == a.Tensor || text == a.key() {
			found = append(found, a)
		}
	}
	switch len(found) {
	case 0:
		return nil, refuse(c.Args[2],
			"pos: got %s, want either a tensor of the right side or one of its accesses: %s",
			c.Args[2].Text,
			strings.Join(all, ", "))
	case 1:
		return found[0], nil
	}
	return nil, refuse(c.Args[2],
		"pos: %s is accessed with different variables; name one access, as in B(i,j)", text)
}

func (a *Access) key() string { return a.Tensor + "(" + strings.Join(a.Vars, ",") + ")" }

// levelVars returns the variables of the levels, outermost first.
func (a *Access) levelVars() []string {
	out := make([]string, len(a.Format.Order))
	for l, m := range a.Format.Order {
		out[l] = a.Vars[m]
	}
	return out
}

// levelOf returns the level of a variable, or -1.
func (a *Access) levelOf(v string) int { return slices.Index(a.levelVars(), v) }

// levels sets s.level, the level whose positions are distributed, and s.vars, the variables of the
// levels down to this level. If the positions cannot be distributed, levels returns an error.
func (p *peeling) levels(s *stored) error {
	c, a := s.at.made, s.access
	if a.Beside != "" {
		return refuse(c.Args[2],
			"pos: the ranks would visit only the stored entries of %s, but the term %s of the "+
				"statement also has values elsewhere", a.key(), a.Beside)
	}
	for _, b := range p.statement.Accesses {
		if b.Tensor == a.Tensor && !slices.Equal(b.Vars, a.Vars) {
			return refuse(c.Args[2],
				"pos: %s is also read as %s; want a tensor that is read only once",
				a.key(), b.key())
		}
	}
	vars := a.levelVars()
	for l, v := range vars {
		if slices.Contains(vars[:l], v) {
			return refuse(c.Args[2],
				"pos: got %s, which has %s twice; want a tensor with each variable once",
				a.key(), v)
		}
	}
	taken := s.at.fused()
	s.level = a.levelOf(p.root(taken[len(taken)-1]).name)
	if s.level >= 0 {
		s.vars = vars[:s.level+1]
	}
	if err := p.onPrefix(s, taken); err != nil {
		return err
	}
	caps := a.Format.Levels[s.level]
	switch {
	case caps.CanLocate():
		return refuse(c.Args[2],
			"pos: level %d of %s is dense and has no positions; divide its coordinates instead",
			s.level, a.Tensor)
	case caps.IsPadded():
		return refuse(c.Args[2],
			"pos: level %d of %s is padded, so its positions are not in order; want another "+
				"level", s.level,
			a.Tensor)
	case !caps.IsUnique() && s.level+1 < len(vars):
		return refuse(c.Args[2],
			"pos: level %d of %s stores repeated coordinates, which the levels below "+
				"distinguish; want positions of a level below", s.level, a.Tensor)
	}
	return nil
}

// fused returns the variables that fuse and pos commands combined to v, outermost first. A variable
// that such a command made is replaced by the variables before the command. If no such command made
// v, the result is v alone.
func (v *variable) fused() (out []*variable) {
	if v.parts == nil {
		return []*variable{v}
	}
	for _, w := range v.parts {
		out = append(out, w.fused()...)
	}
	return out
}

// onPrefix checks that the variables in taken belong to consecutive levels that end at the level
// s.level. The variables of the levels above need not be in taken, because they become loops of the
// leaf. Peeled loops may divide the variable of the tensor's outermost level into chunks, but not
// by split. They must not divide the variables of other levels. If one of these rules is broken,
// onPrefix returns an error.
func (p *peeling) onPrefix(s *stored, taken []*variable) error {
	c, a := s.at.made, s.access
	var roots []string
	for _, v := range taken {
		roots = append(roots, p.root(v).name)
	}
	first := s.level + 1 - len(taken)
	if s.level < 0 || first < 0 || !slices.Equal(roots, s.vars[first:]) {
		return refuse(c.Args[2],
			"pos: the distributed positions of %s must belong to its outermost levels, %s, or "+
				"to the first of them; got positions of %s",
			a.key(), strings.Join(a.levelVars(), ", "), strings.Join(roots, ", "))
	}
	for l, name := range s.vars {
		v := p.vars[name]
		for v.cut != nil && p.runsOver(v.cut.outer) {
			if l > 0 {
				return refuse(c.Args[2],
					"pos: the loop over chunks of %s is outside, but the positions of %s "+
						"include all of %s in all of %s; want no chunks of it", name,
					a.key(), name, s.vars[l-1])
			}
			if !v.cut.even {
				return refuse(v.cut.by,
					"split: chunks of %s are divided again by positions of %s; want divide",
					name, a.key())
			}
			v = v.cut.inner
		}
		whole := v.cut == nil && v.gone == nil || slices.Contains(taken, v)
		if !whole || p.isPeeled(v) {
			return refuse(c.Args[2],
				"pos: the positions of %s include all of %s, but the loops run over only a "+
					"part of it", a.key(),
				name)
		}
		if l == 0 {
			s.outer = v
		}
	}
	return nil
}

// positions records in the nest n into which chunks the peeled loops divide stored positions. It
// also sets the numbers of iterations of these loops.
func (p *peeling) positions(n *place.Nest) error {
	s := p.stored
	c := place.Chunks{Positions: &place.Positions{Tensor: s.access.Tensor, Vars: s.vars}}
	add := func(x *cut, level int) error {
		if !x.even {
			return refuse(x.by,
				"split: the number of positions of %s is not known before it is read; want "+
					"divide", s.access.key())
		}
		if x.n > maxIterations/c.N() {
			return refuse(x.by,
				"divide: the positions of %[2]s would have loops over more than %[1]d chunks; "+
					"want fewer chunks",
				maxIterations, s.access.key())
		}
		loop := p.loopOf(x.outer)
		n.Loops[loop].N = x.n
		c.Digits = append(c.Digits, p.digit(loop, x.n))
		c.Positions.Cuts = append(c.Positions.Cuts, place.OrderedCut{N: x.n, Level: level})
		return nil
	}
	for v := p.vars[s.vars[0]]; v != s.outer; v = v.cut.inner {
		if err := add(v.cut, -1); err != nil {
			return err
		}
	}
	for v := s.at; v.cut != nil && p.runsOver(v.cut.outer); v = v.cut.inner {
		if err := add(v.cut, s.level); err != nil {
			return err
		}
	}
	n.Chunks = append(n.Chunks, c)
	return nil
}

// makes reports whether command c made the stored positions: c is the pos command that names them,
// or a fuse command that made the variable of the pos command.
func (s *stored) makes(c *schedule.Command) bool {
	if s == nil {
		return false
	}
	made := false
	s.at.each(func(v *variable) { made = made || v.made == c })
	return made
}

// isNamed reports whether one of the commands contains the name of the pos command's variable. If
// this variable was made from fused variables, isNamed also looks for their names.
func (s *stored) isNamed(commands []string) bool {
	found := false
	s.at.each(func(v *variable) {
		for _, c := range commands {
			words := strings.FieldsFunc(c,
				func(r rune) bool { return r > unicode.MaxASCII || !wordByte(byte(r)) })
			found = found || slices.Contains(words, v.name)
		}
	})
	return found
}

// each does nothing unless a fuse or pos command made v. It then calls f for v, and itself for the
// variables before that command.
func (v *variable) each(f func(*variable)) {
	if v.parts == nil {
		return
	}
	f(v)
	for _, w := range v.parts {
		w.each(f)
	}
}
