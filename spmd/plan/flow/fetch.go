package flow

import "iter"

// Fetch is a piece that comes to a rank at an instance of its scope, from the rank From. Where
// that is the rank itself, the piece lives there and nothing travels.
type Fetch struct {
	T    int64
	At   []int64 // the chunks of its axes
	From int
}

// Fetches are the pieces that come to a rank, in the order of its instances and of their first use.
func (f *Flow) Fetches(rank int) iter.Seq[Fetch] {
	return func(yield func(Fetch) bool) {
		var had []int
		f.instances(rank, func(t int64, needs []need) bool {
			for _, n := range needs {
				if n.had {
					continue
				}
				from := rank
				if !has(f.homes(n.piece), rank) {
					had = f.holders(had, t-1, n.piece)
					from = f.source(rank, n.piece, had)
				}
				if !yield(Fetch{t, f.chunksOf(n.piece), from}) {
					return false
				}
			}
			return true
		})
	}
}

// forwarding tells whether pieces come from ranks that needed them in the instance before.
func (f *Flow) forwarding() bool { return f.w.aligned && !f.t.Direct }

// holders puts into list the ranks that needed a piece in an instance, if instances can be
// compared between ranks.
func (f *Flow) holders(list []int, t int64, b int64) []int {
	if !f.forwarding() {
		return list[:0]
	}
	return f.readers(list, t, b)
}

// source is where a rank fetches a piece from that does not live there: one of those that had it
// in the instance before, or one where it lives.
func (f *Flow) source(rank int, b int64, had []int) int {
	homes := f.homes(b)
	forwarder, several := -1, false
	if f.forwarding() {
		forwarder, several = f.forwarder(rank, homes, had)
	}
	if forwarder >= 0 && !several {
		return forwarder
	}
	home := homes[0]
	for _, r := range homes[1:] {
		home = f.nearer(rank, home, r)
	}
	if several && f.w.distance(rank, forwarder) < f.w.distance(rank, home) {
		return forwarder
	}
	return home
}

// forwarder is the nearest to a rank of those that had a piece which does not live there, -1
// for none; several tells whether there are more.
func (f *Flow) forwarder(rank int, homes, had []int) (nearest int, several bool) {
	nearest = -1
	for _, r := range had {
		switch {
		case has(homes, r):
		case nearest < 0:
			nearest = r
		default:
			several = true
			nearest = f.nearer(rank, nearest, r)
		}
	}
	return nearest, several
}

// nearer is which of a and b, where a is the lower, is nearer to a rank; a if both are as near.
func (f *Flow) nearer(rank, a, b int) int {
	if f.w.distance(rank, b) < f.w.distance(rank, a) {
		return b
	}
	return a
}
