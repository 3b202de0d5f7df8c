package choice

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"distaff/codegen/analysis"
	"distaff/codegen/cin"
	"distaff/codegen/strategy"
)

// Threads is the choice of how an outermost loop is divided among the threads of a CPU:
// parallelize(i,CPUThread,STRATEGY,CUT[,N]).
//
//	NoRaces,Work               chunks of about equal work, eight for each thread
//	NoRaces,Ordered[,N]        the same, and each chunk appends to the result after the chunk before
//	                           it; N is the least work of a chunk
//	NoRaces,Rows[,v]           each thread runs the whole outermost loop, for its own rows of the
//	                           result if the next inner loop is over rows, or for its own part of
//	                           the range of v
//	NoRaces,Whole              one thread runs the whole loop; several threads only set the result to
//	                           0 before the loop
//	Temporary,Work,N           N chunks, each with its own partial result; the results are added in
//	                           order
//	ParallelReduction,Work,N   N chunks, each with its own partial sum; the sums are added in order
var Threads = &Choice{
	Name: Units.Name,
	Params: []Param{{Kind: LoopParam, Name: "i"}, {Kind: TextParam, Name: "CPUThread"},
		{Kind: TextParam, Name: "STRATEGY"},
		{Kind: TextParam, Name: "CUT", Words: []string{"Work", "Ordered", "Rows", "Whole"}},
		{Kind: PartParam, Name: "N", Optional: true}},
	Meaning: Units.Meaning,
	Takes: func(args []string) bool {
		if len(args) < 4 {
			return false
		}
		_, err := strconv.Atoi(args[3])
		return err != nil
	},
	Mark:    markChunks,
	Default: defaultThreads,
	Follow:  followThreads,
}

// cutWords lists, for each way of dividing a loop among threads, the two words that name it in a
// command.
var cutWords = [...]string{cin.Whole: "NoRaces,Whole", cin.Blocks: "NoRaces,Work",
	cin.Ordered: "NoRaces,Ordered",
	cin.Partial: "Temporary,Work", cin.Reduction: "ParallelReduction,Work",
	cin.Rows: "NoRaces,Rows"}

// markChunks marks loops to run on threads, in the chunks that o describes. These are the outermost
// of the loops that o names. markChunks returns the statement's body with the marks.
func markChunks(f *analysis.Facts, o Order) (cin.Stmt, error) {
	unit, cut, _ := strings.Cut(o.Word, ",")
	race, word, _ := strings.Cut(cut, ",")
	switch {
	case f.Problem.Target.GPU:
		return nil, refused(3,
			"chunks of work are for the threads of a CPU, but --target=cuda compiles for a GPU")
	case unit != cin.CPUThread.String():
		return nil, refused(1, "got the unit %s, want CPUThread: chunks of work are for threads of a CPU", unit)
	case !slices.Contains(cutWords[:], cut):
		return nil, misspelt(3,
			"got %s with %s, want either a number of iterations, or NoRaces with "+
				"Work, Ordered, Rows or Whole, or Temporary or ParallelReduction with Work", word, race)
	case o.Name != "" && cutByWords(o.Word) != cin.Rows:
		return nil, misspelt(4, "got %s, want a number of at least 1", o.Name)
	}
	list := o.Loop.Outermost(f.Body)
	if len(list) == 0 {
		return nil, refused(0,
			"only an outermost loop can be divided into chunks of work; the loop over %s is "+
				"inside another", o.Loop.String())
	}
	for _, l := range list {
		if l.Unit != cin.Serial {
			return nil, refused(0, "the loop over %s is already parallel", o.Loop.String())
		}
		if f.Graph.OfLoop(l.Var) != nil || l.Unroll != 0 {
			return nil, refused(0,
				"got %s, want a variable of the statement whose loop is not unrolled and not "+
					"made by another command", o.Loop.String())
		}
	}
	return cin.MapLoops(f.Body, o.Loop.Var, func(l *cin.Forall) cin.Stmt {
		if !slices.Contains(list, l) {
			return l
		}
		return &cin.Forall{Var: l.Var, Unit: cin.CPUThread, Gallop: l.Gallop, Body: l.Body}
	}), nil
}

// cutByWords returns the way of dividing a loop that has the given words in cutWords. A prefix
// "CPUThread," of the words is ignored.
func cutByWords(words string) cin.CutKind {
	return cin.CutKind(slices.Index(cutWords[:], strings.TrimPrefix(words, "CPUThread,")))
}

