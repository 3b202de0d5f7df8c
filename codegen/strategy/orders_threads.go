package strategy

import (
	"fmt"

	"distaff/codegen/cin"
)

// Threads orders how a loop on threads is cut: parallelize(i,CPUThread,STRATEGY,CUT[,N]), or
// parallelize(i,CPUThread,NoRaces,Rows[,Own]).
type Threads struct {
	Loop Ref
	How  How
	N    int64
	Own  string // for Rows; "" means the result's outermost variable
}

var cuts = map[How][2]string{Whole: {"NoRaces", "Whole"}, Blocks: {"NoRaces", "Work"},
	Ordered: {"NoRaces", "Ordered"}, Partial: {"Temporary", "Work"},
	Reduction: {"ParallelReduction", "Work"}, Rows: {"NoRaces", "Rows"}}

// HowByName returns the way of cutting that two words of a command describe: race, the strategy for
// races, and cut.
func HowByName(race, cut string) (How, bool) {
	for h, words := range cuts {
		if words == [2]string{race, cut} {
			return h, true
		}
	}
	return Whole, false
}

func (o Threads) String() string {
	words := cuts[o.How]
	text := fmt.Sprintf("parallelize(%s,CPUThread,%s,%s", o.Loop, words[0], words[1])
	if o.N > 0 {
		text += fmt.Sprintf(",%d", o.N)
	}
	if o.Own != "" {
		text += "," + o.Own
	}
	return text + ")"
}

// mostParts is the largest number of partial results, or partial sums, of a loop.
const mostParts = 1 << 16

func (o Threads) follow(f *facts, v *Value) error {
	list, err := f.loops(o.Loop)
	if err != nil {
		return err
	}
	for _, l := range list {
		c, err := o.cut(f, l)
		if err != nil {
			return err
		}
		v.loop(l).Cut = c
	}
	return nil
}

// cut returns how l is cut, or an error if l cannot be cut in the ordered way.
func (o Threads) cut(f *facts, l *cin.Forall) (Cut, error) {
	target := cin.Target(l)
	scalar := len(target.Vars) == 0 && target.Name != f.result.Name
	c := Cut{How: o.How, N: o.N}
	switch o.How {
	case Blocks, Ordered:
		switch {
		case o.How == Blocks && o.N > 0:
			return c,
				fmt.Errorf(
					"the number of chunks of a loop that does not sum follows from the number of threads; got %d",
					o.N)
		case sums(l):
			return c,
				fmt.Errorf(
					"iterations of %s add to the same places of %s; Temporary with Work gives chunks partial results", l.Var, target.Key())
		case f.fillsSpace(l) && o.How == Blocks:
			return c, nil
		case !f.assigns(l):
			return c, fmt.Errorf("the loop over %s fills the workspace %s", l.Var, target.Key())
		case f.isSparse() && !f.shared() && l.Var != f.vars[0]:
			return c, fmt.Errorf("%s is written in order, in pieces of its outermost variable %s only",
				target.Key(), f.vars[0])
		case o.How == Blocks && f.problem.Assembly == Append:
			return c, fmt.Errorf("%s is appended to, by chunks that are Ordered", target.Key())
		case o.How == Ordered && f.problem.Assembly != Append:
			return c, fmt.Errorf("%s is not appended to; chunks of Work need no order", target.Key())
		}
		if o.How == Ordered {
			c.Streamed = cachedChunks * f.problem.Target.ChunkWork
			if d, _ := f.drivers(l); d == nil && o.N > 0 {
				return c, fmt.Errorf("no operand's entries tell how much work an iteration of %s has", l.Var)
			}
		}
	case Partial:
		switch {
		case !sums(l) || !f.assigns(l) || f.problem.Assembly != Dense:
			return c, fmt.Errorf("chunks have partial results only if they sum into a dense result; got %s",
				target.Key())
		case o.N < 2 || o.N > mostParts:
			return c, fmt.Errorf("got %d partial results, want at least 2 and at most %d", o.N, mostParts)
		}
	case Reduction:
		switch {
		case !scalar:
			return c, fmt.Errorf("chunks have partial sums only if they sum into one scalar; got %s",
				target.Key())
		case o.N < 1 || o.N > mostParts:
			return c, fmt.Errorf("got %d partial sums, want at least 1 and at most %d", o.N, mostParts)
		}
	case Whole:
		switch {
		case o.N > 0:
			return c, fmt.Errorf("the loop is not cut; got %d", o.N)
		case !sums(l) || !f.assigns(l) || f.problem.Assembly != Dense:
			return c, fmt.Errorf("threads help to set a dense result to 0 that the loop sums into; got %s",
				target.Key())
		}
	case Rows:
		switch {
		case o.Own != "" && o.Own != f.ownVar(l):
			if err := f.parts(l, o.Own); err != nil {
				return c, err
			}
			c.Own = o.Own
		case !f.ownRows(l) || o.N > 0:
			return c,
				fmt.Errorf(
					"the loop over %s does not sum into a dense result by a loop over its outermost variable",
					l.Var)
		default:
			c.Own = f.vars[0]
		}
	}
	return c, nil
}

// Flatten orders that a nest is one loop over positions: flatten(i).
type Flatten struct{ Loop Ref }

func (o Flatten) String() string { return fmt.Sprintf("flatten(%s)", o.Loop) }

func (o Flatten) follow(f *facts, v *Value) error {
	list := o.Loop.Outermost(f.stmt)
	if len(list) == 0 {
		return fmt.Errorf("no outermost loop is over %s", o.Loop)
	}
	for _, l := range list {
		why := f.positionLoop(l)
		if why == "" {
			return fmt.Errorf(
				"the loop over %s is not the first over the levels of an operand whose pattern %s shares, or other operands read their coordinates", l.Var, f.result.Name)
		}
		if l.Unit == cin.CPUThread && l.Race != cin.Unsaid {
			return fmt.Errorf(
				"the positions are parted into chunks of Work among the threads, or not at all; the loop over %s is parallel otherwise", l.Var)
		}
		v.loop(l).OverPositions = why
	}
	return nil
}

// CutRows orders that rows of an operand with more than N entries run on all threads:
// longrows(i,T,N).
type CutRows struct {
	Loop   Ref
	Tensor string
	N      int64
}

func (o CutRows) String() string { return fmt.Sprintf("longrows(%s,%s,%d)", o.Loop, o.Tensor, o.N) }

// follow accepts a loop that is not cut into chunks of equal work and changes nothing there,
// because no thread of such a loop waits for a long row.
func (o CutRows) follow(f *facts, v *Value) error {
	a, _, err := f.access(o.Tensor)
	if err != nil {
		return err
	}
	list, err := f.loops(o.Loop)
	if err != nil {
		return nil
	}
	done := false
	for _, l := range list {
		loop := v.loop(l)
		x := f.longRows(l, loop.Cut, o.N, func(int64, int64) bool { return true })
		if x.How == Kept || x.Key != a.Key() || loop.OverPositions != "" {
			continue
		}
		loop.Long, done = x, true
	}
	if !done {
		return fmt.Errorf(
			"the loop over %s has no rows of %s to cut: want a loop along the entries of %s that determine its chunks, and that adds to one row of the result or appends to it", o.Loop, a.Key(), a.Key())
	}
	return nil
}
