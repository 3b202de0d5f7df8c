package network

import (
	"slices"

	"distaff/codegen/analysis"
	"distaff/codegen/choice"
)

// All costs are in units of one multiply-add of a scalar loop. The constants were fitted to
// measurements on an AMD EPYC (Zen 4). The measured kernels were TTMc, and MTTKRP of orders 3 to 5.
// They had 8 to 64 columns, fibers of 2 to 30 entries, and factors of 32 KB to 25 MB. With these
// constants the search finds, for 103 of 114 products, the fastest plan or a plan that takes at
// most a tenth longer.
const (
	// laneCost is the cost of loading one value in a vectorized loop along contiguous memory. The
	// arithmetic on the value overlaps with the load. shortRow is the least cost of one run of such
	// a loop, because each sum waits for the one before.
	laneCost, shortRow = 1. / 8, 2
	madeLane           = laneCost / 2 // the same for an intermediate's value, which is in a cache
	// storeCost is the cost of loading and storing one element of a result's row that a loop adds
	// to.
	storeCost  = 0.2
	byteCost   = 1. / 64 // the cost of reading one byte
	lookupCost = 0.5     // the cost of looking up a coordinate of a sparse vector
	mergeCost  = 1.5     // the cost of one step of a loop that walks several lists together
	// crdBytes and valueBytes are the assumed sizes of one coordinate and one value.
	crdBytes, valueBytes = 4, 8
	// strideCost is the extra cost of one iteration of a vectorized innermost loop that runs over
	// another variable than the result's last, if the contraction has that last variable. The
	// reason is that the reader of an intermediate loops over the result's last variable innermost
	// if it can, and the intermediate is stored in the order of its reader's loops.
	strideCost = 0.05
	// apartCost is the extra cost of one addition to the result if consecutive additions of the
	// innermost loop go to places that are not neighbours. Measured: 0.65 ns when a multiply-add
	// takes 0.5 ns, for elements at least 16 bytes apart in the nearest cache.
	apartCost = 0.6
	// beginCost is the cost of starting the loops of a producer once.
	beginCost = 8
	// clearCost is the cost of setting one element of an array to 0.
	clearCost = 0.05
	// rowCost is the cost of recording where one row of an intermediate starts.
	rowCost = 0.5
	// appendList and appendHash are the costs of one addition to a workspace, which is a list or a
	// hash table. A product needs the workspace if entries must be appended to its result in order
	// and its loops have another order.
	appendList, appendHash = 4, 30
	// serialCost is the extra cost of loops, as a share of their own cost, if one thread runs them
	// while the other threads wait.
	serialCost = 0.5
	// partsCost is the extra cost, as a share of the loops' own cost, if the outermost loop sums
	// into the result and each thread therefore runs the loops for a part of the result.
	partsCost = 0.02
)

// Kind says how an intermediate is stored.
type Kind uint8

const (
	Scalar Kind = iota // one number
	Array              // a place for every coordinate; all are filled or none is
	Marks              // a place and a mark for every coordinate; made outside of all loops only
	Lists              // a place for every coordinate, and a list of the filled ones
	Hash               // a hash table of the filled coordinates
)

func (k Kind) String() string {
	return [...]string{"scalar", "array", "array with marks", "list", "hash table"}[k]
}

// useCost is the cost of making an intermediate once, addCost the cost of one addition to it beyond
// the multiply-add, and orderCost the cost of sorting one entry. They depend on the kind of
// intermediate.
var (
	useCost   = [...]float64{Scalar: 1, Array: 4, Marks: 6, Lists: 6, Hash: 40}
	addCost   = [...]float64{Scalar: 0, Array: 0, Marks: 1, Lists: 2, Hash: 20}
	orderCost = [...]float64{Scalar: 0, Array: 0, Marks: 2, Lists: 4, Hash: 25}
)

// convertCost is the cost of sorting one entry into another storage order.
const convertCost = 50