// followThreads changes how the outermost loops that o names are cut.
func followThreads(f *analysis.Facts, v *strategy.Value, o Order) error {
	list, err := threadLoops(f, o.Loop)
	if err != nil {
		return err
	}
	for _, l := range list {
		c, err := orderedTo(f, l, o)
		if err != nil {
			return err
		}
		v.At(l).Cut = c
	}
	return nil
}

// defaultThreads returns the instructions for the outermost loops that run on threads.
func defaultThreads(f *analysis.Facts, v *strategy.Value) []Chosen {
	return eachLoop(f, func(l *cin.Forall) (Order, string, bool) {
		if l.Unit != cin.CPUThread {
			return Order{}, "", false
		}
		c, why := cutOf(f, l)
		o := Order{Word: "CPUThread," + cutWords[c.How], N: c.N}
		if c.Own != ownVar(f, l) {
			o.Name = c.Own
		}
		return o, why, true
	})
}

// eachLoop calls decide for each outermost loop, and returns the instructions that decide returns.
// decide returns false if the loop gets no instruction. If all outermost loops over a variable get
// the same instruction, eachLoop returns it once.
func eachLoop(f *analysis.Facts,
	decide func(l *cin.Forall) (o Order, why string, ok bool)) (out []Chosen) {
	top := analysis.Outermost(f.Stmt)
	of := map[*cin.Forall]Chosen{}
	for _, l := range top {
		if o, why, ok := decide(l); ok {
			of[l] = Chosen{Order: o.of(l.Var), Why: why}
		}
	}
	for _, l := range top {
		x, ok := of[l]
		if !ok {
			continue
		}
		if slices.ContainsFunc(top, func(m *cin.Forall) bool {
			y, too := of[m]
			return m.Var == l.Var && (!too || y.Order != x.Order)
		}) {
			x.Order.Loop = nth(f, l)
		}
		if !slices.ContainsFunc(out, func(y Chosen) bool { return y.Order == x.Order }) {
			out = append(out, x)
		}
	}
	return out
}

// nth returns the name of loop l: its variable, and its number among the loops over this variable.
func nth(f *analysis.Facts, l *cin.Forall) Ref {
	n, at := 0, 0
	cin.Walk(f.Stmt, func(s cin.Stmt) {
		if m, ok := s.(*cin.Forall); ok && m.Var == l.Var {
			if n++; m == l {
				at = n
			}
		}
	})
	return Ref{l.Var, at}
}

// threadLoops returns the outermost loops that r names and that run on threads in chunks of work.
// It returns an error if there are none.
func threadLoops(f *analysis.Facts, r Ref) ([]*cin.Forall, error) {
	list := slices.DeleteFunc(r.Outermost(f.Stmt),
		func(l *cin.Forall) bool { return l.Unit != cin.CPUThread || l.Race != cin.Unsaid })
	if len(list) == 0 {
		return nil,
			fmt.Errorf(
				"the outermost loop over %s must run on threads in chunks of equal work, as "+
					"after parallelize(%s,CPUThread,NoRaces,Work)", r, r)
	}
	return list, nil
}

// chunksPerThread is the number of chunks of equal work that a parallel loop has for each thread.
// With several chunks, one that takes longer than estimated does not delay the other threads.
const chunksPerThread = 8

// sumChunks is the default number of chunks of a sum into a scalar. It is fixed. Each chunk has its
// own sum, and these sums are added in order, so the result does not depend on the number of
// threads.
const sumChunks = 64

// mostParts is the largest number of partial results, or partial sums, of a loop.
const mostParts = 1 << 16

