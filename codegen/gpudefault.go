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
	if _, _, err := (&contract.Problem{Network: r.Ask.Network, GPU: true}).Method(); err != nil {
		return nil, err
	}
	products, err := gpuProducts(r)
	if err != nil {
		return nil, err
	}
	g := &gpuDefault{}
	g.form, err = gpu.Choose(r.resultName(), products,
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

// forCPU returns the compilation of a request for a CPU, with the given schedule. The compilation
// shows the nest which forms of a GPU start from.
func forCPU(r Request, commands []string) *compilation {
	r.Ask.Schedule, r.Ask.Parts, r.Ask.Trace = commands, partsOf(r), nil
	r.Target.Kind, r.Tensors.InPlace, r.Ask.AsStored = CPU, "", true
	r.Ask.Network = network.Direct.String() // the nest is checked when a form is compiled
	c := newCompilation(r)
	c.forGPU = true
	return c
}

// gpuProducts returns the commands, each with its reason, that let a library of the GPU compute the
// terms that a BLAS would compute on a CPU.
func gpuProducts(r Request) (commands []string, err error) {
	c := forCPU(r, nil)
	if err := c.runTo("nest"); err != nil {
		return nil, err
	}
	for _, p := range c.nest.Products() {
		o := choice.Order{Choice: choice.Substitute, Name: strings.Join(p.Vars, ","), Word: choice.BLAS}
		commands = append(commands, o.String()+" # "+p.Why)
	}
	return commands, nil
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
	return &gpu.Shape{First: commands, Body: rest, Vars: c.stmt.normal.LHS.Vars,
		Result: c.unit.Result.Format, Shared: c.sharedWith, Parts: c.request.Ask.Parts, Names: r.Statement.Names,
		Format: c.formatOf, Size: c.stmt.size, Taken: c.stmt.taken,
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
	s = cin.Body(s)
	list := []cin.Stmt{s}
	if all, ok := s.(*cin.Seq); ok {
		list = all.List
	}
	rest := slices.DeleteFunc(slices.Clone(list), isProduct)
	switch len(rest) {
	case len(list):
		return s
	case 0:
		return nil
	case 1:
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