// Converting returns the cost of storing a's tensor in another order. The cost is proportional to
// the number of entries. This number is at most the tensor's NNZ and at most the number of
// positions of the innermost level. If no coordinates are stored twice, it is also at most the
// number of coordinates of a tensor of the given sizes.
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

// missCost returns the extra cost of one access to a random address in an array of the given size
// in bytes. The cost depends on the cache that the array fits into: the second cache of a core has
// about cacheBytes bytes, and the last cache about manyBytes bytes.
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

// item is one operand of a contraction: a factor of the product or, if made is true, an
// intermediate. Most intermediates are the contraction of several factors. An intermediate can also
// be a single factor that was summed. It was then summed over its variables that occur in no other
// factor and not in the result.
type item struct {
	factors set
	made    bool
}

// holds returns the variables of an item.
func (m *model) holds(it item) set {
	if it.made {
		return m.open(it.factors)
	}
	return m.has[it.factors.first()]
}

// varsIn returns the variables of the items.
func (m *model) varsIn(items []item) set {
	out := set(0)
	for _, it := range items {
		out |= m.holds(it)
	}
	return out
}

// at returns the density of an item at some variables. A comment in density.go defines the density.
func (m *model) at(it item, vars set) float64 {
	if it.made {
		return m.filled(it.factors, vars)
	}
	return m.density[it.factors.first()][vars]
}

// iterations returns how many times loops over vars reach their body: once for each point where all
// items have a value.
func (m *model) iterations(items []item, vars set) float64 {
	n := m.places(vars)
	for _, it := range items {
		n *= m.at(it, vars)
	}
	return n
}

// uniformAt reports whether the contraction of the factors is uniform along v. It is uniform if,
// for fixed coordinates of the other variables, the contraction has a value at every coordinate of
// v or at none.
func (m *model) uniformAt(factors set, v int) bool {
	for s := factors; s != 0; s &= s - 1 {
		if f := s.first(); m.has[f].has(v) && !m.uniform[f].has(v) {
			return false
		}
	}
	return true
}

// walks reports whether a loop over v steps through a list of an item's coordinates.
func (m *model) walks(it item, v int) bool {
	switch {
	case !m.holds(it).has(v):
		return false
	case it.made:
		return !m.uniformAt(it.factors, v)
	}
	return m.walked[it.factors.first()].has(v)
}

// allowed reports whether a loop over v, nested in loops over bound, can walk all items in their
// storage order.
func (m *model) allowed(items []item, bound set, v int) bool {
	for _, it := range items {
		if !it.made && !m.canWalk(it.factors.first(), v, bound) {
			return false
		}
	}
	return true
}

// loop is the work of one loop, summed over all its runs. steps is the cost of the iterations.
// moved is the cost of bringing the data that the iterations read into caches. bytes is the number
// of bytes that the iterations read from coordinates and from the values of factors. lanes is the
// part of bytes that vector loads read. steps already includes the cost of these loads.
type loop struct{ steps, moved, bytes, lanes float64 }

func (l loop) spent() spent { return spent{l.steps + (l.bytes-l.lanes)*byteCost, l.moved} }