// orderedTo returns how loop l is cut if it follows the instruction o. It returns an error if l
// cannot be cut in this way.
func orderedTo(f *analysis.Facts, l *cin.Forall, o Order) (cin.Cut, error) {
	target := cin.Target(l)
	scalar := len(target.Vars) == 0 && target.Name != f.Result.Name
	how := cutByWords(o.Word)
	c := cin.Cut{How: how, N: o.N}
	switch how {
	case cin.Blocks, cin.Ordered:
		switch {
		case how == cin.Blocks && o.N > 0:
			return c,
				fmt.Errorf(
					"got %d chunks, want no number: only a loop that sums into one scalar has one",
					o.N)
		case analysis.IsSum(l):
			return c,
				fmt.Errorf(
					"iterations of %s add to the same elements of %s; use Temporary with "+
						"Work, where chunks have partial results", l.Var, target.Key())
		case fillsSpace(f, l) && how == cin.Blocks:
			return c, nil
		case !f.Assigns(l):
			return c, fmt.Errorf(
				"the loop over %s fills the workspace %s, so it cannot be divided into chunks",
				l.Var, target.Key())
		case f.IsSparse() && !f.SharesLevels() && l.Var != f.Vars[0]:
			return c, fmt.Errorf(
				"%s is written in order, so only a loop over its outermost variable, %s, can "+
					"be divided into chunks",
				target.Key(), f.Vars[0])
		case how == cin.Blocks && f.Problem.Assembly == strategy.Append:
			return c, fmt.Errorf("entries of %s must be appended in order, so the chunks must be Ordered", target.Key())
		case how == cin.Ordered && f.Problem.Assembly != strategy.Append:
			return c, fmt.Errorf(
				"%s is not appended to; want chunks of Work, which need no order", target.Key())
		}
		if how == cin.Ordered {
			c.Streamed = cachedChunks * f.Problem.Target.ChunkWork
			if d, _ := drivers(f, l); d == nil && o.N > 0 {
				return c, fmt.Errorf(
					"no operand's entries tell how much work an iteration of %s is; want "+
						"another strategy", l.Var)
			}
		}
	case cin.Partial:
		switch {
		case !sumsIntoDense(f, l):
			return c, fmt.Errorf(
				"partial results need a loop that sums into a dense result; got %s",
				target.Key())
		case o.N < 2 || o.N > mostParts:
			return c, fmt.Errorf("got %d partial results, want 2 to %d", o.N, mostParts)
		}
	case cin.Reduction:
		switch {
		case !scalar:
			return c, fmt.Errorf("partial sums need a loop that sums into one scalar, but the loop "+
				"sums into %s",
				target.Key())
		case o.N < 1 || o.N > mostParts:
			return c, fmt.Errorf("got %d partial sums, want 1 to %d", o.N, mostParts)
		}
	case cin.Whole:
		switch {
		case o.N > 0:
			return c, fmt.Errorf("got %d chunks, want none: the loop is not divided", o.N)
		case !sumsIntoDense(f, l):
			return c, fmt.Errorf(
				"threads can set a result to 0 only if it is dense and the loop sums into it; "+
					"got %s",
				target.Key())
		}
	case cin.Rows:
		switch {
		case o.Name != "" && o.Name != ownVar(f, l):
			if err := parts(f, l, o.Name); err != nil {
				return c, err
			}
			c.Own = o.Name
		case !ownRows(f, l) || o.N > 0:
			return c,
				fmt.Errorf(
					"the loop over %s must sum into a dense result in an inner loop over the "+
						"result's outermost variable",
					l.Var)
		default:
			c.Own = f.Vars[0]
		}
	}
	return c, nil
}

// cutOf returns how a loop on threads is cut by default, and the reason.
func cutOf(f *analysis.Facts, l *cin.Forall) (c cin.Cut, why string) {
	target := cin.Target(l)
	switch {
	case fillsSpace(f, l):
		return cin.Cut{How: cin.Blocks}, fmt.Sprintf("each %s fills its own elements of %s; "+
			"%s", l.Var, target.Key(), evenBy(f, l))
	case !analysis.IsSum(l) && f.Problem.Assembly == strategy.Append:
		return orderedCut(f, l), fmt.Sprintf("%s is appended to in order; "+
			"%s", target.Key(), evenBy(f, l))
	case !analysis.IsSum(l):
		return cin.Cut{How: cin.Blocks}, fmt.Sprintf("each %s writes its own elements of %s; "+
			"%s", l.Var, target.Key(), evenBy(f, l))
	case len(target.Vars) == 0 && target.Name != f.Result.Name:
		return cin.Cut{How: cin.Reduction, N: sumChunks},
			fmt.Sprintf(
				"%s is one sum, in a number of parts that does not depend on the threads",
				target.Name)
	case !f.Assigns(l) || f.IsSparse():
		return cin.Cut{}, "iterations add to the same elements of " + target.Key()
	}
	if v, why := ownPart(f, l); v != "" {
		return cin.Cut{How: cin.Rows, Own: v}, why
	}
	if n, why := partials(f); n >= 2 {
		return cin.Cut{How: cin.Partial, N: n}, why
	}
	if ownRows(f, l) && longSegments(f, l) {
		return cin.Cut{How: cin.Rows, Own: f.Vars[0]}, fmt.Sprintf(
			"%s is too large for partial results, and the segments of %s are long enough to "+
				"be divided",
			target.Key(), f.Vars[0])
	}
	return cin.Cut{}, fmt.Sprintf(
		"partial results of %s are not worth their cost; threads set it to 0", target.Key())
}

