package tune

import (
	"context"
	"errors"
	"os"

	"distaff/kernels/cc"
)

// Options are how to measure.
type Options struct {
	Config  cc.Config // how leaves are compiled, and the cache
	Threads int       // all threads of this process
	Memory  int64     // bytes that measuring may take; 0 for no limit
}

// Time is the seconds within which Measure ends, but for the last measurements that it began and
// for what each needs at least: compiling and making the data are among them.
const Time = 2.3

// settleTime and roundsTime are the seconds that finding how often loops are to be repeated, and
// repeating all of them, have at least, however long compiling and timing forms took before.
const settleTime, roundsTime = 1.0, 0.3

// shortest is the seconds for which a loop runs at least where there is time.
const shortest = 0.5e-3

// Measure measures the machine. It is to run beside nothing else. Its errors are those of compiling
// and running leaves, and of too little memory, and a *BusyError.
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
	m.Touched, m.Compile = l.touched, l.compiling
	if err := l.makeForms(o.Config); err != nil {
		return nil, err
	}
	before := used(root)
	err = measure(ctx, l, m)
	m.OtherWork = used(root).others(before)
	var busy *BusyError
	if errors.As(err, &busy) {
		busy.OtherWork = m.OtherWork
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

// probes are those that a model wants.
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

// measure fills a model in by what runs its probes and forms: each probe until its loop takes long
// enough to be timed, then the forms, then all probes again and again while there is time. The best
// of each counts. Probes whose figures cannot be run once more.
func measure(ctx context.Context, by prober, m *Model) error {
	list := probes(m)
	reps, best := map[probe]int64{}, map[probe]float64{} // seconds a unit
	var err error
	until := max(Time, by.elapsed()+settleTime)
	for _, p := range list {
		if reps[p], err = settle(ctx, by, p, until, best); err != nil {
			return err
		}
	}
	settled := by.elapsed() < until // else a round of all loops takes too long
	if m.Forms, err = fastest(ctx, measured(), by); err != nil {
		return err
	}
	last := 0.0
	until = Time
	if settled {
		until = max(until, by.elapsed()+roundsTime)
	}
	for begun := by.elapsed(); begun+last < until; {
		for _, p := range list {
			if err := again(ctx, by, p, reps, best); err != nil {
				return err
			}
		}
		now := by.elapsed()
		begun, last = now, now-begun
	}
	m.fill(best)
	return m.remeasure(ctx, by, reps, best)
}

// once runs a probe and keeps what it took, if that is the best.
func once(ctx context.Context, by prober, p probe, reps int64, best map[probe]float64) (sample,
	error) {
	if err := ctx.Err(); err != nil {
		return sample{}, context.Cause(ctx)
	}
	s, err := by.run(p, reps)
	if err != nil {
		return s, err
	}
	// A loop too short for the clock says nothing.
	if old, ok := best[p]; s.seconds > 0 && s.units > 0 && (!ok || s.seconds/s.units < old) {
		best[p] = s.seconds / s.units
	}
	return s, nil
}

// mostGrowth is how much oftener a loop is repeated than in the try before, at most: short ones are
// timed badly.
const mostGrowth = 64

// settle finds how often a probe's loop is to be repeated. From until on it tries no further.
func settle(ctx context.Context, by prober, p probe, until float64,
	best map[probe]float64) (reps int64, err error) {
	for reps = 1; ; {
		s, err := once(ctx, by, p, reps, best)
		if err != nil {
			return 0, err
		}
		if s.seconds >= shortest || s.seconds > 0 && by.elapsed() >= until || reps >= 1<<40 {
			return reps, nil
		}
		// What the first runs of a loop took, with cold caches, is no measure of it.
		delete(best, p)
		reps *= growth(s)
	}
}

// growth is how many times as often a loop is to be repeated that took s.
func growth(s sample) int64 {
	if s.seconds <= 0 {
		return mostGrowth
	}
	return max(min(int64(1.2*shortest/s.seconds)+1, mostGrowth), 2)
}

// again runs a probe as often as it was found to need. If it takes less than half of shortest,
// other work had stopped the run by which that was found: it is repeated more often from then on.
func again(ctx context.Context, by prober, p probe, reps map[probe]int64,
	best map[probe]float64) error {
	s, err := once(ctx, by, p, reps[p], best)
	if err == nil && s.seconds < shortest/2 && reps[p] < 1<<40 {
		reps[p] *= growth(s)
	}
	return err
}

// fill takes the figures from the seconds of each unit.
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
