package choice

import (
	"fmt"
	"slices"

	"distaff/codegen/analysis"
	"distaff/codegen/cin"
	"distaff/codegen/provenance"
)

// The threads can divide the range of one variable of a dense result. Each thread then computes its
// own part of the result and of the intermediates that have this variable, and repeats all other
// work. ownRepeated is the largest accepted share of repeated work. MinOwn is the smallest accepted
// size of the variable.
const (
	ownRepeated = 0.25
	MinOwn      = 4
)

// innermostRepeated is the share of an assignment's work that counts as repeated if the innermost
// loop around the assignment is divided among threads. The share covers two costs. Each thread
// repeats the work around that loop, and the vector lanes are shorter.
const innermostRepeated = 0.5

// ownPart chooses the variable whose range is divided among the threads, so that each thread
// computes its own part of a dense result. Loop l sums contractions into this result. ownPart
// returns the variable and the reason for the choice. It returns "" twice if no variable can be
// divided, or if the threads would repeat too much work.
func ownPart(f *analysis.Facts, l *cin.Forall) (string, string) {
	if len(f.Problem.Intermediates) == 0 {
		return "", ""
	}
	best, least, total := "", 0.0, 0.0
	for _, v := range f.Vars {
		if f.Problem.Sizes[v] < MinOwn || parts(f, l, v) != nil {
			continue
		}
		repeated := 0.0
		total = 0
		cin.Paths(l, func(loops []*cin.Forall, a *cin.Assign) {
			added := work(f, a.LHS.Name)
			total += added
			switch at := slices.IndexFunc(loops, func(m *cin.Forall) bool { return m.Var == v }); at {
			case -1:
				repeated += added
			case len(loops) - 1:
				repeated += innermostRepeated * added
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
		"each thread computes a part of the %d coordinates of %s, and repeats %.2g of %.4g "+
			"multiply-adds",
		f.Problem.Sizes[best], best, least, total)
}

// work returns the number of multiply-adds into the intermediate with this name, or into the result
// if there is no such intermediate.
func work(f *analysis.Facts, name string) float64 {
	if x, ok := f.Problem.Intermediates[name]; ok {
		return x.Added
	}
	return f.Problem.Contracted
}

// parts returns nil if each thread can have a part of the range of v in a loop l that sums into the
// result. Otherwise it returns an error that says why not.
func parts(f *analysis.Facts, l *cin.Forall, v string) error {
	target := cin.Target(l)
	switch {
	case !sumsIntoDense(f, l):
		return fmt.Errorf(
			"got %s, want a loop for Rows that sums into a dense result, of which each thread has "+
				"a part",
			target.Key())
	case !slices.Contains(f.Vars, v):
		return fmt.Errorf("got %s, want an index variable of %s", v, target.Key())
	case slices.ContainsFunc(f.Graph.Relations(),
		func(r provenance.Relation) bool {
			return slices.Contains(r.From, v) ||
				slices.Contains(r.To, v)
		}):
		return fmt.Errorf("the loops over %s must not be changed by other commands", v)
	}
	for _, x := range f.Operands(l) {
		for level, u := range x.Vars {
			if u == v && !x.Tensor.Kind(level).CanLocate() {
				return fmt.Errorf("%s must not store the coordinates of %s in a list, because threads "+
					"cannot find their parts of a list", x.Key, v)
			}
		}
	}
	return nil
}

// ownVar returns the result's outermost variable if each thread can run l for its own rows of the
// result (ownRows). Otherwise it returns "".
func ownVar(f *analysis.Facts, l *cin.Forall) string {
	if ownRows(f, l) {
		return f.Vars[0]
	}
	return ""
}
