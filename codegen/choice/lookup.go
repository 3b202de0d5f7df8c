package choice

import (
	"fmt"
	"slices"

	"distaff/codegen/analysis"
	"distaff/codegen/cin"
	"distaff/codegen/notation"
	"distaff/codegen/strategy"
)

// Lookup is the choice to look up entries of an operand in a table, instead of merging them with
// the entries of other operands: lookup(A(i,j),W). The table W is a workspace. It gets a copy of the
// entries before the loops that read them again and again. These loops then visit only coordinates
// of the other operands, and find each of them in W at once.
//
// The default instructions are put into the statement before loops get units (Lookups).
var Lookup = &Choice{
	Name:    "lookup",
	Params:  []Param{{Kind: NameParam, Name: "T(i, j)"}, {Kind: TextParam, Name: "W"}},
	Meaning: "copies T to a table before inner loops",
	CPUOnly: "only one thread of a GPU could fill the table",
	Mark: func(f *analysis.Facts, o Order) (cin.Stmt, error) {
		return intoTable(f, o.Name, o.Word)
	},
	Default: func(f *analysis.Facts, _ *strategy.Value) (out []Chosen) {
		for _, x := range f.Problem.Lookups {
			if x.Table != "" {
				out = append(out, Chosen{Order: Order{Name: x.Access, Word: x.Table}, Why: x.Why})
			}
		}
		return out
	},
}

// intoTable returns the statement's body with a new workspace. Loops look up there the entries of
// an access. name is the name of the workspace, and text names the access.
func intoTable(f *analysis.Facts, text, name string) (cin.Stmt, error) {
	a, t, err := f.Access(text)
	if err != nil {
		return nil, refused(0, "%v", err)
	}
	last := t.Order() - 1
	if last < 0 || t.Kind(last).CanLocate() {
		return nil, refused(0, "got %s, want an access whose last level is sparse (its format is %s)",
			a.Key(), t.Format)
	}
	if !notation.IsName(name) || nameTaken(f, name) {
		return nil, refused(1, "got %s, want a new name for the table", name)
	}
	vars := t.LevelVars(a)
	for k, v := range vars {
		if slices.Contains(vars[:k], v) {
			return nil, refused(0, "got %s, which has %s twice", a.Key(), v)
		}
		if f.Graph.IsReplaced(v) || len(cin.Loops(f.Body, v)) == 0 {
			return nil, refused(0, "got %s, but the loop over %s was replaced; want lookup before the "+
				"command that replaces it", a.Key(), v)
		}
	}
	w := &cin.Access{Name: name, Vars: vars[last:]}
	body, err := wrap(f.Body, a, vars[:last], w)
	if err != nil {
		return nil, err
	}
	if g := marked(f, body); !isLookedUp(g, name) {
		return nil, refused(0, "the loops over %s have no other sparse operand, whose coordinates could "+
			"be looked up in %s", vars[last], a.Key())
	}
	return body, nil
}

// withSpaces returns the facts of problem p, with the default forms of its workspaces.
func withSpaces(p *analysis.Problem) *analysis.Facts {
	f := analysis.New(p)
	f.Spaces = map[string]strategy.Space{}
	defaultSpaces(f)
	return f
}

// marked returns the facts of a statement with another body.
func marked(f *analysis.Facts, body cin.Stmt) *analysis.Facts {
	p := *f.Problem
	p.Stmt = f.With(body)
	return withSpaces(&p)
}

// nameTaken reports whether a tensor, a temporary or a variable of the statement has a name.
func nameTaken(f *analysis.Facts, name string) bool {
	taken := name == f.Result.Name || name == f.ResultName() || f.Tensor(name) != nil ||
		f.Graph.IsReplaced(name) || len(cin.Loops(f.Body, name)) > 0
	cin.Walk(f.Body, func(s cin.Stmt) { taken = taken || cin.Target(s).Name == name })
	_, isVar := f.Problem.Sizes[name]
	return taken || isVar
}

// freshName returns a new name for a workspace.
func freshName(f *analysis.Facts) string {
	name := "w"
	for k := 1; nameTaken(f, name); k++ {
		name = fmt.Sprintf("w%d", k)
	}
	return name
}

