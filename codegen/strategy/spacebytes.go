package strategy

import (
	"math"
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/format"
	"distaff/codegen/provenance"
)

// What lowering makes of workspaces takes so many bytes: positions and places of hash tables,
// places in lists, a mark, and an element of what a sort by several keys copies.
const (
	posBytes, placeBytes, markBytes, tupleBytes = 8, 4, 1, 16
	// An array that grows begins with firstEntries elements, a table with firstSlots.
	firstEntries, firstSlots = 64, 127
	pageBytes                = 4096 // to which a large array is rounded up
	largeBytes               = 256 << 10
)

// SpaceBytes is the most memory that a statement's workspaces take together, by a strategy, while
// so many threads run it, with the partial results of chunks: a workspace inside a loop on threads
// is there once for each.
func SpaceBytes(p *Problem, v *Value, threads int) int64 {
	f, total := newFacts(p), 0.0
	f.spaces = v.Spaces
	var walk func(s cin.Stmt, copies float64)
	walk = func(s cin.Stmt, copies float64) {
		switch s := s.(type) {
		case *cin.Forall:
			if s.Unit == cin.CPUThread {
				copies = float64(max(threads, 1))
				total += f.partialBytes(v.Loops[f.numbers[s]].Cut, int64(max(threads, 1)))
			}
			if x := v.Loops[f.numbers[s]].Long; x.How == Precomputed {
				total += f.longRowsBytes(s.Body, x, float64(max(threads, 1))*float64(max(v.PerThread, 1)))
			}
			if c := v.Loops[f.numbers[s]].Cut; c.How == Rows && threads > 1 {
				whole := f.problem.Sizes[c.Own] // each has a part of it
				f.problem.Sizes[c.Own] = (whole + int64(threads) - 1) / int64(threads)
				walk(s.Body, copies)
				f.problem.Sizes[c.Own] = whole
				return
			}
			walk(s.Body, copies)
		case *cin.Seq:
			for _, x := range s.List {
				walk(x, copies)
			}
		case *cin.Where:
			if t := cin.Target(s.Producer); len(t.Vars) > 0 {
				total += copies * f.spaceBytes(t, s.Producer, float64(max(threads, 1)))
			}
			walk(s.Producer, copies)
			walk(s.Consumer, copies)
		}
	}
	walk(f.stmt, 1)
	return int64(min(total, 1<<62))
}

// Begun is what the arrays of a result that grows take before its first entry is there, where
// sparse operands have so many together and so many threads run the leaf: kept by those that become
// the result's, and beside them by the pieces of chunks and what joins them. within says that the
// result has no more entries than its operands, as a sum has: then a thread gives up a piece before
// it begins the next one, and beside is all that pieces take to the end, one of which may have most
// entries.
func Begun(p *Problem, v *Value, entries int64, threads int, within bool) (kept, beside int64) {
	if p.Assembly != Append {
		return 0, 0
	}
	f := newFacts(p)
	first := (entries + leastCapacity) * v.Result.Factor
	if v.Result.Most > 0 {
		first = min(first, v.Result.Most)
	}
	pieces, ordered := 0.0, false
	cin.Walk(f.stmt, func(s cin.Stmt) {
		x, loop := s.(*cin.Forall)
		switch {
		case !loop || x.Unit != cin.CPUThread || !f.assigns(x):
		case v.Loops[f.numbers[x]].Cut.How == Ordered:
			pieces, ordered = f.chunks(v, threads, entries), true
		case !ordered: // each iteration makes one
			pieces = max(pieces, f.iterations(x.Var))
		}
	})
	switch {
	case pieces == 0:
		return int64(f.arrays(float64(first))), 0
	case threads <= 1 && ordered: // the one piece is the result
		return int64(f.arrays(float64(first + leastCapacity))), int64(f.joinBytes(1) + f.arrays(1))
	case ordered:
		kept = int64(min(f.arrays(float64(first+1))+f.joinedPositions(float64(first+1)), 1<<62))
	}
	alive, filled := pieces, 0.0
	if ordered && within {
		alive, filled = min(pieces, float64(threads)), f.arrays(float64(first))
	}
	return kept,
		int64(min(f.joinBytes(pieces)+alive*f.arrays(float64(first)/pieces+leastCapacity)+filled, 1<<62))
}

