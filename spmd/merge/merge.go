// Package merge merges sorted streams of entries with a tournament tree (SuperTaco (2019), section
// 4.6.2): a binary tree of matches, where each inner node stores the loser of its match. After
// the winner's entry is taken, the next winner is found with one comparison for each level.
package merge

import (
	"io"

	"distaff/io/coo"
	"distaff/io/tensor"
)

// Streams merges one or more streams into one stream. Each stream must be sorted by the coordinates
// of modes, in that order, and all must have the same type and the same sizes. If entries of
// several streams have equal coordinates, the entry of the earlier stream comes first. Closing the
// merged stream closes the streams.
func Streams(in []coo.Stream, modes []int) coo.Stream {
	if len(in) == 1 {
		return in[0]
	}
	t := &tree{modes: modes}
	for _, s := range in {
		t.leaves = append(t.leaves, &leaf{in: s})
	}
	return t
}

// leaf is one stream and its current entry.
type leaf struct {
	in   coo.Stream
	b    coo.Batch
	at   int
	done bool
}

func (l *leaf) advance() error {
	l.at++
	for !l.done && l.at >= l.b.N {
		switch err := l.in.Next(&l.b); err {
		case nil:
			l.at = 0
		case io.EOF:
			l.done = true
		default:
			return err
		}
	}
	return nil
}

// tree is the tournament that finds the next entry of the merged stream. It is a binary tree, and
// its leaves are the streams. In a match between two leaves, the leaf whose entry comes first wins.
// loser[k] for k >= 1 is the leaf that lost the match at node k. The children of node k are the
// nodes 2k and 2k+1. Leaf i is node i+n if there are n leaves.
type tree struct {
	modes    []int
	leaves   []*leaf
	loser    []int
	winner   int
	started  bool
	own      coo.Batch // memory of the batches that Next returns
	capacity int       // entries that own has room for
}

func (t *tree) Dims() ([]int64, bool) { return t.leaves[0].in.Dims() }
func (t *tree) Type() tensor.Type     { return t.leaves[0].in.Type() }

func (t *tree) Close() error {
	var first error
	for _, l := range t.leaves {
		if err := l.in.Close(); err != nil && first == nil {
			first = err
		}
	}
	return first
}

func (t *tree) Rewind() error {
	t.started = false
	for _, l := range t.leaves {
		if err := l.in.Rewind(); err != nil {
			return err
		}
		l.b.N, l.at, l.done = 0, 0, false
	}
	return nil
}

// before reports whether the entry of leaf a comes before the entry of leaf b.
func (t *tree) before(a, b int) bool {
	x, y := t.leaves[a], t.leaves[b]
	if x.done || y.done {
		return !x.done || y.done && a < b
	}
	for _, m := range t.modes {
		if c, d := x.b.Coords[m][x.at], y.b.Coords[m][y.at]; c != d {
			return c < d
		}
	}
	return a < b
}

// start reads the first entry of each stream. It then plays all matches of the tournament, which
// compare the entries pairwise up to the root.
func (t *tree) start() error {
	n := len(t.leaves)
	for _, l := range t.leaves {
		if err := l.advance(); err != nil {
			return err
		}
	}
	t.loser = make([]int, n)
	win := make([]int, 2*n)
	for i := range n {
		win[n+i] = i
	}
	for k := n - 1; k >= 1; k-- {
		a, b := win[2*k], win[2*k+1]
		if t.before(b, a) {
			a, b = b, a
		}
		win[k], t.loser[k] = a, b
	}
	t.winner = win[1]
	t.started = true
	return nil
}

// replay advances the winner's stream. It then plays the matches between the winner's leaf and the
// root again, which gives the next winner.
func (t *tree) replay() error {
	w := t.winner
	if err := t.leaves[w].advance(); err != nil {
		return err
	}
	for k := (w + len(t.leaves)) / 2; k >= 1; k /= 2 {
		if t.before(t.loser[k], w) {
			w, t.loser[k] = t.loser[k], w
		}
	}
	t.winner = w
	return nil
}

// run returns how many of the winner's next entries come before the entries of all other leaves,
// but at most `most`. For a tensor without modes it may return 1 instead.
func (t *tree) run(most int) int {
	w := t.winner
	next := -1 // the runner-up: it lost a match to the winner itself
	for k := (w + len(t.leaves)) / 2; k >= 1; k /= 2 {
		if next < 0 || t.before(t.loser[k], next) {
			next = t.loser[k]
		}
	}
	other := t.leaves[next]
	if other.done {
		return most
	}
	if len(t.modes) == 0 {
		return 1
	}
	l := t.leaves[w]
	n := 1
	// If the outermost coordinates differ, they decide.
	outer := t.modes[0]
	col, bound := l.b.Coords[outer][l.at:l.at+most], other.b.Coords[outer][other.at]
	for n < most && col[n] < bound {
		n++
	}
	for n < most && col[n] == bound && t.precedes(l, l.at+n, other, w < next) {
		n++
	}
	return n
}

// precedes reports whether entry i of leaf l comes before the current entry of leaf `other`. If the
// entries have equal coordinates, precedes returns isEarlier, which is true if the stream of l is
// earlier than the stream of `other`.
func (t *tree) precedes(l *leaf, i int, other *leaf, isEarlier bool) bool {
	for _, m := range t.modes {
		if c, d := l.b.Coords[m][i], other.b.Coords[m][other.at]; c != d {
			return c < d
		}
	}
	return isEarlier
}

// Next fills b with entries in order. The next call reuses the memory of b.
func (t *tree) Next(b *coo.Batch) error {
	if !t.started {
		if err := t.start(); err != nil {
			return err
		}
	}
	size := int(t.Type().Size())
	dims, _ := t.Dims()
	t.own.Resize(len(dims), t.capacity, size)
	n := 0
	for n < coo.BatchSize && !t.leaves[t.winner].done {
		l := t.leaves[t.winner]
		k := t.run(min(l.b.N-l.at, coo.BatchSize-n))
		for n+k > t.capacity {
			t.own.Extend(len(dims), size)
			t.capacity = t.own.N
		}
		for m := range t.own.Coords {
			copy(t.own.Coords[m][n:n+k], l.b.Coords[m][l.at:])
		}
		copy(t.own.Vals[n*size:(n+k)*size], l.b.Vals[l.at*size:])
		n += k
		l.at += k - 1
		if err := t.replay(); err != nil {
			return err
		}
	}
	if n == 0 {
		return io.EOF
	}
	t.own.Resize(len(dims), n, size)
	b.Coords, b.Vals, b.N = t.own.Coords, t.own.Vals, n
	return nil
}
