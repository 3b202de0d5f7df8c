package tune

import (
	"context"
	"fmt"
	"strings"
)

// Limits that show whether a figure is possible. A figure is wrong if other work slowed down its
// loop in every run. The limits use two facts: a cache is not slower than the next cache, and all
// threads together are not slower than one thread.
const (
	// minLevelSpeed is the smallest accepted speed of a level, as a share of the next level's
	// speed.
	minLevelSpeed = 0.8
	// minThreadsSpeed is the smallest accepted rate of all threads together, as a share of the rate
	// of one thread.
	minThreadsSpeed = 0.5
)

// impossible is a figure that cannot be right: the probe that measured it, and in words why it is
// impossible.
type impossible struct {
	slow probe
	why  string
}

// impossible returns the figures of the model that cannot be right.
func (m *Model) impossible() (list []impossible) {
	all := m.Threads
	add := func(k kind, level, threads int, format string, args ...any) {
		list = append(list, impossible{probe{k, level, threads}, fmt.Sprintf(format, args...)})
	}
	figures := func(k kind, level int, what string, p Pair) {
		if all > 1 && p.All < minThreadsSpeed*p.One {
			add(k, level, all,
				"%[1]s by %[2]d threads at %.3[3]g times one thread's rate", what, all,
				p.All/p.One)
		}
	}
	for n := range m.Levels {
		l := &m.Levels[n]
		figures(read, n, l.Name+" is read", l.Read)
		figures(write, n, l.Name+" is written", l.Write)
		if n+1 == len(m.Levels) {
			break
		}
		next := &m.Levels[n+1]
		for _, x := range []struct {
			k         kind
			how       string
			own, next Pair
		}{{read, "read", l.Read, next.Read}, {write, "written", l.Write, next.Write}} {
			if x.own.One < minLevelSpeed*x.next.One {
				add(x.k, n, 1, "%s is %s at %.3g times the rate of %s", l.Name, x.how,
					x.own.One/x.next.One, next.Name)
			}
			if all > 1 && x.own.All < minLevelSpeed*x.next.All {
				add(x.k, n, all, "%s is %s by %d threads at %.3g times the rate of %s",
					l.Name, x.how,
					all, x.own.All/x.next.All, next.Name)
			}
		}
		if minLevelSpeed*l.Dependent > next.Dependent {
			add(dependent, n, 1,
				"a load from %s that depends on another load takes %.3g times as long as one "+
					"from %s",
				l.Name, l.Dependent/next.Dependent, next.Name)
		}
	}
	for n, g := range m.Gathers {
		figures(gather, n, fmt.Sprintf("values of an array of %d bytes are gathered", g.Bytes),
			g.Values)
		figures(rows, n, fmt.Sprintf("rows of an array of %d bytes are gathered", g.Bytes), g.Rows)
	}
	figures(multiply64, 0, "values of float64 are multiplied", m.MultiplyAdds64)
	figures(multiply32, 0, "values of float32 are multiplied", m.MultiplyAdds32)
	return list
}

// BusyError reports figures that were impossible in every measurement, which shows that other work
// keeps the machine busy. It ends a run with code 1.
type BusyError struct {
	OtherWork float64  // average number of CPUs that other processes kept busy meanwhile
	Why       []string // the reason for each figure
}

func (e *BusyError) Error() string {
	s := "the machine cannot be measured while other programs run"
	if e.OtherWork > 0 {
		s += fmt.Sprintf(", which kept %.2g CPUs busy", e.OtherWork)
	}
	return s + ": " + strings.Join(e.Why, "; ")
}

func (e *BusyError) ExitCode() int { return 1 }

// remeasureSeconds limits the time for which loops with impossible figures are run again.
const remeasureSeconds = 3.0

// remeasure repeats the measurements with impossible figures, until all figures are possible or
// remeasureSeconds have passed. reps[p] is the number of repetitions of probe p's loop. best[p] is
// the best time of one unit of its work, in seconds. The error is a *BusyError if some figures are
// still impossible.
func (m *Model) remeasure(ctx context.Context, by prober, reps map[probe]int64,
	best map[probe]float64) error {
	for until := by.elapsed() + remeasureSeconds; ; {
		list := m.impossible()
		if len(list) == 0 {
			return nil
		}
		if by.elapsed() >= until {
			e := &BusyError{}
			for _, x := range list {
				e.Why = append(e.Why, x.why)
			}
			return e
		}
		for _, x := range list {
			if err := rerun(ctx, by, x.slow, reps, best); err != nil {
				return err
			}
		}
		m.fill(best)
	}
}
