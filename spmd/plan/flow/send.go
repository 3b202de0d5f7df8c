package flow

import (
	"cmp"
	"iter"
	"slices"
)

// Send is a multicast of one piece. The receivers need the piece in their instance number T.
type Send struct {
	T  int64
	At []int64 // the chunks of the piece, one for each axis
	To []int   // the receivers, sorted
}

// Sends yields the multicasts that a rank starts, by instance and then by piece.
func (f *Flow) Sends(rank int) iter.Seq[Send] {
	return func(yield func(Send) bool) {
		list := f.forwardedSends(f.ownedSends(nil, rank), rank)
		slices.SortFunc(list, func(a,
			b Send) int {
			return cmp.Or(cmp.Compare(a.T, b.T), slices.Compare(a.At, b.At))
		})
		for _, s := range list {
			if !yield(s) {
				return
			}
		}
	}
}

// ownedSends appends to list the multicasts that the rank starts for pieces that it owns.
func (f *Flow) ownedSends(list []Send, rank int) []Send {
	for _, b := range f.ownedBy(rank) {
		f.eachUse(b, func(t int64, holders, readers []int) {
			if to := f.receiversFrom(rank, b, holders, readers); len(to) > 0 {
				list = append(list, Send{t, f.chunksOf(b), to})
			}
		})
	}
	return list
}

// eachUse calls yield for each instance number t such that some rank needs piece b in instance t.
// readers lists the ranks that need b in instance t, and holders the ranks that needed b in
// instance t-1.
func (f *Flow) eachUse(b int64,
	yield func(t int64, holders, readers []int)) {
	f.eachInstance(f.allUses(b), yield)
}

// eachInstance groups the uses of a piece by instance and calls yield for each instance, as eachUse
// does.
func (f *Flow) eachInstance(uses []use, yield func(t int64, holders, readers []int)) {
	last := int64(-1)
	now, had := f.now[:0], f.had[:0]
	for k := 0; k < len(uses); {
		t := uses[k].t
		now, had = had[:0], now
		if last != t-1 {
			had = had[:0]
		}
		for ; k < len(uses) && uses[k].t == t; k++ {
			now = append(now, uses[k].rank)
		}
		yield(t, had, now)
		last = t
	}
	f.now, f.had = now, had
}

// forwardedSends appends to list the multicasts that the rank starts for pieces that it does not
// own. The rank has such a piece because it needed the piece in the instance before. If pieces are
// not forwarded, the list is unchanged.
func (f *Flow) forwardedSends(list []Send, rank int) []Send {
	if !f.forwarding() {
		return list
	}
	var now, had []int
	f.instances(rank, func(t int64, needs []need) bool {
		for _, n := range needs {
			if hasRank(f.owners(n.piece), rank) {
				continue
			}
			if now = f.readers(now, t+1, n.piece); len(now) == 0 {
				continue
			}
			had = f.readers(had, t, n.piece)
			if to := f.receiversFrom(rank, n.piece, had, now); len(to) > 0 {
				list = append(list, Send{t + 1, f.chunksOf(n.piece), to})
			}
		}
		return true
	})
	return list
}

// receiversFrom returns the ranks that fetch piece b from the rank `sender` in an instance. readers
// lists the ranks that need the piece in this instance, and holders the ranks that needed it in the
// instance before. Holders and owners fetch nothing, because they already have the piece.
func (f *Flow) receiversFrom(sender int, b int64, holders, readers []int) []int {
	var to []int
	homes := f.owners(b)
	for _, r := range readers {
		if !hasRank(holders, r) && !hasRank(homes, r) && f.source(r, b, holders) == sender {
			to = append(to, r)
		}
	}
	return to
}

// Receivers returns, in ascending order, the ranks that fetch a piece from the rank `sender` in
// their instance number t. chunks[k] is the number of the piece's chunk along axis k.
func (f *Flow) Receivers(t int64, chunks []int64, sender int) []int {
	b := f.pieceAt(chunks)
	if f.w.aligned {
		return f.receiversFrom(sender, b, f.readers(nil, t-1, b), f.readers(nil, t, b))
	}
	var had, now []int
	for _, u := range f.allUses(b) {
		switch u.t {
		case t - 1:
			had = append(had, u.rank)
		case t:
			now = append(now, u.rank)
		}
	}
	return f.receiversFrom(sender, b, had, now)
}
