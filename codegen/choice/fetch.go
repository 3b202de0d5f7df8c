package choice

import (
	"fmt"
	"math"
	"slices"

	"distaff/codegen/analysis"
	"distaff/codegen/cin"
	"distaff/codegen/forms"
	"distaff/codegen/strategy"
	"distaff/io/tensor"
)

// Fetch is the choice of what is prefetched. Its commands are:
//
//	prefetch(T,i,N)      fetches into the nearest cache, N entries before use
//	prefetch(T,i,N,FAR)  also fetches rows into the second-level cache, FAR entries before use
//	prefetch(T,i,0,FAR)  fetches rows into the second-level cache only
//	prefetch(T,i,0)      leaves fetching to the processor
//
// T is an access. If T is a dense operand, a sparse matrix or a dense result, the command fetches
// the rows of T that variable i selects. If T is the only sparse operand and its entries are summed
// along i, the command fetches these entries.
var Fetch = &Choice{
	Name: "prefetch",
	Params: []Param{{Kind: NameParam, Name: "T"}, {Kind: IndexParam, Name: "i"},
		{Kind: NumberParam, Name: "N"}, {Kind: FarParam, Name: "FAR", Least: 1, Optional: true}},
	Meaning: "fetches rows of T into caches, N entries ahead",
	CPUOnly: "rows are fetched into a CPU's caches",
	Minor:   true,
	Always: func(f *analysis.Facts, _ *strategy.Value) []Chosen {
		if f.Problem.Target.GPU {
			return nil
		}
		return append(farRows(f), streamed(f)...)
	},
	Follow: followFetch,
	DecisionKey: func(f *analysis.Facts, o Order) string {
		a, _ := fetchedAccess(f, o.Name)
		return a.Key() + " " + o.Loop.Var
	},
	Off: func(o Order) Order { o.N, o.Far = 0, 0; return o },
}

// fetchedAccess returns the access that text names: the result's, or an operand's.
func fetchedAccess(f *analysis.Facts, text string) (*cin.Access, error) {
	a := cin.Target(f.Stmt)
	if text == a.Key() || text == a.Name && f.Tensor(a.Name) == nil {
		return a, nil
	}
	a, _, err := f.Access(text)
	return a, err
}

func followFetch(f *analysis.Facts, v *strategy.Value, o Order) error {
	a, err := fetchedAccess(f, o.Name)
	switch n := max(o.N, o.Far); {
	case err != nil:
		return err
	case n > 1<<16:
		return fmt.Errorf("got %d entries ahead, want at most %d", n, 1<<16)
	case o.Far > 0 && o.Far <= o.N:
		return fmt.Errorf(
			"got %d entries ahead for the second-level cache, want more than the %d for the "+
				"nearest cache",
			o.Far, o.N)
	}
	how := strategy.Prefetch{Key: a.Key(), Var: o.Loop.Var, Ahead: o.N, Far: o.Far, Lines: -1}
	eachSelectedRow(f, func(b *cin.Access, t *analysis.Tensor, u string, row int64, _ float64) {
		if b.Key() == how.Key && u == how.Var {
			how.Lines = lines(row, t.Type)
		}
	})
	eachStream(f, func(b *cin.Access, _ *analysis.Tensor, u string) {
		if b.Key() == how.Key && u == how.Var && o.Far == 0 {
			how.Lines = 0
		}
	})
	eachSelectedMatrix(f, func(b *cin.Access, u string, _ float64) {
		if b.Key() == how.Key && u == how.Var {
			how.Lines = 1
		}
	})
	if how.Lines < 0 {
		return fmt.Errorf(
			"%s must select rows of %s: its last two levels must be dense, and %s the "+
				"variable of the first of them", how.Var, how.Key, how.Var)
	}
	v.Prefetch = slices.DeleteFunc(v.Prefetch,
		func(p strategy.Prefetch) bool { return p.Key == how.Key && p.Var == how.Var })
	if how.Any() {
		v.Prefetch = append(v.Prefetch, how)
	}
	return nil
}

