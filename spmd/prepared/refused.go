package prepared

import (
	"cmp"
	"slices"
	"strconv"

	"distaff/spmd/plan"
)

// Refused returns an error if a run must be refused before its first step. A run is refused if a
// leaf would fail at some rank with any entries of its operands, or if all steps of a rank together
// would not end. Plans and runs both call Refused, after Units. Every rank gets the same error if
// all ranks have the same number of threads.
//
// counted holds, by the operand's name, the number of positions of each level. If an operand's
// positions were not counted, counted does not have the operand.
func (c *Code) Refused(counted map[string][]int64) error {
	looked, bounded := make([]bool, len(c.leaves)), make([]bool, len(c.leaves))
	for g, s := range c.leaves {
		bounded[g] = s.hasBound()
		looked[g] = bounded[g] || !s.hasFewPoints(s.bounds(nil))
	}
	if !slices.Contains(looked, true) || c.endsAtWidest(bounded) && !c.p.Problem.Whole {
		return nil
	}
	known := map[string]float64{} // loop steps, by group and ranges
	all := make([]float64, c.p.Problem.Ranks)
	for rank, step := range c.p.Problem.AllSteps() {
		s := c.leaves[step.Group]
		if !looked[step.Group] {
			continue
		}
		bounds := s.bounds(c.p.sureRanges(step))
		key := strconv.Itoa(step.Group)
		for _, b := range bounds {
			key += " " + strconv.FormatInt(b[1]-b[0], 36)
			if bounded[step.Group] { // bound() is about where a range ends
				key += ":" + strconv.FormatInt(b[1], 36)
			}
		}
		n, ok := known[key]
		if !ok {
			var err error
			if n, err = s.refused(bounds, nil); err != nil {
				return err
			}
			known[key] = n
		}
		all[rank] += n
	}
	for _, n := range all {
		if err := c.leaves[0].refuseSteps(n); err != nil {
			return err
		}
	}
	if !c.p.Problem.Whole || len(counted) == 0 {
		return nil
	}
	s := c.leaves[0]
	counts := make([][]int64, len(s.unit.Args))
	for n, a := range s.unit.Args {
		if n > 0 && !a.Convert && !a.Map {
			counts[n] = counted[a.Tensor]
		}
	}
	n, err := s.refused(s.bounds(nil), counts)
	return cmp.Or(err, s.refuseSteps(n))
}

// endsAtWidest is a quick test. It returns true if no step needs to be refused. For this, it
// estimates the loop steps of a call with the widest ranges of the plan. If it returns false,
// Refused must examine the calls. bounded[g] says that leaf g has a bound(). endsAtWidest then
// returns false, because the answer also depends on where ranges end.
func (c *Code) endsAtWidest(bounded []bool) bool {
	widest := map[string][2]int64{}
	for _, b := range c.p.Problem.Blocking.Vars {
		if b.Positions != nil {
			return false
		}
		for at := range len(b.Cuts) - 1 {
			widest[b.Name] = [2]int64{0, max(widest[b.Name][1], b.Cuts[at+1]-b.Cuts[at])}
		}
	}
	most := 0.0
	for g, s := range c.leaves {
		n, err := s.refused(s.bounds(widest), nil)
		if err != nil || bounded[g] {
			return false
		}
		most = max(most, n)
	}
	for rank := range c.p.Problem.Ranks {
		steps := int64(0)
		for _, n := range c.p.Problem.Made(rank) {
			steps += n
		}
		if 2*most*float64(steps) > c.leaves[0].maxStepsOfCall() { // 2: most is an estimate
			return false
		}
	}
	return true
}

// sureRanges returns a range for each variable that the step restricts, by name. This is the range
// of the step itself if it is known. If the boundaries of the chunks of entries are only guessed,
// the variables of the chunks get a range of at most one coordinate.
func (p *Planned) sureRanges(s *plan.Step) map[string][2]int64 {
	ranges := p.ranges(*s)
	for _, b := range p.Problem.Blocking.Vars {
		if b.Positions != nil && p.Problem.Operands[p.Problem.Stored()].Partition.Guessed() {
			for _, v := range b.Positions.Vars {
				ranges[v] = [2]int64{0, min(1, p.Reader.Sizes.Vars[v])}
			}
		}
	}
	return ranges
}
