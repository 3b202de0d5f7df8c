package prepared

import (
	"cmp"
	"fmt"
	"slices"

	"distaff/codegen"
	"distaff/codegen/ir"
	"distaff/codegen/workload"
	"distaff/io/tcs"
	"distaff/kernels"
	"distaff/spmd/fault"
)

// points returns the product of the lengths of the ranges in bounds. An empty range counts as 1.
func points(bounds [][2]int64) float64 {
	n := 1.0
	for _, b := range bounds {
		n *= float64(max(b[1]-b[0], 1))
	}
	return n
}

// byArgument returns, for each argument of the unit, its tensor in args, and the number of
// positions of each level of this tensor. Both are nil for the result and for maps, which are not
// in args.
func (s *leaf) byArgument(args []*tcs.Tensor) (tensors []*tcs.Tensor, counts [][]int64) {
	tensors, counts = make([]*tcs.Tensor, len(s.unit.Args)), make([][]int64, len(s.unit.Args))
	for n, a := range s.unit.Args[1:] {
		if a.Map {
			continue
		}
		t := args[0]
		tensors[n+1], args = t, args[1:]
		for l := range t.Levels {
			counts[n+1] = append(counts[n+1], t.Positions(l))
		}
	}
	return tensors, counts
}

// maxSteps is the largest number of loop steps that the leaves of a rank may take in a run, for
// each thread of the rank. A run that needs more, by an estimate, is refused.
const maxSteps = 1 << 53

// maxLoops is a number of loops that few leaves reach. It helps to accept small calls without a
// closer look (see hasFewPoints). Each loop takes at most one step for each point of a call. A leaf
// with fewer than maxLoops loops therefore takes fewer than maxLoops steps for each point. The leaf
// of a statement with hundreds of terms may have more loops.
const maxLoops = 1 << 10

// maxStepsOfCall returns the largest number of loop steps that a call of the leaf may take. This is
// maxSteps for each thread of the rank.
func (s *leaf) maxStepsOfCall() float64 {
	return maxSteps * float64(max(s.p.Reader.Env.Threads, 1))
}

// hasFewPoints reports whether a call over the given bounds is accepted without a closer look. The
// call is accepted if it has at most maxStepsOfCall/maxLoops points (see the function points). If
// the leaf has at most maxLoops loops, the call then takes at most maxStepsOfCall steps. The points
// of fused variables can then be numbered without overflow.
func (s *leaf) hasFewPoints(bounds [][2]int64) bool {
	return points(bounds) <= s.maxStepsOfCall()/maxLoops
}

// refuseEndless returns an error if a call of a leaf would not end: a loop over coordinates may
// have 2^61 steps. args are the operands, and bounds the ranges of the leaf's variables.
func (s *leaf) refuseEndless(args []*tcs.Tensor, bounds [][2]int64) error {
	if s.hasFewPoints(bounds) { // the usual case, which needs no closer look
		return nil
	}
	_, counts := s.byArgument(args)
	n, err := s.refused(bounds, counts)
	return cmp.Or(err, s.refuseSteps(n))
}

// refused returns an estimate of the loop steps of a call over bounds. If the call fails with any
// entries of the operands, err is the error of the call. counts[n] lists the number of positions of
// each level of argument n. It is nil if these numbers are unknown. If nothing is known about any
// argument, counts is nil.
func (s *leaf) refused(bounds [][2]int64, counts [][]int64) (steps float64, err error) {
	seen := s.unit.Foresee(bounds, counts, max(s.p.Reader.Env.Threads, 1))
	if seen.Fail != nil {
		err = s.userError(kernels.Failure(seen.Fail.Code, seen.Coord, s.env(bounds)))
	}
	return seen.Steps, err
}

// refuseSteps returns an error if steps, the loop steps of a call or of a rank's calls together,
// exceed the limit.
func (s *leaf) refuseSteps(steps float64) error {
	if steps <= s.maxStepsOfCall() {
		return nil
	}
	return fault.Commandf(
		"%s needs %.3g steps and would not end; want at most %.3g for each thread (a term "+
			"without a sparse tensor has a value at every coordinate, and a loop over tiles "+
			"visits every tile)", s.p.Parsed.Stmt, steps, float64(maxSteps))
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

// maxHastyWork is the largest work for which a leaf is compiled with less optimization. The work is
// the number that workOfRun estimates, for all runs together.
//
// In measurements, a leaf did 0.2 to 1 unit of this work in a nanosecond on each thread. Full
// optimization took 50 to 100 ms longer on one processor, and saved up to two thirds of the leaf's
// time.
const maxHastyWork = 20e6

// setHasty requests fast compilation with less optimization if the leaf has little work in all
// runs. All ranks decide the same.
func (s *leaf) setHasty() {
	p := s.p
	if p.Options.Runs == 0 || p.Target.Kind != codegen.CPU {
		return
	}
	all := s.workOfRun() * float64(p.Options.Runs)
	if s.unit.ShortLived = all <= maxHastyWork; s.unit.ShortLived {
		p.Reader.Env.Detail(fmt.Sprintf(
			"the leaf of %s is compiled with less optimization, because it does only %.3g "+
				"operations in all", s.stmt,
			all))
	}
}

// workOfRun estimates the work of the leaf in one run, over all calls and ranks: operations on
// values, values read, and values of a dense result.
func (s *leaf) workOfRun() float64 {
	p, u := s.p, s.unit
	x := workload.Extents{NoMoves: true, Counts: make([][]int64, len(u.Args)),
		Size: func(v string) int64 { return p.Reader.Sizes.Vars[v] }}
	for n, a := range u.Args[1:] {
		t, ok := s.operands[a.Tensor]
		switch {
		case a.Map:
		case ok && !a.Convert && len(t.Counts) == len(t.Format.Levels):
			x.Counts[n+1] = t.Counts
		default:
			x.Counts[n+1] = slices.Repeat([]int64{max(t.NNZ, 0)}, len(a.Format.Levels))
		}
	}
	done := u.Workload.Operations(x)
	all := done.Multiplications + done.Additions
	for _, n := range done.Reads {
		all += n
	}
	if u.Result.Format.AllDense() {
		n := 1.0
		for _, d := range s.dims {
			n *= float64(d)
		}
		all += n
	}
	return all
}