// Rows of a dense operand, or of a dense result that is added to, are prefetched if the coordinates
// of sparse levels select them. They are prefetched nearAhead rows before their use if all selected
// rows together occupy at least Target.FarBytes and so do not stay in a core's caches. There are
// exceptions:
//
//   - If the processor was measured to do better without prefetching (forms.FarRows), no rows are
//     prefetched.
//   - If an array has less than nearBytes, its rows stay in the nearest cache without prefetching.
//   - If an array is mostly outside a core's caches, its rows are also prefetched into the
//     second-level cache, forms.FarAhead stored values before their use. The reason is that only
//     few loads into the nearest cache can be in progress at a time, too few for the latency of
//     memory.
//   - If an array is smaller than lastLevelCaches times Target.FarBytes, it may be in the
//     last-level cache. Prefetching the rows of this array only into the nearest cache is faster on
//     some processors (forms.LastLevelRows). There the rows are prefetched forms.LastLevelAhead
//     rows before their use.
//
// The numbers nearAhead and forms.LastLevelAhead count rows. If each stored value selects several
// rows, the distance in stored values is smaller. If the positions of a level have many values
// below them, every distance in positions is smaller than the distance in stored values, but at
// least leastAhead.
const (
	nearAhead       = 16
	leastAhead      = 2
	nearBytes       = 1 << 15
	lastLevelCaches = 16
)

// segmentAhead is the prefetch distance, in entries, for rows of a sparse matrix that another
// operand's coordinates select. An example is a product of two sparse matrices. The distance is
// small for two reasons: the code must read where a row starts before it can prefetch the row, and
// it cannot predict the length of the row.
const segmentAhead = 4

// A loop over coordinates may read rows from first to last. These rows are prefetched into the
// second-level cache, walkedAhead rows before their use, if three conditions hold:
//
//   - Most of the array is outside a core's caches.
//   - Inner loops over entries prefetch other rows. Because of these accesses, the processor does
//     not notice that the outer rows are consecutive, and does not prefetch them itself.
//   - Each row is read for at most shortSegment entries on average.
//
// The nearest cache is not used, because there the outer rows would displace the rows of the inner
// loops.
const (
	walkedAhead  = 16
	shortSegment = 16
)

// isFar reports whether most of the given number of bytes are outside a core's caches.
func isFar(f *analysis.Facts, bytes float64) bool {
	return bytes >= 2*float64(f.Problem.Target.FarBytes)
}

// prefetchLines is the largest number of lines of a row that are fetched ahead.
const prefetchLines = 8

// MapAhead is the largest number of positions that a leaf reads past the end of the map of a Mapped
// result. It reads there because it prefetches blocks of the result before it needs them. The array
// of the map must have this many extra elements.
const MapAhead = forms.FarAhead

// lines returns the number of cache lines that are prefetched for a row of n values of type t. It
// is at most prefetchLines.
func lines(n int64, t tensor.Type) int64 {
	line := strategy.CacheLine / t.Size()
	return (min(n, prefetchLines*line) + line - 1) / line
}

// mappedFetch returns how the blocks of values of a Mapped result are prefetched. It returns the
// zero value if a block is shorter than a cache line, or if the result is not Mapped. Short blocks
// are far from one another in memory, so most of each prefetched line would be unused.
func mappedFetch(f *analysis.Facts) (p strategy.Prefetch) {
	n := int64(1)
	for _, v := range f.Vars[f.LastCompressed+1:] {
		n = min(n*f.Problem.Sizes[v], prefetchLines*strategy.CacheLine)
	}
	if f.Problem.Assembly != strategy.Mapped || n < strategy.CacheLine/f.Result.Type.Size() {
		return strategy.Prefetch{}
	}
	p.Ahead, p.Lines = nearAhead, lines(n, f.Result.Type)
	if far, _ := f.Problem.Target.Forms.Of(forms.FarRows); far > nearAhead {
		p.Far = far
	}
	return p
}

