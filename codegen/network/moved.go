package network

// Reading and adding cost what it takes to bring values near. What an item has is brought into a
// cache once inside of the loops around the first of which all of that fits there, and whatever the
// loops further in read of it is there then. So rows that stay while another factor is walked cost
// nothing, and rows of a large factor, intermediate or result that change with each entry do.

// caches are by how many bytes fit, and what a byte costs that is brought there from the next, the
// last from memory: in multiply-adds of a scalar loop.
var caches = [...]struct{ bytes, cost float64 }{{nearBytes, 1. / 32}, {cacheBytes, 1. / 20},
	{manyBytes, 1. / 3}}

// lineBytes are brought at least for a value that has no neighbour which is used.
const lineBytes = 64

// footprint is how many bytes an item has inside of loops over bound, on average; listed tells
// whether these are lists.
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

// moved is what it costs to bring near what a loop over v, inside of loops over bound, reads of
// items, where the loop comes to its body n times.
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
		if !listed { // it may have more than what is read
			visits := max(n, 1e-300)
			brought = min(after, valueBytes*max(m.iterations(items, bound|1<<v|m.holds(it))/visits, 1))
			outside := max(m.iterations(items, bound), 1e-300)
			// it stays until loops further out come back
			if read := brought * visits / outside; read < before {
				before = read + whole*(1-read/before)
			}
			if after < lineBytes { // coordinates that are far from one another share no line
				brought = max(brought, min(lineBytes, after*m.size[v]*outside/visits))
			}
		}
		cost += bring(before, after, n*brought)
	}
	return cost
}

// written is moved of a result that is written at random, beside what items have: lines that are
// come back to stay only where all of that has room. Loops do not wait for what the nearest cache
// gives to the next.
func (m *model) written(items []item, bound set, v int, n float64) float64 {
	if !m.result.has(v) || len(m.ordered) > 0 {
		return 0
	}
	before, after := m.resultBytes(bound), m.resultBytes(bound|1<<v)
	lines := lineBytes * m.iterations(items, bound|1<<v|m.result) // that are written, at most
	bytes := max(min(n*after, lines)-m.resultBytes(0), 0)         // every way brings all of it once
	for _, it := range items {
		outside, _ := m.footprint(it, bound)
		inside, _ := m.footprint(it, bound|1<<v)
		before, after = before+outside, after+inside
	}
	return bringTo(1, before, after, bytes)
}

// resultBytes is how many bytes the result has inside of loops over bound: lines, where values
// there are no neighbours.
func (m *model) resultBytes(bound set) float64 {
	each := float64(valueBytes)
	if v := m.lastLeft(); v >= 0 && bound.has(v) {
		each = lineBytes
	}
	return m.places(m.result&^bound) * each
}

// bring is what it costs to bring so many bytes in all near, of what takes before bytes outside of
// a loop and after inside.
func bring(before, after, bytes float64) (cost float64) { return bringTo(0, before, after, bytes) }

// bringTo is bring of what is brought no nearer than to the cache of that number.
func bringTo(nearest int, before, after, bytes float64) (cost float64) {
	for _, c := range caches[nearest:] {
		if before > c.bytes && after <= c.bytes {
			cost += bytes * c.cost * (1 - c.bytes/before)
		}
	}
	return cost
}
