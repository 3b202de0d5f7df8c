package tune

import (
	"context"
	"errors"
	"os"

	"distaff/kernels/cc"
)

// Options are the settings of a measurement.
type Options struct {
	Config  cc.Config // how leaves are compiled, and the cache
	Threads int       // number of threads of this process
	Memory  int64     // bytes that the measurement may allocate; 0 means no limit
}

// Time is about the number of seconds that Measure takes, including the compilation and the making
// of the data. Measure takes longer only to finish measurements that have begun, to reach the
// minimum that each figure needs, and to repeat measurements with impossible figures.
const Time = 2.3

// calibrateSeconds and roundsSeconds are minimum durations. Calibration, which finds the number of
// repetitions of each loop, gets at least calibrateSeconds. If calibration ends before its
// deadline, the rounds that measure all loops again get at least roundsSeconds. Both minimums apply
// even if compiling, or timing the forms, took longer than planned.
const calibrateSeconds, roundsSeconds = 1.0, 0.3

// minRunSeconds is the smallest duration of a run that calibrate accepts. It accepts a shorter run
// if its deadline has passed, or if the number of repetitions has reached 2^40.
const minRunSeconds = 0.5e-3

// Measure measures the machine. No other program should run meanwhile. If other work makes some
// figures impossible, Measure returns a *BusyError. It also returns an error if a leaf does not
// compile or does not run, or if there is too little memory.
func Measure(ctx context.Context, o Options) (*Model, error) {
	root := os.DirFS("/")
	m := &Model{CPU: cpuName(root), Threads: max(o.Threads, 1), Levels: levels(root),
		Messages: []Message{}}
	bytes, err := dataBytes(m, o.Memory)
	if err != nil {
		return nil, err
	}
	m.Gathers = gathers(bytes)
	l, err := newLeaves(ctx, o.Config, m, bytes)
	if err != nil {
		return nil, err
	}
	defer l.close()
	m.FirstTouch, m.Compile = l.touched, l.compiling
	if err := l.makeForms(o.Config); err != nil {
		return nil, err
	}
	before := readUsage(root)
	err = measure(ctx, l, m)
	m.OtherWork = readUsage(root).otherCPUs(before)
	var busy *BusyError
	if errors.As(err, &busy) {
		busy.OtherWork = m.OtherWork
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

// probes lists the probes whose results a model holds.
func probes(m *Model) []probe {
	var list []probe
	both := func(k kind, level int) {
		list = append(list, probe{k, level, 1})
		if m.Threads > 1 {
			list = append(list, probe{k, level, m.Threads})
		}
	}
	for n := range m.Levels {
		both(read, n)
		both(write, n)
		list = append(list, probe{dependent, n, 1})
	}
	for n := range m.Gathers {
		both(gather, n)
		both(rows, n)
	}
	both(multiply64, 0)
	both(multiply32, 0)
	both(atomic, 0)
	list = append(list, probe{branch, 0, 1}, probe{segment, 0, 1})
	if m.Threads > 1 {
		list = append(list, probe{region, 0, m.Threads})
	}
	return append(list, probe{call, 0, 1})
}

// measure fills in a model. First it increases the repetitions of each probe until its loop runs
// long enough to be timed. Then it times the forms. In the time that remains it repeats all probes
// in rounds, and keeps the best result of each probe. Probes with impossible figures are run again.
func measure(ctx context.Context, by prober, m *Model) error {
	list := probes(m)
	reps, best := map[probe]int64{}, map[probe]float64{} // seconds per unit
	var err error
	until := max(Time, by.elapsed()+calibrateSeconds)
	for _, p := range list {
		if reps[p], err = calibrate(ctx, by, p, until, best); err != nil {
			return err
		}
	}
	settled := by.elapsed() < until // otherwise a round of all loops takes too long
	if m.Forms, err = fastest(ctx, measured(), by); err != nil {
		return err
	}
	last := 0.0
	until = Time
	if settled {
		until = max(until, by.elapsed()+roundsSeconds)
	}
	for begun := by.elapsed(); begun+last < until; {
		for _, p := range list {
			if err := rerun(ctx, by, p, reps, best); err != nil {
				return err
			}
		}
		now := by.elapsed()
		begun, last = now, now-begun
	}
	m.fill(best)
	return m.remeasure(ctx, by, reps, best)
}

// runOnce runs a probe and stores its time per unit in best if it is the best so far.
func runOnce(ctx context.Context, by prober, p probe, reps int64, best map[probe]float64) (sample,
	error) {
	if err := ctx.Err(); err != nil {
		return sample{}, context.Cause(ctx)
	}
	s, err := by.run(p, reps)
	if err != nil {
		return s, err
	}
	// A loop that is too short for the clock has no result.
	if old, ok := best[p]; s.seconds > 0 && s.units > 0 && (!ok || s.seconds/s.units < old) {
		best[p] = s.seconds / s.units
	}
	return s, nil
}

// maxGrowth is the largest factor by which a loop's number of repetitions grows from one try to the
// next. The growth is limited because the times of short loops are inexact.
const maxGrowth = 64

// calibrate returns the number of repetitions with which a probe's loop runs for minRunSeconds. It
// runs the probe with more and more repetitions until a run is long enough. It also stops at 2^40
// repetitions, and at the first run after the deadline that the clock can measure. The deadline is
// in seconds since the measurement began. The prober "by" runs the probe. calibrate stores the time
// of the last run in best.
func calibrate(ctx context.Context, by prober, p probe, deadline float64,
	best map[probe]float64) (reps int64, err error) {
	for reps = 1; ; {
		s, err := runOnce(ctx, by, p, reps, best)
		if err != nil {
			return 0, err
		}
		if s.seconds >= minRunSeconds || s.seconds > 0 && by.elapsed() >= deadline || reps >= 1<<40 {
			return reps, nil
		}
		// The first runs found cold caches, so they do not count.
		delete(best, p)
		reps *= growth(s)
	}
}

// growth returns the factor by which to multiply a loop's repetitions so that it runs for
// minRunSeconds. s is its last run.
func growth(s sample) int64 {
	if s.seconds <= 0 {
		return maxGrowth
	}
	return max(min(int64(1.2*minRunSeconds/s.seconds)+1, maxGrowth), 2)
}

// rerun runs a probe once more, with reps[p] repetitions. If the run is shorter than half of
// minRunSeconds, the number of repetitions is too small, and rerun increases it for the next run.
// It can be too small if other work slowed down the run from which it was determined.
func rerun(ctx context.Context, by prober, p probe, reps map[probe]int64,
	best map[probe]float64) error {
	s, err := runOnce(ctx, by, p, reps[p], best)
	if err == nil && s.seconds < minRunSeconds/2 && reps[p] < 1<<40 {
		reps[p] *= growth(s)
	}
	return err
}

// fill computes the figures from the best seconds per unit of each probe.
func (m *Model) fill(best map[probe]float64) {
	pair := func(k kind, level int) Pair {
		x := Pair{best[probe{k, level, 1}], best[probe{k, level, 1}]}
		if m.Threads > 1 {
			x.All = best[probe{k, level, m.Threads}]
		}
		return x
	}
	rates := func(k kind, level int) Pair {
		x := pair(k, level)
		return Pair{1 / x.One, 1 / x.All}
	}
	for n := range m.Levels {
		l := &m.Levels[n]
		l.Read, l.Write = rates(read, n), rates(write, n)
		l.Dependent = best[probe{dependent, n, 1}]
	}
	for n := range m.Gathers {
		g := &m.Gathers[n]
		g.Values, g.Rows = rates(gather, n), rates(rows, n)
	}
	m.MultiplyAdds64, m.MultiplyAdds32 = rates(multiply64, 0), rates(multiply32, 0)
	m.Atomic = pair(atomic, 0)
	m.Branch, m.Segment = best[probe{branch, 0, 1}], best[probe{segment, 0, 1}]
	m.Region, m.Call = best[probe{region, 0, m.Threads}], best[probe{call, 0, 1}]
}
