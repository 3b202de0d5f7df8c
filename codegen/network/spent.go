package network

// spent is what a nest of loops takes: the multiply-adds and loads of their bodies, and what it
// takes to bring near what these load. A core does the two side by side, so that they cost the
// larger of the two, and little of the other. What nothing else goes on beside is added to both:
// what it takes to clear and to order an intermediate, and all of a producer outside of all loops.
type spent struct{ loaded, moved float64 }

// both is what nothing else goes on beside.
func both(cost float64) spent { return spent{cost, cost} }

func (s spent) cost() float64 {
	return (max(s.loaded, s.moved) + hidden*min(s.loaded, s.moved)) / (1 + hidden)
}

// hidden is the share that the lesser of the two still counts.
const hidden = 1. / 16

func (s spent) and(t spent) spent { return spent{s.loaded + t.loaded, s.moved + t.moved} }

func (s spent) times(n float64) spent { return spent{n * s.loaded, n * s.moved} }

// front is a list of ways to do the same, of which none takes as much as another of both. Whatever
// is added to all of them, or multiplies them, one of these is the best of all that were offered to
// it.
type front []found

// nearly is how much less must be taken to count as less.
const nearly = 1 - 1e-9

// covers tells whether a way in the front takes as little of both.
func (f front) covers(s spent) bool {
	for _, way := range f {
		if nearly*way.spent.loaded <= s.loaded && nearly*way.spent.moved <= s.moved {
			return true
		}
	}
	return false
}

// add offers a way to the front, which drops those that it makes needless.
func (f *front) add(way found) {
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
