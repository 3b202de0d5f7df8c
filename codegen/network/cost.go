package network

import (
	"slices"

	"distaff/codegen/strategy"
)

// Costs are in multiply-adds of a scalar loop.
const (
	// laneCost is that of loading a value in the lanes of a loop along contiguous memory, which takes
	// as long as all that is done with it, and shortRow of such a loop at least, in which one sum
	// waits for another.
	laneCost, shortRow = 1. / 8, 2
	madeLane           = laneCost / 2 // of a value of an intermediate, which is near or in registers
	// of bringing a place of a row that is summed into to the registers, and back
	storeCost = 0.2
	byteCost  = 1. / 64 // of a byte that is read
	mergeCost = 1.5     // of a step in a list, where several are walked together
	// A coordinate and a value that is read take about so many bytes.
	crdBytes, valueBytes = 4, 8
	// astray is that of an addition to an intermediate along another variable than the result's last,
	// along which what reads it goes where it can, and by which it is stored then.
	astray = 0.05
	// apartCost is that of an addition to a place which has to be computed from more than the
	// coordinate of the innermost loop: measured, 0.65 ns for 0.5, from places 16 bytes apart on and
	// in the nearest cache.
	apartCost = 0.6
	// beginCost is that of loops of a producer that begin.
	beginCost = 8
	// clearCost is that of setting a place of an array to 0.
	clearCost = 0.05
	// rowCost is that of saying where a row of an intermediate begins.
	rowCost = 0.5
	// appendList and appendHash are those of an addition to a workspace that a result which is
	// appended to in order needs where its loops come in another: over one variable or several.
	appendList, appendHash = 4, 30
	// serialCost is the share of their own cost that a producer's loops cost on top where it stands
	// outside of all loops and other threads wait for one that runs them.
	serialCost = 0.5
	// partsCost is that of loops that all threads run, each for a part of the result.
	partsCost = 0.02
)

// Kind is the kind of an intermediate.
type Kind uint8

const (
	Scalar Kind = iota // one number
	Array              // a place for every coordinate; filled everywhere or nowhere
	Marks              // a place and a mark for every coordinate, outside of all loops
	Lists              // a place for every coordinate, and a list of those that are filled
	Hash               // a hash table
)

func (k Kind) String() string {
	return [...]string{"scalar", "array", "array with marks", "list", "hash table"}[k]
}

// Of each kind: what a use costs, an addition more than the multiplication itself, and an entry as
// it is put in order.
var (
	useCost   = [...]float64{Scalar: 1, Array: 4, Marks: 6, Lists: 6, Hash: 40}
	addCost   = [...]float64{Scalar: 0, Array: 0, Marks: 1, Lists: 2, Hash: 20}
	orderCost = [...]float64{Scalar: 0, Array: 0, Marks: 2, Lists: 4, Hash: 25}
)

// convertCost is the cost of an entry that is sorted into another order, once.
const convertCost = 50

// Converting returns the cost of storing an access in another order. It counts no more entries than
// the tensor has positions, or than its modes of these sizes have coordinates.
func (a Access) Converting(sizes map[string]int64) float64 {
	entries := float64(a.Tensor.NNZ)
	if counts := a.Tensor.Counts; counts != nil {
		entries = min(entries, float64(counts[len(counts)-1]))
	}
	if !a.Tensor.Format.Repeats() {
		places := 1.0
		for _, v := range a.Vars {
			places *= float64(sizes[v])
		}
		entries = min(entries, places)
	}
	return convertCost * max(entries, 1)
}

// missCost is what reading or adding to a place of memory of so many bytes costs on top, at
// random: the second level of a cache has about cacheBytes, the last manyBytes.
func missCost(bytes float64) float64 {
	switch {
	case bytes <= cacheBytes:
		return 0
	case bytes <= manyBytes:
		return 3
	}
	return 12
}

const nearBytes, cacheBytes, manyBytes = 1 << 15, 1 << 20, 1 << 25

