package strategy

import (
	"fmt"
	"math"
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
)

// Rows that sparse levels' coordinates pick, of dense operands or of a dense result that is added
// to, are fetched nearAhead of them before their turn, unless the processor is measured to do
// better alone (FarRows), where all that are picked together are at least Target.FarBytes and do
// not stay in the caches of a core. Those of an array of up to nearBytes stay in the nearest one.
// Those of an array most of which lies in no cache of a core are fetched farAhead stored values
// before into that of the second level, too: a processor waits for fewer lines at once on their way
// to the nearest one than have to be under way from memory. Those of an array of fewer than
// lastLevelCaches times Target.FarBytes lie in the cache of the last level, and are fetched
// lastLevelAhead before into the nearest cache alone where the processor is measured to gain by it
// (LastLevelRows). Where each stored value picks several rows, it takes fewer values to be
// nearAhead of them ahead, and where positions of a level have many values below them these are
// fewer positions, leastAhead at least.
const (
	nearAhead       = 16
	lastLevelAhead  = 48
	farAhead        = 64
	leastAhead      = 2
	nearBytes       = 1 << 15
	lastLevelCaches = 16
)

// Rows of a sparse matrix that coordinates of another operand pick, as in a product of two, are
// fetched segmentAhead of these entries before their turn: where they begin shows only then, and
// how many entries they have, which nothing foretells.
const segmentAhead = 4

// Rows that a loop over coordinates reads from first to last are fetched walkedAhead of them before
// their turn into the cache of the second level, where loops over entries inside fetch others,
// among which a processor does not see that the former follow one another, and where they have few
// entries: shortSegment on the average at most. Into the nearest cache they would come in the way
// of the others.
const (
	walkedAhead  = 16
	shortSegment = 16
)

// far is whether most of so many bytes lie in no cache of a core.
func (f *facts) far(bytes float64) bool { return bytes >= 2*float64(f.problem.Target.FarBytes) }

// CacheLine are the bytes of a line of the caches. At most prefetchLines of a row are
// fetched ahead.
const (
	CacheLine     = 64
	prefetchLines = 8
)

// MapAhead is how far behind the last position the map of a result that is added
// to is read at most.
const MapAhead = farAhead

// lines is how many cache lines of a row of n values of a type are fetched ahead.
func lines(n int64, t ir.Type) int64 {
	line := CacheLine / t.Size()
	return (min(n, prefetchLines*line) + line - 1) / line
}

// mappedFetch is how blocks of a Mapped result are fetched ahead, as rows are that do not stay in a
// core's caches: none shorter than a line, since they lie apart from one another.
func (f *facts) mappedFetch() (p Prefetch) {
	n := int64(1)
	for _, v := range f.vars[f.deep+1:] {
		n = min(n*f.problem.Sizes[v], prefetchLines*CacheLine)
	}
	if f.problem.Assembly != Mapped || n < CacheLine/f.result.Type.Size() {
		return Prefetch{}
	}
	p.Ahead, p.Lines = nearAhead, lines(n, f.result.Type)
	if far, _ := f.problem.Target.Forms.form(FarRows); far > nearAhead {
		p.Far = far
	}
	return p
}

// picks calls fn for each dense row, along the last level, that a variable picks, with its
// values and the bytes of all rows: of operands, and of a dense result.
func (f *facts) picks(fn func(a *cin.Access, t *Tensor, v string, row int64, bytes float64)) {
	seen := map[string]bool{}
	rows := func(a *cin.Access, t *Tensor) {
		if t == nil || seen[a.Key()] || t.order() < 2 {
			return
		}
		seen[a.Key()] = true
		k := t.order() - 2
		vars := t.levels(a)
		if t.caps(k).Locate && t.caps(k+1).Locate && vars[k] != vars[k+1] {
			row := f.problem.Sizes[vars[k+1]]
			fn(a, t, vars[k], row, float64(f.problem.Sizes[vars[k]])*float64(row)*float64(t.Type.Size()))
		}
	}
	cin.Accesses(f.stmt, func(a *cin.Access) { rows(a, f.tensor(a.Name)) })
	if f.problem.Assembly == Dense {
		rows(cin.Target(f.stmt), f.result)
	}
}

