package oracle

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"distaff/codegen/diag"
)

// Check runs one case on an engine, and returns an error if the result is wrong or the engine
// panics.
func Check(ctx context.Context, e Engine, c *Case) error {
	p, err := c.Prepare()
	if err != nil {
		return fmt.Errorf("not a case: %w", err)
	}
	_, err = check(ctx, p, func(ctx context.Context) (*Output, error) { return e.Run(ctx, p) })
	return err
}

// outcome classifies a case that ran correctly. converted is true if an operand was converted,
// divided if the statement divides an integer by zero, and empty if no coordinate is present.
type outcome struct{ converted, divided, empty bool }

// check runs a case with f and compares the output with the expected result.
func check(ctx context.Context, p *Prepared, f func(context.Context) (*Output, error)) (o outcome,
	err error) {
	w, err := p.Expect(ctx)
	if err != nil {
		return o, err
	}
	o.divided, o.empty = w.Err != nil, w.Err == nil && len(w.Coords) == 0
	out, err := run(ctx, f)
	if ctx.Err() != nil {
		return o, ctx.Err()
	}
	if err := w.Compare(out, err); err != nil {
		if out != nil && out.How != "" {
			err = fmt.Errorf("%s: %w", out.How, err)
		}
		return o, err
	}
	if out != nil && len(out.Converted) > 0 {
		o.converted = true
		if !p.ForcedConversion() {
			return o, fmt.Errorf("%s converted, though one loop order serves all storage orders",
				strings.Join(out.Converted, ", "))
		}
	}
	return o, nil
}

func run(ctx context.Context, f func(context.Context) (*Output, error)) (out *Output, err error) {
	defer recovered(&err)
	return f(ctx)
}

// recovered must be deferred. It turns a panic into an error that lists the innermost calls.
func recovered(err *error) {
	if r := recover(); r != nil {
		lines := strings.Split(string(debug.Stack()), "\n")
		*err = fmt.Errorf("panic: %v\n%s", r,
			strings.Join(lines[min(5, len(lines)):min(21, len(lines))], "\n"))
	}
}

// Failure is a case for which an engine gave a wrong result.
type Failure struct {
	Seed, Index uint64
	Err         error  // the error of Small
	First       error  // the error of Case
	Case, Small *Case  // the case as generated, and the reduced one
	Flags       string // flags of the command line for the engine's choices for Small
}

// String describes the failure. It includes the reduced case as a case file and as a script.
func (f *Failure) String() string {
	return fmt.Sprintf("%v\n\nreproduce with\n    go test ./spmd/oracle -run Oracle "+
		"-oracle.seed=%d -oracle.first=%d -oracle.n=1\n"+
		"case file (before it was made small: %s: %v):\n%s\ncommand line:\n%s",
		f.Err, f.Seed, f.Index, f.Case.Stmt, f.First, indent(f.Small.Text()),
		indent(strings.TrimSuffix(f.Small.Script(), "\n")+f.Flags))
}

func indent(s string) string {
	return "    " + strings.ReplaceAll(strings.TrimSuffix(s, "\n"), "\n", "\n    ") + "\n"
}

// Report summarizes a sweep. A case counts in Divided, Empty and Converted only if its result was
// correct.
type Report struct {
	Cases     int // cases that ran
	Divided   int // cases that divide an integer by zero
	Empty     int // cases without a present coordinate
	Converted int // cases with an operand that was converted, as its storage order required
	Failures  []*Failure
}

// batcher is an engine that compiles many cases at once.
type batcher interface {
	Engine
	// batch compiles cases. The k-th function that it returns runs the k-th case. Each function
	// must be called exactly once, and not concurrently.
	batch(ctx context.Context, cases []*Prepared) []func(context.Context) (*Output, error)
}

// batchSize is the number of cases that a batcher compiles at once.
const batchSize = 100

