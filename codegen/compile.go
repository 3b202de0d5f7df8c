package codegen

import (
	"distaff/codegen/diag"
)

// Compile compiles a statement that notation.Check has accepted. If the statement reads the left
// tensor's old value, that value must have a name of its own (notation.NameOld). An error is a
// mistake of the user.
func Compile(r Request) (*Unit, error) {
	if r.Ask.FixedPattern && r.Ask.Schedule != nil {
		return nil, &diag.Error{
			Msg: "got a schedule for values alone, want none: only the default schedule can " +
				"compute them"}
	}
	if r.Ask.FixedPattern && r.Target.Kind == CUDA {
		return nil, &diag.Error{
			Msg: "got --target=cuda for values alone, want --target=cpu: only a CPU can " +
				"compute them in the order of a given pattern"}
	}
	if r.Target.Kind == CUDA && r.Ask.Schedule == nil {
		g, err := chooseGPU(r)
		if err != nil {
			return nil, err
		}
		return g.made.unit, nil
	}
	c := newCompilation(r)
	if err := c.run(); err != nil {
		return nil, err
	}
	return c.unit, nil
}
