package strategy

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/format"
)

// OnThreads is a statement whose outermost loops run on threads, but for those that only copy a
// workspace, and those that fill one outside of all loops, which threads then read: these do where
// shared says so of it, and they are over one of its variables. Where such a loop is over a
// variable of the result, no two iterations write one place, and a sparse result's pieces come in
// order; where it sums into a scalar or a dense result, chunks of it have sums of their own. Loops
// for which serial is true stay as they are.
func OnThreads(s cin.Stmt, lhs *cin.Access, result format.Format, serial func(*cin.Forall) bool,
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

// filled is what fills a workspace outside of all loops, on threads where they may share that.
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

// chunksPerThread is how many chunks of equal work a parallel loop has for
// each thread, so that one that is slower than it looked delays no other.
const chunksPerThread = 8

// sumChunks is the number of chunks of a sum into a scalar. It is fixed: each
// chunk has a sum of its own, and these are added in order, so that the number
// of threads shows in no bit.
const sumChunks = 64

// cut is how a loop on threads is cut.
func (f *facts) cut(l *cin.Forall) Cut {
	target := cin.Target(l)
	switch {
	case f.fillsSpace(l):
		return Cut{How: Blocks, Why: fmt.Sprintf("every %s fills places of %s of its own; %s", l.Var,
			target.Key(), f.evenBy(l))}
	case !sums(l) && f.problem.Assembly == Append:
		return f.ordered(l)
	case !sums(l):
		return Cut{How: Blocks, Why: fmt.Sprintf("every %s writes places of %s of its own; %s", l.Var,
			target.Key(), f.evenBy(l))}
	case len(target.Vars) == 0 && target.Name != f.result.Name:
		return Cut{How: Reduction, N: sumChunks,
			Why: fmt.Sprintf("%s is one sum, in as many parts whatever the threads", target.Name)}
	case !f.assigns(l) || f.sparse():
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

// fillsSpace tells whether a loop on threads fills a workspace that these may share, each iteration
// places of its own.
func (f *facts) fillsSpace(l *cin.Forall) bool {
	t := cin.Target(l)
	return !f.assigns(l) && len(t.Vars) > 0 && !sums(l) && f.spaces[t.Name].shared()
}

// evenBy says by what chunks are cut.
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

// Partial results of a dense tensor are worth their memory where the sums into them are partialWork
// times as many as their values; maxPartials bounds them. More than manyPartials are worth it from
// manyWork on: fewer than the threads cost less than what it takes to set more to 0 and to add them
// up, a fifth of the time at manyWork. Their number is a power of two, by which threads are even.
// fewPartials are worth it from fewWork on, where each entry is one sum: the operand is then larger
// than they are.
const (
	partialWork  = 32
	manyWork     = 4 * partialWork
	manyPartials = 8
	maxPartials  = 32
	fewWork      = 2.5
	fewPartials  = 4
)

// partials is how many partial results of a dense result pay, by what is known
// of the sizes: not by the number of threads.
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
		// Each entry is summed into a row of what no operand stores sparsely.
		if v := f.vars[k-1]; f.lastOfAll(f.stmt, v) {
			work *= float64(f.problem.Sizes[v])
			few = 0
		}
	}
	each := work / max(size, 1)
	n := max(few, min(each/partialWork, manyPartials), min(each/manyWork, maxPartials))
	return nearestPower(n), fmt.Sprintf("%.4g sums go to %.4g values", work, size)
}

// Partials tells whether partial results pay of so many values, to which the entries of operands
// are added once each.
func Partials(entries, values float64) bool { return entries >= fewWork*2*max(values, 1) }

// lastOfAll tells whether v's level, in each access of an operand that has it, is
// dense and the last.
func (f *facts) lastOfAll(s cin.Stmt, v string) bool {
	ok := true
	cin.Accesses(s, func(a *cin.Access) {
		t := f.tensor(a.Name)
		if t == nil {
			return
		}
		for level, u := range t.levels(a) {
			if u == v && (level != t.order()-1 || !t.caps(level).Locate) {
				ok = false
			}
		}
	})
	return ok
}

// minSegment is how many entries the segments of a level have at least, on the
// average, for loops over them to be worth what they are to be: parted among threads, or
// a test of the number of iterations.
const minSegment = 3

// ownRows tells whether a loop that sums into a dense result, such as that over the
// columns of a matrix in CSC that multiplies a vector, can be run by each thread for rows of
// its own: the loop inside it is over the rows.
func (f *facts) ownRows(l *cin.Forall) bool {
	inner, ok := l.Body.(*cin.Forall)
	return ok && len(f.vars) > 0 && inner.Var == f.vars[0] && f.problem.Assembly == Dense &&
		f.assigns(l) && sums(l)
}

// longSegments tells whether the segments that the loop inside l walks are long enough to
// be parted among threads, minSegment entries on the average. Where counts are not known,
// they are taken to be.
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
			if u != inner.Var || t.caps(k).Locate {
				continue
			}
			// One entry for each above, or a segment for each of the column's.
			switch {
			case !t.caps(k).HasPos || k == 0 || vars[k-1] != l.Var:
				long = false
			case t.Counts != nil:
				long = long && t.Counts[k] >= minSegment*t.Counts[k-1]
			}
		}
	})
	return long
}

// cachedChunks is how many chunks' entries are taken to stay in a cache until the
// result is read; a larger one is copied past it.
const cachedChunks = 512

// ordered cuts a loop over a result that grows into ordered chunks. Where these are
// cheap to begin they are so small that they are still in a cache when it is their turn.
// A chunk clears its workspaces: it is cheap where they are such that many values are
// added to each place.
func (f *facts) ordered(l *cin.Forall) Cut {
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

// chunkWork is how much work a chunk has at least. As many values as a workspace
// has places are added to it. It is a power of two: data of about the same density
// have the same leaf.
func (f *facts) chunkWork(l *cin.Forall, d *walked) int64 {
	least := f.problem.Target.ChunkWork
	eachWorkspace(l.Body, func(t *cin.Access, w *cin.Where) {
		each := max(f.additions(w.Producer, t)/float64(max(d.t.NNZ, 1)), 1)
		work := max(float64(f.problem.Target.ChunkWork), float64(f.problem.Sizes[t.Vars[0]])) / each
		least = powerOfTwo(work)
	})
	return least
}

// nearestPower is the power of two that x is nearest to as a multiple; 0 for x below 2.
func nearestPower(x float64) int64 {
	if x < 2 {
		return 0
	}
	return powerOfTwo(x * math.Sqrt2)
}

// powerOfTwo is the largest power of two up to x, and 1 at least.
func powerOfTwo(x float64) int64 { return 1 << max(bits.Len64(uint64(x))-1, 0) }

// weights ranks the operands by their entries.
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
