package codegen

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"distaff/codegen/cin"
	"distaff/codegen/diag"
	"distaff/codegen/network"
)

// The default schedule of a GPU is one of a few forms (gpuforms.go, gpurows.go). A form is a list
// of scheduling commands, as a user would give them. The loops, formats and sizes of a statement
// decide which forms fit. If a later pass refuses a form, for example because a level has no
// positions, the next form is tried. If all are refused, the error gives the reason of the last.

// gpuForm is a schedule for a GPU: commands with their reasons.
type gpuForm []ScheduleLine

// commands returns the commands without their reasons.
func (f gpuForm) commands() []string {
	out := make([]string, len(f))
	for k, l := range f {
		out[k] = l.Command
	}
	return out
}

// gpuChoice is the form that was chosen for a request, with its compilation.
type gpuChoice struct {
	form gpuForm
	made *compilation
}

// chooseGPU compiles a request without a schedule by the first form that no pass refuses.
func chooseGPU(r Request) (*gpuChoice, error) {
	if r.FixedPattern {
		return nil, noGPU("values alone are computed on a CPU")
	}
	if _, _, err := (&compilation{request: r}).networkWay(); err != nil {
		return nil, err
	}
	forms, err := gpuForms(r)
	if err != nil {
		return nil, err
	}
	var refused error
	for _, f := range forms {
		q := r
		q.Schedule, q.Parts, q.InPlace = f.commands(), partsOf(r), ""
		c := &compilation{request: q, unit: &Unit{Request: r, Compute: r.ComputeType}}
		if refused = c.run(); refused == nil {
			return &gpuChoice{f, c}, nil
		}
		var nest *diag.Error
		if errors.As(refused, &nest) && nest.Code == diag.NetworkRefused {
			return nil, refused // every form would be refused
		}
	}
	return nil, noGPU(reason(refused))
}

// noGPU returns the error for a statement that has no default schedule on a GPU. why is the reason.
func noGPU(why string) error {
	return &diag.Error{Code: diag.ScheduleRefused,
		Msg: "a GPU has no default schedule for this statement: " + why + "; want either " +
			"--target=cpu or a schedule of your own (-s)"}
}

// reason returns the message of an error without its position in a schedule, because the user did
// not write that schedule.
func reason(err error) string {
	if e := (*diag.Error)(nil); errors.As(err, &e) {
		return e.Msg
	}
	return err.Error()
}

// partsOf returns the variables for which a call of a default leaf may compute only a part of the
// range. These are all variables except r.Exact.
func partsOf(r Request) []string {
	c := &compilation{request: r, unit: &Unit{}}
	_ = c.normalize()
	return slices.DeleteFunc(slices.Clone(c.normal.Vars),
		func(v string) bool { return slices.Contains(r.Exact, v) })
}

// lines returns the schedule that the compiler chose: the commands of the form, and commands that
// express the compiler's other decisions.
func (g *gpuChoice) lines() []ScheduleLine {
	why := map[string]string{}
	for _, l := range g.form {
		why[l.Command] = l.Why
	}
	out := texts(g.made.givenLines())
	for k, l := range out {
		if l.Why == "" {
			out[k].Why = why[l.Command]
		}
	}
	return out
}

// gpuForms returns the forms that fit a request's statement, the best first.
func gpuForms(r Request) ([]gpuForm, error) {
	var out []gpuForm
	for _, commands := range [][]string{{}, {"temporaries(" + r.resultName() + ")"}} {
		s, err := newGPUShape(r, commands)
		if err != nil {
			return nil, err
		}
		for _, f := range s.forms() {
			if !slices.ContainsFunc(out,
				func(g gpuForm) bool { return slices.Equal(f.commands(), g.commands()) }) {
				out = append(out, f)
			}
		}
	}
	return out, nil
}

// resultName returns the user's name of a request's result.
func (r *Request) resultName() string {
	if n := r.Names[r.Stmt.LHS.Name]; n != "" {
		return n
	}
	return r.Stmt.LHS.Name
}

// gpuShape has the facts about a statement that decide which GPU form fits it: its loops, its sum
// and its only sparse operand.
type gpuShape struct {
	c      *compilation
	first  []string        // commands before the commands of the form
	body   cin.Stmt        // the nest after these commands
	loops  []string        // the variables of a perfect nest, outermost first, or nil
	sum    *cin.Assign     // the assignment of the perfect nest
	driver *cin.Access     // the only sparse operand, whose entries alone give values, or nil
	deep   int             // the number of levels of driver down to the last one that is not dense
	used   map[string]bool // names that a new loop or workspace may not have
}