// iterations is the most that a loop has: the coordinates of the variables that it goes through, or
// the ranges that these are divided into.
func (f *facts) iterations(v string) float64 {
	c, _ := f.component(v)
	if c == nil {
		return float64(f.problem.Sizes[v])
	}
	n := f.places(c.Roots)
	for r := f.g.MadeBy(v); r != nil; r = f.g.MadeBy(r.From[0]) {
		if r.Kind == provenance.Divide {
			n = max(n, float64(r.N))
		}
	}
	return n
}

// arrays is what the arrays of a result take that have capacity for n entries, but for the
// positions of its outermost compressed level.
func (f *facts) arrays(n float64) float64 {
	bytes, outermost := rounded(n*float64(f.result.Type.Size())), true
	for k, kind := range f.result.Format.Levels {
		if !kind.Caps().HasPos {
			continue
		}
		if bytes += rounded(n * float64(f.result.CrdWidth[k])); !outermost {
			bytes += rounded((n + 1) * posBytes)
		}
		outermost = false
	}
	return bytes
}

// joinedPositions is what the joined arrays of n entries take for positions beyond arrays: below
// dense levels that lie inside of others there is room for all that they have for each entry of
// these.
func (f *facts) joinedPositions(n float64) (bytes float64) {
	dense, inside := 1.0, false
	for k, kind := range f.result.Format.Levels {
		switch {
		case kind.Caps().HasPos:
			if inside {
				bytes += n * (dense - 1) * posBytes
			}
			dense, inside = 1, true
		case kind == format.Dense && inside:
			dense *= float64(max(f.problem.Sizes[f.vars[k]], 1))
		}
	}
	return bytes
}

// chunks is the most chunks of equal work that a loop on threads has, by the entries of all
// operands, of which sparse ones have so many where that is not known of them, and the rows of the
// result.
func (f *facts) chunks(v *Value, threads int, entries int64) float64 {
	if threads <= 1 {
		return 1
	}
	known := 0.0
	for _, t := range f.problem.Tensors[1:] {
		known += float64(max(t.NNZ, 0))
	}
	work := f.places(f.vars[:1]) + max(known, float64(entries))
	return max(float64(int64(threads)*v.PerThread), work/float64(max(f.problem.Target.ChunkWork, 1)))
}

// joinBytes is what joining the pieces of so many chunks takes beside them: for each chunk its
// bounds, and for each compressed level counts and where the arrays are, and the first memory of
// the joined arrays.
func (f *facts) joinBytes(chunks float64) float64 {
	const tableEntry = 24
	bytes := 2*rounded(chunks*posBytes) + rounded(chunks*tableEntry) + rounded(
		float64(f.result.Type.Size()))
	for k, kind := range f.result.Format.Levels {
		if kind.Caps().HasPos {
			bytes += 2*rounded((chunks+1)*posBytes) + 2*rounded(chunks*tableEntry) + 2*rounded(2*posBytes)
		}
		if k == 0 && kind.Caps().HasPos { // positions of each chunk, which come to nothing
			bytes += chunks * rounded(2*posBytes)
		}
	}
	return bytes
}

// partialBytes is what the partial results, or sums, of a loop's chunks take.
func (f *facts) partialBytes(c Cut, threads int64) float64 {
	value := float64(max(f.problem.Compute.Size(), f.result.Type.Size()))
	switch c.How {
	case Partial:
		n, places := c.N, f.places(f.vars)
		if places > float64(f.problem.Target.FarBytes/n/f.problem.Compute.Size()) {
			n = min(n, threads+1)
		}
		return rounded(float64(n) * places * value)
	case Reduction:
		return rounded(float64(c.N)*value) + rounded(float64(c.N))
	}
	return 0
}

