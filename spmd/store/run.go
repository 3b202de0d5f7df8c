package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"distaff/io/coo"
	"distaff/io/outfile"
	"distaff/io/tcs"
	"distaff/io/tcsfile"
	"distaff/io/tensor"
)

// run gives access to the entries of a block. An entry can be found by its position or by its
// coordinates. The entries are sorted by coordinates, outermost level first. The position of an
// entry is the position of its value. Every stored value has a position, also a zero that the
// function stream leaves out.
type run struct {
	t     *tcs.Tensor
	own   bool // t was made for this run
	zeros coo.Zeros
}

// runs returns the runs of this rank's blocks. sum means that entries with equal coordinates are
// added. All entries with the same coordinates are in one block.
//
// A block is its own run if it is stored in the order of modes, is exact (see isExact), has no
// padding, and has no entries to add. Other blocks are copied and sorted: in memory, or in a mapped
// file if the memory limit leaves too little room.
func (t *Blocks) runs(modes []int, zeros coo.Zeros, sum bool, cfg coo.Config) ([]*run, error) {
	var list []*run
	for _, k := range t.numbers() {
		b := t.Own[k]
		f := b.Format()
		repeats := f.Repeats()
		if !f.HasPadding() && !(sum && repeats) && coo.InOrder(coo.FromTensorBy(b, zeros, 0), modes) &&
			isExact(b) {
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

func closeRuns(list []*run) {
	for _, r := range list {
		if r.own {
			r.t.Close()
		}
	}
}

// sortedCopy returns a copy of a block's entries as a coordinate list sorted by modes.
func sortedCopy(b *tcs.Tensor, modes []int, zeros coo.Zeros, repeats bool,
	cfg coo.Config) (*tcs.Tensor, error) {
	spec := coo.Spec{Format: tensor.FormatOf(coordinates(len(modes), repeats), modes),
		Dims: b.Header.Dims,
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
	defer os.RemoveAll(dir) // the mapping keeps the file alive
	path := filepath.Join(dir, "block.tcs")
	if err := coo.AssembleFile(path, coo.FromTensor(b, zeros), spec, cfg); err != nil {
		return nil, err
	}
	if t, err = tcsfile.Open(path); err != nil {
		return nil, err
	}
	t.Trust()
	return t, nil
}

// coordinates returns the level kinds of a coordinate list of n modes. repeats says that
// coordinates may repeat.
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

// at sets coord to the coordinates, by level, of entry i.
func (r *run) at(i int64, coord []int64) {
	p := r.t.Vals.First + i
	for l := len(r.t.Levels) - 1; l >= 0; l-- {
		lev := &r.t.Levels[l]
		switch lev.Form() {
		case tensor.Full:
			coord[l] = lev.Offset + p%lev.Size
			p /= lev.Size
		case tensor.Segmented:
			coord[l] = lev.Crd.At(p)
			p = lev.Pos.First + after(lev.Pos, p) - 1
		case tensor.Single:
			coord[l] = lev.Crd.At(p)
		}
	}
}

// after returns the first index whose element is greater than key.
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

// find returns the position of the first entry whose coordinates are not before coord. If there is
// no such entry, it returns the number of entries.
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

// compare compares coordinates lexicographically.
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

// stream returns the entries [lo, hi) as a stream of batches of at most n entries.
func (r *run) stream(lo, hi int64, n int) (coo.Stream, error) {
	v,
		err := r.t.View(tcs.Block{Cut: true, Level: -1, Lo: r.t.Vals.First + lo,
		Hi: r.t.Vals.First + hi})
	if err != nil {
		return nil, err
	}
	return &viewStream{coo.FromTensorBy(v, r.zeros, n), v}, nil
}

// viewStream is a stream of the entries of a view. Close closes the view.
type viewStream struct {
	coo.Stream
	v *tcs.Tensor
}

func (p *viewStream) Close() error { return p.v.Close() }