// newGPUShape runs the compiler's passes on a request with the given commands, up to the pass that
// schedules the loops. The commands do not assign loops to units of a GPU. The request is therefore
// compiled for a CPU, because a schedule for a GPU must assign loops to units.
func newGPUShape(r Request, commands []string) (*gpuShape, error) {
	r.Target, r.Schedule, r.Parts, r.Trace, r.InPlace = CPU, commands, partsOf(r), nil, ""
	r.Network = network.Direct.String() // the nest is checked when a form is compiled
	c := &compilation{request: r, unit: &Unit{Request: r, Compute: r.ComputeType}}
	if err := c.runTo("schedule"); err != nil {
		return nil, err
	}
	s := &gpuShape{c: c, first: commands, body: cin.Body(c.unit.CIN), used: c.taken()}
	t := s.body
	for {
		f, ok := t.(*cin.Forall)
		if !ok {
			break
		}
		s.loops, t = append(s.loops, f.Var), f.Body
	}
	if s.sum, _ = t.(*cin.Assign); s.sum == nil {
		s.loops = nil
		return s, nil
	}
	s.findDriver()
	return s, nil
}

// runTo runs the passes up to and including the one called name.
func (c *compilation) runTo(name string) error {
	for _, p := range passes {
		if err := p.run(c); err != nil || p.name == name {
			return err
		}
	}
	panic("BUG: codegen: no pass " + name)
}

// findDriver sets the driver: the only sparse operand of a product. The loops over its entries
// visit all points where the product has a value. A right side that is not such a product has no
// driver.
func (s *gpuShape) findDriver() {
	if !s.isProduct(s.sum.RHS) {
		return
	}
	var sparse []*cin.Access
	cin.ExprAccesses(s.sum.RHS, func(a *cin.Access) {
		f, ok := s.c.formatOf(a.Name)
		same := slices.ContainsFunc(sparse, func(b *cin.Access) bool { return a.Key() == b.Key() })
		if ok && !f.AllDense() && !same {
			sparse = append(sparse, a)
		}
	})
	if len(sparse) == 1 {
		f, _ := s.c.formatOf(sparse[0].Name)
		s.driver, s.deep = sparse[0], len(f.Levels)-f.TrailingDense()
	}
}

// isProduct reports whether x has no value wherever one of its sparse operands has none.
func (s *gpuShape) isProduct(x cin.Expr) bool {
	switch x := x.(type) {
	case *cin.Neg:
		return s.isProduct(x.X)
	case *cin.Binary:
		return (x.Op == '*' || x.Op == '/' && !s.hasSparse(x.Y)) && s.isProduct(x.X) && s.isProduct(x.Y)
	}
	return true
}

// hasSparse reports whether x has a sparse operand.
func (s *gpuShape) hasSparse(x cin.Expr) bool {
	found := false
	cin.ExprAccesses(x, func(a *cin.Access) {
		f, ok := s.c.formatOf(a.Name)
		found = found || ok && !f.AllDense()
	})
	return found
}

// inResult reports whether v is a variable of the result.
func (s *gpuShape) inResult(v string) bool { return slices.Contains(s.c.normal.LHS.Vars, v) }

// levels returns the variables of the driver's levels, outermost first.
func (s *gpuShape) levels() []string {
	f, _ := s.c.formatOf(s.driver.Name)
	out := make([]string, len(f.Order))
	for l, m := range f.Order {
		out[l] = s.driver.Vars[m]
	}
	return out
}

// key returns an access as the user writes it.
func (s *gpuShape) key(a *cin.Access) string {
	return (&cin.Access{Name: s.userName(a.Name), Vars: a.Vars}).Key()
}

// userName returns the user's name of an operand.
func (s *gpuShape) userName(name string) string {
	name = strings.TrimRight(name, "'")
	if n := s.c.request.Names[name]; n != "" {
		return n
	}
	return name
}

// expr returns an expression as the user writes it.
func (s *gpuShape) expr(x cin.Expr) string {
	return cin.ExprString(cin.MapAccesses(x, func(a *cin.Access) *cin.Access {
		return &cin.Access{Name: s.userName(a.Name), Vars: a.Vars}
	}))
}

// name returns an unused name for a loop or workspace: want, with underscores appended if
// necessary.
func (s *gpuShape) name(want string) string {
	got := want
	for k := 1; s.used[got]; k++ {
		got = want + strings.Repeat("_", k)
	}
	s.used[got] = true
	return got
}

// entries describes the driver's entries in words, for the reasons of commands.
func (s *gpuShape) entries() string {
	for k, o := range s.c.ops {
		if o.Name == s.driver.Name {
			if n := s.c.stats[k].NNZ; n >= 0 {
				return fmt.Sprintf("the %d entries of %s", n, s.key(s.driver))
			}
			return "the entries of " + s.key(s.driver)
		}
	}
	panic("BUG: codegen: no operand " + s.driver.Name)
}
