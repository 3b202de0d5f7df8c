package strategy

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"distaff/codegen/cin"
	"distaff/io/tensor"
)

// OnThreads returns s with its outermost loops on threads. Some loops stay serial: loops that only
// copy a workspace, loops for which serial returns true, and loops that fill a workspace outside of
// all other loops. The last kind runs on threads if shared is true for the workspace and the loop
// is over one of its variables. If a parallel loop is over a variable of the result, no two
// iterations write to one place, and the pieces of a sparse result are made in order. If it sums
// into a scalar or a dense result, its chunks have their own partial sums.
func OnThreads(s cin.Stmt, lhs *cin.Access, result tensor.Format, serial func(*cin.Forall) bool,
	shared map[string]bool) cin.Stmt {
	switch s := s.(type) {
	case *cin.Where:
		producer, t := s.Producer, cin.Target(s.Producer)
		if len(t.Vars) == 0 {
			producer = OnThreads(producer, lhs, result, serial, shared)
		} else if copied(s.Consumer, t) {
			return s
		}
		return &cin.Where{Consumer: OnThreads(s.Consumer, lhs, result, serial, shared),
			Producer: filled(producer, shared)}
	case *cin.Seq:
		if t := cin.Target(s); len(t.Vars) == 0 || result.AllDense() {
			list := make([]cin.Stmt, len(s.List))
			for k, t := range s.List {
				list[k] = OnThreads(t, lhs, result, serial, shared)
			}
			return &cin.Seq{List: list}
		}
	case *cin.Forall:
		t := cin.Target(s)
		if serial(s) {
			return s
		}
		if len(t.Vars) == 0 || t.Name == lhs.Name && result.AllDense() {
			return &cin.Forall{Var: s.Var, Unit: cin.CPUThread, Body: s.Body}
		}
		if t.Name != lhs.Name {
			return s
		}
		if !result.AllDense() && lhs.Vars[result.Order[0]] == s.Var {
			return &cin.Forall{Var: s.Var, Unit: cin.CPUThread, Body: s.Body}
		}
	}
	return s
}

// filled returns s, which fills a workspace outside of all loops, with its loops on threads if
// threads may fill the workspace together.
func filled(s cin.Stmt, shared map[string]bool) cin.Stmt {
	switch s := s.(type) {
	case *cin.Where:
		return &cin.Where{Consumer: filled(s.Consumer, shared), Producer: filled(s.Producer, shared)}
	case *cin.Forall:
		if t := cin.Target(s); s.Unit == cin.Serial && shared[t.Name] && slices.Contains(t.Vars, s.Var) {
			return &cin.Forall{Var: s.Var, Unit: cin.CPUThread, Body: s.Body}
		}
	}
	return s
}

// chunksPerThread is the number of chunks of equal work that a parallel loop has for each thread.
// With several chunks, one that takes longer than estimated does not delay the other threads.
const chunksPerThread = 8

// sumChunks is the number of chunks of a sum into a scalar. It is fixed. Each chunk has its own
// sum, and these sums are added in order, so the result does not depend on the number of threads.
const sumChunks = 64

// cut returns how a loop on threads is cut by default.
func (f *facts) cut(l *cin.Forall) Cut {
	target := cin.Target(l)
	switch {
	case f.fillsSpace(l):
		return Cut{How: Blocks, Why: fmt.Sprintf("every %s fills places of %s of its own; %s", l.Var,
			target.Key(), f.evenBy(l))}
	case !sums(l) && f.problem.Assembly == Append:
		return f.orderedCut(l)
	case !sums(l):
		return Cut{How: Blocks, Why: fmt.Sprintf("every %s writes places of %s of its own; %s", l.Var,
			target.Key(), f.evenBy(l))}
	case len(target.Vars) == 0 && target.Name != f.result.Name:
		return Cut{How: Reduction, N: sumChunks,
			Why: fmt.Sprintf("%s is one sum, in as many parts whatever the threads", target.Name)}
	case !f.assigns(l) || f.isSparse():
		return Cut{Why: "iterations meet in " + target.Key()}
	}
	if v, why := f.ownPart(l); v != "" {
		return Cut{How: Rows, Own: v, Why: why}
	}
	if n, why := f.partials(); n >= 2 {
		return Cut{How: Partial, N: n, Why: why}
	}
	if f.ownRows(l) && f.longSegments(l) {
		return Cut{How: Rows, Own: f.vars[0],
			Why: fmt.Sprintf(
				"%s is too large for partial results, and the segments of %s are long enough to be parted",
				target.Key(), f.vars[0])}
	}
	return Cut{Why: fmt.Sprintf("partial results of %s do not pay; threads set it to 0", target.Key())}
}

// fillsSpace reports whether a loop on threads fills a workspace that threads may share, so that
// each iteration fills its own places.
func (f *facts) fillsSpace(l *cin.Forall) bool {
	t := cin.Target(l)
	return !f.assigns(l) && len(t.Vars) > 0 && !sums(l) && f.spaces[t.Name].shared()
}

// evenBy says what makes the chunks of l even, for reasons.
func (f *facts) evenBy(l *cin.Forall) string {
	d, _ := f.drivers(l)
	switch {
	case d == nil:
		return "chunks are even"
	case d.t.NNZ < 0:
		return "chunks are of equal work, by the entries of " + d.key
	}
	return fmt.Sprintf("chunks are of equal work, by the %d entries of %s", d.t.NNZ, d.key)
}

