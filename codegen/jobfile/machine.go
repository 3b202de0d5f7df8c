package jobfile

import (
	"slices"
	"strconv"
	"strings"

	"distaff/codegen/diag"
	"distaff/codegen/notation"
	"distaff/codegen/place"
	"distaff/codegen/schedule"
	"distaff/io/tensor"
)

// defaultMachine is the name of the machine that exists without a declaration. It has one dimension
// with all ranks.
const defaultMachine = "M"

// machines returns the declared machines. It adds the default machine M if the file does not
// declare it.
func (f *File) machines() []*Machine {
	var list []*Machine
	for _, it := range f.Items {
		if m, ok := it.(*Machine); ok {
			list = append(list, m)
		}
	}
	if !slices.ContainsFunc(list, func(m *Machine) bool { return m.Name == defaultMachine }) {
		list = append(list, &Machine{Name: defaultMachine})
	}
	return list
}

// Resolve returns the machine of a job with the given number of ranks. lookup returns the sizes
// that its extents name.
func (m *Machine) Resolve(ranks int64, lookup func(name string) (int64, bool)) (*place.Machine,
	error) {
	switch {
	case m.levels != nil && len(m.Extents) == 0:
		return m.shape(), nil
	case len(m.Extents) == 0:
		return place.Line(ranks), nil
	}
	extents := make([]string, len(m.Extents))
	for k, e := range m.Extents {
		n, err := e.Eval(func(name string) (int64, bool) {
			if name == "p" {
				return ranks, true
			}
			return lookup(name)
		})
		if err != nil {
			return nil, err
		}
		extents[k] = strconv.FormatInt(n, 10)
	}
	var grids []string
	for _, g := range m.shape().Grids {
		n := len(g.Extents)
		grid := strings.Join(extents[:n], "x")
		if g.Name != "" {
			grid = g.Name + "=" + grid
		}
		grids, extents = append(grids, grid), extents[n:]
	}
	out, err := place.ParseMachine(strings.Join(grids, ";"))
	if err != nil {
		return nil, m.Extents[0].f.Errorf(notation.Span(m.span), BadNumber, "machine %s: %s", m.Name,
			err.(*diag.Error).Msg)
	}
	out.Name = m.Name
	if err := out.CheckRanks(int(ranks)); err != nil {
		return nil, m.Extents[0].f.Errorf(notation.Span(m.span), BadNumber, "%v", err)
	}
	return out, nil
}

// shape returns the machine with its names and numbers of dimensions. Its extents are right only if
// the machine has levels and each extent is written as a number.
func (m *Machine) shape() *place.Machine {
	if m.levels != nil {
		out := *m.levels
		out.Name = m.Name
		return &out
	}
	return &place.Machine{Name: m.Name,
		Grids: []place.Grid{{Extents: make([]int64, max(len(m.Extents), 1))}}}
}

// SetMachine makes M the machine that text describes. text has the syntax of the flag -m. If the
// file declares M, the declaration is replaced. It is an error if the file declares machines but
// not M. SetMachine must be called before Check.
func (f *File) SetMachine(text string) error {
	levels, err := place.ParseMachine(text)
	if err != nil {
		return err
	}
	var others []string
	for _, it := range f.Items {
		m, ok := it.(*Machine)
		switch {
		case ok && m.Name == defaultMachine:
			m.Extents, m.Text, m.levels = nil, text, levels
			return nil
		case ok:
			others = append(others, m.Name)
		}
	}
	if len(others) > 0 {
		return diag.Errorf(Unknown,
			"-m=%s: got a machine for M, but %s declares other machines: %s", text,
			tensor.Printable(f.Name), strings.Join(others, ", "))
	}
	f.Items = slices.Insert(f.Items, 0,
		Item(&Machine{Name: defaultMachine, Text: text, levels: levels}))
	return nil
}

// OfProduct reports whether the machine's grid is computed for a product of dense matrices.
func (m *Machine) OfProduct() bool { return m.levels != nil && m.levels.OfProduct }

// MachineOf returns the machine that a placement refers to, or nil if the placement fits none. It
// is not nil if Check has accepted the placement.
func (f *File) MachineOf(p place.Placement) *Machine {
	list := f.machines()
	k := slices.IndexFunc(list, func(m *Machine) bool { return p.Over(m.shape()) })
	if k < 0 {
		return nil
	}
	return list[k]
}

