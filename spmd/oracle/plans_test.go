package oracle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"distaff/codegen/jobfile"
	"distaff/spmd"
	"distaff/spmd/jobs"
	"distaff/spmd/stats"
)

// TestOraclePlans compares plans of random job files with their runs. The files have machines,
// placements with ~, block schedules, distributed schedules, repeats, and tensors that move between
// statements. If the plan says that it is exact, each rank must send the planned bytes and messages
// for each statement.
func TestOraclePlans(t *testing.T) {
	t.Parallel()
	n := uint64(300)
	if *nFlag > 0 {
		n = *nFlag
	}
	dir := t.TempDir()
	var next, exact, moved, refused, bad atomic.Uint64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for k := next.Add(1) - 1; k < n && bad.Load() < 3; k = next.Add(1) - 1 {
				c := randomPlan(*seedFlag, *firstFlag+k)
				held, err := c.hold(filepath.Join(dir, fmt.Sprint(k)))
				if err == nil {
					exact.Add(held.exact)
					moved.Add(held.moved)
					refused.Add(held.refused)
					continue
				}
				bad.Add(1)
				small, why := c.shrink(filepath.Join(dir, fmt.Sprint(k)), err)
				t.Errorf(
					"%v\n\nreproduce with\n    go test ./spmd/oracle -run TestOraclePlans -oracle.seed=%d -oracle.first=%d -oracle.n=1\n%d ranks:\n%s\nbefore it was made small, %v, %d ranks:\n%s",
					why, *seedFlag, *firstFlag+k, small.ranks, indent(small.String()), err, c.ranks,
					indent(c.String()))
			}
		})
	}
	wg.Wait()
	t.Logf(
		"seed %d: %d jobs, of which the plans of %d are exact, %d of these move something, and %d are refused; %d jobs not right", *seedFlag, min(next.Load(), n), exact.Load(), moved.Load(), refused.Load(), bad.Load())
	if *nFlag == 0 && (moved.Load() < n/12 || refused.Load() > n*3/5) {
		t.Errorf(
			"%d of %d jobs move what an exact plan says, and %d are refused, want a twelfth at least and three fifths at most", moved.Load(), n, refused.Load())
	}
}

// planHeld describes the outcome of a job. Each field is 0 or 1, so that outcomes can be added.
type planHeld struct{ exact, moved, refused uint64 }

// hold plans and runs the job, and returns an error if the plan and the run differ.
func (c *planCase) hold(dir string) (held planHeld, err error) {
	defer recovered(&err)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return held, err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	f, err := c.parse(filepath.Join(dir, "job.dst"))
	if err != nil {
		return planHeld{refused: 1}, nil
	}
	j := &spmd.FileJob{File: f, Say: func(string) {},
		Options: spmd.Options{Ranks: c.ranks, Threads: 1, Target: spmd.Interpreter,
			StatsFile: filepath.Join(dir, "stats.json")}}
	plan, planErr := j.Plan(ctx, 0)
	_, err = j.Run(ctx)
	switch {
	case planErr != nil && err != nil:
		return planHeld{refused: 1}, nil
	case planErr != nil:
		return held, fmt.Errorf("the plan is refused, and the run is not: %w", planErr)
	case err != nil:
		return held, fmt.Errorf("the run is refused, and the plan is not: %w", err)
	}
	text, err := os.ReadFile(j.StatsFile)
	if err != nil {
		return held, err
	}
	got := struct {
		Comm       stats.Comm
		Statements []struct {
			Line int
			Runs int64
			Comm stats.Comm
		}
	}{}
	if err := json.Unmarshal(text, &got); err != nil {
		return held, err
	}
	if plan.AtMost {
		return held, errors.New("the plan is of at most so many passes")
	}
	for _, s := range got.Statements {
		k := slices.IndexFunc(plan.Items, func(it spmd.PlannedItem) bool { return it.Line == s.Line })
		it := plan.Items[k]
		inexact := it.Plan != nil && it.Plan.Estimated ||
			slices.ContainsFunc(it.Moves, func(m jobs.PlannedTransfer) bool { return !m.Exact })
		if it.Runs != s.Runs || !inexact && !reflect.DeepEqual(it.Comm, s.Comm) {
			return held, fmt.Errorf("line %d, %s: the plan says %+v in %d runs, a run moved %+v in %d",
				s.Line, it.Text, it.Comm, it.Runs, s.Comm, s.Runs)
		}
	}
	if plan.Estimated {
		return held, nil
	}
	held.exact = 1
	if slices.Max(got.Comm.BytesSent) > 0 {
		held.moved = 1
	}
	if !reflect.DeepEqual(plan.Comm, got.Comm) {
		return held, fmt.Errorf("the plan says %+v, a run moved %+v", plan.Comm, got.Comm)
	}
	return held, nil
}

// parse returns the parsed file, with its params bound and its statements checked.
func (c *planCase) parse(name string) (*jobfile.File, error) {
	f, err := jobfile.Parse(name, c.String())
	if err == nil {
		err = f.Bind(nil)
	}
	if err == nil {
		err = f.Check()
	}
	return f, err
}

// shrink removes lines and ranks while the plan and the run still differ.
func (c *planCase) shrink(dir string, err error) (*planCase, error) {
	small := *c
	try := func(d planCase) bool {
		_, e := d.hold(dir)
		if e != nil {
			small, err = d, e
		}
		return e != nil
	}
	for again := true; again; {
		again = false
		for k := len(small.lines) - 1; k >= 0; k-- {
			d := small
			d.lines = slices.Delete(slices.Clone(small.lines), k, k+1)
			again = try(d) || again
		}
		if d := small; d.ranks > 1 {
			d.ranks--
			again = try(d) || again
		}
	}
	return &small, err
}
