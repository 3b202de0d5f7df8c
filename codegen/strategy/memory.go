package strategy

import (
	"fmt"
	"math"
	"slices"

	"distaff/codegen/cin"
)

// Rows of a dense operand that a sparse level's coordinates pick are fetched
// prefetchAhead entries before their turn, where the operand, of at least
// Target.FarBytes, does not stay in a cache.
const prefetchAhead = 16

// picks calls fn for each dense row, along the last level, that a variable picks.
func (f *facts) picks(fn func(a *cin.Access, t *Tensor, v string, bytes float64)) {
	seen := map[string]bool{}
	cin.Accesses(f.stmt, func(a *cin.Access) {
		t := f.tensor(a.Name)
		if t == nil || seen[a.Key()] || t.order() < 2 {
			return
		}
		seen[a.Key()] = true
		k := t.order() - 2
		vars := t.levels(a)
		if t.caps(k).Locate && t.caps(k+1).Locate && vars[k] != vars[k+1] {
			fn(a, t, vars[k], float64(f.Sizes[vars[k]])*float64(f.Sizes[vars[k+1]])*float64(t.Type.Size()))
		}
	})
}

// prefetch is that of the rows of far operands.
func (f *facts) prefetch() (out []Prefetch) {
	f.picks(func(a *cin.Access, t *Tensor, v string, bytes float64) {
		if bytes >= float64(f.Target.FarBytes) {
			out = append(out, Prefetch{Key: a.Key(), Var: v, Ahead: prefetchAhead,
				Why: fmt.Sprintf("rows of %s lie in %s, more than the %s that stay in a cache", a.Key(), size(bytes), size(float64(f.Target.FarBytes)))})
		}
	})
	return out
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

// fewestLanes is from how many iterations on a loop that gathers runs in lanes.
// With fewer, adding up the lanes costs more than they save.
const fewestLanes = 17

// Masked lanes, fewer where segments have less than longSegment entries on the
// average: lanes without work cost time, too, and so does one more group.
const (
	fewLanes    = 8
	manyLanes   = 16
	longSegment = 7
)

// gathers are the loops over segments of sparse levels that run in lanes from
// fewestLanes iterations on: several sums at once wait less for each other, whether or not
// the C compiler finds that a gather pays. Shorter ones run in masked lanes where what
// they gather is near: then the branch at a segment's end, seldom foreseen, is what takes
// time. Where it is far, that branch lets the next segments' loads start early.
func (f *facts) gathers() (out []Gather) {
	seen := map[[2]string]bool{}
	cin.Accesses(f.stmt, func(a *cin.Access) {
		t := f.tensor(a.Name)
		if t == nil {
			return
		}
		vars := t.levels(a)
		for k, v := range vars {
			if t.caps(k).Locate || seen[[2]string{a.Key(), v}] {
				continue
			}
			seen[[2]string{a.Key(), v}] = true
			lanes, why := t.segment(a.Key(), k)
			if lanes == 0 {
				continue
			}
			g := Gather{Key: a.Key(), Var: v, From: fewestLanes, Why: why}
			if bytes := f.gathered(a.Key(), v); bytes <= float64(f.Target.NearBytes) {
				g.Masked = lanes
				g.Why += fmt.Sprintf("; they gather from %s, within the %s of a core's own cache", size(bytes), size(float64(f.Target.NearBytes)))
			}
			out = append(out, g)
		}
	})
	return out
}

// segment is how many lanes suit the segments of level k; 0 where these are so short on
// the average that it does not pay to ask.
func (t *Tensor) segment(key string, k int) (lanes int64, why string) {
	switch counts := t.Counts; {
	case k == 0:
		return manyLanes, key + " is one segment"
	case counts == nil && t.caps(k-1).Locate:
		return fewLanes, "it is not known how long the segments of " + key + " are"
	case counts == nil || counts[k] < minSegment*counts[k-1]:
		return 0, ""
	default:
		lanes = manyLanes
		if counts[k] < longSegment*counts[k-1] {
			lanes = fewLanes
		}
		return lanes, fmt.Sprintf("segments of %s have %.1f entries on average", key, float64(counts[k])/float64(max(counts[k-1], 1)))
	}
}

// gathered is how many bytes the dense operands have that a loop over v, along the
// access called key, reads here and there; infinite where it reads others so.
func (f *facts) gathered(key, v string) (bytes float64) {
	seen := map[string]bool{}
	each := func(a *cin.Access) {
		t := f.tensor(a.Name)
		if t == nil || seen[a.Name] {
			return
		}
		if a.Key() == key && slices.Index(t.levels(a), v) == t.order()-1 {
			return // in the order of its entries
		}
		has := false
		n := float64(t.Type.Size())
		for _, x := range a.Vars {
			has = has || x == v
			n *= float64(f.Sizes[x])
		}
		switch {
		case !has:
			return
		case !t.Format.AllDense():
			n = math.Inf(1)
		}
		seen[a.Name] = true
		bytes += n
	}
	cin.Walk(f.stmt, func(s cin.Stmt) {
		if l, ok := s.(*cin.Forall); ok && l.Var == v && holds(l, key) {
			cin.Accesses(l.Body, each)
		}
	})
	return bytes
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

// holds tells whether a statement reads the access called key.
func holds(s cin.Stmt, key string) bool {
	found := false
	cin.Accesses(s, func(a *cin.Access) { found = found || a.Key() == key })
	return found
}
