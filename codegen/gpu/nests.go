package gpu

import (
	"fmt"
	"slices"
	"strings"

	"distaff/codegen/cin"
	"distaff/io/tensor"
)

// nest is a loop that is not inside another loop, with everything inside it. On a GPU, each nest of
// a statement is a launch of its own.
type nest struct {
	loop   *cin.Forall
	target *cin.Access // what the nest computes: the result or a temporary
	number int         // the number of the loop among all loops over its variable, from 1
}

// findNests returns the nests of the statement, in the order of the text.
func (s *Shape) findNests() []nest {
	var out []nest
	seen := map[string]int{}
	top := outermostLoops(s.Body)
	cin.Walk(s.Body, func(t cin.Stmt) {
		f, ok := t.(*cin.Forall)
		if !ok {
			return
		}
		seen[f.Var]++
		if slices.Contains(top, f) {
			out = append(out, nest{f, cin.Target(f), seen[f.Var]})
		}
	})
	return out
}

// ofNest returns the shape of one nest of the statement, as if the nest were the whole statement.
func (s *Shape) ofNest(n nest) *Shape {
	t := *s
	t.Body, t.loops, t.sum, t.driver = n.loop, nil, nil, nil
	if t.inTemporary = n.target.Name != s.Target.Name; t.inTemporary {
		t.Vars, t.Shared = n.target.Vars, nil
		t.Result = tensor.Format{}
		for k := range t.Vars {
			t.Result.Levels = append(t.Result.Levels, tensor.Dense)
			t.Result.Order = append(t.Result.Order, k)
		}
	}
	t.findLoops()
	return &t
}

// perNest returns forms for a statement of several nests. Each form has the commands of a form of
// one nest, and commands that give all threads of the GPU the iterations of the other nests. Forms
// of nests with a driver (see findDriver) come first, because they probably have the most work.
func (s *Shape) perNest() (out []Form) {
	nests := s.findNests()
	if len(nests) == 1 && nests[0].loop == s.Body {
		return nil
	}
	shapes := make([]*Shape, len(nests))
	var order []int
	for k, n := range nests {
		shapes[k] = s.ofNest(n)
		order = append(order, k)
	}
	slices.SortStableFunc(order, func(a, b int) int { return shapes[b].work() - shapes[a].work() })
	for _, k := range order {
		for _, f := range shapes[k].formsOfNest() {
			out = append(out, append(f, s.otherNests(nests, k, f)...))
		}
	}
	return out
}

// work returns a rank for the work of a perfect nest: the number of its loops, and 100 more if the
// nest has a driver (see findDriver).
func (s *Shape) work() int {
	n := 0
	cin.Walk(s.Body, func(t cin.Stmt) {
		if _, ok := t.(*cin.Forall); ok {
			n++
		}
	})
	if s.loops != nil && s.driver != nil {
		n += 100
	}
	return n
}

// otherNests returns the commands for all nests except nests[main], whose form is f. A nest whose
// outermost loop f divides gets the commands of f, and needs no others. If f divides an inner loop
// of a nest for the threads of a block, each block runs one iteration of the nest.
func (s *Shape) otherNests(nests []nest, main int, f Form) Form {
	var texts []string
	for k, n := range nests {
		switch {
		case k == main || f.divides(n.loop.Var):
			continue
		case slices.ContainsFunc(cin.LoopVars(n.loop.Body), f.divides):
			texts = append(texts, fmt.Sprintf("parallelize(%s,GPUBlock,%s", n.loop.Var, s.raceOf(n)))
		default:
			texts = append(texts, s.grid(n, n.loop.Var))
		}
	}
	t := *s
	t.First = nil
	return t.lines(texts...)
}

// divides reports whether a command of the form splits the loops over v.
func (f Form) divides(v string) bool {
	return slices.ContainsFunc(f.Commands(),
		func(c string) bool { return strings.HasPrefix(c, "split("+v+",") })
}

// grids returns the form that gives each thread of the GPU some iterations of each nest. It fits
// every statement that a GPU can compute.
func (s *Shape) grids() Form {
	nests := s.findNests()
	texts := []string{s.insertion()}
	seen := map[string]bool{}
	for _, n := range nests {
		v := n.loop.Var
		ref := v
		// One command names all outermost loops over v, if it fits them all.
		if slices.ContainsFunc(nests, func(m nest) bool {
			return m.loop.Var == v && s.grid(m, v) != s.grid(n, v)
		}) {
			ref = fmt.Sprintf("%s[%d]", v, n.number)
		}
		if !seen[ref] {
			texts = append(texts, s.grid(n, ref))
		}
		seen[ref] = true
	}
	return s.lines(texts...)
}

// insertion returns the command that assembles a result with a pattern of its own, or "".
func (s *Shape) insertion() string {
	if s.Shared != nil || s.Result.AllDense() {
		return ""
	}
	return "assemble(" + s.userName(s.Target.Name) +
		",Insert) # entries are counted, then written to their places"
}

// grid returns the command that gives each thread of the GPU some iterations of the nest's
// outermost loop, which ref names. A thread that must first search for its coordinates in an
// operand gets several coordinates.
func (s *Shape) grid(n nest, ref string) string {
	chunk := blockThreads
	cin.Accesses(n.loop, func(a *cin.Access) {
		f, ok := s.Format(a.Name)
		if ok && len(f.Levels) > 0 && a.Vars[f.Order[0]] == n.loop.Var && !f.Levels[0].CanLocate() {
			chunk = blockThreads * copiedEntries
		}
	})
	race, why, _ := strings.Cut(s.raceOf(n), ")")
	return fmt.Sprintf("parallelize(%s,GPUBlock,%s,%d)%s", ref, race, chunk, why)
}

// raceOf returns the end of a parallelize command for the outermost loop of a nest: the race
// strategy, the closing parenthesis and a comment with the reason.
func (s *Shape) raceOf(n nest) string {
	switch {
	case len(n.target.Vars) == 0:
		return "ParallelReduction) # the sums of threads and blocks are added"
	case slices.Contains(n.target.Vars, n.loop.Var):
		return "NoRaces) # each writes its own elements of " + s.key(n.target)
	}
	return "Atomics) # several threads add to one element of " + s.key(n.target)
}

// outermostLoops returns the loops that are not inside another loop.
func outermostLoops(t cin.Stmt) []*cin.Forall {
	switch t := t.(type) {
	case *cin.Forall:
		return []*cin.Forall{t}
	case *cin.Where:
		return append(outermostLoops(t.Producer), outermostLoops(t.Consumer)...)
	case *cin.Seq:
		var out []*cin.Forall
		for _, x := range t.List {
			out = append(out, outermostLoops(x)...)
		}
		return out
	}
	return nil
}