// loopOver returns the work of a loop over v that is nested in loops over bound. vars has the
// variables of all loops of the contraction. If bound and v together are all of vars, no other loop
// is nested in this one.
func (m *model) loopOver(items []item, vars, bound set, v int) loop {
	inside := bound | 1<<v
	before, n := m.iterations(items, bound), m.iterations(items, inside)
	walked, steps, bytes, rows := 0, 0.0, 0.0, 0.0 // rows: the bytes that are read along v
	found := 0                                     // vectors that are looked up
	listed := slices.ContainsFunc(items, func(it item) bool { return !it.made && m.walks(it, v) })
	lanes, inner, outer, row := true, 0, 0, 0.0
	for _, it := range items {
		has := m.holds(it)
		switch {
		case !m.walks(it, v):
		case it.made && listed && has&(has-1) == 0:
			found++
		default:
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
	if n = stepsOf(walked, before*m.size[v], steps, n); found > 0 {
		n = max(n, steps/float64(walked)) * (1 + lookupCost*float64(found))
	}
	if inside != vars { // not the innermost loop
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
			row += strideCost
		}
		return loop{max(n*row, before*shortRow) + stored, moved, bytes + rows, rows}
	}
	steps = n * float64(max(inner+outer, 2)) / 2
	if apart && len(m.ordered) == 0 {
		steps += n * apartCost
	}
	return loop{steps + stored, moved, bytes + rows, 0}
}

// stepsOf returns the cost of the iterations of a loop. lists is the number of coordinate lists
// that the loop traverses, and positions is the sum of their lengths. If lists is 0, the loop
// visits every coordinate, and coordinates is their number. runs is the number of times that the
// body of the loop runs.
func stepsOf(lists int, coordinates, positions, runs float64) float64 {
	switch lists {
	case 0:
		return coordinates
	case 1:
		return runs
	}
	return max(runs, positions) * mergeCost
}

// inLanes reports whether an item allows a vectorized loop over v: the item lacks v, or its values
// along v are neighbours in memory.
func (m *model) inLanes(it item, v int) bool {
	return !m.holds(it).has(v) || !m.walks(it, v) && (it.made || m.last[it.factors.first()].has(v))
}

// stored returns the cost of loading and storing the rows that a loop over v adds to. inside is the
// set of variables that are bound in the body of the loop. The body adds to rows on three
// conditions: the contraction has v, exactly one variable of the contraction is still unbound in
// the body, and the loop over that variable can be vectorized. Otherwise the cost is 0. Loops over
// summed variables inside the body keep the row in registers, so they add no cost.
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

// lastLeft returns the variable along which the result's values are neighbours in memory, or -1 if
// the result has one value.
func (m *model) lastLeft() int {
	for _, v := range slices.Backward(m.left()) {
		if m.size[v] > 1 {
			return v
		}
	}
	return -1
}

// keeps reports whether the contraction of the items has the variable v, so that a loop over v does
// not sum.
func (m *model) keeps(items []item, v int) bool {
	return m.open(state{items: items}.factors()).has(v)
}

// appendCost returns the extra cost of the loop over v, nested in loops over bound, if it prevents
// the product from being appended to the result in order. The sums are then added to a workspace.
//
// If all variables along which the result is appended to are bound, the cost is 0, because v's loop
// cannot change the order. If v's loop is the first loop that prevents the order, the cost is the
// cost of the workspace. This estimate assumes that the loops over the remaining variables of the
// result come directly inside v's loop. If v's loop is a later loop over a summed variable, the
// cost is the cost of the additions that v's loop causes. In all other cases the cost is 0.
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
		choice.FitsPlaces(rest.len(), m.places(rest), m.entries, m.entriesOf(m.all(), bound)) {
		each = appendList
	}
	return each * added
}

// kindOf returns the kind of the intermediate that stores the contraction of the given factors. The
// intermediate is made inside loops over the variables in bound. It has the variables of the
// contraction that are not in bound.
func (m *model) kindOf(factors, bound set) Kind {
	rest := m.open(factors) &^ bound
	uniform := true
	for s := rest; s != 0; s &= s - 1 {
		uniform = uniform && m.uniformAt(factors, s.first())
	}
	switch {
	case rest == 0:
		return Scalar
	case uniform && m.places(rest) <= m.maxPlaces():
		return Array
	case bound == 0 && choice.FillsMarks(
		analysis.Intermediate{Entries: m.entriesOf(factors, 0)}, m.places(rest)):
		return Marks
	case choice.FitsPlaces(rest.len(), m.places(rest), m.entries, m.entriesOf(factors, bound)):
		return Lists
	}
	return Hash
}

