package tune

import (
	"context"
	"fmt"
	"strings"
)

// A figure cannot be if what it is of was slowed down by other work whenever it ran: a cache is not
// slower than the next one, and all threads together are not slower than half of one.
const (
	// slowerLevel is the least share of the next level's speed that a level is measured with.
	slowerLevel = 0.8
	// slowerThreads is the least share of one thread's rate that all threads together are measured
	// with.
	slowerThreads = 0.5
)

// impossible is a figure that cannot be.
type impossible struct {
	slow probe
	why  string
}

// impossible lists the figures of a model that cannot be.
func (m *Model) impossible() (list []impossible) {
	all := m.Threads
	add := func(k kind, level, threads int, format string, args ...any) {
		list = append(list, impossible{probe{k, level, threads}, fmt.Sprintf(format, args...)})
	}
	figures := func(k kind, level int, what string, p Pair) {
		if all > 1 && p.All < slowerThreads*p.One {
			add(k, level, all, "%s by %d threads at %.3g of one thread's rate", what, all, p.All/p.One)
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
			if x.own.One < slowerLevel*x.next.One {
				add(x.k, n, 1, "%s is %s at %.3g of the rate of %s", l.Name, x.how, x.own.One/x.next.One,
					next.Name)
			}
			if all > 1 && x.own.All < slowerLevel*x.next.All {
				add(x.k, n, all, "%s is %s by %d threads at %.3g of the rate of %s", l.Name, x.how, all,
					x.own.All/x.next.All, next.Name)
			}
		}
		if slowerLevel*l.Dependent > next.Dependent {
			add(dependent, n, 1,
				"a load of %s that depends on another takes %.3g times as long as one of %s", l.Name,
				l.Dependent/next.Dependent, next.Name)
		}
	}
	for n, g := range m.Gathers {
		figures(gather, n, fmt.Sprintf("values of an array of %d bytes are gathered", g.Bytes), g.Values)
		figures(rows, n, fmt.Sprintf("rows of an array of %d bytes are gathered", g.Bytes), g.Rows)
	}
	figures(multiply64, 0, "values of float64 are multiplied", m.MultiplyAdds64)
	figures(multiply32, 0, "values of float32 are multiplied", m.MultiplyAdds32)
	return list
}

// BusyError says that figures of a machine cannot be, however often they were measured (exit 1).
type BusyError struct {
	OtherWork float64  // CPUs that other work kept busy meanwhile
	Why       []string // each of them in words
}

func (e *BusyError) Error() string {
	s := "the machine cannot be measured beside its other work"
	if e.OtherWork > 0 {
		s += fmt.Sprintf(", which kept %.2g CPUs busy", e.OtherWork)
	}
	return s + ": " + strings.Join(e.Why, "; ")
}

func (e *BusyError) ExitCode() int { return 1 }

// moreTime is the seconds for which loops are run again whose figures cannot be.
const moreTime = 3.0

// remeasure runs loops again whose figures in m cannot be, until all can be or moreTime is over:
// reps is how often each probe's loop is repeated, best the seconds of each unit. The error is a
// *BusyError if some still cannot be.
func (m *Model) remeasure(ctx context.Context, by prober, reps map[probe]int64,
	best map[probe]float64) error {
	for until := by.elapsed() + moreTime; ; {
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
			if err := again(ctx, by, x.slow, reps, best); err != nil {
				return err
			}
		}
		m.fill(best)
	}
}
