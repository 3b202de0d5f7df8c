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

// maxSteps is the largest number of steps that the loops of a rank's leaves may take for each of
// its threads. A core would take weeks for more.
const maxSteps = 1 << 53

// maxLoops exceeds the number of loops of a leaf. Each loop takes at most one step for each point.
const maxLoops = 1 << 10

// maxStepsOfCall returns the largest number of loop steps that is not refused, which is maxSteps
// for each thread.
func (s *leaf) maxStepsOfCall() float64 {
	return maxSteps * float64(max(s.k.Reader.Env.Threads, 1))
}

// hasFewPoints reports whether a call over these ranges is sure to end, and to number the points of
// fused variables, because the ranges have few points together.
func (s *leaf) hasFewPoints(bounds [][2]int64) bool {
	points := 1.0
	for _, b := range bounds {
		points *= float64(max(b[1]-b[0], 1))
	}
	return points <= s.maxStepsOfCall()/maxLoops
}

// refuseEndless refuses a call of a leaf on its operands, over bounds of its variables, if it would
// not end: a loop over coordinates may have 2^61 steps.
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

// refused returns an estimate of the steps of a call over bounds of the leaf's variables, and the
// error of the call if it is sure to fail whatever its operands store. counts holds, by argument,
// the number of positions of each level; an unknown argument, or counts, is nil.
func (s *leaf) refused(bounds [][2]int64, counts [][]int64) (steps float64, err error) {
	seen := s.unit.Foresee(bounds, counts, max(s.k.Reader.Env.Threads, 1))
	if seen.Fail != nil {
		err = s.userError(kernels.Failure(seen.Fail.Code, seen.Coord, s.env(bounds)))
	}
	return seen.Steps, err
}

// refuseSteps returns the refusal of calls that take this number of steps together, or nil.
func (s *leaf) refuseSteps(steps float64) error {
	if steps <= s.maxStepsOfCall() {
		return nil
	}
	return fault.Commandf(
		"%s needs %.3g steps and would not end; want at most %.3g for each thread (a term "+
			"without a sparse tensor has a value at every coordinate, and a loop over tiles "+
			"visits every tile)", s.k.p.Stmt, steps, float64(maxSteps))
}

// Refused returns the error that refuses a run before its first step, or nil: at some rank a leaf
// would fail whatever its operands store, or the rank's steps together would not end. A plan calls
// it as a run does. counted holds the number of positions of each level of an operand, by name, and
// lacks operands that nobody has counted. Refused is called after Units. Every rank gets the same
// error.
func (k *Statement) Refused(counted map[string][]int64) error {
	looked, bounded := make([]bool, len(k.leaves)), make([]bool, len(k.leaves))
	for g, s := range k.leaves {
		bounded[g] = s.hasBound()
		looked[g] = bounded[g] || !s.hasFewPoints(s.bounds(nil))
	}
	if !slices.Contains(looked, true) {
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

// hasBound reports whether a leaf has a bound that may not hold, however few points there are.
func (s *leaf) hasBound() bool {
	found := false
	ir.Walk(s.unit.Func.Body, func(t ir.Stmt) {
		f, ok := t.(*ir.Fail)
		found = found || ok && f.Code == ir.FailBound
	})
	return found
}

// sureRanges returns the ranges of a step. If the chunks of a tensor's entries are guessed, their
// variables get a range of one coordinate, the least that a chunk with an entry has.
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
