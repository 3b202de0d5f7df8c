package flow

import (
	"cmp"
	"iter"
	"slices"
)

// Send is a multicast that a rank begins: that of a piece at an instance of its receivers.
type Send struct {
	T  int64
	At []int64 // the chunks of its axes
	To []int   // the receivers, by rank
}

// Sends are the multicasts that a rank begins, by instance and then by piece.
func (f *Flow) Sends(rank int) iter.Seq[Send] {
	return func(yield func(Send) bool) {
		list := f.forwards(f.sendsHome(nil, rank), rank)
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

// sendsHome appends the multicasts of the pieces that live at a rank.
func (f *Flow) sendsHome(list []Send, rank int) []Send {
	for _, b := range f.livingAt(rank) {
		f.eachUse(b, func(t int64, had, now []int) {
			if to := f.served(rank, b, had, now); len(to) > 0 {
				list = append(list, Send{t, f.chunksOf(b), to})
			}
		})
	}
	return list
}

// eachUse calls yield with the instances in which ranks need a piece, the ranks that needed it in
// the instance before, and those that do now.
func (f *Flow) eachUse(b int64,
	yield func(t int64, had, now []int)) {
	f.instant(f.allUses(b), yield)
}

// instant is eachUse of these uses.
func (f *Flow) instant(uses []use, yield func(t int64, had, now []int)) {
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

// forwards appends the multicasts of pieces that a rank needed in the instance before.
func (f *Flow) forwards(list []Send, rank int) []Send {
	if !f.forwarding() {
		return list
	}
	var now, had []int
	f.instances(rank, func(t int64, needs []need) bool {
		for _, n := range needs {
			if has(f.homes(n.piece), rank) {
				continue
			}
			if now = f.readers(now, t+1, n.piece); len(now) == 0 {
				continue
			}
			had = f.readers(had, t, n.piece)
			if to := f.served(rank, n.piece, had, now); len(to) > 0 {
				list = append(list, Send{t + 1, f.chunksOf(n.piece), to})
			}
		}
		return true
	})
	return list
}

// served are those of the ranks now, which need a piece in an instance where those of had needed it
// in the one before, that fetch it from a rank.
func (f *Flow) served(from int, b int64, had, now []int) []int {
	var to []int
	homes := f.homes(b)
	for _, r := range now {
		if !has(had, r) && !has(homes, r) && f.source(r, b, had) == from {
			to = append(to, r)
		}
	}
	return to
}

// Receivers are those that fetch the piece at these chunks in their instance t from a rank, by
// rank.
func (f *Flow) Receivers(t int64, at []int64, from int) []int {
	b := f.numbered(at)
	if f.w.aligned {
		return f.served(from, b, f.readers(nil, t-1, b), f.readers(nil, t, b))
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
	return f.served(from, b, had, now)
}
