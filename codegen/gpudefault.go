package codegen

import (
	"slices"
	"strings"

	"distaff/codegen/analysis"
	"distaff/codegen/choice"
	"distaff/codegen/cin"
	"distaff/codegen/contract"
	"distaff/codegen/gpu"
	"distaff/codegen/lower/tree"
	"distaff/codegen/network"
	"distaff/codegen/schedule"
)

// gpuDefault is the default schedule of a request for a GPU. form is the form that was chosen for
// the schedule, and made is the compilation with this form.
type gpuDefault struct {
	form gpu.Form
	made *compilation
}

// chooseGPU compiles a request that has no schedule. It tries the default forms in order, and
// chooses the first form that all passes accept.
func chooseGPU(r Request) (*gpuDefault, error) {
	if r.Ask.FixedPattern {
		return nil, gpu.NoDefault("values alone are computed on a CPU")
	}
	starts, err := gpuStarts(r)
	if err != nil {
		return nil, err
	}
	g := &gpuDefault{}
	g.form, err = gpu.Choose(starts,
		func(commands []string) (*gpu.Shape, error) { return gpuShape(r, commands) },
		func(f gpu.Form) error {
			q := r
			q.Ask.Schedule, q.Ask.Parts, q.Tensors.InPlace = f.Commands(), partsOf(r), ""
			g.made = newCompilation(q)
			g.made.unit.Request = r
			return g.made.run()
		})
	return g, err
}

// partsOf returns the variables for which a call of a default leaf may compute only a part of the
// range. These are all variables except r.Tensors.Exact.
func partsOf(r Request) []string {
	return slices.DeleteFunc(slices.Clone(newStatement(&r).normal.Vars),
		func(v string) bool { return slices.Contains(r.Tensors.Exact, v) })
}

// lines returns the schedule that the compiler chose: the commands of the form, and commands that
// express the compiler's other decisions.
func (g *gpuDefault) lines() []schedule.Line {
	out := texts(g.made.givenLines())
	for k, l := range out {
		if l.Why == "" {
			out[k].Why = g.form.Reason(l.Command)
		}
	}
	return out
}

// gpuStarts returns the lists of commands that forms begin with, the best first. Each list makes
// other nests of loops: with contractions or without, with sums in temporaries or without, and with
// or without the products that a library of the GPU computes.
func gpuStarts(r Request) (starts [][]string, err error) {
	method, tree, err := (&contract.Problem{Network: r.Ask.Network}).Method()
	if err != nil {
		return nil, err
	}
	temporaries := []string{"temporaries(" + r.resultName() + ")"}
	start := func(first, products []string) {
		if len(products) > 0 {
			starts = append(starts, slices.Concat(first, products))
		}
	}
	asked := tree != nil || method == network.Pairwise
	if method != network.Direct {
		products, steps, err := gpuProducts(r)
		if err != nil && asked {
			return nil, err
		}
		if err == nil && (asked || steps) {
			start(temporaries, products)
			starts = append(starts, temporaries)
		}
	}
	if asked {
		return starts, nil
	}
	r.Ask.Network = network.Direct.String()
	products, _, err := gpuProducts(r)
	if err != nil {
		return nil, err
	}
	start(nil, products)
	start(temporaries, products)
	return append(starts, []string{}, temporaries), nil
}

// forCPU returns the compilation of a request for a CPU, with the given schedule. The compilation
// shows the nest which forms of a GPU start from. Without temporaries in the schedule, products are
// in one nest of loops.
func forCPU(r Request, commands []string) *compilation {
	r.Ask.Schedule, r.Ask.Parts, r.Ask.Trace = commands, partsOf(r), nil
	r.Target.Kind, r.Tensors.InPlace, r.Ask.AsStored = CPU, "", true
	if commands != nil && !schedule.Temporaries(commands) {
		r.Ask.Network = network.Direct.String() // the nest is checked when a form is compiled
	}
	c := newCompilation(r)
	c.forGPU = true
	return c
}

// If intermediates are made inside loops, each thread makes its own, and the loops over a sparse
// operand are not divided evenly. Such intermediates are used if they make the product stepsSaving
// times cheaper.
const stepsSaving = 16

