package oracle

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"distaff/codegen"
	"distaff/codegen/interp"
	"distaff/io/tcs"
)

// defaultUnits is an engine that interprets a case with the default schedule of a GPU. If there is
// none, it uses the default schedule of a CPU. seen counts the statements of both kinds, and may be
// nil.
type defaultUnits struct{ seen *gpuCounts }

func (defaultUnits) Name() string { return "default schedules of a GPU" }

// draw sets r to a request for a GPU with the default schedule, and returns the schedule. If there
// is none, it does not change r.
func (e defaultUnits) draw(p *Prepared, r *codegen.Request) (list []string, err error) {
	q := *r
	q.Target.Kind = codegen.CUDA
	lines, err := codegen.Schedule(q)
	if isRefusedOnGPU(err) {
		e.seen.untaken()
		e.seen.refused(p.Case, nil, err)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	q.Ask.Schedule = []string{}
	for _, l := range lines {
		q.Ask.Schedule = append(q.Ask.Schedule, l.Command)
	}
	e.seen.took(q.Ask.Schedule)
	if q.Tensors.Exact == nil {
		q.Ask.Parts = p.Normal.Vars
	}
	*r = q
	return q.Ask.Schedule, nil
}

func (e defaultUnits) Run(_ context.Context, p *Prepared) (*Output, error) {
	how := ""
	c, err := compileAs(p, "leaf", func(r *codegen.Request) error {
		list, err := e.draw(p, r)
		how = strings.Join(list, ",")
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("--target=cuda -s=%q: %w", how, err)
	}
	defer c.close()
	prog, err := interp.Compile(c.unit.Func)
	if err != nil {
		return nil, err
	}
	out, err := c.execute(func(args []*tcs.Tensor, bounds [][2]int64) error {
		return interpret(prog, args, bounds,
			interp.Env{Threads: c.threads, Seed: p.Case.Variant, Steps: 2e7},
			c.unit.Result.Format.AllDense() || c.unit.Result.Shares >= 0)
	})
	if out != nil {
		out.How = "--target=cuda -s=" + how
	}
	if err != nil && exitCode(err) == 1 {
		err = fmt.Errorf("--target=cuda -s=%q: %w\n%s", how, err, c.stages())
	}
	return out, err
}

// TestOracleGPUDefaults checks that default schedules for GPUs give the right results, and that
// most statements have one.
func TestOracleGPUDefaults(t *testing.T) {
	t.Parallel()
	var seen gpuCounts
	e := defaultUnits{&seen}
	sweep(t, e, Options{Follow: 0.3, Plus: 0.1}, 400)
	taken := seen.taken.Load()
	refused := seen.drawn.Load() - taken
	t.Logf("%d cases with a default schedule of a GPU, %d without:\n%s", taken, refused,
		seen.refusals())
	if taken < 7*refused {
		t.Errorf("%d statements have a default schedule of a GPU, and %d have none", taken, refused)
	}
}
