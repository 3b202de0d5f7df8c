package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"distaff/io/coo"
	"distaff/io/outfile"
	"distaff/io/tcs"
)

// run is a block's entries in the order of modes, outermost first, to be found
// by position and by coordinate. Its positions are those of the values, and
// count zeros that a stream may leave out.
type run struct {
	t     *tcs.Tensor
	own   bool // t was made for the run
	zeros coo.Zeros
}

// runs makes runs of this rank's blocks. A block that is stored in the order
// wanted is its own run; of others a sorted copy is made, in memory or, where
// the limit leaves no room, in a file that is mapped. With sum, entries of one
// coordinate, which a block has all of, become one.
func (t *Blocks) runs(modes []int, zeros coo.Zeros, sum bool, cfg coo.Config) ([]*run, error) {
	var list []*run
	for _, k := range t.numbers() {
		b := t.Own[k]
		kinds, _ := b.Format()
		repeats := tcs.KeepsRepeats(kinds)
		if !padded(kinds) && !(sum && repeats) && coo.InOrder(coo.FromTensorBy(b, zeros, 0), modes) &&
			exact(b) {
			list = append(list, &run{t: b, zeros: zeros})
			continue
		}
		s, err := sortedCopy(b, modes, zeros, repeats && !sum, cfg)
		if err != nil {
			closeRuns(list)
			return nil, err
		}
		list = append(list, &run{t: s, own: true, zeros: coo.KeepAll})
	}
	return list, nil
}

// padded tells whether positions may have no entry.
func padded(kinds string) bool {
	return strings.ContainsFunc(kinds, func(k rune) bool { return tcs.KindOf(byte(k)).Padded })
}

func closeRuns(list []*run) {
	for _, r := range list {
		if r.own {
			r.t.Close()
		}
	}
}

// sortedCopy is a block's entries as coordinates, sorted by modes.
func sortedCopy(b *tcs.Tensor, modes []int, zeros coo.Zeros, repeats bool,
	cfg coo.Config) (*tcs.Tensor, error) {
	spec := coo.Spec{Kinds: coordinates(len(modes), repeats), Modes: modes, Dims: b.Header.Dims,
		Name: "a block of the result"}
	t, err := coo.Assemble(coo.FromTensor(b, zeros), spec, cfg)
	var full *tcs.MemoryError
	if !errors.As(err, &full) {
		return t, err
	}
	dir, err := outfile.MkdirTemp(cfg.Tmp, "distaff-store-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) // the map keeps the file
	path := filepath.Join(dir, "block.tcs")
	if err := coo.AssembleFile(path, coo.FromTensor(b, zeros), spec, cfg); err != nil {
		return nil, err
	}
	if t, err = tcs.Open(path); err != nil {
		return nil, err
	}
	t.Trust()
	return t, nil
}

// coordinates is the format of n modes' coordinates, one entry after another.
func coordinates(n int, repeats bool) string {
	switch {
	case n == 0:
		return ""
	case n == 1 && !repeats:
		return "s"
	case repeats:
		return "u" + strings.Repeat("c", n-1)
	}
	return "u" + strings.Repeat("c", n-2) + "q"
}

func (r *run) len() int64 { return r.t.Vals.Len }

// at is the coordinates, by level, of entry i.
func (r *run) at(i int64, coord []int64) {
	p := r.t.Vals.First + i
	for l := len(r.t.Levels) - 1; l >= 0; l-- {
		lev := &r.t.Levels[l]
		switch lev.Form() {
		case tcs.Full:
			coord[l] = lev.Offset + p%lev.Size
			p /= lev.Size
		case tcs.Segmented:
			coord[l] = lev.Crd.At(p)
			p = lev.Pos.First + after(lev.Pos, p) - 1
		case tcs.Single:
			coord[l] = lev.Crd.At(p)
		}
	}
}

// after is the first index whose element is past key.
func after(a tcs.Array, key int64) int64 {
	lo, hi := int64(0), a.Len
	for lo < hi {
		mid := (lo + hi) / 2
		if a.Int(mid) <= key {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// find is the first entry that is not before the coordinates.
func (r *run) find(coord []int64) int64 {
	at := make([]int64, len(coord))
	lo, hi := int64(0), r.len()
	for lo < hi {
		mid := lo + (hi-lo)/2
		r.at(mid, at)
		if compare(at, coord) < 0 {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// compare orders coordinates.
func compare(a, b []int64) int {
	for l, x := range a {
		if x != b[l] {
			if x < b[l] {
				return -1
			}
			return 1
		}
	}
	return 0
}

// stream is entries [lo, hi), in batches of at most n.
func (r *run) stream(lo, hi int64, n int) (coo.Stream, error) {
	v,
		err := r.t.View(tcs.Block{Cut: true, Level: -1, Lo: r.t.Vals.First + lo, Hi: r.t.Vals.First + hi})
	if err != nil {
		return nil, err
	}
	return &viewStream{coo.FromTensorBy(v, r.zeros, n), v}, nil
}

// viewStream is a stream of a view that it closes.
type viewStream struct {
	coo.Stream
	v *tcs.Tensor
}

func (p *viewStream) Close() error { return p.v.Close() }
