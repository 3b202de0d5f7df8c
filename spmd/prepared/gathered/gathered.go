// Package gathered determines which rows of a gathered operand a rank's steps read. A gathered
// operand is cut into rows, and each rank receives the rows that it reads.
package gathered

import (
	"iter"
	"math"
	"math/bits"
	"slices"

	"distaff/codegen"
	"distaff/codegen/cin"
	"distaff/codegen/notation"
	"distaff/codegen/schedule"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd/exec"
	"distaff/spmd/plan"
)

// wholeShare is a number of quarters. If a rank reads at least wholeShare/4 of an operand's rows,
// it gathers all rows.
const wholeShare = 3

// Query asks about the gathered operands of a statement.
type Query struct {
	Problem *plan.Problem
	Formats map[string]tensor.Format // of every tensor
	Units   []*codegen.Unit          // of the leaves, one for each group of terms
}

// Held holds what a rank knows when it runs the statement.
type Held struct {
	Rank  int
	Sizes map[string][]int64           // of every tensor
	Own   []map[plan.Block]*tcs.Tensor // by operand: the blocks that the rank owns
}

// Rows returns the rows of a gathered operand that this rank's steps read. A row is a coordinate of
// the operand's outermost stored mode.
//
// The rows are known if two conditions hold. First, in each term that reads the gathered operand,
// another operand determines the rows (see driver). Second, this rank owns all blocks of these
// other operands that its steps read. The rows are then the coordinates in these blocks. If the
// rows are not known, or if they are a large part of all rows (see wholeShare), Rows returns all
// rows.
func (q *Query) Rows(h *Held, operand int) exec.Rows {
	o := &q.Problem.Operands[operand]
	mode := q.Formats[o.Tensor].Order[0]
	v, size := o.Vars[mode], h.Sizes[o.Tensor][mode]
	all := exec.Rows{All: true, Within: [2]int64{0, size}}
	seen := make([]uint64, (size+63)/64)
	var drivers []coordLevel
	for _, t := range q.Problem.Norm.Terms {
		if !readsOperand(t, o.Name) {
			continue
		}
		by := q.driver(t, v)
		mark := func(c int64) {
			if c>>6 < int64(len(seen)) {
				seen[c>>6] |= 1 << (c & 63)
			}
		}
		if by.operand < 0 || !q.eachBlock(h, by,
			func(t *tcs.Tensor) { eachCoordinate(t, by.level, mark) }) {
			return all
		}
		drivers = append(drivers, by)
	}
	all.Spans = rowsOfSteps(q.Problem.EachStep(h.Rank), drivers,
		func(n plan.Need) *tcs.Tensor { return h.Own[n.Operand][n.Block] })
	n := 0
	for _, w := range seen {
		n += bits.OnesCount64(w)
	}
	if int64(n)*4 >= size*wholeShare {
		return all
	}
	list := make([]int64, 0, n)
	for at, w := range seen {
		for ; w != 0; w &= w - 1 {
			list = append(list, int64(at)*64+int64(bits.TrailingZeros64(w)))
		}
	}
	return exec.Rows{List: list, Within: q.accessRange(h, v, all.Within), Spans: all.Spans}
}

// rowsOfSteps returns, for each step, a range that contains all rows of a gathered operand that the
// step reads. It returns nil if there is at most one step. drivers holds levels of other operands.
// The coordinates in these levels are the numbers of the rows. The function block returns the block
// of such an operand that a step needs.
func rowsOfSteps(steps iter.Seq[*plan.Step], drivers []coordLevel,
	block func(plan.Need) *tcs.Tensor) (list [][2]int64) {
	several := 0
	for range steps {
		if several++; several == 2 {
			break
		}
	}
	if several < 2 {
		return nil
	}
	seen := map[plan.Need][2]int64{}
	for s := range steps {
		rows := [2]int64{math.MaxInt64, math.MinInt64}
		for _, n := range s.Need {
			at := slices.IndexFunc(drivers, func(d coordLevel) bool { return d.operand == n.Operand })
			if at < 0 {
				continue
			}
			r, ok := seen[n]
			if !ok {
				r = [2]int64{math.MaxInt64, math.MinInt64}
				eachCoordinate(block(n), drivers[at].level,
					func(c int64) { r[0], r[1] = min(r[0], c), max(r[1], c+1) })
				seen[n] = r
			}
			rows = [2]int64{min(rows[0], r[0]), max(rows[1], r[1])}
		}
		list = append(list, rows)
	}
	return list
}

