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

// The default schedule of a GPU is one of a few forms (gpuforms.go, gpurows.go), which are
// scheduling commands as a user would give them. Which form a statement has follows from its
// loops, formats and sizes. A form that some later pass refuses, such as positions of a level that
// has none, gives way to the next; what no form can run is refused with the reason of the last.

// gpuForm is a schedule for a GPU, a command a line with its reason.
type gpuForm []ScheduleLine

// commands are the commands alone.
func (f gpuForm) commands() []string {
	out := make([]string, len(f))
	for k, l := range f {
		out[k] = l.Command
	}
	return out
}

// gpuChoice is the form that a request gets.
type gpuChoice struct {
	form gpuForm
	made *compilation
}

// chooseGPU compiles a request without a schedule by the first form that all passes take.
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
			return nil, refused // by any form
		}
	}
	return nil, noGPU(reason(refused))
}

// noGPU is the refusal of a statement that has no default schedule on a GPU.
func noGPU(why string) error {
	return &diag.Error{Code: diag.ScheduleRefused,
		Msg: "a GPU has no default schedule for this statement: " + why +
			"; --target=cpu runs it, or a schedule of your own (-s)"}
}

// reason is what an error says, without the place in a schedule that the user did not write.
func reason(err error) string {
	if e := (*diag.Error)(nil); errors.As(err, &e) {
		return e.Msg
	}
	return err.Error()
}

// partsOf are the variables of which a leaf by default is called with a part.
func partsOf(r Request) []string {
	c := &compilation{request: r, unit: &Unit{}}
	_ = c.normalize()
	return slices.DeleteFunc(slices.Clone(c.normal.Vars),
		func(v string) bool { return slices.Contains(r.Exact, v) })
}

// lines are the commands of the choice, and what is done that they do not say.
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

// gpuForms are the forms that a request's statement may have, the best first.
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

// resultName is the name that the user gave the result of a request.
func (r *Request) resultName() string {
	if n := r.Names[r.Stmt.LHS.Name]; n != "" {
		return n
	}
	return r.Stmt.LHS.Name
}

// gpuShape is what the choice of a form goes by.
type gpuShape struct {
	c     *compilation
	first []string    // the commands that come before those of the form
	body  cin.Stmt    // the nest that they leave
	loops []string    // of a perfect nest with one assignment, outermost first; nil for another
	sum   *cin.Assign // what it assigns
	drive *cin.Access // the one sparse operand, whose entries alone give values; nil for none
	deep  int         // levels of drive down to its last one that is not dense
	used  map[string]bool
}

// newGPUShape looks at a request's nest after commands, which say nothing of units yet: it is
// that of a CPU, whose loops may be serial.
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
	s.driver()
	return s, nil
}

// runTo runs the passes up to the one of that name.
func (c *compilation) runTo(name string) error {
	for _, p := range passes {
		if err := p.run(c); err != nil || p.name == name {
			return err
		}
	}
	panic("BUG: codegen: no pass " + name)
}

// driver finds the operand whose entries drive the sum: the right side is a product, and no
// other factor is sparse.
func (s *gpuShape) driver() {
	if !s.product(s.sum.RHS) {
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
		s.drive, s.deep = sparse[0], len(f.Levels)-f.TrailingDense()
	}
}

// product tells whether x is absent wherever one of its sparse operands is.
func (s *gpuShape) product(x cin.Expr) bool {
	switch x := x.(type) {
	case *cin.Neg:
		return s.product(x.X)
	case *cin.Binary:
		return (x.Op == '*' || x.Op == '/' && !s.sparse(x.Y)) && s.product(x.X) && s.product(x.Y)
	}
	return true
}

// sparse tells whether x has a sparse operand.
func (s *gpuShape) sparse(x cin.Expr) bool {
	found := false
	cin.ExprAccesses(x, func(a *cin.Access) {
		f, ok := s.c.formatOf(a.Name)
		found = found || ok && !f.AllDense()
	})
	return found
}

// inResult tells whether v is a variable of the result.
func (s *gpuShape) inResult(v string) bool { return slices.Contains(s.c.normal.LHS.Vars, v) }

// levels are the variables of drive's levels, outermost first.
func (s *gpuShape) levels() []string {
	f, _ := s.c.formatOf(s.drive.Name)
	out := make([]string, len(f.Order))
	for l, m := range f.Order {
		out[l] = s.drive.Vars[m]
	}
	return out
}

// key is an access as the user writes it.
func (s *gpuShape) key(a *cin.Access) string {
	return (&cin.Access{Name: s.userName(a.Name), Vars: a.Vars}).Key()
}

// userName is the name that the user gave an operand.
func (s *gpuShape) userName(name string) string {
	name = strings.TrimRight(name, "'")
	if n := s.c.request.Names[name]; n != "" {
		return n
	}
	return name
}

// expr is an expression as the user writes it.
func (s *gpuShape) expr(x cin.Expr) string {
	return cin.ExprString(cin.MapAccesses(x, func(a *cin.Access) *cin.Access {
		return &cin.Access{Name: s.userName(a.Name), Vars: a.Vars}
	}))
}

// name is a name for a loop that nothing else of the statement has.
func (s *gpuShape) name(want string) string {
	got := want
	for k := 1; s.used[got]; k++ {
		got = want + strings.Repeat("_", k)
	}
	s.used[got] = true
	return got
}

// entries are those of drive, in words.
func (s *gpuShape) entries() string {
	for k, o := range s.c.ops {
		if o.Name == s.drive.Name {
			if n := s.c.stats[k].NNZ; n >= 0 {
				return fmt.Sprintf("the %d entries of %s", n, s.key(s.drive))
			}
			return "the entries of " + s.key(s.drive)
		}
	}
	panic("BUG: codegen: no operand " + s.drive.Name)
}