// wrap returns s with a where that copies the access a to w, and with w in place of a. The where is
// inside the loops over the variables in outer, and outside all other loops that read a.
func wrap(s cin.Stmt, a *cin.Access, outer []string, w *cin.Access) (cin.Stmt, error) {
	if len(outer) == 0 {
		return &cin.Where{Consumer: replaceAccess(s, a, w),
			Producer: cin.Nest(w.Vars, &cin.Assign{LHS: w, Accumulate: true, RHS: a})}, nil
	}
	reads := func(t cin.Stmt) (found bool) {
		cin.Accesses(t, func(x *cin.Access) { found = found || x.Key() == a.Key() })
		return found
	}
	switch s := s.(type) {
	case *cin.Forall:
		if s.Var == w.Vars[0] {
			return nil, refused(0, "the loop over %s is outside the loop over %s, so that each of its "+
				"coordinates is visited once", s.Var, outer[0])
		}
		rest := slices.DeleteFunc(slices.Clone(outer), func(v string) bool { return v == s.Var })
		body, err := wrap(s.Body, a, rest, w)
		g := *s
		g.Body = body
		return &g, err
	case *cin.Where:
		switch p, c := reads(s.Producer), reads(s.Consumer); {
		case p && !c:
			in, err := wrap(s.Producer, a, outer, w)
			return &cin.Where{Consumer: s.Consumer, Producer: in}, err
		case c && !p:
			in, err := wrap(s.Consumer, a, outer, w)
			return &cin.Where{Consumer: in, Producer: s.Producer}, err
		}
	case *cin.Seq:
		list, at := slices.Clone(s.List), -1
		for k, t := range list {
			switch {
			case !reads(t):
			case at >= 0:
				return nil, manyReaders(a)
			default:
				at = k
			}
		}
		in, err := wrap(list[at], a, outer, w)
		list[at] = in
		return &cin.Seq{List: list}, err
	}
	return nil, manyReaders(a)
}

// replaceAccess returns s with the access by in place of the access a.
func replaceAccess(s cin.Stmt, a, by *cin.Access) cin.Stmt {
	return cin.Map(s, func(t cin.Stmt) cin.Stmt {
		u, ok := t.(*cin.Assign)
		if !ok {
			return t
		}
		v := *u
		v.RHS = cin.MapAccesses(u.RHS, func(x *cin.Access) *cin.Access {
			if x.Key() == a.Key() {
				return by
			}
			return x
		})
		return &v
	})
}

func manyReaders(a *cin.Access) error {
	return refused(0, "%s is read in several nests of loops", a.Key())
}

// isLookedUp reports whether consumers can look up the workspace with the given name: each loop
// over one of its variables that reads it also visits the coordinates of other operands, and needs
// no coordinates that only the workspace has.
func isLookedUp(f *analysis.Facts, name string) bool {
	kind := f.Spaces[name]
	f.Spaces[name] = strategy.Space{Form: strategy.Form{Kind: strategy.Table}}
	defer func() { f.Spaces[name] = kind }()
	found, ok := false, true
	eachVariable(f, f.Stmt, scope{}, func(v string, body cin.Stmt, in scope) {
		reads := false
		cin.Accesses(body, func(a *cin.Access) {
			reads = reads || a.Name == name && slices.Contains(a.Vars, v)
		})
		if _, made := in.spaces[name]; reads && made {
			lat := loopLattice(f, v, body, in)
			found, ok = true, ok && len(lat.Iters) > 0 && !lat.Universe() && !lat.Coarse
		}
	})
	return found && ok
}

// lookupGain is the smallest speedup for which the default schedule uses a table or a search.
const lookupGain = 1.25

// Lookups chooses how the loops of a statement visit several sparse operands: by a merge, by a
// search in the longer operand (mergeby(i,Gallop)), or by looking one of them up in a table. It
// returns the body with the chosen tables and searches, and lists these. It chooses merges if the
// number of entries of an operand is unknown.
func Lookups(p *analysis.Problem) (cin.Stmt, []analysis.Lookup) {
	f := withSpaces(p)
	if f.Graph != nil || p.Target.GPU || !always(f) && slices.ContainsFunc(p.Tensors[1:],
		func(t analysis.Tensor) bool { return t.NNZ < 0 }) {
		return f.Body, nil
	}
	f, list := hoists(f)
	for { // tables first: their loops search too
		best := bestTable(f)
		if best == nil {
			break
		}
		list = append(list, best.Lookup)
		f = marked(f, best.body)
	}
	for _, m := range merges(f) {
		if slices.ContainsFunc(list, func(x analysis.Lookup) bool { return x.Var == m.v }) {
			continue
		}
		if c := searchFor(f, m); c != nil {
			list = append(list, c.Lookup)
			f = marked(f, c.body)
		}
	}
	return f.Body, list
}

