package prepared

import (
	"iter"
	"math"
	"math/bits"
	"regexp"
	"slices"

	"distaff/codegen"
	"distaff/codegen/cin"
	"distaff/codegen/notation"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd/exec"
	"distaff/spmd/plan"
)

// wholeShare is a fraction in quarters. If a rank reads at least this fraction of an operand's
// rows, it gathers all rows, because packing single rows would cost more than it saves.
const wholeShare = 3

// rows returns the rows of a gathered operand that this rank's steps read. A row is a coordinate of
// the operand's outermost stored mode. The rows are known if sparse operands multiply the gathered
// operand, and this rank owns all blocks of the sparse operands that its steps read. The
// coordinates in these blocks are then the rows. If the rows are not known, or if they are most of
// all rows, the function returns all rows.
func (k *Statement) rows(operand int) exec.Rows {
	o := &k.Problem.Operands[operand]
	mode := k.Reader.Formats[o.Tensor].Order[0]
	v, size := o.Vars[mode], k.Reader.Sizes.Dims[o.Tensor][mode]
	all := exec.Rows{All: true, Within: [2]int64{0, size}}
	seen := make([]uint64, (size+63)/64)
	var drivers []coordLevel
	for _, t := range k.Problem.Norm.Terms {
		if !readsOperand(t, o.Name) {
			continue
		}
		by := k.driver(t, v)
		if by.operand < 0 || !k.eachBlock(by, func(t *tcs.Tensor) { markLevel(seen, t, by.level) }) {
			return all
		}
		drivers = append(drivers, by)
	}
	all.Spans = rowsOfSteps(k.Problem.EachStep(k.Reader.Env.Comm.Rank()), drivers,
		func(n plan.Need) *tcs.Tensor { return k.exec.Own[n.Operand][n.Block] })
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
	return exec.Rows{List: list, Within: k.accessRange(v, all.Within), Spans: all.Spans}
}

// rowsOfSteps returns, for each step, a range that contains all rows of a gathered operand that the
// step reads. drivers are levels of other operands whose coordinates are the numbers of the rows.
// The function block returns the block of such an operand that a step reads. The result is nil if
// there is at most one step.
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

// accessRange returns a range that contains every value of variable v at which a leaf may access an
// operand. The argument full is the whole range of v, which is returned if nothing smaller is
// known.
func (k *Statement) accessRange(v string, full [2]int64) [2]int64 {
	list := k.boundingLevels(v)
	r := [2]int64{full[1], full[0]}
	for _, s := range list {
		if !k.eachBlock(s, func(t *tcs.Tensor) { spanLevel(&r, t, s.level) }) {
			return full
		}
	}
	if len(list) == 0 {
		return full
	}
	return [2]int64{min(r[0], r[1]), r[1]}
}

// boundingLevels returns levels of operands that bound v: every loop over v in a leaf visits only
// coordinates of these levels. It returns nil if a loop may visit others. This may be the loop of a
// term that no level bounds, the loop of a workspace or counter, or a loop over a dense level of an
// operand's copy.
func (k *Statement) boundingLevels(v string) (list []coordLevel) {
	if k.mayVisitUnstored() || k.hasWorkspaceOver(v) {
		return nil
	}
	for _, t := range k.Problem.Norm.Terms {
		loops := slices.Contains(k.Problem.Norm.LHS.Vars, v)
		notation.WalkTerm(t, func(e notation.Expr) bool {
			a, ok := e.(*notation.Access)
			if ok && slices.Contains(a.Vars, v) {
				loops = true
				list = append(list, k.levels(a, v)...)
			}
			return true
		})
		if loops && k.driver(t, v).operand < 0 {
			return nil
		}
	}
	if slices.ContainsFunc(list, func(s coordLevel) bool { return k.copiedDense(s.operand, v) }) {
		return nil
	}
	return list
}

// copiedDense reports whether a leaf reads an operand in a converted copy that stores no
// coordinates of v.
func (k *Statement) copiedDense(operand int, v string) bool {
	o := &k.Problem.Operands[operand]
	stores := func(f tensor.Format) bool {
		for l, m := range f.Order {
			if o.Vars[m] == v && f.Levels[l].HasCrd() {
				return true
			}
		}
		return false
	}
	return slices.ContainsFunc(k.leaves, func(s *leaf) bool {
		return slices.ContainsFunc(s.unit.Args[1:],
			func(a codegen.Arg) bool { return a.Convert && a.Tensor == o.Name && !stores(a.Format) })
	})
}