// fillsSpace reports whether the loop l on threads fills a workspace that threads may share. Each
// iteration then fills places of its own.
func fillsSpace(f *analysis.Facts, l *cin.Forall) bool {
	t := cin.Target(l)
	return !f.Assigns(l) && len(t.Vars) > 0 && !analysis.IsSum(l) && f.Spaces[t.Name].Shared()
}

// evenBy returns a phrase that says what makes the chunks of l even. It is used in the reasons of a
// plan.
func evenBy(f *analysis.Facts, l *cin.Forall) string {
	d, _ := drivers(f, l)
	switch {
	case d == nil:
		return "chunks have equal numbers of iterations"
	case d.Tensor.NNZ < 0:
		return "chunks have equal work, by the entries of " + d.Key
	}
	return fmt.Sprintf("chunks have equal work, by the %d entries of %s", d.Tensor.NNZ, d.Key)
}

// These constants determine the number of partial results of a dense result, from the average
// number of terms that are summed into a value. There is one partial result for each partialWork
// terms, but at most manyPartials. If there are many more terms, there is one partial result for
// each manyWork terms, but at most maxPartials. The number is rounded to a power of two.
//
// With fewer than 2 * partialWork terms, partial results are not worth their memory. If there are
// fewer partial results than threads, some threads are idle. But this costs less than setting more
// partial results to 0 and adding them, which takes a fifth of the time at manyWork.
//
// If each entry of the operand is one term, fewer terms are enough: there is one partial result for
// each fewWork terms, but at most fewPartials. The partial results are worthwhile then, because
// they are small in comparison with the operand that must be read.
const (
	partialWork  = 32
	manyWork     = 4 * partialWork
	manyPartials = 8
	maxPartials  = 32
	fewWork      = 2.5
	fewPartials  = 4
)

// partials returns the number of partial results that is worthwhile for a dense result, and the
// reason. The number depends on the known sizes, and not on the number of threads.
func partials(f *analysis.Facts) (int64, string) {
	size, work := f.Places(f.Vars), 1.0
	for _, t := range f.Problem.Tensors[1:] {
		work = max(work, float64(t.NNZ))
	}
	few := min(work/(fewWork*max(size, 1)), fewPartials)
	if k := len(f.Vars); k > 0 {
		// Each entry is added to a row along a variable that no operand stores sparsely.
		if v := f.Vars[k-1]; isLastOfAll(f, f.Stmt, v) {
			work *= float64(f.Problem.Sizes[v])
			few = 0
		}
	}
	each := work / max(size, 1)
	n := max(few, min(each/partialWork, manyPartials), min(each/manyWork, maxPartials))
	return nearestPower(n), fmt.Sprintf("%.4g additions go to %.4g values", work, size)
}

// Partials reports whether partial results are worthwhile for a result with the given number of
// values. entries is the number of entries of the operands. Each entry is added to the result once.
func Partials(entries, values float64) bool { return entries >= fewWork*2*max(values, 1) }

// isLastOfAll reports whether v's level is dense and the last level in each operand that has v.
func isLastOfAll(f *analysis.Facts, s cin.Stmt, v string) bool {
	for _, x := range f.Operands(s) {
		for level, u := range x.Vars {
			if u == v && (level != x.Tensor.Order()-1 || !x.Tensor.Kind(level).CanLocate()) {
				return false
			}
		}
	}
	return true
}

// minSegment is the smallest average number of entries in the segments of a level for which
// dividing the segments among threads is worthwhile.
const minSegment = 3

// ownRows reports whether each thread can run loop l for its own rows of a dense result. l must sum
// into the result, and the loop directly inside l must be over the rows. An example is the product
// of a CSC matrix with a vector.
func ownRows(f *analysis.Facts, l *cin.Forall) bool {
	inner, ok := l.Body.(*cin.Forall)
	return ok && len(f.Vars) > 0 && inner.Var == f.Vars[0] && sumsIntoDense(f, l)
}

// sumsIntoDense reports whether the loop l sums into a dense result.
func sumsIntoDense(f *analysis.Facts, l *cin.Forall) bool {
	return analysis.IsSum(l) && f.Assigns(l) && f.Problem.Assembly == strategy.Dense
}

// longSegments reports whether the segments that the loop inside l visits have at least minSegment
// entries on average, so that they can be divided among threads. If the counts are not known, it
// assumes that the segments are long enough.
func longSegments(f *analysis.Facts, l *cin.Forall) bool {
	inner := l.Body.(*cin.Forall)
	for _, x := range f.Operands(inner.Body) {
		for k, u := range x.Vars {
			// The level must have a segment for each position of the level that l visits.
			if t := x.Tensor; u == inner.Var && !t.Kind(k).CanLocate() &&
				(!t.Kind(k).HasPos() || k == 0 || x.Vars[k-1] != l.Var ||
					t.Counts != nil && t.Counts[k] < minSegment*t.Counts[k-1]) {
				return false
			}
		}
	}
	return true
}