// recordLevels records that the names of a machine's levels mean machine levels. It returns an
// error if a name already has another meaning.
func (c *checker) recordLevels(m *Machine) error {
	for _, g := range m.shape().Grids {
		if g.Name == "" {
			continue
		}
		if err := c.recordName(g.Name, "machine level", m.at); err != nil {
			return err
		}
	}
	return nil
}

// placement checks that a placement fits a tensor and a machine.
func (c *checker) placement(t *Tensor, p *Placed) error {
	at := notation.Span(p.span)
	for _, l := range p.Placement {
		if len(l.Modes) != t.Order {
			return c.f.Errorf(at, Declaration, "got a placement of %s for tensor %s, want %d",
				tensor.Count(len(l.Modes), "mode"), t.Name, t.Order)
		}
		n, ok := c.names[l.Machine]
		if ok && n.what != "machine" && n.what != "machine level" {
			return c.f.Errorf(at, NameClash,
				"got %s as a machine, but it is a %s on line %s; want different names",
				l.Machine, n.what,
				c.f.line(span(n.at)))
		}
		if !ok && l.Machine != defaultMachine {
			return c.f.Errorf(at, Unknown,
				"got machine %s, which is not declared, want %s", l.Machine,
				strings.Join(c.machines(), ", "))
		}
	}
	m := c.f.MachineOf(p.Placement)
	if m == nil {
		return c.f.Errorf(at, Declaration,
			"got the placement %s, want one part for each level of a machine, in the "+
				"machine's order: %s", p.Placement, strings.Join(c.machines(), ", "))
	}
	for k, g := range m.shape().Grids {
		l := p.Placement[k]
		if got, want := len(l.Dims), len(g.Extents); got != want {
			return c.f.Errorf(at, Declaration,
				"got %[3]s with %[1]s, want %[2]d: the grid %[3]s has %[2]d",
				tensor.Count(got, "dimension"), want, l.Machine)
		}
	}
	return nil
}

// products returns an error for a placement over a machine whose grid is computed for a product, if
// no statement is distributed over the machine.
func (c *checker) products() error {
	for p := range c.f.Placements() {
		m := c.f.MachineOf(p.Placement)
		used := false
		for s := range c.f.Statements() {
			used = used || s.machine == m
		}
		if m.OfProduct() && !used {
			return c.f.Errorf(notation.Span(p.span), Declaration,
				"got a placement over %s, but no statement is distributed over it: its grid "+
					"is computed for a product, which must be distributed over %s",
				m.Name, m.Name)
		}
	}
	return nil
}

// machines returns, for each machine, the names that a placement over it may use. A machine with a
// hierarchy of grids is named by its levels.
func (c *checker) machines() []string {
	var names []string
	for _, m := range c.f.machines() {
		if n, ok := c.names[m.Name]; ok && n.what != "machine" {
			continue
		}
		var levels []string
		for _, g := range m.shape().Grids {
			levels = append(levels, g.Name)
		}
		if len(levels) == 1 {
			levels[0] = m.Name
		}
		names = append(names, strings.Join(levels, "; "))
	}
	return names
}

// Machine returns the machine over which the schedule of a checked statement distributes it: the
// machine that its commands name, or else the first machine of the file. It is nil if the schedule
// distributes nothing.
func (s *Statement) Machine() *Machine { return s.machine }

// distribution checks the machines and tensors in the commands of a statement.
func (c *checker) distribution(s *Statement, commands []*schedule.Command) error {
	s.machine = nil
	distributes := slices.ContainsFunc(commands, (*schedule.Command).Distributes)
	for _, b := range s.lines { // network, in contrast, describes the loops of a leaf
		if distributes && slices.Contains(blockSchedule, b.word) {
			return c.f.Errorf(notation.Span(b.span), Declaration,
				"got both %s and distribute for one statement, want only one: each decides "+
					"which rank runs what", b.word)
		}
	}
	for _, x := range commands {
		args := x.Args
		if x.Name == "distribute" && len(args) == 4 {
			if err := c.named(s, args[3]); err != nil {
				return err
			}
			args = args[:3]
		}
		if x.Name == "communicate" && len(x.Args) > 0 {
			if err := c.communicates(s, x.Args[0]); err != nil {
				return err
			}
		}
		for _, arg := range extents(args) {
			if !distributes {
				return s.refuse(arg, Declaration,
					"got %s for a statement without distribute, want a number: only "+
						"distribute knows the machine's extents",
					arg.Text)
			}
			if err := c.extent(s, arg); err != nil {
				return err
			}
		}
	}
	if distributes && s.machine == nil {
		s.machine = c.f.machines()[0]
	}
	return nil
}

