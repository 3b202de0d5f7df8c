package codegen

import (
	"errors"
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/diag"
	"distaff/codegen/gpu"
	"distaff/codegen/lower/tree"
	"distaff/codegen/network"
	"distaff/codegen/schedule"
)

// The default schedule of a GPU is one of a few forms (package gpu). If a later pass refuses a form,
// for example because a level has no positions, the next form is tried. If all are refused, the
// error gives the reason of the last.

// gpuDefault is the form that was chosen for a request, with its compilation.
type gpuDefault struct {
	form gpu.Form
	made *compilation
}

// chooseGPU compiles a request without a schedule by the first form that no pass refuses.
func chooseGPU(r Request) (*gpuDefault, error) {
	if r.Ask.FixedPattern {
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
		q.Ask.Schedule, q.Ask.Parts, q.Tensors.InPlace = f.Commands(), partsOf(r), ""
		c := &compilation{request: q, unit: &Unit{Request: r, Compute: r.Statement.ComputeType}}
		if refused = c.run(); refused == nil {
			return &gpuDefault{f, c}, nil
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
		func(v string) bool { return slices.Contains(r.Tensors.Exact, v) })
}

// lines returns the schedule that the compiler chose: the commands of the form, and commands that
// express the compiler's other decisions.
func (g *gpuDefault) lines() []schedule.Line {
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
func gpuForms(r Request) ([]gpu.Form, error) {
	var out []gpu.Form
	for _, commands := range [][]string{{}, {"temporaries(" + r.resultName() + ")"}} {
		s, err := gpuShape(r, commands)
		if err != nil {
			return nil, err
		}
		for _, f := range s.Forms() {
			if !slices.ContainsFunc(out,
				func(g gpu.Form) bool { return slices.Equal(f.Commands(), g.Commands()) }) {
				out = append(out, f)
			}
		}
	}
	return out, nil
}

// gpuShape runs the compiler's passes on a request with the given commands, up to the pass that
// schedules the loops, and describes the result to package gpu. The commands do not assign loops to
// units of a GPU. The request is therefore compiled for a CPU, because a schedule for a GPU must
// assign loops to units.
func gpuShape(r Request, commands []string) (*gpu.Shape, error) {
	r.Ask.Schedule, r.Ask.Parts, r.Ask.Trace = commands, partsOf(r), nil
	r.Target.Kind, r.Tensors.InPlace = CPU, ""
	r.Ask.Network = network.Direct.String() // the nest is checked when a form is compiled
	c := &compilation{request: r, unit: &Unit{Request: r, Compute: r.Statement.ComputeType}}
	if err := c.runTo("schedule"); err != nil {
		return nil, err
	}
	return &gpu.Shape{First: commands, Body: cin.Body(c.unit.CIN), Vars: c.normal.LHS.Vars,
		Result: c.unit.Result.Format, Shared: c.sharedWith, Parts: r.Ask.Parts, Names: r.Statement.Names,
		Format: c.formatOf, Size: c.size, Taken: c.taken,
		Entries: func(name string) int64 {
			return c.stats[slices.IndexFunc(c.ops, func(o tree.Argument) bool { return o.Name == name })].NNZ
		}}, nil
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