// cachedChunks limits the results that are assumed to stay in a cache until they are read. Such a
// result is not larger than the entries of this number of chunks. A larger result is copied past
// the caches.
const cachedChunks = 512

// orderedCut returns how loop l, which appends to the result, is cut into ordered chunks. If a
// chunk is cheap to start, the chunks are small, so that their entries are still in a cache when
// they are appended. A chunk is cheap to start if all workspaces that it clears have the kind
// Bitmap.
func orderedCut(f *analysis.Facts, l *cin.Forall) cin.Cut {
	c := cin.Cut{How: cin.Ordered, Streamed: cachedChunks * f.Problem.Target.ChunkWork}
	d, others := drivers(f, l)
	cheap := true
	eachWorkspace(l.Body, func(t *cin.Access,
		_ *cin.Where) {
		cheap = cheap && f.Spaces[t.Name].Form.Kind == strategy.Bitmap
	})
	if d != nil && cheap {
		c.N = chunkWork(f, l, d) * int64(len(others)+1)
	}
	return c
}

// chunkWork returns the smallest work of a chunk of loop l, in entries of the operand d. Without
// workspaces, this is Target.ChunkWork.
//
// If l has workspaces, each chunk clears them, so it must add enough values to the last of them:
// about Target.ChunkWork values, or one value for each coordinate of the workspace's first variable
// if these are more. The number of entries for this is rounded down to a power of two. It is a
// constant in the leaf, so operands of similar density get the same leaf, which is compiled only
// once.
func chunkWork(f *analysis.Facts, l *cin.Forall, d *analysis.Operand) int64 {
	least := f.Problem.Target.ChunkWork
	eachWorkspace(l.Body, func(t *cin.Access, w *cin.Where) {
		each := max(f.Additions(w.Producer, t)/float64(max(d.Tensor.NNZ, 1)), 1)
		work := max(float64(f.Problem.Target.ChunkWork), float64(f.Problem.Sizes[t.Vars[0]])) / each
		least = powerOfTwo(work)
	})
	return least
}

// nearestPower returns the power of two with the smallest ratio to x. It returns 0 if x is below 2.
func nearestPower(x float64) int64 {
	if x < 2 {
		return 0
	}
	return powerOfTwo(x * math.Sqrt2)
}

// powerOfTwo returns the largest power of two that is at most x, and at least 1.
func powerOfTwo(x float64) int64 { return 1 << max(bits.Len64(uint64(x))-1, 0) }

// weights returns a rank for each operand, by the operand's name. An operand with more entries has
// a higher rank. The operands with the fewest entries have rank 0, and operands with the same
// number of entries have the same rank.
func weights(f *analysis.Facts) map[string]int {
	var sorted []int64
	for _, t := range f.Problem.Tensors[1:] {
		if !slices.Contains(sorted, t.NNZ) {
			sorted = append(sorted, t.NNZ)
		}
	}
	slices.Sort(sorted)
	out := map[string]int{}
	for _, t := range f.Problem.Tensors[1:] {
		out[t.Name] = slices.Index(sorted, t.NNZ)
	}
	return out
}

// drivers returns the accesses that determine the chunks of the outermost loop l. Each chunk gets
// about the same number of entries of driver. The entries of the accesses in others count as work
// too. driver is nil if the range of l is divided evenly.
func drivers(f *analysis.Facts, l *cin.Forall) (driver *analysis.Operand,
	others []*analysis.Operand) {
	var rows []*analysis.Operand
	for _, x := range f.Operands(l.Body) {
		t := x.Tensor
		if t.Format.AllDense() || x.Vars[0] != l.Var || !t.Kind(0).HasPos() && !t.Kind(0).CanLocate() {
			continue
		}
		if driver == nil || t.NNZ > driver.Tensor.NNZ {
			driver = x
		}
		if t.Kind(0).CanLocate() && t.Format.HasPosFrom(1) &&
			!slices.ContainsFunc(rows, func(r *analysis.Operand) bool { return r.Tensor == t }) {
			rows = append(rows, x)
		}
	}
	if driver != nil && driver.Tensor.Kind(0).CanLocate() {
		others = slices.DeleteFunc(rows,
			func(x *analysis.Operand) bool { return x.Tensor == driver.Tensor })
	}
	return driver, others
}
