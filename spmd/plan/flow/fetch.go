package flow

import "iter"

// Fetch is a piece that a rank fetches from rank From. The rank fetches the piece in its instance
// number T. If From is the rank itself, the rank owns the piece and nothing is sent.
type Fetch struct {
	T    int64
	At   []int64 // the chunks of the piece, one for each axis
	From int
}

// Fetches yields the pieces that a rank fetches, ordered by the instances of the rank, and within
// an instance by first use.
func (f *Flow) Fetches(rank int) iter.Seq[Fetch] {
	return func(yield func(Fetch) bool) {
		var had []int
		f.instances(rank, func(t int64, needs []need) bool {
			for _, n := range needs {
				if n.had {
					continue
				}
				from := rank
				if !hasRank(f.owners(n.piece), rank) {
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

// forwarding reports whether ranks may forward pieces. A rank may then fetch a piece from a rank
// that needed the piece in the previous instance, and not only from an owner.
func (f *Flow) forwarding() bool { return f.w.aligned && !f.t.Direct }

// holders stores in list the ranks that needed piece b in instance t and may forward it, and
// returns the list. The list is empty if pieces are not forwarded.
func (f *Flow) holders(list []int, t int64, b int64) []int {
	if !f.forwarding() {
		return list[:0]
	}
	return f.readers(list, t, b)
}

// source returns the rank that sends piece b to the rank `rank`, which does not own the piece. The
// sender is an owner of the piece or one of the holders. holders lists the ranks that needed the
// piece in the previous instance.
func (f *Flow) source(rank int, b int64, holders []int) int {
	homes := f.owners(b)
	forwarder, several := -1, false
	if f.forwarding() {
		forwarder, several = f.forwarder(rank, homes, holders)
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

// forwarder chooses the rank that forwards a piece to the rank `rank`. holders lists the ranks that
// needed the piece in the previous instance and so have received it. homes lists the owners of the
// piece. forwarder returns the nearest holder that does not own the piece, or -1 if all holders own
// it. several reports whether two or more holders do not own the piece.
func (f *Flow) forwarder(rank int, homes, holders []int) (nearest int, several bool) {
	nearest = -1
	for _, r := range holders {
		switch {
		case hasRank(homes, r):
		case nearest < 0:
			nearest = r
		default:
			several = true
			nearest = f.nearer(rank, nearest, r)
		}
	}
	return nearest, several
}

// nearer returns the one of ranks a and b that is nearer to rank, or a if both are equally near. a
// must be less than b.
func (f *Flow) nearer(rank, a, b int) int {
	if f.w.distance(rank, b) < f.w.distance(rank, a) {
		return b
	}
	return a
}
