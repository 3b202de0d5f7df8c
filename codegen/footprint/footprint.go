// Package footprint computes upper bounds and estimates of the memory that a call of a leaf needs
// for its workspaces, for the partial results of its chunks, and for a result that grows.
package footprint

import (
	"math"
	"slices"

	"distaff/codegen/analysis"
	"distaff/codegen/cin"
	"distaff/codegen/provenance"
	"distaff/codegen/strategy"
	"distaff/io/tensor"
)

// Sizes in bytes of the elements of workspaces: positions and places in hash tables, places in
// lists, marks, and the elements that a sort by several keys copies.
const (
	posBytes, placeBytes, markBytes, tupleBytes = 8, 4, 1, 16
	// An array that grows starts with firstEntries elements, and a table with firstSlots slots.
	firstEntries, firstSlots = 64, 127
	pageBytes                = 4096 // large arrays are rounded up to whole pages
	largeBytes               = 256 << 10
)

// Workspaces returns an estimate, in bytes, of the largest amount of memory that three things of
// statement p occupy together: the workspaces, the partial results of chunks, and the precomputed
// long rows. The estimate is for the statement lowered by strategy v, on the given number of
// threads. A workspace inside a loop on threads is counted once for each thread.
func Workspaces(p *analysis.Problem, v *strategy.Value, threads int) int64 {
	threads = max(threads, 1)
	f, total := analysis.NewFor(p, v.Stmt), 0.0
	var walk func(s cin.Stmt, copies float64)
	walk = func(s cin.Stmt, copies float64) {
		switch s := s.(type) {
		case *cin.Forall:
			if s.Unit == cin.CPUThread {
				copies = float64(threads)
				total += partialBytes(f, s, v.Of(s).Cut, int64(threads))
			}
			if x := v.Of(s).Long; x.How == strategy.Precomputed {
				stretches := float64(threads) * float64(max(v.PerThread, 1))
				total += longRowsBytes(f, s.Body, x, stretches)
			}
			if c := v.Of(s).Cut; c.How == cin.Rows && threads > 1 {
				whole := f.Problem.Sizes[c.Own] // each thread has a part of the range
				f.Problem.Sizes[c.Own] = (whole + int64(threads) - 1) / int64(threads)
				walk(s.Body, copies)
				f.Problem.Sizes[c.Own] = whole
				return
			}
			walk(s.Body, copies)
		case *cin.Seq:
			for _, x := range s.List {
				walk(x, copies)
			}
		case *cin.Where:
			if t := cin.Target(s.Producer); len(t.Vars) > 0 {
				total += copies * spaceBytes(f, v, t, s.Producer, float64(threads))
			}
			walk(s.Producer, copies)
			walk(s.Consumer, copies)
		}
	}
	walk(f.Stmt, 1)
	return int64(min(total, 1<<62))
}