// item is a factor, or an intermediate that stands for several, or for one that was summed.
type item struct {
	factors set
	made    bool
}

// holds are the variables of an item.
func (m *model) holds(it item) set {
	if it.made {
		return m.open(it.factors)
	}
	return m.has[it.factors.first()]
}

// varsIn are the variables of some items.
func (m *model) varsIn(items []item) set {
	out := set(0)
	for _, it := range items {
		out |= m.holds(it)
	}
	return out
}

// at is the density of an item.
func (m *model) at(it item, vars set) float64 {
	if it.made {
		return m.filled(it.factors, vars)
	}
	return m.density[it.factors.first()][vars]
}

// iterations is how often loops over vars come to their body, for items.
func (m *model) iterations(items []item, vars set) float64 {
	n := m.places(vars)
	for _, it := range items {
		n *= m.at(it, vars)
	}
	return n
}

// uniformAt tells whether the contraction of some factors has a value at all coordinates of v or at
// none.
func (m *model) uniformAt(factors set, v int) bool {
	for s := factors; s != 0; s &= s - 1 {
		if f := s.first(); m.has[f].has(v) && !m.uniform[f].has(v) {
			return false
		}
	}
	return true
}

// walks tells whether a loop over v steps through a list of an item's coordinates.
func (m *model) walks(it item, v int) bool {
	switch {
	case !m.holds(it).has(v):
		return false
	case it.made:
		return !m.uniformAt(it.factors, v)
	}
	return m.walked[it.factors.first()].has(v)
}

// allowed tells whether a loop over v inside of loops over bound can walk all items.
func (m *model) allowed(items []item, bound set, v int) bool {
	for _, it := range items {
		if !it.made && !m.canWalk(it.factors.first(), v, bound) {
			return false
		}
	}
	return true
}

// loop is what a loop does in all: steps, of which some are in lanes or through several lists, and
// what it takes to bring near what they read, both in multiply-adds, and the bytes that they read,
// with those of lanes, which their steps count.
type loop struct{ steps, moved, bytes, lanes float64 }

func (l loop) spent() spent { return spent{l.steps + (l.bytes-l.lanes)*byteCost, l.moved} }

// loopOver is the loop over v inside of loops over bound, of items that with the result have
// vars: the innermost where these are then all bound.
func (m *model) loopOver(items []item, vars, bound set, v int) loop {
	inside := bound | 1<<v
	before, n := m.iterations(items, bound), m.iterations(items, inside)
	walked, steps, bytes, rows := 0, 0.0, 0.0, 0.0 // rows: the bytes of what is read along v
	lanes, inner, outer, row := true, 0, 0, 0.0
	for _, it := range items {
		has := m.holds(it)
		if m.walks(it, v) {
			through := before * m.size[v] * m.at(it, inside) / max(m.at(it, bound), 1e-300)
			walked++
			steps += through
			bytes += through * crdBytes
		}
		switch {
		case has.has(v):
			inner++
			lanes = lanes && m.inLanes(it, v)
			switch {
			case it.made:
				row += madeLane
			case has.within(inside):
				rows += n * valueBytes
				fallthrough
			default:
				row += laneCost
			}
		case has != 0:
			outer = 1
		}
	}
	moved, stored := m.moved(items, bound, v, n), m.stored(items, inside, v)
	if m.isAll(items) {
		moved += m.written(items, bound, v, n)
	}
	n = stepsOf(walked, before*m.size[v], steps, n)
	if inside != vars {
		return loop{n + stored, moved, bytes + rows, 0}
	}
	if !m.problem.Exact && !m.keeps(items, v) {
		outer = 0 // a sum of floats has one factor less
	}
	apart := m.isAll(items) && m.result.has(v) && m.lastLeft() != v // places are, in the result
	if lanes && !apart {
		if m.problem.Exact {
			row += laneCost * float64(outer)
		}
		if last := m.lastLeft(); last >= 0 && v != last &&
			m.open(state{items: items}.factors()).has(last) {
			row += astray
		}
		return loop{max(n*row, before*shortRow) + stored, moved, bytes + rows, rows}
	}
	steps = n * float64(max(inner+outer, 2)) / 2
	if apart && len(m.ordered) == 0 {
		steps += n * apartCost
	}
	return loop{steps + stored, moved, bytes + rows, 0}
}