// refuse returns an error about an argument of one of the statement's commands.
func (s *Statement) refuse(a schedule.Arg, code diag.Code, format string, args ...any) error {
	pos, end := a.Place()
	return s.Locate(diag.At(code, a.Within(), pos, end, format, args...))
}

// uses finds the machine with the given name, records that s is distributed over it, and returns
// its shape. a is the argument of the command that names the machine. uses returns an error if the
// machine is not declared, or if a command above names another machine.
func (c *checker) uses(s *Statement, a schedule.Arg, name string) (*place.Machine, error) {
	for _, m := range c.f.machines() {
		if m.Name != name {
			continue
		}
		if s.machine != nil && s.machine.Name != name {
			return nil, s.refuse(a, Declaration,
				"got machine %s, but a command above uses %s; a statement must use one machine",
				name,
				s.machine.Name)
		}
		s.machine = m
		return m.shape(), nil
	}
	var names []string
	for _, m := range c.f.machines() {
		names = append(names, m.Name)
	}
	return nil, s.refuse(a, Unknown, "got machine %s, which is not declared, want %s", name,
		strings.Join(names, ", "))
}

// named checks the name of a machine, or of one of its levels, in a distribute command.
func (c *checker) named(s *Statement, arg schedule.Arg) error {
	// it is compared with the machine's extents when these are known
	if strings.HasPrefix(arg.Text, "Grid(") {
		if s.machine == nil {
			s.machine = c.f.machines()[0]
		}
		return nil
	}
	name, level, ok := strings.Cut(arg.Text, ".")
	m, err := c.uses(s, arg, name)
	if err != nil || !ok {
		return err
	}
	if !slices.ContainsFunc(m.Grids, func(g place.Grid) bool { return g.Name == level }) {
		return s.refuse(arg, Unknown, "got %s, but machine %s has no level %s",
			arg.Text, name, level)
	}
	return nil
}

// extent checks an extent such as M.x.
func (c *checker) extent(s *Statement, arg schedule.Arg) error {
	name, dim, _ := strings.Cut(arg.Text, ".")
	m, err := c.uses(s, arg, name)
	if err != nil {
		return err
	}
	if m.OfProduct && dim == "steps" {
		return nil
	}
	if _, ok := m.Dim(dim); !ok {
		return s.refuse(arg, Unknown,
			"got %s, but machine %s has no dimension %s: it has %s", arg.Text,
			name, dim, strings.Join(dimensions(m), ", "))
	}
	return nil
}

// dimensions returns the names of a machine's dimensions.
func dimensions(m *place.Machine) []string {
	var names []string
	for _, g := range m.Grids {
		prefix := ""
		if len(m.Grids) > 1 {
			prefix = g.Name + "."
		}
		for k := range g.Extents {
			name := strconv.Itoa(k)
			if k < len("xyz") {
				name = "xyz"[k : k+1]
			}
			names = append(names, prefix+name)
		}
	}
	return names
}

// communicates checks the tensors that a communicate command names.
func (c *checker) communicates(s *Statement, arg schedule.Arg) error {
	list := arg.List
	if list == nil {
		list = []schedule.Arg{arg}
	}
	for _, a := range list {
		if !slices.ContainsFunc(s.Stmt.Tensors(),
			func(t notation.TensorUse) bool { return t.Name == a.Text }) {
			return s.refuse(a, Unknown, "communicate: got %s, want a tensor of the statement", a.Text)
		}
	}
	return nil
}

// extents returns the arguments that are extents of machines, such as M.x.
func extents(args []schedule.Arg) []schedule.Arg {
	var out []schedule.Arg
	for _, a := range args {
		if machine, dim, ok := strings.Cut(a.Text, "."); ok && notation.IsName(machine) && dim != "" {
			out = append(out, a)
		}
		out = append(out, extents(a.List)...)
	}
	return out
}