// Sweep runs n cases on an engine. The seed and a number determine a case; the numbers are start to
// start+n-1. workers is the number of goroutines. Sweep makes failing cases small, and stops after
// three failures.
func Sweep(ctx context.Context, e Engine, o Options, seed, start, n uint64, workers int) Report {
	const enough = 3
	var rep Report
	var mu sync.Mutex
	var next atomic.Uint64
	var wg sync.WaitGroup
	size := uint64(1)
	if _, ok := e.(batcher); ok {
		size = min(batchSize, max(n/uint64(max(workers, 1)), 1))
	}
	for range max(workers, 1) {
		wg.Go(func() {
			for {
				from := next.Add(size) - size
				mu.Lock()
				done := from >= n || len(rep.Failures) >= enough
				mu.Unlock()
				if done || ctx.Err() != nil {
					return
				}
				sweepBatch(ctx, e, o, seed, start+from, min(size, n-from), func(got outcome, f *Failure) {
					mu.Lock()
					defer mu.Unlock()
					rep.add(got, f)
				})
			}
		})
	}
	wg.Wait()
	return rep
}

// sweepBatch runs n cases, starting at number first, and calls report for each. The failure is nil
// if the case is correct.
func sweepBatch(ctx context.Context, e Engine, o Options, seed, first, n uint64,
	report func(outcome, *Failure)) {
	cases := make([]*Prepared, n)
	for k := range cases {
		p, err := Generate(Rand(seed, first+uint64(k)), o).Prepare()
		if err != nil {
			panic("BUG: oracle: " + err.Error())
		}
		cases[k] = p
	}
	runs := make([]func(context.Context) (*Output, error), n)
	if b, ok := e.(batcher); ok {
		runs = b.batch(ctx, cases)
	} else {
		for k, p := range cases {
			runs[k] = func(ctx context.Context) (*Output, error) { return e.Run(ctx, p) }
		}
	}
	for k, p := range cases {
		got, err := check(ctx, p, runs[k])
		if ctx.Err() != nil {
			return
		}
		var f *Failure
		if err != nil {
			f = shrunk(ctx, e, p.Case, err)
			f.Seed, f.Index = seed, first+uint64(k)
			if f.Err == nil {
				f.Err = fmt.Errorf("fails among other cases, but not alone: %w", err)
			}
		}
		report(got, f)
	}
}

// fixer is an engine that draws a schedule or a distribution for a case.
type fixer interface {
	// fixed returns copies of the case that contain what the engine drew, so that it stays the same
	// when other parts of the case are simplified. If there are several copies, the one that most
	// probably fails comes first.
	fixed(ctx context.Context, p *Prepared) []*Case
}

// maxShrinkTime is the longest time for which a failing case is reduced.
const maxShrinkTime = 2 * time.Minute

// shrunk reduces a case that fails with err. A case that gives a wrong result is not replaced by a
// case that is only refused, for example because a command names a loop that no longer exists.
func shrunk(ctx context.Context, e Engine, c *Case, err error) *Failure {
	wasRefused := isRefused(err)
	begun := time.Now()
	fails := func(s *Case) bool {
		if time.Since(begun) > maxShrinkTime {
			return false
		}
		err := Check(ctx, e, s)
		return err != nil && isRefused(err) == wasRefused && ctx.Err() == nil
	}
	start := c
	if x, ok := e.(fixer); ok {
		if p, err := c.Prepare(); err == nil {
			list := x.fixed(ctx, p)
			if k := slices.IndexFunc(list, fails); k >= 0 {
				start = list[k]
			}
		}
	}
	small := Shrink(start, 2000, fails)
	f := &Failure{Case: c, Small: small, Err: Check(ctx, e, small), First: err}
	if x, ok := e.(interface{ Flags(*Prepared) string }); ok {
		if p, err := small.Prepare(); err == nil {
			f.Flags = x.Flags(p)
		}
	}
	return f
}

// isRefused reports whether err says that a case was refused as invalid or unsupported (exit code
// 2), and not that it failed.
func isRefused(err error) bool {
	var d *diag.Error
	return errors.As(err, &d) && d.ExitCode() == 2
}

func (r *Report) add(o outcome, f *Failure) {
	r.Cases++
	for _, x := range []struct {
		is    bool
		count *int
	}{{o.divided, &r.Divided}, {o.empty, &r.Empty}, {o.converted, &r.Converted}} {
		if x.is {
			*x.count++
		}
	}
	if f != nil {
		r.Failures = append(r.Failures, f)
	}
}

// String returns the counts as one line.
func (r *Report) String() string {
	return fmt.Sprintf("%d cases, %d failures, %d with a conversion, "+
		"%d that divide an integer by zero, %d with an empty result",
		r.Cases, len(r.Failures), r.Converted, r.Divided, r.Empty)
}
