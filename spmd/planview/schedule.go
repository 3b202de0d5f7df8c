package planview

import (
	"fmt"
	"strings"

	"distaff/io/tensor"
	"distaff/spmd/forecast"
)

// Line is a line about a plan. Label says what the line is about.
type Line struct{ Label, Text string }

// Schedule describes which rank runs what. A block schedule takes one line. A distributed schedule
// takes lines for its machine, for each loop, for the cuts, and for the leaf. Unless the target is
// the CPU because nobody says otherwise, the first line is about the target.
func Schedule(p *forecast.Planned) (list []Line) {
	if p.TargetReason != "" {
		list = append(list, Line{"target", p.Target + " (" + tensor.Printable(p.TargetReason) + ")"})
	} else if p.Target != "cpu" {
		list = append(list, Line{"target", p.Target})
	}
	if p.Nest == nil {
		return append(list, Line{"blocks", blockLoops(p)})
	}
	list = append(list, Line{"machine", extents(p.Machine)})
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

// cuts returns a text that lists the variables that are cut. If a summation variable is cut, the
// text also says how the parts of the sum are combined.
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

// blockLoops returns the loops of a block schedule in one line.
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

// nestLoop returns a loop of a distributed schedule in words.
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

// WherePlaced returns a phrase that says where the blocks of a tensor are. It returns "" if the
// tensor has no placement and the schedule is not distributed.
func WherePlaced(p *forecast.Planned, t forecast.PlannedTensor) string {
	first := "where its blocks are first read"
	if t.Result {
		first = "where its blocks are first computed"
	}
	if p.Nest == nil {
		first = "where the block schedule places its blocks"
	}
	switch {
	case t.Moved > 0 && t.Result:
		return fmt.Sprintf("at %s, where its blocks are moved after the last step, %s", t.Placement,
			moved(t))
	case t.Moved > 0:
		return fmt.Sprintf("at %s, and moved from there to its blocks before the first step, %s",
			t.Placement, moved(t))
	case t.Held:
		return "at " + t.Placement
	case t.Placement != "":
		return first + ", because one block covers several pieces of " + t.Placement
	case p.Nest != nil:
		return first
	}
	return ""
}

// moved formats the number of bytes of a tensor that move from or to its placement, with "~" before
// an estimate.
func moved(t forecast.PlannedTensor) string {
	if t.Exact {
		return tensor.Bytes(t.Moved)
	}
	return "~" + tensor.Bytes(t.Moved)
}