// InitialResult returns the bytes of memory that a growing result occupies before its first entry
// is appended. For other results it returns 0, 0. kept is the memory of the arrays that become the
// result's arrays. kept is 0 if each iteration makes a piece of the result. joined is the memory of
// the pieces, and of the tables that join the pieces. entries is the number of entries of the
// sparse operands, and threads is the number of threads.
//
// sum is true if the result does not have more entries than its operands, as in a sum. It changes
// joined if several threads run ordered chunks. Each thread then frees its piece before it starts
// the next one, so fewer pieces exist at the same time. One of these pieces may have most of the
// entries, so joined also includes memory for all entries.
func InitialResult(p *analysis.Problem, v *strategy.Value, entries int64, threads int,
	sum bool) (kept, joined int64) {
	if p.Assembly != strategy.Append {
		return 0, 0
	}
	f := analysis.NewFor(p, v.Stmt)
	first := (entries + strategy.LeastCapacity) * v.Result.Factor
	if v.Result.Most > 0 {
		first = min(first, v.Result.Most)
	}
	pieces, ordered := 0.0, false
	cin.Walk(f.Stmt, func(s cin.Stmt) {
		x, loop := s.(*cin.Forall)
		switch {
		case !loop || x.Unit != cin.CPUThread || !f.Assigns(x):
		case v.Of(x).Cut.How == cin.Ordered:
			pieces, ordered = chunkCount(f, v, threads, entries), true
		case !ordered: // each iteration makes one piece
			pieces = max(pieces, iterations(f, x.Var))
		}
	})
	switch {
	case pieces == 0:
		return int64(arrays(f, float64(first))), 0
	case threads <= 1 && ordered: // the only piece becomes the result
		return int64(arrays(f, float64(first+strategy.LeastCapacity))),
			int64(joinBytes(f, 1) + arrays(f, 1))
	case ordered:
		kept = int64(min(arrays(f, float64(first+1))+joinedPositions(f, float64(first+1)), 1<<62))
	}
	alive, filled := pieces, 0.0
	if ordered && sum {
		alive, filled = min(pieces, float64(threads)), arrays(f, float64(first))
	}
	each := arrays(f, float64(first)/pieces+strategy.LeastCapacity)
	return kept, int64(min(joinBytes(f, pieces)+alive*each+filled, 1<<62))
}

// iterations returns an upper bound of the number of iterations of the loop over v. If the schedule
// derived v from variables of the statement, the bound is the number of points of these variables.
// A divide command may make more ranges than there are points. The bound is then the number of
// ranges.
func iterations(f *analysis.Facts, v string) float64 {
	c, _ := f.Component(v)
	if c == nil {
		return float64(f.Problem.Sizes[v])
	}
	n := f.Places(c.Roots)
	for r := f.Graph.MadeBy(v); r != nil; r = f.Graph.MadeBy(r.From[0]) {
		if r.Kind == provenance.Divide {
			n = max(n, float64(r.N))
		}
	}
	return n
}

// arrays returns the size in bytes of the arrays of a result with capacity for n entries. It does
// not count the position array of the outermost compressed level, whose size does not depend on n.
func arrays(f *analysis.Facts, n float64) float64 {
	bytes, outermost := arrayBytes(n*float64(f.Result.Type.Size())), true
	for k, kind := range f.Result.Format.Levels {
		if !kind.HasPos() {
			continue
		}
		if bytes += arrayBytes(n * float64(f.Result.CrdWidth[k])); !outermost {
			bytes += arrayBytes((n + 1) * posBytes)
		}
		outermost = false
	}
	return bytes
}

// joinedPositions returns the bytes of the positions that the function arrays does not count. n is
// the number of entries of the joined arrays. If there are dense levels between two compressed
// levels, the position array of the inner compressed level has many elements for each entry of the
// outer one: an element for each dense coordinate. The function arrays counts only one of them.
func joinedPositions(f *analysis.Facts, n float64) (bytes float64) {
	dense, scope := 1.0, false
	for k, kind := range f.Result.Format.Levels {
		switch {
		case kind.HasPos():
			if scope {
				bytes += n * (dense - 1) * posBytes
			}
			dense, scope = 1, true
		case kind == tensor.Dense && scope:
			dense *= float64(max(f.Problem.Sizes[f.Vars[k]], 1))
		}
	}
	return bytes
}

// chunkCount returns the largest number of chunks of equal work in a loop on threads. The work is
// the number of rows of the result, plus the number of entries of all operands. The second number
// is the sum of the numbers that are known for the operands, or the argument entries if this is
// larger. If there is only one thread, chunkCount returns 1.
func chunkCount(f *analysis.Facts, v *strategy.Value, threads int, entries int64) float64 {
	if threads <= 1 {
		return 1
	}
	known := 0.0
	for _, t := range f.Problem.Tensors[1:] {
		known += float64(max(t.NNZ, 0))
	}
	work := f.Places(f.Vars[:1]) + max(known, float64(entries))
	return max(float64(int64(threads)*v.PerThread), work/float64(max(f.Problem.Target.ChunkWork, 1)))
}