// prefetch is that of the rows of operands that are far, and of those of a result that is added to
// out of order. Rows that the outermost level's coordinates pick are read in order, and seldom.
func (f *facts) prefetch() (out []Prefetch) {
	values, farWhy := f.problem.Target.Forms.form(FarRows)
	lastLevel, lastLevelWhy := f.problem.Target.Forms.form(LastLevelRows)
	all, each := 0.0, 0.0 // bytes of what is picked, and how many rows each stored value picks
	picked := func(fn func(a *cin.Access, t *Tensor, v string, row int64, bytes, each float64)) {
		f.picks(func(a *cin.Access, t *Tensor, v string, row int64, bytes float64) {
			if n := f.positions(v); n > 0 && (t != f.result || f.scattered(v)) {
				fn(a, t, v, row, bytes, n)
			}
		})
	}
	picked(func(_ *cin.Access, _ *Tensor, _ string, _ int64, bytes, n float64) {
		all += bytes
		each += n
	})
	far := float64(f.problem.Target.FarBytes)
	if values == 0 {
		return nil
	}
	near := func(values int64, n float64) int64 {
		return max(int64(math.Round(float64(values)/max(math.Round(each), 1)*n)), leastAhead)
	}
	picked(func(a *cin.Access, t *Tensor, v string, row int64, bytes, n float64) {
		if all < far || bytes < min(far, nearBytes) {
			return
		}
		p, why := Prefetch{Key: a.Key(), Var: v, Ahead: near(nearAhead, n), Lines: lines(row, t.Type)},
			farWhy
		switch k := int64(math.Round(float64(values) * n)); {
		case !f.far(bytes):
		case lastLevel == lastLevelAhead && bytes < lastLevelCaches*far:
			p.Ahead, why = near(lastLevelAhead, n), lastLevelWhy
		case k > p.Ahead:
			p.Far = k
		}
		p.Why = fmt.Sprintf(
			"rows of %s lie in %s, and all that are picked in %s, more than the %s that stay in a core's caches%s", a.Key(), size(bytes), size(all), size(far), why)
		out = append(out, p)
	})
	out = append(out, f.walked(out)...)
	f.segments(func(a *cin.Access, v string, bytes float64) {
		if bytes >= far {
			out = append(out, Prefetch{Key: a.Key(), Var: v, Ahead: segmentAhead, Lines: 1,
				Why: fmt.Sprintf("rows of %s lie in %s, more than the %s that stay in a core's caches", a.Key(),
					size(bytes), size(far))})
		}
	})
	return out
}

// walked are the rows of operands that are read in the order in which they lie, between those that
// are fetched ahead.
func (f *facts) walked(between []Prefetch) (out []Prefetch) {
	f.picks(func(a *cin.Access, t *Tensor, v string, row int64, bytes float64) {
		n := f.perCoordinate(v)
		if t == f.result || f.positions(v) > 0 || n == 0 || n > shortSegment || !f.far(bytes) ||
			!f.inside(v, between) {
			return
		}
		out = append(out, Prefetch{Key: a.Key(), Var: v, Far: walkedAhead, Lines: lines(row, t.Type),
			Why: fmt.Sprintf(
				"rows of %s are read in their order, for %.1f entries each, between others that are fetched ahead", a.Key(), n)})
	})
	return out
}

// inside tells whether the loop over v is an outermost one, with loops inside that fetch those rows
// ahead.
func (f *facts) inside(v string, fetched []Prefetch) (found bool) {
	cin.Paths(f.stmt, func(path []*cin.Forall, _ *cin.Assign) {
		found = found || len(path) > 0 && path[0].Var == v &&
			slices.ContainsFunc(path, func(l *cin.Forall) bool {
				return slices.ContainsFunc(fetched, func(p Prefetch) bool { return p.Var == l.Var })
			})
	})
	return found
}

