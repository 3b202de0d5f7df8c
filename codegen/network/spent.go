package network

// spent is the cost of a nest of loops in two parts: loaded is the cost of the arithmetic and
// loads of its bodies, moved the cost of bringing the loaded data into caches. A core overlaps
// them, so the nest costs the larger part and a small share of the other. Work that overlaps with
// nothing is added to both parts: clearing and sorting an intermediate, and a producer outside of
// all loops.
type spent struct{ loaded, moved float64 }

// unoverlapped returns the cost of work that overlaps with nothing.
func unoverlapped(cost float64) spent { return spent{cost, cost} }

func (s spent) cost() float64 {
	return (max(s.loaded, s.moved) + overlapShare*min(s.loaded, s.moved)) / (1 + overlapShare)
}

// overlapShare is the share of the smaller part that still counts.
const overlapShare = 1. / 16

func (s spent) and(t spent) spent { return spent{s.loaded + t.loaded, s.moved + t.moved} }

func (s spent) times(n float64) spent { return spent{n * s.loaded, n * s.moved} }

// front is a list of alternatives for the same work. No alternative is at least as expensive as
// another in both parts. Adding the same costs to all alternatives, or multiplying them, leaves
// the cheapest of all that were ever added in the list.
type front []alternative

// roundingFactor is the factor below which a cost counts as less than another.
const roundingFactor = 1 - 1e-9

// covers reports whether the front has an alternative that exceeds s in neither part.
func (f front) covers(s spent) bool {
	for _, way := range f {
		if roundingFactor*way.spent.loaded <= s.loaded && roundingFactor*way.spent.moved <= s.moved {
			return true
		}
	}
	return false
}

// add adds an alternative to the front, unless another covers it, and drops the alternatives that
// are at least as expensive in both parts.
func (f *front) add(way alternative) {
	if f.covers(way.spent) {
		return
	}
	kept := (*f)[:0]
	for _, other := range *f {
		if way.spent.loaded > other.spent.loaded || way.spent.moved > other.spent.moved {
			kept = append(kept, other)
		}
	}
	*f = append(kept, way)
}
