package network

// spent is the cost of a nest of loops in two parts. loaded is the cost of the arithmetic and loads
// in the loops' bodies. moved is the cost of bringing the loaded data into caches. A core overlaps
// the two, so the nest costs a weighted mean: the larger part has weight 1, and the smaller part
// has weight overlapShare. Work that overlaps with nothing is added to both parts, and so counts
// fully. Examples are clearing and sorting an intermediate, and a producer outside all loops.
type spent struct{ loaded, moved float64 }

// unoverlapped returns the cost of work that overlaps with nothing.
func unoverlapped(cost float64) spent { return spent{cost, cost} }

func (s spent) cost() float64 {
	return (max(s.loaded, s.moved) + overlapShare*min(s.loaded, s.moved)) / (1 + overlapShare)
}

// overlapShare is the weight of the smaller part of a cost, if the larger part has weight 1 (see
// spent).
const overlapShare = 1. / 16

func (s spent) and(t spent) spent { return spent{s.loaded + t.loaded, s.moved + t.moved} }

func (s spent) times(n float64) spent { return spent{n * s.loaded, n * s.moved} }

// front is a list of alternatives for the same work (a Pareto front). An alternative is dropped if
// another one costs no more in both parts of the cost. It cannot become the cheapest, because later
// steps add the same costs to all alternatives or multiply all of them by the same number. Of any
// two alternatives that remain, each is cheaper in one of the two parts.
type front []alternative

// roundingFactor allows for rounding errors when costs are compared. A cost counts as less than
// another cost if it is below roundingFactor times the other cost.
const roundingFactor = 1 - 1e-9

// covers reports whether the front has an alternative that costs no more than s in both parts.
func (f front) covers(s spent) bool {
	for _, way := range f {
		if roundingFactor*way.spent.loaded <= s.loaded && roundingFactor*way.spent.moved <= s.moved {
			return true
		}
	}
	return false
}

// add adds an alternative to the front, unless another one covers it. It drops the alternatives
// that are not cheaper than the new one in any part.
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