// onThreads reports whether several threads run the loop over v, which makes an intermediate from
// the items. The loop must be the outermost loop of the intermediate, and the intermediate must be
// made outside all other loops. Several threads run the loop if the intermediate is a scalar. They
// also run it if they can share the intermediate and v is one of the intermediate's variables.
func (m *model) onThreads(items []item, v int) bool {
	factors := state{items: items}.factors()
	open := m.open(factors)
	if open == 0 || !open.has(v) {
		return open == 0
	}
	k := m.kindOf(factors, 0)
	return (k == Array || k == Marks) &&
		choice.MayShare(analysis.Intermediate{Added: m.iterations(items, m.varsIn(items))})
}

// sumsAlone reports whether a single thread runs the outermost loop of state x, which sums into a
// dense result. v is the variable of the loop directly inside the outermost loop. Three conditions
// must hold: v is not the result's outermost variable, the threads cannot divide the result by
// another variable, and a partial result for each thread costs too much.
func (m *model) sumsAlone(x state, v int) bool {
	if x.bound.len() != 1 || x.bound&m.result != 0 || m.result == 0 || len(m.ordered) > 0 ||
		v == m.number(m.problem.Left[0]) {
		return false
	}
	parts := 0
	for s := m.result; s != 0; s &= s - 1 {
		u := s.first()
		listed := slices.ContainsFunc(x.items, func(it item) bool { return !it.made && m.walks(it, u) })
		if !listed && m.size[u] >= choice.MinOwn {
			parts++
		}
	}
	// one of the variables may be the innermost, which threads do not divide
	return parts < 2 && !choice.Partials(float64(m.entries), m.places(m.result))
}

// entriesOf returns the number of entries of an intermediate, which is the contraction of factors.
// Each iteration of the loops over bound makes the intermediate anew, so the number is for one
// iteration.
func (m *model) entriesOf(factors, bound set) float64 {
	open := m.open(factors)
	times := m.places(bound) * m.filled(factors, bound)
	return m.places(open) * m.filled(factors, open) / max(times, 1)
}

// startCost returns the cost of starting the loops that make an intermediate from items. These
// loops are nested in loops over bound. The branch at the end of each loop is mispredicted, which
// delays arithmetic but not loads. The cost of a scalar intermediate is 0. Without the
// intermediate, its loops would be in the consumer's loops, and would start as often.
func (m *model) startCost(items []item, bound set) spent {
	if bound == 0 || m.open(state{items: items}.factors()).within(bound) {
		return spent{}
	}
	return spent{loaded: beginCost * m.iterations(items, bound)}
}

// makeCost returns the cost of storing an intermediate, without the cost of the loops that compute
// it. The intermediate is the contraction of items, and its loops are nested in loops over bound.
// It is made at a fraction of the points of bound where every item has a value. share is this
// fraction.
func (m *model) makeCost(items []item, share float64, bound set) float64 {
	factors := set(0)
	for _, it := range items {
		factors |= it.factors
	}
	uses := share * m.iterations(items, bound)
	k, rest := m.kindOf(factors, bound), m.open(factors)&^bound
	miss := 0.0 // an array is filled by rows, as the result is
	if k == Marks || k == Lists {
		miss = missCost(m.places(rest) * (valueBytes + crdBytes + 1))
	}
	cost := uses*useCost[k] + share*(addCost[k]+miss)*m.iterations(items, m.varsIn(items)) +
		share*orderCost[k]*m.places(m.open(factors))*m.filled(factors, m.open(factors))
	switch k {
	case Array:
		bytes := m.places(rest) * valueBytes
		cost += uses * (m.places(rest)*clearCost + transfer(bytes, 0, bytes))
	case Marks, Lists:
		bytes := m.places(rest) * (valueBytes + 1)
		// places are cleared once
		cost += transfer(bytes, 0, bytes) + m.places(rest)*clearCost + uses*rowCost*m.rows(rest)
	}
	return cost + 1e-6*m.places(rest)
}

// rows returns the number of rows of an intermediate whose variables are in rest. A row runs along
// the variable with the longest range, so the number of rows is the product of the lengths of the
// other ranges. An intermediate of one variable has 0 rows.
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