// always reports whether tables replace all merges that they can replace.
func always(f *analysis.Facts) bool { return f.Problem.Target.MergeTime == 1 }

// candidate is a way to visit the operands of a loop, with the statement's body that does so. saved
// is the time that it saves.
type candidate struct {
	analysis.Lookup
	body  cin.Stmt
	saved float64
}

// bestTable returns the table that saves most, or nil if none saves enough.
func bestTable(f *analysis.Facts) (best *candidate) {
	for _, m := range merges(f) {
		for _, x := range m.sides {
			if c := tableFor(f, m, x); c != nil && (best == nil || c.saved > best.saved) {
				best = c
			}
		}
	}
	return best
}

// tableFor returns the candidate that copies side x of m to a table, or nil if this is impossible
// or too slow.
func tableFor(f *analysis.Facts, m merged, x side) *candidate {
	t := x.operand.Tensor
	last := t.Order() - 1
	places := float64(f.Problem.Sizes[m.v])
	if x.operand.Vars[last] != m.v || x.operand.Key == f.Problem.Share ||
		!FitsPlaces(1, places, f.Entries(), x.segment) {
		return nil
	}
	fills := 1.0
	for _, v := range m.outer {
		if slices.Contains(x.operand.Vars, v) {
			fills = max(fills, m.trips[v])
		}
	}
	if m.visits < 2*fills && !always(f) {
		return nil
	}
	looked, others := lookupStep, 0.0
	for _, y := range m.sides {
		if y.operand != x.operand {
			others += y.segment
		}
	}
	bytes := places * float64(f.Problem.Compute.Size()+1)
	if bytes > float64(f.Problem.Target.FarBytes) {
		looked *= farLookup
	}
	time := places*clearStep + fills*x.segment*fillStep + m.visits*others*looked
	if len(m.sides) > 2 { // the others are still merged
		time += m.visits * others * mergeStep
	}
	merge := m.mergeTime()
	if (time*lookupGain > merge || merge < float64(f.Problem.Target.MergeTime)) && !always(f) {
		return nil
	}
	name := freshName(f)
	body, err := intoTable(f, x.operand.Key, name)
	if err != nil {
		return nil
	}
	why := fmt.Sprintf("%.3g loops over %s would merge %.3g entries of %s each; they look up %.3g "+
		"coordinates in a table of %.3g places instead", m.visits, m.v, x.segment, x.operand.Key, others,
		places)
	return &candidate{analysis.Lookup{Access: x.operand.Key, Table: name, Why: why}, body,
		merge - time}
}

// searchFor returns the candidate that searches for the coordinates that all sides of m have, or
// nil if this is impossible or too slow.
func searchFor(f *analysis.Facts, m merged) *candidate {
	step, search := m.stepping(), m.searching()
	if search*2*lookupGain > step || step < float64(f.Problem.Target.MergeTime) {
		return nil
	}
	o := Order{Choice: Gallop, Word: gallop}.of(m.v)
	body, err := Gallop.Mark(f, o)
	if err != nil || cin.String(body) == cin.String(f.Body) || searches(marked(f, body), o) != nil {
		return nil
	}
	why := fmt.Sprintf("one of %d operands has far fewer coordinates of %s than another", len(m.sides),
		m.v)
	return &candidate{analysis.Lookup{Var: m.v, Why: why}, body, step - search}
}

// tableForm returns the form of a table for workspace t, which producer fills. It returns an error
// if the loops that read t cannot look up its coordinates.
func tableForm(f *analysis.Facts, t *cin.Access, producer cin.Stmt) (strategy.Form, error) {
	_, once := inOrder(f, producer)
	form := strategy.Form{Kind: strategy.Table, Once: once, Together: cin.Threaded(producer)}
	switch n := f.Places(t.Vars); {
	case n > MaxPlaces:
		return form, fmt.Errorf("%[2]s has %.4[3]g coordinates, but a table can have at most %[1]d",
			MaxPlaces, t.Key(), n)
	case f.Problem.Target.GPU:
		return form, fmt.Errorf("a GPU has no tables")
	case slices.ContainsFunc(t.Vars, func(v string) bool { c, _ := f.Component(v); return c != nil }):
		return form, fmt.Errorf("the schedule derives other variables from a variable of %s", t.Key())
	case !isLookedUp(f, t.Name):
		return form, fmt.Errorf("a table is for loops that find the coordinates of %s in other "+
			"operands", t.Key())
	}
	return form, nil
}