// stepsOf returns the steps of a loop that walks so many lists, with this many positions in all,
// and comes to its body meets times: without a list it counts all coordinates.
func stepsOf(lists int, coordinates, positions, meets float64) float64 {
	switch lists {
	case 0:
		return coordinates
	case 1:
		return meets
	}
	return max(meets, positions) * mergeCost
}

// inLanes tells whether a loop over v along what an item has can go in lanes.
func (m *model) inLanes(it item, v int) bool {
	return !m.holds(it).has(v) || !m.walks(it, v) && (it.made || m.last[it.factors.first()].has(v))
}

// stored is what it costs that sums go to rows of what items are contracted to, where the loop over
// v, with what is then bound, leaves one of its variables, along which lanes can go: loops further
// in over others keep the row in registers.
func (m *model) stored(items []item, inside set, v int) float64 {
	target := m.open(state{items: items}.factors())
	if m.isAll(items) {
		target = m.result
	}
	left := target &^ inside
	if !target.has(v) || left.len() != 1 ||
		slices.ContainsFunc(items, func(it item) bool { return !m.inLanes(it, left.first()) }) {
		return 0
	}
	return storeCost * m.iterations(items, inside|target)
}

// lastLeft is the variable along which the result's values are neighbours, -1 of one value.
func (m *model) lastLeft() int {
	for _, v := range slices.Backward(m.left()) {
		if m.size[v] > 1 {
			return v
		}
	}
	return -1
}

// keeps tells whether what items are contracted to has the variable.
func (m *model) keeps(items []item,
	v int) bool {
	return m.open(state{items: items}.factors()).has(v)
}

// appendCost returns what a loop over v, inside of loops over bound, costs because it keeps the
// product from being appended to the result in order: the additions to a workspace. The loops that
// are inside of all loops over the result's variables sum a number first, which is added once. The
// first loop out of order is charged as if the result's other variables came next, and each loop
// over a sum that comes before they are all bound for the additions that it makes more.
func (m *model) appendCost(items []item, bound set, v int) float64 {
	front := set(0)
	k := 0
	for k < len(m.ordered) && bound.has(m.ordered[k]) {
		front |= 1 << m.ordered[k]
		k++
	}
	if k == len(m.ordered) || bound == front && m.ordered[k] == v {
		return 0
	}
	all := m.iterations(items, m.varsIn(items)|m.result)
	added := min(m.iterations(items, bound|1<<v|m.result), all)
	if bound != front {
		if m.result.has(v) {
			return 0
		}
		added = max(added-min(m.iterations(items, bound|m.result), all), 0)
	}
	each := float64(appendHash)
	if rest := m.result &^ bound; rest.len() == 1 ||
		strategy.FitsPlaces(rest.len(), m.places(rest), m.entries, m.entriesOf(m.all(), bound)) {
		each = appendList
	}
	return each * added
}

// kindOf is the kind of the intermediate of some factors, of which the variables bound are not.
func (m *model) kindOf(factors, bound set) Kind {
	rest := m.open(factors) &^ bound
	uniform := true
	for s := rest; s != 0; s &= s - 1 {
		uniform = uniform && m.uniformAt(factors, s.first())
	}
	switch {
	case rest == 0:
		return Scalar
	case uniform && m.places(rest) <= m.most():
		return Array
	case bound == 0 && strategy.Intermediate{
		Entries: m.entriesOf(factors, 0)}.FillsMarks(m.places(rest)):
		return Marks
	case strategy.FitsPlaces(rest.len(), m.places(rest), m.entries, m.entriesOf(factors, bound)):
		return Lists
	}
	return Hash
}

