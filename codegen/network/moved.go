package network

// The cost of reading and adding values includes bringing them into caches. The part of an item
// that loops have not bound yet gets smaller from loop to loop. Each iteration of the first loop
// whose body needs a part that fits into a cache brings this part there once, and the loops inside
// find it there. So rows that stay while another factor is walked cost nothing. Rows of a large
// factor, intermediate or result that change with each entry cost a transfer each.

// caches lists the caches of a core, nearest first. cost is the cost of bringing one byte into the
// cache from the next one in the list, or from memory for the last.
var caches = [...]struct{ bytes, cost float64 }{{nearBytes, 1. / 32}, {cacheBytes, 1. / 20},
	{manyBytes, 1. / 3}}

// lineBytes is the size of a cache line. A value whose neighbours are not used still brings a whole
// line.
const lineBytes = 64

// footprint returns the average size in bytes of the part of an item with given coordinates along
// the variables in bound. listed reports whether the part has lists of coordinates.
func (m *model) footprint(it item, bound set) (bytes float64, listed bool) {
	has := m.holds(it)
	each := float64(valueBytes)
	rest := has &^ bound
	for s := rest; s != 0 && !listed; s &= s - 1 {
		listed = m.walks(it, s.first())
	}
	if listed {
		each += crdBytes
	}
	if before := m.at(it, has&bound); before > 0 {
		return m.places(rest) * m.at(it, has) / before * each, listed
	}
	return 0, listed
}

// moved returns the cost of bringing into caches the data that a loop over v reads from the items.
// The loop is nested in loops over bound and reaches its body n times.
func (m *model) moved(items []item, bound set, v int, n float64) (cost float64) {
	for _, it := range items {
		if !m.holds(it).has(v) {
			continue
		}
		whole, _ := m.footprint(it, 0)
		if whole <= caches[0].bytes {
			continue
		}
		before, listed := m.footprint(it, bound)
		after, _ := m.footprint(it, bound|1<<v)
		brought := after
		if !listed { // the loop may skip a part of it
			visits := max(n, 1e-300)
			brought = min(after, valueBytes*max(m.iterations(items, bound|1<<v|m.holds(it))/visits, 1))
			outside := max(m.iterations(items, bound), 1e-300)
			// the data that is read stays until an outer loop reads it again
			if read := brought * visits / outside; read < before {
				before = read + whole*(1-read/before)
			}
			if after < lineBytes { // coordinates that are far from one another share no line
				brought = max(brought, min(lineBytes, after*m.size[v]*outside/visits))
			}
		}
		cost += transfer(before, after, n*brought)
	}
	return cost
}

// written returns the cost of bringing cache lines of the result into caches, if the result is
// written in random order. The loop over v is nested in loops over bound, and its body runs n
// times. A cache keeps the lines only if it can hold two things together: the part of the result
// that the loop writes, and the parts of the items that the loop reads. The nearest cache is not
// counted, because a store to a line in the second cache does not delay the loop.
func (m *model) written(items []item, bound set, v int, n float64) float64 {
	if !m.result.has(v) || len(m.ordered) > 0 {
		return 0
	}
	before, after := m.resultBytes(bound), m.resultBytes(bound|1<<v)
	lines := lineBytes * m.iterations(items, bound|1<<v|m.result) // lines written, at most
	bytes := max(min(n*after, lines)-m.resultBytes(0), 0)         // every plan brings it once
	for _, it := range items {
		outside, _ := m.footprint(it, bound)
		inside, _ := m.footprint(it, bound|1<<v)
		before, after = before+outside, after+inside
	}
	return transferFrom(1, before, after, bytes)
}

// resultBytes returns how many bytes of the result belong to one iteration of the loops over bound.
// A value whose neighbours do not belong to this iteration counts as one cache line, because caches
// load complete lines.
func (m *model) resultBytes(bound set) float64 {
	each := float64(valueBytes)
	if v := m.lastLeft(); v >= 0 && bound.has(v) {
		each = lineBytes
	}
	return m.places(m.result&^bound) * each
}

// transfer returns the cost of bringing the given number of bytes into the caches. before is the
// size of the data that the whole loop uses, and after is the size of the data that one iteration
// uses. A cache adds to the cost if it can hold the data of one iteration but not the data of the
// whole loop.
func transfer(before, after, bytes float64) (cost float64) {
	return transferFrom(0, before, after, bytes)
}

// transferFrom is like transfer, but counts only the caches from cache number level on. Caches are
// numbered from 0, which is the cache nearest to the core.
func transferFrom(level int, before, after, bytes float64) (cost float64) {
	for _, c := range caches[level:] {
		if before > c.bytes && after <= c.bytes {
			cost += bytes * c.cost * (1 - c.bytes/before)
		}
	}
	return cost
}
