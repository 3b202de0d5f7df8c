package codegen

import (
	"slices"

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
	g := &gpuDefault{}
	var err error
	g.form, err = gpu.Choose(r.resultName(),
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

// gpuShape describes the loops of a request with the given commands to package gpu. To find the
// loops, it runs the compiler's passes up to the pass "schedule". It compiles the request for a
// CPU, because a schedule for a GPU must assign loops to units of the GPU, and these commands do
// not.
func gpuShape(r Request, commands []string) (*gpu.Shape, error) {
	r.Ask.Schedule, r.Ask.Parts, r.Ask.Trace = commands, partsOf(r), nil
	r.Target.Kind, r.Tensors.InPlace = CPU, ""
	r.Ask.Network = network.Direct.String() // the nest is checked when a form is compiled
	c := newCompilation(r)
	if err := c.runTo("schedule"); err != nil {
		return nil, err
	}
	return &gpu.Shape{First: commands, Body: cin.Body(c.unit.CIN), Vars: c.stmt.normal.LHS.Vars,
		Result: c.unit.Result.Format, Shared: c.sharedWith, Parts: r.Ask.Parts, Names: r.Statement.Names,
		Format: c.formatOf, Size: c.stmt.size, Taken: c.stmt.taken,
		Entries: func(name string) int64 { return c.stats[tree.Find(c.ops, name).Number].NNZ }}, nil
}
