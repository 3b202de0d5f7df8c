package planview

import (
	"fmt"
	"strings"

	"distaff/io/tcs"
	"distaff/spmd/forecast"
)

// Line is a line about a plan: what it is about, and what there is to say.
type Line struct{ Label, Text string }

// Schedule says which rank runs what: the loops of a block schedule in a line; or the machine and
// the loops of a distributed one, each in a line, what they cut, and what is under them.
func Schedule(p *forecast.Planned) []Line {
	if p.Nest == nil {
		return []Line{{"blocks", blockLoops(p)}}
	}
	list := []Line{{"machine", extents(p.Machine)}}
	for k, l := range p.Nest {
		line := Line{"", nestLoop(l)}
		if k == 0 {
			line.Label = "loops"
		}
		list = append(list, line)
	}
	leaf := "the default schedule"
	if p.Leaf != nil {
		leaf = strings.Join(p.Leaf, ", ")
	}
	return append(list, Line{"blocks", cuts(p)}, Line{"leaf", leaf})
}

// cuts are the variables that are cut, and how their parts come together.
func cuts(p *forecast.Planned) string {
	var parts []string
	for _, l := range p.Loops {
		s := fmt.Sprintf("%s in %d", l.What(), l.Ranges())
		if l.Extended {
			s += " (a sum, with partial results)"
		} else if l.Reduction {
			s += " (a sum, added in place)"
		}
		parts = append(parts, s)
	}
	if len(parts) == 0 {
		return "one block"
	}
	return strings.Join(parts, ", ")
}

// blockLoops are the loops of a block schedule in a line.
func blockLoops(p *forecast.Planned) string {
	s := cuts(p)
	switch {
	case len(p.Loops) == 0:
		return s
	case len(p.Map) == 0:
		return s + "; all at rank 0"
	}
	return s + "; " + strings.Join(p.Map, ", ") + " decides the rank"
}

// nestLoop is a loop of a distributed schedule.
func nestLoop(l forecast.PlannedNestLoop) string {
	s := fmt.Sprintf("%s in %d, ", l.Var, l.Iterations)
	if l.Dim == "" {
		s += "in order"
	} else {
		s += "over " + l.Dim
	}
	if len(l.Rotated) > 0 {
		s += ", rotated by " + strings.Join(l.Rotated, ", ")
	}
	if len(l.Communicate) > 0 {
		s += ", communicates " + strings.Join(l.Communicate, ", ")
	}
	return s
}

// Lies says where the blocks of a tensor live, as far as a placement or a distributed schedule
// decides it; "" where neither does.
func Lies(p *forecast.Planned, t forecast.PlannedTensor) string {
	first := "where its blocks are first read"
	if t.Result {
		first = "where its blocks are first made"
	}
	if p.Nest == nil {
		first = "where the block schedule has its blocks"
	}
	switch {
	case t.Moved > 0 && t.Result:
		return fmt.Sprintf("at %s, to where its blocks are moved after the last step, %s", t.Placement,
			moved(t))
	case t.Moved > 0:
		return fmt.Sprintf("at %s, from where it is moved to its blocks before the first step, %s",
			t.Placement, moved(t))
	case t.Held:
		return "at " + t.Placement
	case t.Placement != "":
		return first + ", since one lies in several pieces of " + t.Placement
	case p.Nest != nil:
		return first
	}
	return ""
}

// moved is how much moves of a tensor from or to its placement.
func moved(t forecast.PlannedTensor) string {
	if t.Exact {
		return tcs.Size(t.Moved)
	}
	return "~" + tcs.Size(t.Moved)
}
