package notation

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"distaff/codegen/diag"
)

// ranged is an access to a pick: the coordinate of its last variable is an affine form of its other
// variables.
type ranged struct {
	*Access
	from []string // the other variables
	to   string   // the last variable
}

// ranges lists the picks of the statement.
func (g *sizeGraph) ranges() (list []ranged) {
	for _, a := range g.n.Accesses() {
		if n := len(a.Vars) - 1; a.IsPick() {
			list = append(list, ranged{a, a.Vars[:n], a.Vars[n]})
		}
	}
	return list
}

// window computes sizes that no source gives. sizes has the known sizes by class, and window adds
// others: a variable of an index gets the largest size for which the index is in range, and then a
// mode without a size gets the smallest size for which its indices are in range. If only an index
// that may be outside of its range has a variable, the variable gets the size of the mode.
func (g *sizeGraph) window(sizes map[string]int64) {
	list := g.ranges()
	for g.windowStep(list, sizes) || g.smallest(list, sizes) {
	}
	for _, r := range list {
		if n, ok := sizes[g.find(r.to)]; ok && r.Made.Outside && len(r.from) == 1 {
			if _, ok := sizes[g.find(r.from[0])]; !ok {
				sizes[g.find(r.from[0])] = n
			}
		}
	}
}

// smallest computes the size of a mode without a size: the smallest size for which all indices of
// the mode are in range. It leaves out modes of unread files. It returns false if no other mode has
// indices with known sizes.
func (g *sizeGraph) smallest(list []ranged, sizes map[string]int64) (found bool) {
	need, open := map[string]int64{}, map[string]bool{}
	for _, f := range g.facts {
		open[g.find(f.node)] = open[g.find(f.node)] || f.known.Size == Unread
	}
	for _, r := range list {
		to := g.find(r.to)
		if _, ok := sizes[to]; ok || r.Made.Outside {
			continue
		}
		high := r.Made.Const
		for k, v := range r.from {
			n, ok := sizes[g.find(v)]
			if !ok {
				open[to] = true
			}
			high = reach(high, max(r.Made.Coef[k], 0), n)
		}
		need[to] = max(need[to], high+1)
	}
	for to, n := range need {
		if !open[to] {
			sizes[to], found = n, true
		}
	}
	return found
}

// windowStep computes one unknown size, from all indices whose other sizes are known. It prefers a
// variable all of whose indices have known sizes. It returns false if it cannot compute any.
func (g *sizeGraph) windowStep(list []ranged, sizes map[string]int64) bool {
	for _, partly := range []bool{false, true} {
		for _, v := range g.n.Vars {
			if _, ok := sizes[g.find(v)]; ok {
				continue
			}
			if n, ok := g.largest(g.find(v), list, sizes, partly); ok {
				sizes[g.find(v)] = n
				return true
			}
		}
	}
	return false
}

// largest returns the largest size of a class of variables for which all indices with the class are
// in range. Indices with another unknown size are left out if partly is true. If partly is false,
// largest returns false if there is one. It also returns false if no index limits the size.
func (g *sizeGraph) largest(class string, list []ranged, sizes map[string]int64, partly bool) (int64,
	bool) {
	size, found := int64(math.MaxInt64), false
	for _, r := range list {
		if r.Made.Outside || !g.inIndex(class, r) {
			continue
		}
		n, ok := g.limit(class, r, sizes)
		switch {
		case ok:
			size, found = min(size, n), true
		case !partly:
			return 0, false
		}
	}
	return size, found
}

// inIndex reports whether index r depends on a variable of class.
func (g *sizeGraph) inIndex(class string, r ranged) bool {
	for k, v := range r.from {
		if g.find(v) == class && r.Made.Coef[k] != 0 {
			return true
		}
	}
	return false
}

// limit returns the largest size of class for which index r is in range. It returns false if the
// size of the mode or of another class in the index is not known.
func (g *sizeGraph) limit(class string, r ranged, sizes map[string]int64) (int64, bool) {
	mode, ok := sizes[g.find(r.to)]
	if !ok {
		return 0, false
	}
	low, high := r.Made.Const, r.Made.Const
	var up, down int64 // the coefficients of class, which several variables may belong to
	for k, v := range r.from {
		c := r.Made.Coef[k]
		if g.find(v) == class {
			up, down = up+max(c, 0), down+max(-c, 0)
			continue
		}
		n, ok := sizes[g.find(v)]
		if !ok {
			return 0, false
		}
		low, high = reach(low, min(c, 0), n), reach(high, max(c, 0), n)
	}
	size := int64(math.MaxInt64)
	if up > 0 {
		size = min(size, atLeast0(mode-1-high, up))
	}
	if down > 0 {
		size = min(size, atLeast0(low, down))
	}
	return size, true
}

