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
// none, it uses the default schedule of a CPU.
type defaultUnits struct {
	seen     *gpuCounts // counts the statements of both kinds; may be nil
	networks bool       // products of several tensors are contracted in drawn ways
}

func (defaultUnits) Name() string { return "default schedules of a GPU" }

// draw sets r to a request for a GPU with the default schedule, and returns the schedule. If there
// is none, it does not change r.
func (e defaultUnits) draw(p *Prepared, r *codegen.Request) (list []string, err error) {
	q := *r
	q.Target.Kind = codegen.CUDA
	if e.networks {
		rng := source(p)
		q.Ask.Network = []string{drawTree(rng, p.Normal), "pairwise", "auto"}[rng.IntN(3)]
	}
	lines, err := codegen.Schedule(q)
	if err != nil && strings.HasPrefix(err.Error(), "--network: ") {
		q.Ask.Network = "" // there is nothing to contract, or storage orders forbid the tree
		lines, err = codegen.Schedule(q)
	}
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
		if e.networks {
			out.Converted = nil // contractions may convert operands
		}
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
	e := defaultUnits{seen: &seen}
	sweep(t, e, Options{Follow: 0.3, Plus: 0.1}, 400)
	taken := seen.taken.Load()
	refused := seen.drawn.Load() - taken
	t.Logf("%d cases with a default schedule of a GPU, %d without:\n%s", taken, refused,
		seen.refusals())
	if taken < 10*refused {
		t.Errorf("%d statements have a default schedule of a GPU, and %d have none", taken, refused)
	}
}

// TestOracleGPUNetworks compares products of several tensors, contracted in several ways by the
// default schedules of a GPU, with the reference.
func TestOracleGPUNetworks(t *testing.T) {
	t.Parallel()
	var seen gpuCounts
	sweep(t, defaultUnits{seen: &seen, networks: true}, Options{Networks: true, Denser: true}, 200)
	taken, drawn := seen.taken.Load(), seen.drawn.Load()
	t.Logf("%d of %d cases with a default schedule of a GPU:\n%s", taken, drawn, seen.refusals())
	if 3*taken < drawn {
		t.Errorf("%d of %d cases have a default schedule of a GPU: fewer than a third", taken, drawn)
	}
}