// joinBytes returns the bytes of memory for joining the pieces of the chunks, without the pieces'
// entries. It counts the bounds of the chunks, the tables with numbers of entries and addresses of
// arrays, and the first allocation of the joined arrays, which grow later. If the outermost level
// is compressed, it also counts the positions of each chunk.
func joinBytes(f *analysis.Facts, chunks float64) float64 {
	const tableEntry = 24
	bytes := 2*arrayBytes(chunks*posBytes) + arrayBytes(chunks*tableEntry) + arrayBytes(
		float64(f.Result.Type.Size()))
	for k, kind := range f.Result.Format.Levels {
		if kind.HasPos() {
			bytes += 2*arrayBytes((chunks+1)*posBytes) + 2*arrayBytes(chunks*tableEntry) +
				2*arrayBytes(2*posBytes)
		}
		if k == 0 && kind.HasPos() { // positions of each chunk, which are not used
			bytes += chunks * arrayBytes(2*posBytes)
		}
	}
	return bytes
}

// partialBytes returns the size of the partial results, or partial sums, of the chunks of loop s.
func partialBytes(f *analysis.Facts, s *cin.Forall, c cin.Cut, threads int64) float64 {
	value := float64(max(f.Problem.Compute.Size(), f.Result.Type.Size()))
	switch c.How {
	case cin.Partial:
		n, places := c.N, f.Places(f.Vars)
		if places > float64(f.Problem.Target.FarBytes/n/f.Problem.Compute.Size()) {
			n = min(n, threads+1)
		}
		return arrayBytes(float64(n) * places * value)
	case cin.Reduction:
		flag := 1.0 // a sum has a flag for each chunk, and another reduction has a count
		if a, _ := cin.Reduces(s); a != nil {
			flag = 8
		}
		return arrayBytes(float64(c.N)*value) + arrayBytes(float64(c.N)*flag)
	}
	return 0
}

// longRowsBytes returns the bytes of memory for precomputing long rows of products. It counts the
// sums of one row, the finished rows, and the terms of one round, which are sorted into bands of
// coordinates. In each round the threads compute terms for several stretches of a row. stretches is
// the number of stretches in a round.
func longRowsBytes(f *analysis.Facts, s cin.Stmt, x strategy.Long, stretches float64) float64 {
	w, ok := s.(*cin.Where)
	if !ok {
		return 0
	}
	t := cin.Target(w.Producer)
	places, value, crd := f.Places(t.Vars), float64(f.Problem.Compute.Size()),
		float64(f.CrdWidths()[t.Vars[0]])
	terms := f.Additions(w.Producer, t)
	bands := places/float64(max(x.Band, 1)) + 2
	bytes := arrayBytes(places*value) + arrayBytes(places*markBytes) + arrayBytes(places*crd)
	bytes += arrayBytes(bands*posBytes) + arrayBytes(bands*posBytes) +
		arrayBytes(stretches*bands*posBytes)
	bytes += growingBytes(min(stretches*float64(x.Stretch), terms), crd+value)
	return bytes + growingBytes(terms, crd+value) + growingBytes(f.Places(f.Vars[:1]), 2*posBytes)
}