// reach returns at + c*(n-1), at most 2^62 and at least -2^62. A range without elements reaches
// nothing.
func reach(at, c, n int64) int64 {
	if n == 0 {
		return at
	}
	if x := float64(at) + float64(c)*float64(n-1); math.Abs(x) > 1<<62 {
		return int64(math.Copysign(1<<62, x))
	}
	return at + c*(n-1)
}

// atLeast0 returns the number of multiples of by from 0 to room.
func atLeast0(room, by int64) int64 {
	if room < 0 {
		return 0
	}
	return room/by + 1
}

// inRange returns an error if an index is out of range at some coordinates of its variables.
func (g *sizeGraph) inRange(size func(v string) int64) error {
next:
	for _, r := range g.ranges() {
		low, high := r.Made.Const, r.Made.Const
		for k, v := range r.from {
			if size(v) == 0 {
				continue next
			}
			low = reach(low, min(r.Made.Coef[k], 0), size(v))
			high = reach(high, max(r.Made.Coef[k], 0), size(v))
		}
		mode := size(r.to)
		if r.Made.Outside || low >= 0 && high < mode {
			if err := g.single(r, size); err != nil {
				return err
			}
			continue
		}
		bad := high
		if low < 0 {
			bad = low
		}
		where := ""
		for k, v := range r.from {
			c := int64(0)
			if (r.Made.Coef[k] > 0) == (bad == high) {
				c = size(v) - 1
			}
			where += fmt.Sprintf(", %s = %d", g.userName(v), c)
		}
		if where != "" {
			where = " at" + where[1:]
		}
		return diag.At(diag.BadIndex, g.n.Src, r.At.Pos, r.At.End,
			"got index %d%s in %s, want one from 0 to %d; with ~ before the index, the tensor is "+
				"absent there", bad, where, r.Made.Text, mode-1)
	}
	return nil
}

// maxCounted is the largest number of coordinates for which single counts how often an index has
// each value.
const maxCounted = 1 << 24

// single returns an error if r is an index of the left side of = that has the same value twice. The
// variables that are indices of the left side by themselves are fixed.
func (g *sizeGraph) single(r ranged, size func(v string) int64) error {
	if !r.Made.Single {
		return nil
	}
	var coef, sizes []int64
	space := 1.0
	for k, v := range r.from {
		if !slices.Contains(g.n.LHS.Vars, v) && size(v) > 1 {
			coef, sizes = append(coef, max(r.Made.Coef[k], -r.Made.Coef[k])), append(sizes, size(v))
			space *= float64(size(v))
		}
	}
	if spread(coef, sizes) {
		return nil
	}
	why := "two values for one place"
	if space <= maxCounted && !slices.Contains(coef, 0) {
		seen := map[int64]bool{}
		var visit func(k int, sum int64) bool
		visit = func(k int, sum int64) bool {
			if k == len(coef) {
				twice := seen[sum]
				seen[sum] = true
				return twice
			}
			for c := range sizes[k] {
				if visit(k+1, sum+coef[k]*c) {
					return true
				}
			}
			return false
		}
		if !visit(0, 0) {
			return nil
		}
	} else if !slices.Contains(coef, 0) {
		why = "an index that may have the same value twice"
	}
	return diag.At(diag.LeftRepeat, g.n.Src, r.At.Pos, r.At.End,
		"got %s of %s, want one value for each place; += adds several", why, r.Made.Text)
}

// spread reports whether each step of a variable with a larger coefficient passes all values that
// the variables with smaller coefficients reach. The sum then has each value once.
func spread(coef, sizes []int64) bool {
	order := make([]int, len(coef))
	for k := range order {
		order[k] = k
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(coef[a], coef[b]) })
	high := int64(0)
	for _, k := range order {
		if coef[k] <= high {
			return false
		}
		high = reach(high, coef[k], sizes[k])
	}
	return true
}