// perCoordinate is how many entries an operand whose outermost level stores every coordinate of v
// has for each on the average: of the one with the most, 0 where there is none.
func (f *facts) perCoordinate(v string) (n float64) {
	cin.Accesses(f.stmt, func(a *cin.Access) {
		if t := f.tensor(a.Name); t != nil && !t.located() && t.caps(0).Locate && t.levels(a)[0] == v &&
			t.NNZ > 0 {
			n = max(n, float64(t.NNZ)/float64(max(f.problem.Sizes[v], 1)))
		}
	})
	return n
}

// segments calls fn for each matrix of sparse rows whose rows coordinates of another operand, along
// variable v, may pick, with the bytes of its entries.
func (f *facts) segments(fn func(a *cin.Access, v string, bytes float64)) {
	picked, seen := map[string]bool{}, map[string]bool{}
	cin.Accesses(f.stmt, func(a *cin.Access) {
		if t := f.tensor(a.Name); t != nil {
			for k, v := range t.levels(a) {
				picked[v] = picked[v] || !t.caps(k).Locate
			}
		}
	})
	cin.Accesses(f.stmt, func(a *cin.Access) {
		t := f.tensor(a.Name)
		if t == nil || seen[a.Key()] || t.order() != 2 || !t.caps(0).Locate || !t.caps(1).HasPos {
			return
		}
		seen[a.Key()] = true
		if vars := t.levels(a); vars[0] != vars[1] && picked[vars[0]] {
			fn(a, vars[0], float64(t.NNZ)*float64(t.Type.Size()+int64(t.CrdWidth[1])))
		}
	})
}

// streams calls fn for the one sparse operand, where its last level's coordinates only pick values
// to sum: the loops over these, of variable v, walk the operand's entries from first to last.
func (f *facts) streams(fn func(a *cin.Access, t *Tensor, v string)) {
	var found *cin.Access
	several := f.problem.Target.GPU
	cin.Accesses(f.stmt, func(a *cin.Access) {
		if t := f.tensor(a.Name); t != nil && !t.located() {
			several = several || found != nil && found.Key() != a.Key()
			found = a
		}
	})
	if found == nil || several {
		return
	}
	t := f.tensor(found.Name)
	k := t.order() - 1
	v := t.levels(found)[k]
	sums := t.caps(k).HasPos && !slices.Contains(f.vars, v)
	picks := false
	cin.Paths(f.stmt, func(path []*cin.Forall, s *cin.Assign) {
		for n, l := range path {
			sums = sums && (l.Var != v || n == len(path)-1)
		}
		cin.Accesses(s, func(a *cin.Access) {
			picks = picks || a.Key() != found.Key() && slices.Contains(a.Vars, v)
		})
	})
	if sums && picks {
		fn(found, t, v)
	}
}

// located tells whether a tensor is dense.
func (t *Tensor) located() bool {
	for k := range t.order() {
		if !t.caps(k).Locate {
			return false
		}
	}
	return true
}

// The entries of a sparse operand are fetched streamAhead of them before their turn, and what they
// pick of vectors a fourth of that, where the processor is measured to gain by it (Streams), where
// segments have streamedSegment entries or more on the average, and entries take streamedCaches
// times Target.FarBytes: a cache that several cores share may hold fewer, from where they come as
// fast without. A processor that foresees what a loop reads stops doing so at the end of each page,
// and sees few of a loop's gathers at once.
const (
	streamAhead     = 128
	streamedSegment = 4
	streamedCaches  = 32
)