// spaceBytes returns the bytes of memory that workspace t needs. If a loop on threads fills t and
// the threads cannot share t, each thread fills a private workspace. The result then includes the
// private workspaces, and copies of their entries, which are added to t later.
func spaceBytes(f *analysis.Facts, v *strategy.Value, t *cin.Access, producer cin.Stmt,
	threads float64) float64 {
	s := v.Spaces[t.Name]
	n := mostEntries(f, t, producer)
	if s.Form.Kind == strategy.Terms && s.Form.Dense > 0 {
		keys := f.KeysFrom(producer, t, t.Vars[:len(t.Vars)-s.Form.Dense])
		if n = float64(f.Tensor(keys.Name).NNZ); n < 0 {
			n = math.Inf(1)
		}
		return termRowsBytes(f, t, s.Form, n)
	}
	if s.Form.Kind == strategy.Terms {
		n, _ = f.TermsAdded(producer, t)
	}
	bytes := formBytes(f, t, s.Form, n)
	if cin.Threaded(producer) && !s.Shared() {
		entry := float64(f.Problem.Compute.Size() + 8*int64(len(t.Vars)))
		bytes += threads * (formBytes(f, t, s.Piece, n) + n*entry + float64(len(t.Vars)+2)*posBytes)
	}
	if cin.Threaded(producer) && s.Form.Kind == strategy.Marks { // each chunk's entries are counted
		bytes += arrayBytes(threads * float64(v.PerThread) * posBytes)
	}
	return bytes
}

// formBytes returns the memory of a workspace of the given form with n entries.
func formBytes(f *analysis.Facts, t *cin.Access, form strategy.Form, n float64) float64 {
	places, value := f.Places(t.Vars), float64(f.Problem.Compute.Size())
	keys := 0.0
	for _, v := range t.Vars {
		keys += float64(f.CrdWidths()[v])
	}
	several := len(t.Vars) > 1
	rows, copied := 0.0, 0.0
	if several && form.Rows {
		rows = rowsBytes(f, t.Vars)
	}
	if several { // the entries are copied out in order
		copied = growingBytes(n, keys+value)
	}
	switch form.Kind {
	case strategy.Array:
		return arrayBytes(places * value)
	case strategy.MarkedList:
		return arrayBytes(places*value) + arrayBytes(places*markBytes) +
			arrayBytes(places*max(placeBytes, keys)) + copied + rows
	case strategy.Marks:
		if several {
			return arrayBytes(places*value) + arrayBytes(places*markBytes) + copied + rows
		}
		return arrayBytes(places*value) + arrayBytes(places*markBytes) + arrayBytes(places*keys)
	case strategy.Table:
		return arrayBytes(places*value) + arrayBytes(places*markBytes) + arrayBytes(places*posBytes)
	case strategy.Bitmap:
		words := math.Ceil(places/64) + 64
		return arrayBytes(places*value) + arrayBytes(words*8) + arrayBytes(words*placeBytes) + arrayBytes(
			words*markBytes) + arrayBytes((places+1)*placeBytes) + copied + rows
	case strategy.SortedList:
		return growingBytes(n, keys+value) + rows
	case strategy.Positions:
		return arrayBytes(float64(form.Len) * value)
	case strategy.Terms:
		return growingBytes(n, float64(16*len(t.Vars))+2*value+posBytes) +
			arrayBytes(2*n*tupleBytes) + rows
	}
	return tableBytes(f, t, form, n)
}

// tableBytes returns the bytes of memory of a hash table with n entries. If each key has one value,
// the values are counted twice, because they are copied when the keys are sorted. If each key has a
// row of values, the n entries are the values of all rows. Only the keys are copied then, so the
// values are counted once.
func tableBytes(f *analysis.Facts, t *cin.Access, form strategy.Form, n float64) float64 {
	keys, value, rows := t.Vars[:len(t.Vars)-form.Dense], float64(f.Problem.Compute.Size()), 0.0
	each := max(f.Places(t.Vars[len(keys):]), 1)
	if n = math.Ceil(n / each); form.Rows {
		rows = rowsBytes(f, keys)
	}
	if form.Of != "" {
		n = max(n, float64(f.Tensor(form.Of).NNZ)+1)
	}
	values := growingBytes(n*each, value)
	if form.Dense == 0 {
		values *= 2
	}
	slots := 2*max(2*n, firstSlots) + 1
	return growingBytes(n, float64(16*len(keys))+2*posBytes) + values +
		arrayBytes(slots*posBytes) + arrayBytes(2*n*tupleBytes) + rows
}

