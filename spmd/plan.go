package spmd

import (
	"context"

	"distaff/codegen"
	"distaff/codegen/place"
	"distaff/spmd/comm/local"
	"distaff/spmd/fault"
	"distaff/spmd/forecast"
	"distaff/spmd/input"
)

// Planned describes what a job would do on its ranks. The other types are its parts: see package
// forecast.
type (
	Planned         = forecast.Planned
	PlannedLoop     = forecast.PlannedLoop
	PlannedNestLoop = forecast.PlannedNestLoop
	PlannedTensor   = forecast.PlannedTensor
	PlannedRank     = forecast.PlannedRank
	PlannedBlock    = forecast.PlannedBlock
	PlannedStep     = forecast.PlannedStep
	PlannedMove     = forecast.PlannedMove
	PlannedSum      = forecast.PlannedSum
	PlannedTime     = forecast.PlannedTime
	PlannedLeaf     = forecast.PlannedLeaf
	PlannedBound    = forecast.PlannedBound
)

// Plan plans the job for Options.Ranks ranks without running it. It reads the headers of files, and
// sometimes level arrays of .tcs files. If a size is still unknown, it reads the text files without
// sizes completely, as a run does. A dense tensor whose sizes are known needs no input.
//
// detail is the number of ranks whose steps are listed, starting at rank 0. If detail is negative,
// the steps of all ranks are listed.
func (j *Job) Plan(ctx context.Context, detail int) (out *Planned, err error) {
	spec, err := j.blockSpec()
	if err != nil {
		return nil, err
	}
	err = j.forecast(ctx, spec, detail,
		func(_ *forecast.Forecast, p *Planned) error { out = p; return nil })
	return out, err
}

// forecast plans the job and calls use with the plan while the job's tensors are still open.
func (j *Job) forecast(ctx context.Context, spec *place.BlockSpec, detail int,
	use func(*forecast.Forecast, *Planned) error) error {
	return j.withForecast(ctx, spec, func(x *forecast.Forecast, statement string) error {
		out, err := x.Plan(ctx, statement, detail)
		if err != nil {
			return err
		}
		out.Version = Version()
		return use(x, out)
	})
}

// leaves estimates what a run of the job would do. It returns the compiled units of the leaves that
// such a run would call.
func (j *Job) leaves(ctx context.Context, spec *place.BlockSpec) (units []*codegen.Unit,
	err error) {
	err = j.withForecast(ctx, spec, func(x *forecast.Forecast, _ string) error {
		units, err = x.Leaves()
		return err
	})
	return units, err
}

// withForecast estimates what a run of the job would do, and calls use with the estimate while the
// job's tensors are still open.
func (j *Job) withForecast(ctx context.Context, spec *place.BlockSpec,
	use func(x *forecast.Forecast, statement string) error) error {
	if j.Ranks > maxPlannedRanks {
		return fault.Commandf("--ranks=%d: want at most %d ranks in a plan", j.Ranks,
			maxPlannedRanks)
	}
	p, err := j.parse(false)
	if err != nil {
		return err
	}
	if err := j.refuse(); err != nil {
		return err
	}
	c, end := local.Alone(ctx)
	defer end()
	r, err := j.rankJob(p, c, 1, 1, input.Dense)
	if err != nil {
		return err
	}
	defer r.Close()
	ranks := max(j.Ranks, 1)
	if err := r.Plan(ranks, spec); err != nil {
		return err
	}
	r.Notes(ranks, spec)
	k := r.Prepared()
	if err := k.Planned.LocateChunks(); err != nil {
		return err
	}
	machine, err := MeasuredMachine()
	if err != nil {
		r.Reader.Env.Detail("times cannot be predicted: " + err.Error())
	}
	return use(forecast.New(k.Planned, k.Code,
		forecast.Wanted{Machine: machine, Outputs: j.Outputs, Whole: j.Check || j.Keep, Check: j.Check,
			Given: j.FixedPattern != nil, MemoryLimit: j.MemoryLimit}), p.Stmt.String())
}
