package oracle

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
)

// Check runs one case on an engine and says what is wrong, or nil. A panic of
// the engine is a failure of the case.
func Check(ctx context.Context, e Engine, c *Case) error {
	_, err := check(ctx, e, c)
	return err
}

// outcome is what a right run did.
type outcome struct{ converted, divided, empty bool }

func check(ctx context.Context, e Engine, c *Case) (o outcome, err error) {
	p, err := c.Prepare()
	if err != nil {
		return o, fmt.Errorf("not a case: %w", err)
	}
	w, err := p.Expect(ctx)
	if err != nil {
		return o, err
	}
	o.divided, o.empty = w.Err != nil, w.Err == nil && len(w.Coords) == 0
	out, err := run(ctx, e, p)
	if ctx.Err() != nil {
		return o, ctx.Err()
	}
	if err := w.Compare(out, err); err != nil {
		return o, err
	}
	if out != nil && len(out.Converted) > 0 {
		o.converted = true
		if !p.ForcedConversion() {
			return o, fmt.Errorf("%s converted, though one loop order serves all storage orders", strings.Join(out.Converted, ", "))
		}
	}
	return o, nil
}

func run(ctx context.Context, e Engine, p *Prepared) (out *Output, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return e.Run(ctx, p)
}

// Failure is a case that an engine got wrong.
type Failure struct {
	Seed, Index uint64
	Err         error // of the small case
	Case, Small *Case
}

// String is the failure with its small case, as a case file and a script.
func (f *Failure) String() string {
	return fmt.Sprintf("%v\n\nreproduce with\n    go test ./spmd/oracle -run Oracle -oracle.seed=%d -oracle.first=%d -oracle.n=1\ncase file (%s before it was made small):\n%s\ncommand line:\n%s",
		f.Err, f.Seed, f.Index, f.Case.Stmt, indent(f.Small.Text()), indent(f.Small.Script()))
}

func indent(s string) string {
	return "    " + strings.ReplaceAll(strings.TrimSuffix(s, "\n"), "\n", "\n    ") + "\n"
}

// Report is the outcome of a sweep.
type Report struct {
	Cases     int // run
	Divided   int // where the right outcome is an integer division by zero
	Empty     int // where the result is empty
	Converted int // where an operand was converted, as its storage order forced
	Failures  []*Failure
}

// Sweep runs cases first to first+n-1 of a seed on an engine, in several
// goroutines, and makes failures small. It stops early after a few failures.
func Sweep(ctx context.Context, e Engine, o Options, seed, first, n uint64, workers int) Report {
	const enough = 3
	var rep Report
	var mu sync.Mutex
	var next atomic.Uint64
	var wg sync.WaitGroup
	for range max(workers, 1) {
		wg.Go(func() {
			for {
				k := next.Add(1) - 1
				mu.Lock()
				done := k >= n || len(rep.Failures) >= enough
				mu.Unlock()
				if done || ctx.Err() != nil {
					return
				}
				c := Generate(Rand(seed, first+k), o)
				got, err := check(ctx, e, c)
				if ctx.Err() != nil {
					return
				}
				var f *Failure
				if err != nil {
					f = shrunk(ctx, e, c)
					f.Seed, f.Index = seed, first+k
				}
				mu.Lock()
				rep.add(got, f)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return rep
}

func shrunk(ctx context.Context, e Engine, c *Case) *Failure {
	small := Shrink(c, 2000, func(s *Case) bool { return Check(ctx, e, s) != nil && ctx.Err() == nil })
	return &Failure{Case: c, Small: small, Err: Check(ctx, e, small)}
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

// String sums the report up in one line.
func (r *Report) String() string {
	return fmt.Sprintf("%d cases, %d failures, %d with a conversion, %d that divide an integer by zero, %d with an empty result",
		r.Cases, len(r.Failures), r.Converted, r.Divided, r.Empty)
}