// rowsBytes returns the memory of the positions of a workspace's rows, for a form with Rows. A row
// runs along the last variable of keys.
func rowsBytes(f *analysis.Facts, keys []string) float64 {
	return arrayBytes((f.Places(keys[:len(keys)-1]) + 1) * posBytes)
}

// arrayBytes returns the memory that an array of the given size occupies.
func arrayBytes(bytes float64) float64 {
	if bytes >= largeBytes {
		return bytes + pageBytes
	}
	return bytes + 64
}

// growingBytes returns the memory of arrays that grow to n entries with the given bytes for each
// entry: at most twice the final size, plus the old array while it is copied.
func growingBytes(n, bytes float64) float64 {
	return 3*max(n, firstEntries)*bytes + 8*pageBytes
}

// mostEntries returns an upper bound of the number of entries that workspace t has at a time. The
// bound is the sum of mostProducts for all assignments to t in producer. It is at most the number
// of places of t.
func mostEntries(f *analysis.Facts, t *cin.Access, producer cin.Stmt) float64 {
	made := map[string]float64{} // mostEntries of the workspaces that the producer reads
	cin.Walk(producer, func(s cin.Stmt) {
		if w, ok := s.(*cin.Where); ok {
			if u := cin.Target(w.Producer); len(u.Vars) > 0 {
				made[u.Name] = mostEntries(f, u, w.Producer)
			}
		}
	})
	total := 0.0
	cin.Paths(producer, func(_ []*cin.Forall, a *cin.Assign) {
		if a.LHS.Name == t.Name {
			total += mostProducts(f, a, made)
		}
	})
	return min(total, f.Places(t.Vars))
}

// knownFactor is a factor of a product with a known number of entries. vars are its variables.
type knownFactor struct {
	vars    []string
	entries float64
}

// mostProducts returns an upper bound of the number of coordinates at which assignment a gives its
// left side a value. made has such bounds for the workspaces that a reads. One bound is the number
// of coordinates of the left side. If the right side is a product, each choice of some of its
// factors gives another bound: the product of their numbers of entries, times the sizes of the left
// side's variables that they do not have. The result is the smallest bound.
func mostProducts(f *analysis.Facts, a *cin.Assign, made map[string]float64) float64 {
	least := f.Places(a.LHS.Vars)
	if !analysis.IsProduct(a.RHS) {
		return least
	}
	var factors []knownFactor
	cin.ExprAccesses(a.RHS, func(x *cin.Access) {
		entries, known := made[x.Name]
		if op := f.Tensor(x.Name); op != nil && op.NNZ >= 0 {
			entries, known = float64(op.NNZ), true
		}
		if known && len(factors) < mostCounted &&
			slices.ContainsFunc(x.Vars, func(v string) bool { return slices.Contains(a.LHS.Vars, v) }) {
			factors = append(factors, knownFactor{x.Vars, entries})
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
		least = min(least, n*f.Places(left))
	}
	return least
}

// mostCounted is the largest number of factors whose numbers of entries mostProducts uses. It
// limits the number of choices among the factors.
const mostCounted = 8

// termRowsBytes returns the memory of a list of n terms that each add a row.
func termRowsBytes(f *analysis.Facts, t *cin.Access, form strategy.Form, n float64) float64 {
	keys, rows := t.Vars[:len(t.Vars)-form.Dense], 0.0
	if form.Rows {
		rows = rowsBytes(f, keys)
	}
	kept := 0.0 // a value or the coordinates of each operand
	for _, x := range f.Problem.Tensors[1:] {
		kept += math.Max(float64(f.Problem.Compute.Size()), posBytes*float64(x.Order()))
	}
	each := f.Places(t.Vars[len(keys):]) * float64(f.Problem.Compute.Size())
	return growingBytes(n+1, float64(16*len(keys))+2*posBytes+kept) + arrayBytes(each) + arrayBytes(
		2*n*tupleBytes) + rows
}