// longRowsBytes is what precomputing long rows of products takes, whose terms so many stretches of
// a round have: the sums of one row, a round's terms in bands of coordinates, and the rows that are
// ready.
func (f *facts) longRowsBytes(s cin.Stmt, x Long, stretches float64) float64 {
	w, ok := s.(*cin.Where)
	if !ok {
		return 0
	}
	t := cin.Target(w.Producer)
	places, value, crd := f.places(t.Vars), float64(f.problem.Compute.Size()),
		float64(f.crdWidths()[t.Vars[0]])
	terms := f.additions(w.Producer, t)
	bands := places/float64(max(x.Band, 1)) + 2
	bytes := rounded(places*value) + rounded(places*markBytes) + rounded(places*crd)
	bytes += rounded(bands*posBytes) + rounded(bands*posBytes) + rounded(stretches*bands*posBytes)
	bytes += grown(min(stretches*float64(x.Stretch), terms), crd+value)
	return bytes + grown(terms, crd+value) + grown(f.places(f.vars[:1]), 2*posBytes)
}

// spaceBytes is what workspace t takes; so do those that threads have of their own which fill it,
// and what they hand over.
func (f *facts) spaceBytes(t *cin.Access, producer cin.Stmt, threads float64) float64 {
	s := f.spaces[t.Name]
	n := f.mostEntries(t, producer)
	if s.Form.Kind == Terms && s.Form.Dense > 0 {
		if n = float64(f.tensor(f.keysFrom(producer, t, t.Vars[:len(t.Vars)-s.Form.Dense]).Name).NNZ); n <
			0 {
			n = math.Inf(1)
		}
		return f.termRowsBytes(t, s.Form, n)
	}
	if s.Form.Kind == Terms {
		n, _ = f.terms(producer, t)
	}
	bytes := f.formBytes(t, s.Form, n)
	if cin.Threaded(producer) && !s.shared() {
		entry := float64(f.problem.Compute.Size() + 8*int64(len(t.Vars)))
		bytes += threads * (f.formBytes(t, s.Piece, n) + n*entry + float64(len(t.Vars)+2)*posBytes)
	}
	if cin.Threaded(producer) && s.Form.Kind == Marks { // each chunk's entries are counted
		bytes += rounded(threads * chunksPerThread * posBytes)
	}
	return bytes
}

// formBytes is what a workspace of a form takes with n entries.
func (f *facts) formBytes(t *cin.Access, form Form, n float64) float64 {
	places, value := f.places(t.Vars), float64(f.problem.Compute.Size())
	keys := 0.0
	for _, v := range t.Vars {
		keys += float64(f.crdWidths()[v])
	}
	several := len(t.Vars) > 1
	rows, copied := 0.0, 0.0
	if several && form.Rows {
		rows = rounded((f.places(t.Vars[:len(t.Vars)-1]) + 1) * posBytes)
	}
	if several { // what has places is copied out in order
		copied = grown(n, keys+value)
	}
	switch form.Kind {
	case Array:
		return rounded(places * value)
	case MarkedList:
		return rounded(places*value) + rounded(places*markBytes) + rounded(places*max(placeBytes, keys)) +
			copied + rows
	case Marks:
		if several {
			return rounded(places*value) + rounded(places*markBytes) + copied + rows
		}
		return rounded(places*value) + rounded(places*markBytes) + rounded(places*keys)
	case Bitmap:
		words := math.Ceil(places/64) + 64
		return rounded(places*value) + rounded(words*8) + rounded(words*placeBytes) + rounded(
			words*markBytes) + rounded((places+1)*placeBytes) + copied + rows
	case SortedList:
		return grown(n, keys+value) + rows
	case Positions:
		return rounded(float64(form.Len) * value)
	case Terms:
		return grown(n, float64(16*len(t.Vars))+2*value+posBytes) + rounded(2*n*tupleBytes) + rows
	}
	return f.tableBytes(t, form, n)
}