// eachSelectedRow calls fn for each access whose last two levels are dense and have different
// variables. It considers the operands, and a result without sparse levels. A row consists of the
// values along the last level. v is the variable of the level above, which selects a row. row is
// the number of values in a row. bytes is the size of the rows of all coordinates of v together.
func eachSelectedRow(f *analysis.Facts,
	fn func(a *cin.Access, t *analysis.Tensor, v string, row int64, bytes float64)) {
	list := f.Operands(f.Stmt)
	if f.Problem.Assembly == strategy.Dense {
		list = append(list,
			&analysis.Operand{Access: cin.Target(f.Stmt), Tensor: f.Result, Vars: f.Vars})
	}
	for _, x := range list {
		k, t, vars := x.Tensor.Order()-2, x.Tensor, x.Vars
		if k >= 0 && t.Kind(k).CanLocate() && t.Kind(k+1).CanLocate() && vars[k] != vars[k+1] {
			row := f.Problem.Sizes[vars[k+1]]
			fn(x.Access, t, vars[k], row,
				float64(f.Problem.Sizes[vars[k]])*float64(row)*float64(t.Type.Size()))
		}
	}
}

// farRows returns the instructions to prefetch rows of four kinds:
//
//   - rows of operands that do not stay in the caches
//   - rows of a result that are added to out of order
//   - rows that are read in order, while inner loops read other prefetched rows (rowsBetween)
//   - rows of sparse matrices that another operand selects
//
// A row of the first two kinds is not prefetched if a coordinate of the outermost of several levels
// selects it, because such rows are read in order and rarely.
func farRows(f *analysis.Facts) (out []Chosen) {
	values, farWhy := f.Problem.Target.Forms.Of(forms.FarRows)
	lastLevel, lastLevelWhy := f.Problem.Target.Forms.Of(forms.LastLevelRows)
	// all is the size in bytes of all selected rows. each is the number of rows that each stored
	// value selects.
	all, each := 0.0, 0.0
	picked := func(fn func(a *cin.Access, v string, bytes, each float64)) {
		eachSelectedRow(f, func(a *cin.Access, t *analysis.Tensor, v string, _ int64, bytes float64) {
			if n := positions(f, v); n > 0 && (t != f.Result || isScattered(f, v)) {
				fn(a, v, bytes, n)
			}
		})
	}
	picked(func(_ *cin.Access, _ string, bytes, n float64) {
		all += bytes
		each += n
	})
	far := float64(f.Problem.Target.FarBytes)
	if values == 0 {
		return nil
	}
	near := func(values int64, n float64) int64 {
		return max(int64(math.Round(float64(values)/max(math.Round(each), 1)*n)), leastAhead)
	}
	picked(func(a *cin.Access, v string, bytes, n float64) {
		if all < far || bytes < min(far, nearBytes) {
			return
		}
		o, why := Order{Name: f.ShortName(a.Key()), N: near(nearAhead, n)}.of(v), farWhy
		switch k := int64(math.Round(float64(values) * n)); {
		case !isFar(f, bytes):
		case lastLevel == forms.LastLevelAhead && bytes < lastLevelCaches*far:
			o.N, why = near(forms.LastLevelAhead, n), lastLevelWhy
		case k > o.N:
			o.Far = k
		}
		out = append(out, Chosen{Order: o, Why: fmt.Sprintf(
			"rows of %s take %s, those that are read take %s, and a core's caches hold %s%s",
			a.Key(), size(bytes), size(all), size(far), why)})
	})
	out = append(out, rowsBetween(f, out)...)
	eachSelectedMatrix(f, func(a *cin.Access, v string, bytes float64) {
		if bytes >= far {
			out = append(out, Chosen{Order: Order{Name: f.ShortName(a.Key()), N: segmentAhead}.of(v),
				Why: fmt.Sprintf("rows of %s take %s, and a core's caches hold %s", a.Key(),
					size(bytes), size(far))})
		}
	})
	return out
}