// accessRange returns a range of variable v. A leaf accesses an operand only at values of v in this
// range. The argument full is the whole range of v, which is returned if nothing smaller is
// known.
func (q *Query) accessRange(h *Held, v string, full [2]int64) [2]int64 {
	list := q.boundingLevels(v)
	r := [2]int64{full[1], full[0]}
	for _, s := range list {
		if !q.eachBlock(h, s, func(t *tcs.Tensor) { spanLevel(&r, t, s.level) }) {
			return full
		}
	}
	if len(list) == 0 {
		return full
	}
	return [2]int64{min(r[0], r[1]), r[1]}
}

// boundingLevels returns levels that bound variable v: every loop over v in a leaf visits only
// coordinates of these levels. It returns nil if a leaf may have a loop over v that visits other
// coordinates. Examples are a loop of a term in which no level bounds v, a loop over a workspace, a
// loop that counts, and a loop over a dense level of an operand's copy.
func (q *Query) boundingLevels(v string) (list []coordLevel) {
	if q.mayVisitUnstored() || q.hasWorkspaceOver(v) {
		return nil
	}
	for _, t := range q.Problem.Norm.Terms {
		loops := slices.Contains(q.Problem.Norm.LHS.Vars, v)
		notation.WalkTerm(t, func(e notation.Expr) bool {
			a, ok := e.(*notation.Access)
			if ok && slices.Contains(a.Vars, v) {
				loops = true
				list = append(list, q.levels(a, v)...)
			}
			return true
		})
		if loops && q.driver(t, v).operand < 0 {
			return nil
		}
	}
	if slices.ContainsFunc(list, func(s coordLevel) bool { return q.copiedDense(s.operand, v) }) {
		return nil
	}
	return list
}

// copiedDense reports whether a leaf reads a converted copy of an operand, and the copy stores no
// coordinates of variable v.
func (q *Query) copiedDense(operand int, v string) bool {
	o := &q.Problem.Operands[operand]
	stores := func(f tensor.Format) bool {
		for l, m := range f.Order {
			if o.Vars[m] == v && f.Levels[l].HasCrd() {
				return true
			}
		}
		return false
	}
	return slices.ContainsFunc(q.Units, func(u *codegen.Unit) bool {
		return slices.ContainsFunc(u.Args[1:],
			func(a codegen.Arg) bool { return a.Convert && a.Tensor == o.Name && !stores(a.Format) })
	})
}

// hasWorkspaceOver reports whether a leaf has a workspace over variable v. The loops that read the
// workspace may visit all coordinates of v.
func (q *Query) hasWorkspaceOver(v string) bool {
	found := false
	for _, u := range q.Units {
		cin.Walk(u.CIN, func(t cin.Stmt) {
			w, ok := t.(*cin.Where)
			found = found || ok && slices.Contains(cin.Target(w.Producer).Vars, v)
		})
	}
	return found
}

// mayVisitUnstored reports whether the user's schedule may have loops that visit coordinates which
// no operand stores. A loop over a workspace may visit such coordinates. A loop over tiles or over
// fused pairs may also visit them, if the loop does not run in the order of coordinates. Such a
// loop counts through the coordinates and looks operands up.
func (q *Query) mayVisitUnstored() bool {
	list, _ := q.Problem.LeafSchedule()
	commands, _ := schedule.Parse(list) // compiling a leaf reports the error
	has := func(names ...string) bool {
		return slices.ContainsFunc(commands,
			func(c *schedule.Command) bool { return slices.Contains(names, c.Name) })
	}
	return has("precompute") || has("split", "divide") && has("fuse", "reorder") ||
		has("fuse") && has("reorder")
}

// Drivers returns two lists of operands, by their indices. The operands in the list `drivers`
// determine which rows of a gathered operand are read: their coordinates are the numbers of these
// rows. The operands in the list `bounding` determine which rows must be in memory: their
// coordinates bound these rows. If all rows are needed, drivers is nil. If all rows must be in
// memory, bounding is nil. Drivers must be called after Units.
func (q *Query) Drivers(operand int) (drivers, bounding []int) {
	o := &q.Problem.Operands[operand]
	mode := q.Formats[o.Tensor].Order[0]
	for _, s := range q.boundingLevels(o.Vars[mode]) {
		bounding = append(bounding, s.operand)
	}
	for _, t := range q.Problem.Norm.Terms {
		if !readsOperand(t, o.Name) {
			continue
		}
		s := q.driver(t, o.Vars[mode])
		if s.operand < 0 {
			return nil, nil
		}
		drivers = append(drivers, s.operand)
	}
	return drivers, bounding
}