// tableBytes is what a hash table takes with n entries: those of a row have one key, and are not
// copied.
func (f *facts) tableBytes(t *cin.Access, form Form, n float64) float64 {
	keys, value, rows := t.Vars[:len(t.Vars)-form.Dense], float64(f.problem.Compute.Size()), 0.0
	each := max(f.places(t.Vars[len(keys):]), 1)
	if n = math.Ceil(n / each); form.Rows {
		rows = rounded((f.places(keys[:len(keys)-1]) + 1) * posBytes)
	}
	if form.Of != "" {
		n = max(n, float64(f.tensor(form.Of).NNZ)+1)
	}
	values := grown(n*each, value)
	if form.Dense == 0 {
		values *= 2
	}
	slots := 2*max(2*n, firstSlots) + 1
	return grown(n, float64(16*len(keys))+2*posBytes) + values + rounded(slots*posBytes) + rounded(
		2*n*tupleBytes) + rows
}

// rounded is what an array of so many bytes takes.
func rounded(bytes float64) float64 {
	if bytes >= largeBytes {
		return bytes + pageBytes
	}
	return bytes + 64
}

// grown is what arrays take that grow to n entries of so many bytes together: at most twice as
// much, and the old one beside while one is copied.
func grown(n, bytes float64) float64 {
	return 3*max(n, firstEntries)*bytes + 8*pageBytes
}

// mostEntries is the most entries that workspace t has at a time: it has no more than places, and
// no more than combinations of entries of operands, some of which have all of its variables between
// them or leave them to be counted by their sizes. A statement that adds up several products has
// those of all.
func (f *facts) mostEntries(t *cin.Access, producer cin.Stmt) float64 {
	made := map[string]float64{} // of the workspaces that the producer reads
	cin.Walk(producer, func(s cin.Stmt) {
		if w, ok := s.(*cin.Where); ok {
			if u := cin.Target(w.Producer); len(u.Vars) > 0 {
				made[u.Name] = f.mostEntries(u, w.Producer)
			}
		}
	})
	total := 0.0
	cin.Paths(producer, func(_ []*cin.Forall, a *cin.Assign) {
		if a.LHS.Name == t.Name {
			total += f.mostProducts(a, made)
		}
	})
	return min(total, f.places(t.Vars))
}

// counted is a factor of a product: so many entries, which have some variables.
type counted struct {
	vars    []string
	entries float64
}

// mostProducts is at how many coordinates of the left side an assignment has a value at most.
func (f *facts) mostProducts(a *cin.Assign, made map[string]float64) float64 {
	least := f.places(a.LHS.Vars)
	if !product(a.RHS) {
		return least
	}
	var factors []counted
	cin.ExprAccesses(a.RHS, func(x *cin.Access) {
		entries, known := made[x.Name]
		if op := f.tensor(x.Name); op != nil && op.NNZ >= 0 {
			entries, known = float64(op.NNZ), true
		}
		if known && len(factors) < mostCounted &&
			slices.ContainsFunc(x.Vars, func(v string) bool { return slices.Contains(a.LHS.Vars, v) }) {
			factors = append(factors, counted{x.Vars, entries})
		}
	})
	for chosen := 1; chosen < 1<<len(factors); chosen++ {
		n := 1.0
		left := slices.Clone(a.LHS.Vars)
		for k, x := range factors {
			if chosen>>k&1 != 0 {
				n *= x.entries
				left = slices.DeleteFunc(left, func(v string) bool { return slices.Contains(x.vars, v) })
			}
		}
		least = min(least, n*f.places(left))
	}
	return least
}

// mostCounted is how many factors of a product are combined.
const mostCounted = 8