// rowsBetween returns the instructions to prefetch rows of operands that are read in their storage
// order, while inner loops read other rows. others has the instructions that prefetch these other
// rows.
func rowsBetween(f *analysis.Facts, others []Chosen) (out []Chosen) {
	eachSelectedRow(f, func(a *cin.Access, t *analysis.Tensor, v string, _ int64, bytes float64) {
		n := perCoordinate(f, v)
		if t == f.Result || positions(f, v) > 0 || n == 0 || n > shortSegment || !isFar(f, bytes) ||
			!enclosesPrefetch(f, v, others) {
			return
		}
		out = append(out, Chosen{Order: Order{Name: f.ShortName(a.Key()), Far: walkedAhead}.of(v),
			Why: fmt.Sprintf(
				"rows of %s are read in order, for %.1f entries each, so that only the others "+
					"are fetched ahead", a.Key(), n)})
	})
	return out
}

// enclosesPrefetch reports whether the loop over v is outermost and contains a prefetch. fetched
// has the instructions for prefetches, which name the loops that prefetch.
func enclosesPrefetch(f *analysis.Facts, v string, fetched []Chosen) (found bool) {
	cin.Paths(f.Stmt, func(path []*cin.Forall, _ *cin.Assign) {
		found = found || len(path) > 0 && path[0].Var == v &&
			slices.ContainsFunc(path, func(l *cin.Forall) bool {
				return slices.ContainsFunc(fetched, func(x Chosen) bool { return x.Order.Loop.Var == l.Var })
			})
	})
	return found
}

// perCoordinate returns the average number of entries for each coordinate of v in an operand. The
// operand must not be dense, and its outermost level must store every coordinate of v. If several
// operands qualify, the operand with the most entries counts. If no operand qualifies,
// perCoordinate returns 0.
func perCoordinate(f *analysis.Facts, v string) (n float64) {
	for _, x := range f.Operands(f.Stmt) {
		if t := x.Tensor; !t.Format.AllDense() && t.Kind(0).CanLocate() && x.Vars[0] == v && t.NNZ > 0 {
			n = max(n, float64(t.NNZ)/float64(max(f.Problem.Sizes[v], 1)))
		}
	}
	return n
}

// eachSelectedMatrix calls fn for each sparse matrix a whose rows another operand may select. v is
// the variable of the rows of a. The other operand stores the coordinates of v in a sparse level,
// so the entries of that level select rows of a. bytes is the size of a's entries.
func eachSelectedMatrix(f *analysis.Facts, fn func(a *cin.Access, v string, bytes float64)) {
	picked, list := map[string]bool{}, f.Operands(f.Stmt)
	for _, x := range list {
		for k, v := range x.Vars {
			picked[v] = picked[v] || !x.Tensor.Kind(k).CanLocate()
		}
	}
	for _, x := range list {
		if t := x.Tensor; t.Order() == 2 && t.Kind(0).CanLocate() && t.Kind(1).HasPos() &&
			x.Vars[0] != x.Vars[1] && picked[x.Vars[0]] {
			fn(x.Access, x.Vars[0], float64(t.NNZ)*float64(t.Type.Size()+int64(t.CrdWidth[1])))
		}
	}
}

// eachStream calls fn for the only sparse operand, if there is just one and its entries are summed
// along its last level. v is the variable of that level. Another access must have v, so that the
// coordinates of the level select values. eachStream does not call fn on a GPU.
func eachStream(f *analysis.Facts, fn func(a *cin.Access, t *analysis.Tensor, v string)) {
	list := slices.DeleteFunc(f.Operands(f.Stmt),
		func(x *analysis.Operand) bool { return x.Tensor.Format.AllDense() })
	if len(list) != 1 || f.Problem.Target.GPU {
		return
	}
	t, k := list[0].Tensor, list[0].Tensor.Order()-1
	v := list[0].Vars[k]
	sums := t.Kind(k).HasPos() && !slices.Contains(f.Vars, v)
	picks := false
	cin.Paths(f.Stmt, func(path []*cin.Forall, s *cin.Assign) {
		for n, l := range path {
			sums = sums && (l.Var != v || n == len(path)-1)
		}
		cin.Accesses(s, func(a *cin.Access) {
			picks = picks || a.Key() != list[0].Key && slices.Contains(a.Vars, v)
		})
	})
	if sums && picks {
		fn(list[0].Access, t, v)
	}
}

