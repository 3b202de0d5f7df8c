package planview

import (
	"fmt"
	"math"
	"slices"

	"distaff/spmd/forecast"
)

// relief says what shortens the time that a statement spends on a bound, by the name of the bound.
var relief = map[string]string{
	"sequential reads": "float32 values, fewer stored entries, or more machines read fewer bytes",
	"random reads": "operands that fit into caches, an order that keeps equal coordinates close, " +
		"or several columns for each read entry",
	"arithmetic":            "float32 values, or more threads or ranks",
	"branches and searches": "operands in dense formats, or rows of similar lengths",
	"loop starts":           "longer rows, or the longest mode innermost",
	"writes":                "a sparse format of the result, float32 values, or more machines",
	"calls and threads":     "more work in each call, or fewer threads",
	"imbalance of ranks":    "a placement by entries, as in A(x,y) -> M(~(x,y))",
	"latency of messages":   "fewer ranks, or larger blocks",
	"bytes of messages":     "another placement, fewer ranks, or float32 values",
}

// leastShare is the share of the time from which Why lists a bound.
const leastShare = 0.02

// Why explains a plan: the commands of each leaf with their reasons, and what the predicted time is
// spent on. The plan must have been explained (forecast.Planned.Explain).
func Why(p *forecast.Planned) (list []Line) {
	for _, l := range p.Leaves {
		label := "leaf"
		if len(p.Leaves) > 1 {
			list, label = append(list, Line{label, l.Statement}), ""
		}
		for _, c := range l.Commands {
			text := c.Command
			if c.Reason != "" {
				text += "  # " + c.Reason
			}
			list, label = append(list, Line{label, text}), ""
		}
		if len(l.Commands) == 0 {
			list = append(list, Line{label, "the loops in the order of the statement"})
		}
	}
	return append(list, bounds(p)...)
}

// bounds says what the time of a repeated run is spent on.
func bounds(p *forecast.Planned) (list []Line) {
	all, ok := p.Repeated()
	if !ok {
		return []Line{{"bounds", "unknown, because the time is not predicted"}}
	}
	label := "bounds"
	for _, b := range p.Time.Bounds {
		if b.Share < leastShare {
			continue
		}
		text := fmt.Sprintf("%s: %.0f%% (%s; without them %s)", b.Name, 100*b.Share,
			forecast.Duration(b.Seconds), forecast.Duration(all-b.Saved))
		if label != "" {
			text += ": " + relief[b.Name]
		}
		list, label = append(list, Line{label, text}), ""
	}
	if label != "" {
		list = append(list, Line{label, "no resource alone: several that are used at the same time"})
	}
	return list
}

// Comparison is a quantity of two plans of the same job, in words. Ratio is the quantity of the
// other plan as a multiple of the quantity of the first plan. It is "" if the latter is 0.
type Comparison struct{ Name, First, Other, Ratio string }

// Compare compares two plans of the same statement: their predicted times, what the times are spent
// on, and the largest value of each quantity over the ranks. If both times are predicted, they are
// the first row.
func Compare(p, other *forecast.Planned) (rows []Comparison) {
	add := func(name string, a, b float64, text func(float64) string) {
		ratio := ""
		if a > 0 {
			ratio = fmt.Sprintf("%.3g", b/a)
		}
		rows = append(rows, Comparison{name, text(a), text(b), ratio})
	}
	a, known := p.Repeated()
	b, alsoKnown := other.Repeated()
	if known && alsoKnown {
		add("compute and messages", a, b, forecast.Duration)
		for _, name := range boundNames(p, other) {
			add("  "+name, secondsOn(p, name), secondsOn(other, name), forecast.Duration)
		}
	}
	theirs := Quantities(other)
	for _, q := range Quantities(p) {
		n := slices.IndexFunc(theirs, func(r Quantity) bool { return r.Name == q.Name })
		if n < 0 {
			continue
		}
		x, y := slices.Max(q.Values), slices.Max(theirs[n].Values)
		if x == 0 && y == 0 {
			continue
		}
		add(q.Name+" (maximum of a rank)", float64(x), float64(y),
			func(n float64) string { return q.text(n, Compact) })
	}
	return rows
}

// boundNames lists the names of the bounds of two plans, without duplicates.
func boundNames(plans ...*forecast.Planned) (names []string) {
	for _, p := range plans {
		for _, b := range p.Time.Bounds {
			if !slices.Contains(names, b.Name) {
				names = append(names, b.Name)
			}
		}
	}
	return names
}

// secondsOn returns the predicted seconds that a statement spends on a bound.
func secondsOn(p *forecast.Planned, bound string) float64 {
	for _, b := range p.Time.Bounds {
		if b.Name == bound {
			return b.Seconds
		}
	}
	return 0
}

// Difference names the bound whose time differs most between two plans, with the difference in
// seconds. It returns "" if no time differs. The times of both plans must be predicted.
func Difference(p, other *forecast.Planned) string {
	name, most := "", 0.0
	for _, b := range boundNames(p, other) {
		if d := secondsOn(other, b) - secondsOn(p, b); math.Abs(d) > math.Abs(most) {
			name, most = b, d
		}
	}
	switch {
	case name == "":
		return ""
	case most < 0:
		return name + " -" + forecast.Duration(-most)
	}
	return name + " +" + forecast.Duration(most)
}