// gpuProducts returns the commands, each with its reason, that let a library of the GPU compute the
// products that a BLAS would compute on a CPU. steps is true if the statement is worth computing in
// several steps: it has an intermediate that is made outside all loops, or the intermediates save
// most of the cost.
func gpuProducts(r Request) (commands []string, steps bool, err error) {
	c := forCPU(r, nil)
	if err := c.runTo("nest"); err != nil {
		return nil, false, err
	}
	for _, p := range c.nest.Products() {
		o := choice.Order{Choice: choice.Substitute, Name: strings.Join(p.Vars, ","), Word: choice.BLAS}
		commands = append(commands, o.String()+" # "+p.Why)
	}
	_, outside := cin.Body(c.unit.CIN).(*cin.Where)
	saving := c.contractions.Saving()
	return commands, saving > 1 && outside || saving >= stepsSaving, nil
}

// gpuShape describes the loops of a request with the given commands to package gpu. To find the
// loops, it runs the compiler's passes up to the pass "schedule". It compiles the request for a
// CPU, because a schedule for a GPU must assign loops to units of the GPU, and these commands do
// not.
func gpuShape(r Request, commands []string) (*gpu.Shape, error) {
	c := forCPU(r, commands)
	if err := c.runTo("schedule"); err != nil {
		return nil, err
	}
	rest := c.withoutProducts(c.unit.CIN, schedule.Gemms(commands))
	var pays func(rows, cols, terms, batch float64) bool
	if g := c.gemms(); g != nil {
		pays = g.Pays
	}
	return &gpu.Shape{First: commands, Body: rest, Target: cin.Target(c.unit.CIN),
		Vars: c.stmt.normal.LHS.Vars, Result: c.unit.Result.Format, Shared: c.sharedWith,
		Parts: c.request.Ask.Parts, Names: r.Statement.Names,
		Format: c.formatOf, Size: c.stmt.size, Pays: pays, Taken: c.stmt.taken,
		Entries:  func(name string) int64 { return c.stats[tree.Find(c.ops, name).Number].NNZ },
		EvenRows: func(name string) int64 { return evenRows(&c.stats[tree.Find(c.ops, name).Number]) },
	}, nil
}

// withoutProducts returns the body of s without the nests whose innermost loops are a product of
// dense matrices over one of the lists of variables. It returns nil if nothing else is left.
func (c *compilation) withoutProducts(s cin.Stmt, products [][]string) cin.Stmt {
	facts := analysis.New(c.strategyProblem(s, c.sharedWith != nil))
	isProduct := func(t cin.Stmt) bool {
		for f, ok := t.(*cin.Forall); ok; f, ok = t.(*cin.Forall) {
			if slices.ContainsFunc(products, func(vars []string) bool {
				return choice.MatrixProduct(facts, f, vars) != nil
			}) {
				return true
			}
			t = f.Body
		}
		return false
	}
	return without(cin.Body(s), isProduct)
}

// without returns s without the nests of loops that drop chooses, or nil if nothing else is left.
func without(s cin.Stmt, drop func(cin.Stmt) bool) cin.Stmt {
	if drop(s) {
		return nil
	}
	var parts []cin.Stmt
	switch s := s.(type) {
	case *cin.Seq:
		parts = s.List
	case *cin.Where:
		parts = []cin.Stmt{s.Consumer, s.Producer}
	default:
		return s
	}
	var rest []cin.Stmt
	whole := true
	for _, t := range parts {
		u := without(t, drop)
		whole = whole && u == t
		if u != nil {
			rest = append(rest, u)
		}
	}
	switch {
	case whole:
		return s
	case len(rest) == 0:
		return nil
	case len(rest) == 1:
		return rest[0]
	}
	return &cin.Seq{List: rest}
}

// mostOfMean is the largest accepted ratio of the longest row to the mean of even rows.
const mostOfMean = 16

// evenRows returns the number of entries of the longest row of a matrix if its rows are of about
// equal length, and otherwise, or if that is unknown, 0.
func evenRows(t *analysis.Tensor) int64 {
	if len(t.Counts) != 2 || t.Longest > mostOfMean*max(t.NNZ/max(t.Counts[0], 1), 1) {
		return 0
	}
	return t.Longest
}