// onThreads tells whether a loop over v, the outermost of those that make an intermediate of some
// items outside of all loops, runs on threads: where these sum one number, or share the
// intermediate and each fill places of their own.
func (m *model) onThreads(items []item, v int) bool {
	factors := state{items: items}.factors()
	open := m.open(factors)
	x := strategy.Intermediate{Added: m.iterations(items, m.varsIn(items)),
		Entries: m.entriesOf(factors, 0)}
	k := m.kindOf(factors, 0)
	return open == 0 || open.has(v) && (k == Array || k == Marks) && x.Shared()
}

// sumsAlone tells whether one thread runs an outermost loop that sums into a dense result, as far
// as the loop over v directly inside of it says: where that is not over the result's outermost
// variable, threads have no parts of the result's other variables, and partial results do not pay.
func (m *model) sumsAlone(x state, v int) bool {
	if x.bound.len() != 1 || x.bound&m.result != 0 || m.result == 0 || len(m.ordered) > 0 ||
		v == m.number(m.problem.Left[0]) {
		return false
	}
	parts := 0
	for s := m.result; s != 0; s &= s - 1 {
		u := s.first()
		listed := slices.ContainsFunc(x.items, func(it item) bool { return !it.made && m.walks(it, u) })
		if !listed && m.size[u] >= strategy.MinOwn {
			parts++
		}
	}
	// one may be over the innermost, which is no part
	return parts < 2 && !strategy.Partials(float64(m.entries), m.places(m.result))
}

// entriesOf is the number of entries that the intermediate of some factors has each time that it is
// made inside of loops over bound.
func (m *model) entriesOf(factors, bound set) float64 {
	open := m.open(factors)
	times := m.places(bound) * m.filled(factors, bound)
	return m.places(open) * m.filled(factors, open) / max(times, 1)
}

// begun is what it takes to begin the loops of a producer of some items inside of loops over bound:
// a core guesses wrong when those before end, while it goes on to load. Those of a number begin and
// end as often without it.
func (m *model) begun(items []item, bound set) spent {
	if bound == 0 || m.open(state{items: items}.factors()).within(bound) {
		return spent{}
	}
	return spent{loaded: beginCost * m.iterations(items, bound)}
}

// makeCost is what the intermediate costs that is made of some items, inside of loops over bound,
// beyond the loops that make it; share is that of the points of bound, among those that these items
// alone have, to which the loops come.
func (m *model) makeCost(made []item, share float64, bound set) float64 {
	factors := set(0)
	for _, it := range made {
		factors |= it.factors
	}
	uses := share * m.iterations(made, bound)
	k, rest := m.kindOf(factors, bound), m.open(factors)&^bound
	miss := 0.0 // an array is filled by rows, as the result is
	if k == Marks || k == Lists {
		miss = missCost(m.places(rest) * (valueBytes + crdBytes + 1))
	}
	cost := uses*useCost[k] + share*(addCost[k]+miss)*m.iterations(made, m.varsIn(made)) +
		share*orderCost[k]*m.places(m.open(factors))*m.filled(factors, m.open(factors))
	switch k {
	case Array:
		bytes := m.places(rest) * valueBytes
		cost += uses * (m.places(rest)*clearCost + bring(bytes, 0, bytes))
	case Marks, Lists:
		bytes := m.places(rest) * (valueBytes + 1)
		// places are cleared once
		cost += bring(bytes, 0, bytes) + m.places(rest)*clearCost + uses*rowCost*m.rows(rest)
	}
	return cost + 1e-6*m.places(rest)
}

// rows is the number of rows of an intermediate of several variables, were they along the largest.
func (m *model) rows(rest set) float64 {
	if rest.len() <= 1 {
		return 0
	}
	longest := 1.0
	for s := rest; s != 0; s &= s - 1 {
		longest = max(longest, m.size[s.first()])
	}
	return m.places(rest) / longest
}
