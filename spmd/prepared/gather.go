package prepared

import (
	"iter"
	"math"
	"math/bits"
	"regexp"
	"slices"

	"distaff/codegen"
	"distaff/codegen/notation"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd/exec"
	"distaff/spmd/plan"
)

// wholeShare is the share of an operand's rows, in quarters, from which on all of them are
// gathered: the few that are spared are not worth packing the others one by one.
const wholeShare = 3

// rows are the rows of a gathered operand that this rank's steps read: the coordinates of the
// sparse operands that it is multiplied with, where these have all their blocks here; else all.
func (k *Statement) rows(operand int) exec.Rows {
	o := &k.Problem.Operands[operand]
	mode := k.Reader.Formats[o.Tensor].Order[0]
	v, size := o.Vars[mode], k.Reader.Sizes.Dims[o.Tensor][mode]
	all := exec.Rows{All: true, Within: [2]int64{0, size}}
	seen := make([]uint64, (size+63)/64)
	var drivers []stored
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
	return exec.Rows{List: list, Within: k.within(v, all.Within), Spans: all.Spans}
}

// rowsOfSteps are, by step, a range in which the coordinates of the drivers' blocks lie that the
// step reads; nil where there is one step at most.
func rowsOfSteps(steps iter.Seq[*plan.Step], drivers []stored,
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
			at := slices.IndexFunc(drivers, func(d stored) bool { return d.operand == n.Operand })
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

// within is a range of coordinates of v, of all of them, that has those at which leaves look at a
// tensor that they multiply with others: they may look at it wherever their loop over v comes.
func (k *Statement) within(v string, all [2]int64) [2]int64 {
	list := k.bounding(v)
	r := [2]int64{all[1], all[0]}
	for _, s := range list {
		if !k.eachBlock(s, func(t *tcs.Tensor) { spanLevel(&r, t, s.level) }) {
			return all
		}
	}
	if len(list) == 0 {
		return all
	}
	return [2]int64{min(r[0], r[1]), r[1]}
}

// bounding are the levels at whose coordinates alone loops over v come, where each term's loop goes
// over some. It is nil where one may come to others: that of a term which no level bounds, or of a
// workspace, or one that counts, or one over a dense level of an operand's copy.
func (k *Statement) bounding(v string) (list []stored) {
	if k.looksBeside() {
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
	if slices.ContainsFunc(list, func(s stored) bool { return k.copiedDense(s.operand, v) }) {
		return nil
	}
	return list
}

// copiedDense tells whether a leaf reads an operand in a copy that stores no coordinates of v.
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

// looksBeside tells whether the leaf's schedule may have loops that come to coordinates which no
// operand stores: over workspaces, or over tiles or pairs in another order than that of the
// coordinates, which count and look operands up.
func (k *Statement) looksBeside() bool {
	commands, _ := k.Problem.LeafSchedule()
	has := func(names string) bool {
		is := regexp.MustCompile(`\b(` + names + `)\s*\(`)
		return slices.ContainsFunc(commands, is.MatchString)
	}
	return has("precompute") || has("split|divide") && has("fuse|reorder") ||
		has("fuse") && has("reorder")
}

// Drivers are the operands whose coordinates say which rows of a gathered operand are read, nil
// where all are read; and those whose coordinates bound the rows that are in memory, nil where all
// are. It comes after Units.
func (k *Statement) Drivers(operand int) (by, bounding []int) {
	o := &k.Problem.Operands[operand]
	mode := k.Reader.Formats[o.Tensor].Order[0]
	for _, s := range k.bounding(o.Vars[mode]) {
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
		by = append(by, s.operand)
	}
	return by, bounding
}

func readsOperand(t *notation.Term, name string) bool {
	found := false
	notation.WalkTerm(t, func(e notation.Expr) bool {
		a, ok := e.(*notation.Access)
		found = found || ok && a.Name == name
		return !found
	})
	return found
}

// stored is a level of an operand that has the coordinates of its entries: it stores them, or it is
// a dense one, with others below that do, of the operand whose entries the ranks have chunks of.
type stored struct{ operand, level int }

// driver is a factor of a term with such a level of v, so that the term is zero elsewhere; operand
// -1 for none.
func (k *Statement) driver(t *notation.Term, v string) stored {
	for _, f := range t.Factors {
		if a, ok := f.(*notation.Access); ok {
			if list := k.levels(a, v); len(list) > 0 {
				return list[0]
			}
		}
	}
	return stored{operand: -1}
}

// levels are those of an access that have coordinates of v.
func (k *Statement) levels(a *notation.Access, v string) (list []stored) {
	n := slices.IndexFunc(k.Problem.Operands, func(o plan.Operand) bool { return o.Name == a.Name })
	if n < 0 {
		return nil
	}
	form := k.Reader.Formats[k.Problem.Operands[n].Tensor]
	for l, m := range form.Order {
		if a.Vars[m] == v && (form.Levels[l].HasCrd() || k.cutBelow(n, l)) {
			list = append(list, stored{n, l})
		}
	}
	return list
}

// cutBelow tells whether the ranks have chunks of the entries of an operand, which levels below l
// tell apart.
func (k *Statement) cutBelow(operand, l int) bool {
	o := k.Problem.Operands[operand]
	return operand == k.Problem.Stored() && l+1 < len(o.Partition.Ordered().Modes)
}

// eachBlock calls f with the blocks of a level's operand that this rank's steps read; false where
// some of these live elsewhere.
func (k *Statement) eachBlock(s stored, f func(t *tcs.Tensor)) bool {
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

// markLevel notes the coordinates of a level.
func markLevel(seen []uint64, t *tcs.Tensor, level int) {
	eachCoordinate(t, level, func(c int64) {
		if c>>6 < int64(len(seen)) {
			seen[c>>6] |= 1 << (c & 63)
		}
	})
}

// spanLevel widens a range to hold the coordinates of a level at which leaves look at others: of a
// dense one, all that the block has.
func spanLevel(r *[2]int64, t *tcs.Tensor, level int) {
	if lev := &t.Levels[level]; lev.Form() == tensor.Full {
		if own := t.Header.Range(lev.Mode); own[0] < own[1] {
			r[0], r[1] = min(r[0], own[0]), max(r[1], own[1])
		}
		return
	}
	eachCoordinate(t, level, func(c int64) { r[0], r[1] = min(r[0], c), max(r[1], c+1) })
}

// eachCoordinate calls f with those of a level that are not padding, of a dense one with those
// below which there may be entries.
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
