package prepared

import (
	"cmp"
	"slices"
	"strconv"

	"distaff/codegen/ir"
	"distaff/io/tcs"
	"distaff/kernels"
	"distaff/spmd/fault"
	"distaff/spmd/plan"
)

// maxSteps is the largest number of loop steps that the leaves of a rank may take in a run, for
// each thread of the rank. A run that needs more is refused, because it would occupy a core for
// weeks.
const maxSteps = 1 << 53

// maxLoops is more than the number of loops that a leaf usually has. Each loop takes at most one
// step for each point, and so a call of such a leaf takes fewer than maxLoops steps for each point.
// The leaf of a statement with hundreds of terms may have more loops.
const maxLoops = 1 << 10

// maxStepsOfCall returns the largest number of loop steps that a call of the leaf may take. This is
// maxSteps for each thread of the rank.
func (s *leaf) maxStepsOfCall() float64 {
	return maxSteps * float64(max(s.k.Reader.Env.Threads, 1))
}

// hasFewPoints reports whether a call over the given bounds is accepted without a closer look. This
// is so if the product of the ranges is at most maxStepsOfCall/maxLoops. If the leaf has at most
// maxLoops loops, the call then takes at most maxStepsOfCall steps. The points of fused variables
// can be numbered without overflow.
func (s *leaf) hasFewPoints(bounds [][2]int64) bool {
	points := 1.0
	for _, b := range bounds {
		points *= float64(max(b[1]-b[0], 1))
	}
	return points <= s.maxStepsOfCall()/maxLoops
}

// refuseEndless returns an error if a call of a leaf would not end: a loop over coordinates may
// have 2^61 steps. args are the operands, and bounds the ranges of the leaf's variables.
func (s *leaf) refuseEndless(args []*tcs.Tensor, bounds [][2]int64) error {
	if s.hasFewPoints(bounds) { // the usual case, which needs no closer look
		return nil
	}
	counts, next := make([][]int64, len(s.unit.Args)), 0
	for n, a := range s.unit.Args[1:] {
		if a.Map {
			continue
		}
		for l := range args[next].Levels {
			counts[n+1] = append(counts[n+1], args[next].Positions(l))
		}
		next++
	}
	n, err := s.refused(bounds, counts)
	return cmp.Or(err, s.refuseSteps(n))
}

// refused returns an estimate of the loop steps of a call over bounds. err is the error of the call
// if it is sure to fail, whatever the operands store. counts holds, by argument, the number of
// positions of each level; it may be nil, also for a single argument, if the numbers are unknown.
func (s *leaf) refused(bounds [][2]int64, counts [][]int64) (steps float64, err error) {
	seen := s.unit.Foresee(bounds, counts, max(s.k.Reader.Env.Threads, 1))
	if seen.Fail != nil {
		err = s.userError(kernels.Failure(seen.Fail.Code, seen.Coord, s.env(bounds)))
	}
	return seen.Steps, err
}

// refuseSteps returns an error if steps, the loop steps of a rank's calls together, exceed the
// limit.
func (s *leaf) refuseSteps(steps float64) error {
	if steps <= s.maxStepsOfCall() {
		return nil
	}
	return fault.Commandf(
		"%s needs %.3g steps and would not end; want at most %.3g for each thread (a term "+
			"without a sparse tensor has a value at every coordinate, and a loop over tiles "+
			"visits every tile)", s.k.p.Stmt, steps, float64(maxSteps))
}

// Refused returns an error if a run must be refused before its first step: a leaf would fail at
// some rank whatever its operands store, or a rank's steps together would not end. Plans and runs
// call it alike, after Units. Every rank gets the same error.
//
// counted holds, by the operand's name, the number of positions of each level. It lacks operands
// that nobody has counted.
func (k *Statement) Refused(counted map[string][]int64) error {
	looked, bounded := make([]bool, len(k.leaves)), make([]bool, len(k.leaves))
	for g, s := range k.leaves {
		bounded[g] = s.hasBound()
		looked[g] = bounded[g] || !s.hasFewPoints(s.bounds(nil))
	}
	if !slices.Contains(looked, true) || k.endsAtWidest(bounded) && !k.Problem.Whole {
		return nil
	}
	known := map[string]float64{} // loop steps, by group and ranges
	all := make([]float64, k.Problem.Ranks)
	for rank, step := range k.Problem.AllSteps() {
		s := k.leaves[step.Group]
		if !looked[step.Group] {
			continue
		}
		bounds := s.bounds(k.sureRanges(step))
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
		if err := k.leaves[0].refuseSteps(n); err != nil {
			return err
		}
	}
	if !k.Problem.Whole || len(counted) == 0 {
		return nil
	}
	s := k.leaves[0]
	counts := make([][]int64, len(s.unit.Args))
	for n, a := range s.unit.Args {
		if n > 0 && !a.Convert && !a.Map {
			counts[n] = counted[a.Tensor]
		}
	}
	n, err := s.refused(s.bounds(nil), counts)
	return cmp.Or(err, s.refuseSteps(n))
}

// endsAtWidest is a quick test that reports whether all steps are accepted. It computes the loop
// steps of a call with the widest ranges of the plan. It returns true if this call is accepted, and
// each rank's calls together are accepted too. It returns false if each call must be examined,
// which takes minutes for tens of thousands of ranks. bounded[g] says that leaf g has a bound(), so
// that the answer also depends on where ranges end.
func (k *Statement) endsAtWidest(bounded []bool) bool {
	widest := map[string][2]int64{}
	for _, b := range k.Problem.Blocking.Vars {
		if b.Positions != nil {
			return false
		}
		for at := range len(b.Cuts) - 1 {
			widest[b.Name] = [2]int64{0, max(widest[b.Name][1], b.Cuts[at+1]-b.Cuts[at])}
		}
	}
	most := 0.0
	for g, s := range k.leaves {
		n, err := s.refused(s.bounds(widest), nil)
		if err != nil || bounded[g] {
			return false
		}
		most = max(most, n)
	}
	for rank := range k.Problem.Ranks {
		steps := int64(0)
		for _, n := range k.Problem.Made(rank) {
			steps += n
		}
		if 2*most*float64(steps) > k.leaves[0].maxStepsOfCall() { // 2: most is an estimate
			return false
		}
	}
	return true
}

// hasBound reports whether the leaf has code that checks a bound(). If it has, Refused examines the
// leaf's calls even if they have few points, because they can fail.
func (s *leaf) hasBound() bool {
	found := false
	ir.Walk(s.unit.Func.Body, func(t ir.Stmt) {
		f, ok := t.(*ir.Fail)
		found = found || ok && f.Code == ir.FailBound
	})
	return found
}

// sureRanges returns the range that a step covers at least, for each variable that the step
// restricts, by name. This is the range of the step itself if it is known. The boundaries of the
// chunks of entries may be only guessed. The variables of the chunks then get a range of one
// coordinate, because a chunk contains at least one entry.
func (k *Statement) sureRanges(s *plan.Step) map[string][2]int64 {
	ranges := k.ranges(*s)
	for _, b := range k.Problem.Blocking.Vars {
		if b.Positions != nil && k.Problem.Operands[k.Problem.Stored()].Partition.Guessed() {
			for _, v := range b.Positions.Vars {
				ranges[v] = [2]int64{0, min(1, k.Reader.Sizes.Vars[v])}
			}
		}
	}
	return ranges
}