// hasWorkspaceOver reports whether a leaf has a workspace over variable v. The loops that read the
// workspace may visit all coordinates of v.
func (k *Statement) hasWorkspaceOver(v string) bool {
	found := false
	for _, s := range k.leaves {
		cin.Walk(s.unit.CIN, func(t cin.Stmt) {
			w, ok := t.(*cin.Where)
			found = found || ok && slices.Contains(cin.Target(w.Producer).Vars, v)
		})
	}
	return found
}

// mayVisitUnstored reports whether the user's schedule may have loops that visit coordinates which
// no operand stores. These are loops over workspaces, and loops over tiles or fused pairs that do
// not run in the order of coordinates: such loops count through the coordinates and look operands
// up.
func (k *Statement) mayVisitUnstored() bool {
	commands, _ := k.Problem.LeafSchedule()
	has := func(names string) bool {
		is := regexp.MustCompile(`\b(` + names + `)\s*\(`)
		return slices.ContainsFunc(commands, is.MatchString)
	}
	return has("precompute") || has("split|divide") && has("fuse|reorder") ||
		has("fuse") && has("reorder")
}

// Drivers returns the indices of the operands that determine which rows of a gathered operand are
// needed. The coordinates of the operands in drivers are the numbers of the rows that are read. The
// coordinates of the operands in bounding bound the rows that must be in memory. A list is nil if
// all rows are needed. Drivers must be called after Units.
func (k *Statement) Drivers(operand int) (drivers, bounding []int) {
	o := &k.Problem.Operands[operand]
	mode := k.Reader.Formats[o.Tensor].Order[0]
	for _, s := range k.boundingLevels(o.Vars[mode]) {
		bounding = append(bounding, s.operand)
	}
	for _, t := range k.Problem.Norm.Terms {
		if !readsOperand(t, o.Name) {
			continue
		}
		s := k.driver(t, o.Vars[mode])
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

// coordLevel is a level of an operand that determines coordinates of entries. The level stores the
// coordinates, or it is a dense level above a level that does. The second case is only possible in
// the operand whose entries are cut into chunks for the ranks.
type coordLevel struct{ operand, level int }

// driver returns a level of a factor of term t that determines variable v. The term is zero at
// every value of v that the level does not store. If there is no such level, the operand of the
// result is -1.
func (k *Statement) driver(t *notation.Term, v string) coordLevel {
	for _, f := range t.Factors {
		if a, ok := f.(*notation.Access); ok {
			if list := k.levels(a, v); len(list) > 0 {
				return list[0]
			}
		}
	}
	return coordLevel{operand: -1}
}

// levels returns the levels of an access that determine the values of variable v; see coordLevel.
func (k *Statement) levels(a *notation.Access, v string) (list []coordLevel) {
	n := slices.IndexFunc(k.Problem.Operands, func(o plan.Operand) bool { return o.Name == a.Name })
	if n < 0 {
		return nil
	}
	form := k.Reader.Formats[k.Problem.Operands[n].Tensor]
	for l, m := range form.Order {
		if a.Vars[m] == v && (form.Levels[l].HasCrd() || k.cutBelow(n, l)) {
			list = append(list, coordLevel{n, l})
		}
	}
	return list
}

// cutBelow reports whether ranks have chunks of an operand's entries, and the chunks begin and end
// at a level below l.
func (k *Statement) cutBelow(operand, l int) bool {
	o := k.Problem.Operands[operand]
	return operand == k.Problem.Stored() && l+1 < len(o.Partition.Ordered().Modes)
}

// eachBlock calls f with each block of operand s.operand that this rank's steps read. It stops and
// returns false at a block that another rank owns.
func (k *Statement) eachBlock(s coordLevel, f func(t *tcs.Tensor)) bool {
	for _, a := range k.Problem.Arrivals(k.Reader.Env.Comm.Rank(), s.operand) {
		for _, b := range a.Blocks {
			t := k.exec.Own[s.operand][b]
			if t == nil {
				return false
			}
			f(t)
		}
	}
	return true
}

// markLevel sets bit c of seen for each coordinate c of a level.
func markLevel(seen []uint64, t *tcs.Tensor, level int) {
	eachCoordinate(t, level, func(c int64) {
		if c>>6 < int64(len(seen)) {
			seen[c>>6] |= 1 << (c & 63)
		}
	})
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
