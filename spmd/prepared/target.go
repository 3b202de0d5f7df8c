package prepared

import (
	"errors"
	"slices"
	"strings"

	"distaff/codegen"
	"distaff/codegen/diag"
	"distaff/codegen/schedule"
)

// setTarget sets what leaves run on, before anything is compiled. A schedule that names units or
// libraries of a GPU is not given to the CPU instead. Leaves that compute only the values of an
// existing result run on the CPU, unless the user demanded a GPU.
func (p *Planned) setTarget() {
	t := &p.Target
	*t = p.Reader.Env.TargetOf(p.Options.On)
	if t.Kind == codegen.CPU {
		return
	}
	if list, err := schedule.Parse(p.Parsed.Schedule); err == nil {
		t.Strict = t.Strict || slices.ContainsFunc(list, (*schedule.Command).OnGPU)
	}
	if p.Options.FixedPattern != nil && !t.Strict {
		p.ToCPU("it writes into an existing result, and a GPU allocates its own results")
	}
}

// ToCPU makes leaves run on the CPU, and tells the user why.
func (p *Planned) ToCPU(why string) {
	e := p.Reader.Env
	p.Target.To(e, why)
	if e.Root() {
		e.NoteOnce(p.Parsed.Stmt.String() + " runs on the CPU: " + why)
	}
}

// OnTarget calls compile, which compiles units of the statement. If the compiler refuses a unit for
// a GPU, and the user did not demand the GPU, OnTarget changes the target to the CPU, says so in a
// note, and calls compile again. The refusal depends only on facts that all ranks know, so that all
// ranks change the target.
func (c *Code) OnTarget(compile func() error) error {
	err, p := compile(), c.p
	var refused *diag.Error
	if p.Target.Kind == codegen.CPU || p.Target.Strict || !errors.As(err, &refused) {
		return err
	}
	gpu := p.Target
	p.Target.To(p.Reader.Env, "")
	c.leaves, c.sum, c.old = nil, nil, nil
	if err := compile(); err != nil {
		p.Target = gpu
		return err
	}
	p.ToCPU(refusal(refused))
	return nil
}

// Try compiles the units for guessed operands, only to find out whether a GPU takes the statement
// (see OnTarget). Every rank must call it.
func (c *Code) Try() error {
	like := c.p.GuessSpecs()
	return c.OnTarget(func() error { return c.compileAll(like) })
}

// refusal returns the reason of a refusal by the compiler, without its advice.
func refusal(d *diag.Error) string {
	why, _, _ := strings.Cut(d.Msg, "; want ")
	return why
}

// compileAll compiles the units of all groups. For a GPU it also compiles the units that work on
// blocks of the result, because the GPU may refuse them. like holds the specification of each
// operand. Every rank must call it.
func (c *Code) compileAll(like map[string]codegen.Tensor) error {
	err := c.compileGroups(like)
	if err != nil || c.p.Target.Kind == codegen.CPU || c.p.Problem.Whole {
		return err
	}
	return c.OtherUnits()
}

// OtherUnits compiles the units that work on blocks of the result, if they are needed. It must be
// called after Units.
func (c *Code) OtherUnits() error {
	if _, err := c.compileOld(); err != nil {
		return err
	}
	_, err := c.compileSum()
	return err
}