// Partial results of a dense tensor are worth their memory if each value is a sum of partialWork
// terms or more. There are at most maxPartials partial results. More than manyPartials are used
// only from manyWork terms on. Below that, fewer partial results than threads cost less than
// setting more of them to 0 and adding them, which takes a fifth of the time at manyWork. Their
// number is a power of two, so that it divides evenly among threads. fewPartials are used from
// fewWork terms on if each entry is one term, because the operand is then larger than the partial
// results.
const (
	partialWork  = 32
	manyWork     = 4 * partialWork
	manyPartials = 8
	maxPartials  = 32
	fewWork      = 2.5
	fewPartials  = 4
)

// partials returns the number of partial results of a dense result that pay, and the reason. It
// depends on the known sizes, and not on the number of threads.
func (f *facts) partials() (int64, string) {
	size, work := 1.0, 1.0
	for _, v := range f.vars {
		size *= float64(f.problem.Sizes[v])
	}
	for _, t := range f.problem.Tensors[1:] {
		work = max(work, float64(t.NNZ))
	}
	few := min(work/(fewWork*max(size, 1)), fewPartials)
	if k := len(f.vars); k > 0 {
		// Each entry is added to a row along a variable that no operand stores sparsely.
		if v := f.vars[k-1]; f.lastOfAll(f.stmt, v) {
			work *= float64(f.problem.Sizes[v])
			few = 0
		}
	}
	each := work / max(size, 1)
	n := max(few, min(each/partialWork, manyPartials), min(each/manyWork, maxPartials))
	return nearestPower(n), fmt.Sprintf("%.4g sums go to %.4g values", work, size)
}

// Partials reports whether partial results with the given number of values pay, if each of entries
// entries of operands is added once.
func Partials(entries, values float64) bool { return entries >= fewWork*2*max(values, 1) }

// lastOfAll reports whether v's level is dense and the last level in each operand that has v.
func (f *facts) lastOfAll(s cin.Stmt, v string) bool {
	ok := true
	cin.Accesses(s, func(a *cin.Access) {
		t := f.tensor(a.Name)
		if t == nil {
			return
		}
		for level, u := range t.levels(a) {
			if u == v && (level != t.order()-1 || !t.caps(level).CanLocate()) {
				ok = false
			}
		}
	})
	return ok
}

// minSegment is the smallest average number of entries in the segments of a level for which
// dividing the segments among threads pays.
const minSegment = 3

// ownRows reports whether each thread can run the loop l for its own rows of a dense result. l must
// sum into the result, and the loop directly inside it must be over the rows, as in the product of
// a CSC matrix with a vector.
func (f *facts) ownRows(l *cin.Forall) bool {
	inner, ok := l.Body.(*cin.Forall)
	return ok && len(f.vars) > 0 && inner.Var == f.vars[0] && f.problem.Assembly == Dense &&
		f.assigns(l) && sums(l)
}

// longSegments reports whether the segments that the loop inside l visits have at least minSegment
// entries on average, so that they can be divided among threads. It returns true if the counts are
// not known.
func (f *facts) longSegments(l *cin.Forall) bool {
	inner := l.Body.(*cin.Forall)
	long := true
	cin.Accesses(inner.Body, func(a *cin.Access) {
		t := f.tensor(a.Name)
		if t == nil {
			return
		}
		vars := t.levels(a)
		for k, u := range vars {
			if u != inner.Var || t.caps(k).CanLocate() {
				continue
			}
			// The level must have a segment for each position of l's level.
			switch {
			case !t.caps(k).HasPos() || k == 0 || vars[k-1] != l.Var:
				long = false
			case t.Counts != nil:
				long = long && t.Counts[k] >= minSegment*t.Counts[k-1]
			}
		}
	})
	return long
}

// cachedChunks is the number of chunks whose entries are assumed to stay in a cache until the
// result is read. A larger result is copied past the cache.
const cachedChunks = 512

// orderedCut returns how a loop over a result that grows is cut into ordered chunks. If chunks are
// cheap to start, they are made small, so that they are still in a cache when they are appended. A
// chunk clears its workspaces when it starts. This is cheap if many values are added to each place.
func (f *facts) orderedCut(l *cin.Forall) Cut {
	c := Cut{How: Ordered, Streamed: cachedChunks * f.problem.Target.ChunkWork,
		Why: fmt.Sprintf("%s is appended to in order; %s", cin.Target(l).Key(), f.evenBy(l))}
	d, others := f.drivers(l)
	cheap := true
	eachWorkspace(l.Body, func(t *cin.Access,
		_ *cin.Where) {
		cheap = cheap && f.spaces[t.Name].Form.Kind == Bitmap
	})
	if d != nil && cheap {
		c.N = f.chunkWork(l, d) * int64(len(others)+1)
	}
	return c
}

// chunkWork returns the least work of a chunk, which adds at least one value for each place of its
// workspaces. It is a power of two, so that data of about the same density have the same leaf.
func (f *facts) chunkWork(l *cin.Forall, d *walked) int64 {
	least := f.problem.Target.ChunkWork
	eachWorkspace(l.Body, func(t *cin.Access, w *cin.Where) {
		each := max(f.additions(w.Producer, t)/float64(max(d.t.NNZ, 1)), 1)
		work := max(float64(f.problem.Target.ChunkWork), float64(f.problem.Sizes[t.Vars[0]])) / each
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

// weights ranks the operands by their number of entries.
func (f *facts) weights() map[string]int {
	var sorted []int64
	for _, t := range f.problem.Tensors[1:] {
		if !slices.Contains(sorted, t.NNZ) {
			sorted = append(sorted, t.NNZ)
		}
	}
	slices.Sort(sorted)
	out := map[string]int{}
	for _, t := range f.problem.Tensors[1:] {
		out[t.Name] = slices.Index(sorted, t.NNZ)
	}
	return out
}
