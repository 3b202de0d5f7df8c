package spmd

import (
	"context"
	"fmt"

	"distaff/codegen"
	emitc "distaff/codegen/emit/c"
	emitcuda "distaff/codegen/emit/cuda"
	"distaff/codegen/place"
	"distaff/io/tensor"
	"distaff/kernels"
	"distaff/spmd/comm/local"
	"distaff/spmd/input"
)

// Compiled is a statement that was compiled but not run.
type Compiled struct {
	Statement string
	Unit      *codegen.Unit
	Types     []tensor.Type // value types of the unit's arguments

	job   *Job
	ranks bool // Build also compiles the leaves of several ranks or blocks
	// units are the units that Build compiles. The first is Unit. If the statement is a +=, its
	// result has no input, and some other operand has none either, the second is the unit of a run
	// without the result's old value. If no schedule is given, and the data is not completely known
	// or ranks hold parts of it, the list ends with a unit for any sizes for each unit before that
	// has one.
	units []*codegen.Unit
}

// Compile compiles the job's statement without running it. If every operand has an input, Compile
// loads the operands. It returns the leaf that Run would call on one rank without a block schedule.
// On several ranks, or with blocks, Run calls other leaves (see Leaves).
//
// If an operand has no input, the compiler knows only the formats, types and sizes in the job, and
// the headers of the job's files. It then assumes that every tensor has fewer than 2^31 entries,
// and that the result of a += has an old value.
//
// name is the name of the leaf's function. If name is "", the function is called "leaf", and the
// trip counts of short dense loops are constants in the code. The code is then the same as for Run
// on one rank without blocks. There is one exception: if the statement computes in int64 and has an
// int32 result, only the leaf of Run makes an int64 result.
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
	if p.Machine == nil { // the leaf is planned for one rank, but its loops cover all ranks
		p.Machine = place.Line(int64(max(j.Ranks, 1)))
	}
	given := true
	for _, t := range p.Names[1:] {
		if _, ok := p.Inputs[t]; !ok {
			given = false
		}
	}
	c, end := local.Alone(ctx)
	defer end()
	missing := input.Refused
	if !given {
		missing = input.Guessed
	}
	r, err := j.rankJob(p, c, 1, 1, missing)
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
	k := r.Prepared()
	var like map[string]codegen.Tensor
	if !given {
		like = k.Planned.GuessSpecs()
	} else if like, err = k.Operands.Specs(true); err != nil {
		return nil, err
	}
	unit, err := k.Code.CompileAlone(like, name)
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
					"%s has no input, so the leaf adds to zero, as a run does; with "+
						"-i=%s:FILE or -g=%s:KIND, %s is an operand",
					p.Result, p.Result, p.Result, p.Result))
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
		if j.verifies() && u.Request.Target.Kind != codegen.CUDA {
			if err := kernels.Verify(u); err != nil {
				return nil, err
			}
		}
	}
	for _, a := range unit.Args {
		t := unit.Request.Tensors.All[a.Tensor].Type
		if a.Old {
			t = unit.Request.Tensors.Old.Type
		}
		out.Types = append(out.Types, t)
	}
	return out, nil
}

// Source returns the text of the leaf: C, or CUDA C++ for a GPU.
func (u *Compiled) Source() string {
	if u.Unit.Request.Target.Kind == codegen.CUDA {
		return emitcuda.File(u.Unit.Func)
	}
	return emitc.File(u.Unit.Func)
}

// addToZero compiles a second unit for a += statement. The leaf of this unit adds the terms to zero
// instead of to an old value. A run calls this leaf if the result has no old value.
func (u *Compiled) addToZero() error {
	req := u.Unit.Request
	req.Tensors.Old, req.Ask.Trace = nil, nil
	unit, err := codegen.Compile(req)
	u.units = append(u.units, unit)
	return err
}

// Build compiles the code of the leaf and stores the object in the cache.
//
// A leaf can depend on the sizes of the operands. If an operand has no input, or if the job has
// several ranks or blocks, Build therefore also compiles a variant for any sizes. A machine without
// a compiler can then run the statement on other data of the same formats and types. Build does not
// compile the variant if the job has a schedule.
//
// A job on several ranks or blocks calls other leaves. There is one leaf for each group of terms.
// If needed, there are leaves that sum blocks or convert the old value of a +=. Build also compiles
// all these leaves if all operands of the job have inputs.
func (u *Compiled) Build(ctx context.Context) error {
	for _, unit := range u.units {
		if err := u.job.userCode().Allow(unit); err != nil {
			return err
		}
	}
	for _, unit := range u.units {
		b, err := u.job.settings(false).Portable(unit.Request.Target.Kind)
		if err != nil {
			return err
		}
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

// runLeaves compiles the leaves of a job on several ranks or blocks. To find out which leaves the
// job calls, it starts the job, but only until all its leaves are compiled. It writes no outputs.
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

// Leaves returns the units of the leaves that Run would call. If the job has several ranks or
// blocks, and all its operands have inputs, there is a unit for each group of terms. Otherwise
// there is one unit for the whole statement. Leaves that sum blocks or convert the old value of a
// += are not in the list.
func (u *Compiled) Leaves(ctx context.Context) (units []*codegen.Unit, err error) {
	if !u.ranks {
		return []*codegen.Unit{u.Unit}, nil
	}
	j := *u.job
	j.Target, j.compileTarget, j.leafUnits = Interpreter, j.Target, &units
	return units, j.runLeaves(ctx)
}
