package spmd

import (
	"context"
	"fmt"

	"distaff/codegen"
	emitc "distaff/codegen/emit/c"
	emitcuda "distaff/codegen/emit/cuda"
	"distaff/codegen/ir"
	"distaff/codegen/place"
	"distaff/kernels"
	"distaff/spmd/comm/local"
	"distaff/spmd/input"
)

// Compiled is a statement that was compiled and not run.
type Compiled struct {
	Statement string
	Unit      *codegen.Unit
	Types     []ir.Type // value types of the unit's arguments

	job   *Job
	ranks bool // Build compiles the leaves of several ranks or blocks, too
	// units are what Build compiles: Unit; where what += adds to has no input, the same for a
	// run without one; and both for any sizes, where not all data is known or ranks have parts of it.
	units []*codegen.Unit
}

// Compile compiles the job's statement. Where every operand has an input, they
// are loaded and the leaf is the one that Run would call; else the compiler is
// told what formats, types, sizes and the files' headers say, and takes tensors
// to have fewer than 2^31 entries; what += adds to is then an operand of the leaf, with an
// input or without. name is the leaf's; "" is "leaf", with the
// trip counts of short dense loops compiled in, as Run has them.
func (j *Job) Compile(ctx context.Context, name string) (*Compiled, error) {
	p, err := j.parse(false)
	if err != nil {
		return nil, err
	}
	if err := j.refuse(); err != nil {
		return nil, err
	}
	spec, err := j.blockSpec()
	if err != nil {
		return nil, err
	}
	if p.Machine == nil { // the leaf is planned for one rank, and its loops are those of all
		p.Machine = place.Line(int64(max(j.Ranks, 1)))
	}
	given := true
	for _, t := range p.Names[1:] {
		if _, ok := j.Inputs[t]; !ok {
			given = false
		}
	}
	c, end := local.Alone(ctx)
	defer end()
	missing := input.Refused
	if !given {
		missing = input.Guessed
	}
	r, err := j.at(p, c, 1, 1, missing)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if err = r.Plan(1, &place.BlockSpec{}); err == nil && given {
		err = r.Load()
	}
	if err != nil {
		return nil, err
	}
	unit, err := r.Prepared.CompileAlone(given, name)
	if err != nil {
		return nil, err
	}
	for _, n := range unit.Notes {
		j.note(n)
	}
	out := &Compiled{Statement: p.Stmt.String(), Unit: unit, job: j}
	several := j.Ranks > 1 || !spec.Empty()
	out.ranks = given && several
	out.units = []*codegen.Unit{unit}
	if _, ok := j.Inputs[p.Result]; p.Stmt.Accumulate && !ok {
		if given {
			j.note(
				fmt.Sprintf(
					"%s has no input: the leaf adds to zero, as a run does; -i=%s:FILE or -g=%s:KIND makes %s an operand", p.Result, p.Result, p.Result, p.Result))
		} else if err := out.addToZero(); err != nil {
			return nil, err
		}
	}
	if (!given || several) && len(j.Schedule) == 0 {
		for _, u := range out.units {
			if any := kernels.AnySize(u); any != nil {
				out.units = append(out.units, any)
			}
		}
	}
	for _, u := range out.units {
		if j.verifies() && u.Request.Target != codegen.CUDA {
			if err := kernels.Verify(u); err != nil {
				return nil, err
			}
		}
	}
	for _, a := range unit.Args {
		t := unit.Request.Tensors[a.Tensor].Type
		if a.Old {
			t = unit.Request.Old.Type
		}
		out.Types = append(out.Types, t)
	}
	return out, nil
}

// Source is the text of the leaf: C or, for a GPU, CUDA C++.
func (u *Compiled) Source() string {
	if u.Unit.Request.Target == codegen.CUDA {
		return emitcuda.File(u.Unit.Func)
	}
	return emitc.File(u.Unit.Func)
}

// addToZero adds the leaf that a run calls where what += adds to has no input.
func (u *Compiled) addToZero() error {
	req := u.Unit.Request
	req.Old, req.Trace = nil, nil
	unit, err := codegen.Compile(req)
	u.units = append(u.units, unit)
	return err
}

// Build compiles the C of the leaf into the cache, and where that is another,
// the one for any sizes: a machine without a compiler runs the statement by it on
// whatever data has these formats and types. Of a job of several ranks or blocks
// whose operands all have inputs, it compiles the leaves that Run would call, too:
// those of groups of terms, and the sum of blocks.
func (u *Compiled) Build(ctx context.Context) error {
	for _, unit := range u.units {
		if err := u.job.userCode().Allow(unit); err != nil {
			return err
		}
	}
	b, err := u.job.settings(false).Portable()
	if err != nil {
		return err
	}
	for _, unit := range u.units {
		if _, err := b.Object(ctx, unit); err != nil {
			return err
		}
	}
	if !u.ranks {
		return nil
	}
	j := *u.job
	return j.runLeaves(ctx)
}

// runLeaves runs a job of several ranks or blocks until its leaves are there.
func (j *Job) runLeaves(ctx context.Context) (err error) {
	j.compileOnly, j.Outputs, j.StatsFile = true, nil, ""
	if j.Ranks > 1 {
		_, err = j.runEmbedded(ctx)
		return err
	}
	c, end := local.Alone(ctx)
	defer end()
	_, err = j.RunOn(c, 1, 1)
	return err
}

// Leaves are the units of all leaves that Run would call: that of the whole statement, or, of a
// job of several ranks or blocks whose operands all have inputs, those of groups of its terms.
func (u *Compiled) Leaves(ctx context.Context) (units []*codegen.Unit, err error) {
	if !u.ranks {
		return []*codegen.Unit{u.Unit}, nil
	}
	j := *u.job
	j.Target, j.compiled, j.made = Interpreter, j.Target, &units
	return units, j.runLeaves(ctx)
}
