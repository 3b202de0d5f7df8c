package strategy

import (
	"fmt"
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/provenance"
)

// Threads that each have a part of the range of a variable of the result share a loop that sums
// into it, and its intermediates, by that part. What is computed without the variable is
// computed by each: at most ownRepeated of all multiply-adds. The variable has at least MinOwn
// coordinates.
const (
	ownRepeated = 0.25
	MinOwn      = 4
)

// innermostRepeated is the share of the work of an assignment that threads repeat where they
// have parts of its innermost loop: what is around it, and what shorter lanes cost.
const innermostRepeated = 0.5

// ownPart is the variable of a dense result of whose range each thread has a part in a loop that
// sums contractions into the result; "" where that would repeat too much.
func (f *facts) ownPart(l *cin.Forall) (string, string) {
	if len(f.problem.Intermediates) == 0 {
		return "", ""
	}
	best, least, total := "", 0.0, 0.0
	for _, v := range f.vars {
		if f.problem.Sizes[v] < MinOwn || f.parts(l, v) != nil {
			continue
		}
		repeated := 0.0
		total = 0
		cin.Paths(l, func(loops []*cin.Forall, a *cin.Assign) {
			work := f.work(a.LHS.Name)
			total += work
			switch at := slices.IndexFunc(loops, func(m *cin.Forall) bool { return m.Var == v }); at {
			case -1:
				repeated += work
			case len(loops) - 1:
				repeated += innermostRepeated * work
			}
		})
		if best == "" || repeated < least {
			best, least = v, repeated
		}
	}
	if best == "" || least > ownRepeated*total {
		return "", ""
	}
	return best, fmt.Sprintf(
		"each thread has a part of the %d coordinates of %s, and repeats %.2g of %.4g multiply-adds",
		f.problem.Sizes[best], best, least, total)
}

// work is the number of multiply-adds into an intermediate or the result.
func (f *facts) work(name string) float64 {
	if x, ok := f.problem.Intermediates[name]; ok {
		return x.Added
	}
	return f.problem.Contracted
}

// parts tells why threads cannot each have a part of the range of v in a loop that sums into the
// result, nil where they can.
func (f *facts) parts(l *cin.Forall, v string) error {
	target := cin.Target(l)
	switch {
	case !sums(l) || !f.assigns(l) || f.problem.Assembly != Dense:
		return fmt.Errorf("threads have parts of a dense result that a loop sums into; got %s",
			target.Key())
	case !slices.Contains(f.vars, v):
		return fmt.Errorf("%s is no variable of %s", v, target.Key())
	case slices.ContainsFunc(f.g.Relations(),
		func(r provenance.Relation) bool {
			return slices.Contains(r.From, v) ||
				slices.Contains(r.To, v)
		}):
		return fmt.Errorf("the loops over %s are changed by other commands", v)
	}
	var err error
	cin.Accesses(l, func(a *cin.Access) {
		if t := f.tensor(a.Name); t != nil {
			for level, u := range t.levels(a) {
				if u == v && !t.caps(level).Locate {
					err = fmt.Errorf("%s stores a list of coordinates of %s", a.Key(), v)
				}
			}
		}
	})
	return err
}

// ownVar is the variable that the rows are along which threads have of their own, where the loop
// directly inside l is over it; else "".
func (f *facts) ownVar(l *cin.Forall) string {
	if f.ownRows(l) {
		return f.vars[0]
	}
	return ""
}