// The entries of a sparse operand are prefetched forms.StreamAhead entries before their use. The
// vector elements that the entries select are prefetched a quarter of that distance before their
// use. Four conditions must hold:
//
//   - Prefetching entries was measured to be faster on this processor (forms.Streams). A processor
//     that predicts a loop's reads stops at the end of each page, and sees only a few of the loop's
//     gathers at a time.
//   - The loop over the entries does not gather values in vector lanes.
//   - Segments have at least streamedSegment entries on average.
//   - The entries occupy at least streamedCaches times Target.FarBytes. Fewer entries may be in a
//     cache that several cores share. Prefetching does not make such entries arrive earlier.
const (
	streamedSegment = 4
	streamedCaches  = 32
)

// streamed returns the instruction to prefetch the entries of a sparse operand that is too large
// for every cache.
func streamed(f *analysis.Facts) (out []Chosen) {
	ahead, why := f.Problem.Target.Forms.Of(forms.Streams)
	if ahead == 0 {
		return nil
	}
	eachStream(f, func(a *cin.Access, t *analysis.Tensor, v string) {
		k := t.Order() - 1
		bytes, least := float64(t.NNZ)*float64(t.Type.Size()+int64(t.CrdWidth[k])),
			streamedCaches*float64(f.Problem.Target.FarBytes)
		lanes := false
		gatheredLevels(f, func(b *cin.Access, u string, _ float64) {
			lanes = lanes || b.Key() == a.Key() && u == v
		})
		if !lanes && t.HasSegments(streamedSegment) && bytes >= least {
			out = append(out, Chosen{Order: Order{Name: f.ShortName(a.Key()), N: ahead}.of(v),
				Why: fmt.Sprintf("the entries of %s take %s, and a cache may keep %s%s",
					a.Key(), size(bytes), size(least), why)})
		}
	})
	return out
}

// isScattered reports whether a loop over v, a variable of the result, is inside a loop that sums.
// The loop over v may then visit a row of the result several times.
func isScattered(f *analysis.Facts, v string) (found bool) {
	cin.Paths(f.Stmt, func(path []*cin.Forall, _ *cin.Assign) {
		summed := false
		for _, l := range path {
			found = found || summed && l.Var == v
			summed = summed || !slices.Contains(f.Vars, l.Var)
		}
	})
	return found
}

// positions returns a ratio for the sparse level with variable v: the number of its positions
// divided by the number of stored values, but at most 1. If several operands have such a level, the
// operand with the most entries counts. positions returns 1 if the ratio is unknown. It returns 0
// if the level is the outermost of several, or if no sparse level has v.
func positions(f *analysis.Facts, v string) (n float64) {
	most := int64(-2)
	for _, x := range f.Operands(f.Stmt) {
		t := x.Tensor
		if t.NNZ <= most {
			continue
		}
		for k, u := range x.Vars {
			if u != v || t.Kind(k).CanLocate() {
				continue
			}
			switch most = t.NNZ; {
			case k == 0 && t.Order() > 1:
				n = 0
			case t.Counts == nil:
				n = 1
			default:
				n = min(float64(t.Counts[k])/float64(max(t.NNZ, 1)), 1)
			}
		}
	}
	return n
}

// size formats a number of bytes.
func size(n float64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	k := 0
	for n >= 1024 && k < len(units)-1 {
		n /= 1024
		k++
	}
	return fmt.Sprintf("%.4g %s", n, units[k])
}