// readsOperand reports whether a term has an access with that name.
func readsOperand(t *notation.Term, name string) bool {
	found := false
	notation.WalkTerm(t, func(e notation.Expr) bool {
		a, ok := e.(*notation.Access)
		found = found || ok && a.Name == name
		return !found
	})
	return found
}

// coordLevel is a level of an operand that determines coordinates of entries. Usually the level
// itself stores the coordinates. In an operand whose entries are divided into chunks for the ranks,
// it may also be a dense level above a level that stores coordinates.
type coordLevel struct{ operand, level int }

// driver returns a level that determines variable v in term t. The level belongs to a factor of t.
// The term is zero at every value of v that the level does not store. Without such a level,
// the operand of the result is -1.
func (q *Query) driver(t *notation.Term, v string) coordLevel {
	for _, f := range t.Factors {
		if a, ok := f.(*notation.Access); ok {
			if list := q.levels(a, v); len(list) > 0 {
				return list[0]
			}
		}
	}
	return coordLevel{operand: -1}
}

// levels returns the levels of an access that determine the values of variable v; see coordLevel.
func (q *Query) levels(a *notation.Access, v string) (list []coordLevel) {
	n := slices.IndexFunc(q.Problem.Operands, func(o plan.Operand) bool { return o.Name == a.Name })
	if n < 0 {
		return nil
	}
	form := q.Formats[q.Problem.Operands[n].Tensor]
	for l, m := range form.Order {
		if a.Vars[m] == v && (form.Levels[l].HasCrd() || q.cutBelow(n, l)) {
			list = append(list, coordLevel{n, l})
		}
	}
	return list
}

// cutBelow reports whether ranks have chunks of an operand's entries, and the chunks begin and end
// at a level below l.
func (q *Query) cutBelow(operand, l int) bool {
	o := q.Problem.Operands[operand]
	return operand == q.Problem.Stored() && l+1 < len(o.Partition.Ordered().Modes)
}

// eachBlock calls f with each block of operand s.operand that this rank's steps read. It stops and
// returns false at a block that another rank owns.
func (q *Query) eachBlock(h *Held, s coordLevel, f func(t *tcs.Tensor)) bool {
	for _, a := range q.Problem.Arrivals(h.Rank, s.operand) {
		for _, b := range a.Blocks {
			t := h.Own[s.operand][b]
			if t == nil {
				return false
			}
			f(t)
		}
	}
	return true
}

// spanLevel extends the range r so that it contains the coordinates of a level of tensor t. While a
// leaf iterates over this level, it may access other operands at these coordinates. For a dense
// level, these are all coordinates of the block.
func spanLevel(r *[2]int64, t *tcs.Tensor, level int) {
	if lev := &t.Levels[level]; lev.Form() == tensor.Full {
		if own := t.Header.Range(lev.Mode); own[0] < own[1] {
			r[0], r[1] = min(r[0], own[0]), max(r[1], own[1])
		}
		return
	}
	eachCoordinate(t, level, func(c int64) { r[0], r[1] = min(r[0], c), max(r[1], c+1) })
}

// eachCoordinate calls f with each coordinate of a level, except padding. For a dense level, it
// skips the coordinates that are known to have no entries.
func eachCoordinate(t *tcs.Tensor, level int, f func(c int64)) {
	if lev := &t.Levels[level]; lev.Form() == tensor.Full {
		r, below := t.Header.Range(lev.Mode), &t.Levels[level+1]
		for c := r[0]; c < r[1]; c++ {
			q := c - lev.Offset - below.Pos.First
			if level > 0 || below.Form() != tensor.Segmented || below.Pos.Int(q) < below.Pos.Int(q+1) {
				f(c)
			}
		}
		return
	}
	crd := t.Levels[level].Crd
	var part [1024]int64
	for at := int64(0); at < crd.Len; at += int64(len(part)) {
		list := part[:min(int64(len(part)), crd.Len-at)]
		crd.Ints(list, at)
		for _, c := range list {
			if c >= 0 {
				f(c)
			}
		}
	}
}
