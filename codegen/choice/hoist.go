package choice

import (
	"fmt"
	"slices"

	"distaff/codegen/analysis"
	"distaff/codegen/cin"
	"distaff/codegen/strategy"
)

// Hoist is the choice to compute a sum only once, before the loops that do not change it: hoist(t).
// t is the scalar temporary of the sum. It becomes a workspace with an element for each
// coordinate of the variables that the sum depends on. The workspace is filled before the outermost
// loop over another variable.
var Hoist = &Choice{
	Name:    "hoist",
	Params:  []Param{{Kind: NameParam, Name: "t"}},
	Meaning: "computes a sum once, before outer loops",
	CPUOnly: "only one thread of a GPU could fill the workspace",
	Mark: func(f *analysis.Facts, o Order) (cin.Stmt, error) {
		h, err := hoistable(f, o.Name)
		if err != nil {
			return nil, err
		}
		return h.body(), nil
	},
	Default: func(f *analysis.Facts, _ *strategy.Value) (out []Chosen) {
		for _, x := range f.Problem.Lookups {
			if x.Sum != "" {
				out = append(out, Chosen{Order: Order{Name: x.Sum}, Why: x.Why})
			}
		}
		return out
	},
}

// hoisted is a where whose producer can be moved out of loops.
type hoisted struct {
	f     *analysis.Facts
	where *cin.Where
	loops []*cin.Forall // the loops around the where, outermost first
	kept  int           // the first kept loops stay around the producer
	vars  []string      // the variables of the workspace
}

// hoistable returns the where whose producer sums the scalar temporary with the given name, or an
// error if the producer cannot be moved out of loops.
func hoistable(f *analysis.Facts, name string) (*hoisted, error) {
	h := &hoisted{f: f}
	var walk func(s cin.Stmt, loops []*cin.Forall)
	walk = func(s cin.Stmt, loops []*cin.Forall) {
		switch s := s.(type) {
		case *cin.Forall:
			walk(s.Body, append(slices.Clone(loops), s))
		case *cin.Where:
			if t := cin.Target(s.Producer); t.Name == name && len(t.Vars) == 0 {
				h.where, h.loops = s, loops
			}
			walk(s.Consumer, loops)
			walk(s.Producer, loops)
		case *cin.Seq:
			for _, t := range s.List {
				walk(t, loops)
			}
		}
	}
	walk(f.Body, nil)
	switch {
	case h.where == nil:
		return nil, refused(0, "got %s, want the temporary of a sum", name)
	case f.Graph != nil && slices.ContainsFunc(h.loops, func(l *cin.Forall) bool {
		return f.Graph.Derived(l.Var)
	}):
		return nil, refused(0, "a loop around %s is over a variable that the schedule made; want hoist "+
			"before the command that made it", name)
	case slices.ContainsFunc(h.loops, func(l *cin.Forall) bool { return l.Unit != cin.Serial }):
		return nil, refused(0, "a loop around %s is parallel already", name)
	}
	return h, h.findVars(name)
}

// findVars sets the variables of the workspace and the loops that stay around its producer.
func (h *hoisted) findVars(name string) error {
	own, inner, outside, quotient := []string{}, cin.LoopVars(h.where.Producer), "", false
	cin.Walk(h.where.Producer, func(s cin.Stmt) {
		if w, ok := s.(*cin.Where); ok {
			own = append(own, cin.Target(w.Producer).Name)
		}
		a, ok := s.(*cin.Assign)
		if !ok {
			return
		}
		quotient = quotient || h.f.Problem.Compute.IsInt() && hasQuotient(a.RHS)
	})
	cin.Accesses(h.where.Producer, func(a *cin.Access) {
		if h.f.Tensor(a.Name) == nil && !slices.Contains(own, a.Name) {
			outside = a.Name
		}
		for _, v := range a.Vars {
			if !slices.Contains(inner, v) && !slices.Contains(h.vars, v) {
				h.vars = append(h.vars, v)
			}
		}
	})
	slices.SortFunc(h.vars, func(u, v string) int { return h.depth(u) - h.depth(v) })
	for len(h.vars) > 0 && h.kept < len(h.loops) && h.loops[h.kept].Var == h.vars[0] {
		h.kept, h.vars = h.kept+1, h.vars[1:]
	}
	switch {
	case outside != "":
		return refused(0, "%s depends on %s, which is computed inside the loops around it", name,
			outside)
	case quotient:
		return refused(0, "%s has a quotient of integers, which may divide by zero where the statement "+
			"does not compute it", name)
	case h.kept == len(h.loops):
		return refused(0, "each loop around %s changes it", name)
	case h.f.Places(h.vars) > MaxPlaces:
		return refused(0, "%s would have %.4g elements, want at most %d", name, h.f.Places(h.vars),
			MaxPlaces)
	}
	return nil
}

// depth returns the number of the loop over v among the loops around the where.
func (h *hoisted) depth(v string) int {
	return slices.IndexFunc(h.loops, func(l *cin.Forall) bool { return l.Var == v })
}

// hasQuotient reports whether an expression contains a quotient.
func hasQuotient(x cin.Expr) bool {
	switch x := x.(type) {
	case *cin.Neg:
		return hasQuotient(x.X)
	case *cin.Call:
		return slices.ContainsFunc(x.Args, hasQuotient)
	case *cin.Binary:
		return x.Op == '/' || hasQuotient(x.X) || hasQuotient(x.Y)
	}
	return false
}

// body returns the statement's body with the producer outside of loops. Around the producer, each
// finished sum is moved to a new workspace, which the consumer reads.
func (h *hoisted) body() cin.Stmt {
	sum := cin.Target(h.where.Producer)
	at := &cin.Access{Name: freshName(h.f), Vars: h.vars}
	producer := cin.Nest(h.vars, &cin.Where{
		Consumer: &cin.Assign{LHS: at, Accumulate: true, RHS: sum}, Producer: h.where.Producer})
	consumer := replaceAccess(h.where.Consumer, sum, at)
	return cin.Descend(h.f.Body, func(t cin.Stmt) (cin.Stmt, bool) {
		if t != cin.Stmt(h.loops[h.kept]) {
			return nil, false
		}
		loops := cin.Descend(t, func(u cin.Stmt) (cin.Stmt, bool) {
			return consumer, u == cin.Stmt(h.where)
		})
		return &cin.Where{Consumer: loops, Producer: producer}, true
	})
}

// hoistGain is the smallest ratio by which the number of times that a sum is computed must fall so
// that the default schedule hoists the sum.
const hoistGain = 2

// hoists hoists the sums of a statement that are computed too often. It returns the facts of the
// new statement, and lists the sums.
func hoists(f *analysis.Facts) (new *analysis.Facts, list []analysis.Lookup) {
	var names []string
	cin.Walk(f.Body, func(s cin.Stmt) {
		if w, ok := s.(*cin.Where); ok && len(cin.Target(w.Producer).Vars) == 0 {
			names = append(names, cin.Target(w.Producer).Name)
		}
	})
	for _, name := range names {
		h, err := hoistable(f, name)
		if err != nil {
			continue
		}
		now, then := runsOf(f, h.loops), runsOf(f, h.loops[:h.kept])*f.Places(h.vars)
		if now < hoistGain*then && !always(f) {
			continue
		}
		list = append(list, analysis.Lookup{Sum: name, Why: fmt.Sprintf(
			"%s would be computed %.3g times, and has %.3g values", name, now, then)})
		f = marked(f, h.body())
	}
	return f, list
}