// stream is the prefetch of the entries of a sparse operand that stays in no cache.
func (f *facts) stream() (out []Prefetch) {
	ahead, why := f.problem.Target.Forms.form(Streams)
	if ahead == 0 {
		return nil
	}
	f.streams(func(a *cin.Access, t *Tensor, v string) {
		k := t.order() - 1
		bytes, least := float64(t.NNZ)*float64(t.Type.Size()+int64(t.CrdWidth[k])),
			streamedCaches*float64(f.problem.Target.FarBytes)
		lanes := slices.ContainsFunc(f.gathers(),
			func(g Gather) bool { return g.Key == a.Key() && g.Var == v })
		if !lanes && t.Counts != nil && t.NNZ >= streamedSegment*max(t.above(), 1) && bytes >= least {
			out = append(out, Prefetch{Key: a.Key(), Var: v, Ahead: ahead,
				Why: fmt.Sprintf("the entries of %s take %s, more than the %s that may stay in a cache%s",
					a.Key(), size(bytes), size(least), why)})
		}
	})
	return out
}

// scattered tells whether loops over v, a variable of the result, are inside one that sums: they
// come to a row several times.
func (f *facts) scattered(v string) (found bool) {
	cin.Paths(f.stmt, func(path []*cin.Forall, _ *cin.Assign) {
		summed := false
		for _, l := range path {
			found = found || summed && l.Var == v
			summed = summed || !slices.Contains(f.vars, l.Var)
		}
	})
	return found
}

// positions is how many positions the level that stores v has for each stored value, of the operand
// with the most entries: 1 where that is not known, 0 where it is the outermost of several or none
// that is walked.
func (f *facts) positions(v string) (n float64) {
	most := int64(-2)
	cin.Accesses(f.stmt, func(a *cin.Access) {
		t := f.tensor(a.Name)
		if t == nil || t.NNZ <= most {
			return
		}
		for k, u := range t.levels(a) {
			if u != v || t.caps(k).Locate {
				continue
			}
			switch most = t.NNZ; {
			case k == 0 && t.order() > 1:
				n = 0
			case t.Counts == nil:
				n = 1
			default:
				n = min(float64(t.Counts[k])/float64(max(t.NNZ, 1)), 1)
			}
		}
	})
	return n
}

// size is a number of bytes as text.
func size(n float64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	k := 0
	for n >= 1024 && k < len(units)-1 {
		n /= 1024
		k++
	}
	return fmt.Sprintf("%.4g %s", n, units[k])
}

// gatheredSegment is how many entries segments have on the average from which on a loop that
// gathers runs in lanes: several sums at once wait less for each other, and adding them up at
// the end costs less than that.
const gatheredSegment = 256

// gathers are the loops over long segments of sparse levels.
func (f *facts) gathers() (out []Gather) {
	seen := map[[2]string]bool{}
	cin.Accesses(f.stmt, func(a *cin.Access) {
		t := f.tensor(a.Name)
		if t == nil || t.Counts == nil {
			return
		}
		for k, v := range t.levels(a) {
			above := int64(1)
			if k > 0 {
				above = t.Counts[k-1]
			}
			if t.caps(k).Locate || seen[[2]string{a.Key(), v}] ||
				t.Counts[k] < gatheredSegment*max(above, 1) {
				continue
			}
			seen[[2]string{a.Key(), v}] = true
			out = append(out, Gather{a.Key(), v,
				fmt.Sprintf("segments of %s have %.1f entries on average", a.Key(),
					float64(t.Counts[k])/float64(max(above, 1)))})
		}
	})
	return out
}

// lanes are the variables whose loops run in lanes where they run along contiguous
// memory: those of dense last levels, and of segments whose values alone are read.
func (f *facts) lanes() map[string]string {
	out := map[string]string{}
	cin.Walk(f.stmt, func(s cin.Stmt) {
		if l, ok := s.(*cin.Forall); ok {
			out[l.Var] = "the innermost loops over " + l.Var + " run along contiguous memory"
		}
	})
	return out
}
