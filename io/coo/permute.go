package coo

import (
	"errors"
	"unsafe"

	"distaff/io/tcs"
	"distaff/io/tensor"
)

// alongRows and acrossRows are the sides of a tile, in elements. A tensor is copied tile by tile if
// the source and the copy store different modes in their innermost levels. The tiles let the copy
// use a cache line while the line is in the cache.
//
// alongRows is the side in the innermost mode of the copy. It is the number of 8-byte elements of
// one cache line. A larger side would be slower, because addresses that are a power of two apart
// compete for the few ways of a cache set. acrossRows is the side in the innermost mode of the
// source.
const alongRows, acrossRows = 8, 64

// minShare limits the number of threads that copy a tensor: if there are several threads, each
// copies at least minShare values on average.
const minShare = 1 << 16

// permuted returns a copy of t, a tensor of dense levels. The levels of the copy store the given
// modes, or the modes in ascending order if modes is nil. permuted returns nil, nil if t is a
// scalar, or if t's memory does not hold its whole box, as in some views.
func permuted(t *tcs.Tensor, modes []int, cfg Config) (*tcs.Tensor, error) {
	if len(t.Levels) == 0 {
		return nil, nil
	}
	if modes == nil {
		modes = tensor.Identity(len(t.Header.Dims))
	}
	shape := &tcs.Shape{Header: tcs.Header{Dims: t.Header.Dims, Splits: t.Header.Splits,
		Type: t.Header.Type}, Format: tensor.Format{Levels: tensor.DenseOf(len(modes)).Levels,
		Order: modes}}
	if !t.Header.Whole() {
		shape.Header.Box = t.Header.Box
	}
	// strides[m] is the distance between values of t that are neighbours in mode m. first and last
	// are the positions of two opposite corners.
	strides, step := make([]int64, len(t.Header.Dims)), int64(1)
	first, last, values := int64(0), int64(0), int64(1)
	for l := len(t.Levels) - 1; l >= 0; l-- {
		lev := &t.Levels[l]
		r := t.Header.Range(lev.Mode)
		strides[lev.Mode] = step
		first, last = first+(r[0]-lev.Offset)*step, last+(r[1]-1-lev.Offset)*step
		step, values = step*lev.Size, values*(r[1]-r[0])
	}
	if values > 0 && (first < t.Vals.First || last >= t.Vals.First+t.Vals.Len) {
		return nil, nil
	}
	out, err := tcs.New(shape, cfg.Limit, "")
	if err != nil || values == 0 {
		return out, err
	}
	c := &copying{first: first - t.Vals.First, inner: len(modes) - 1, across: len(modes) - 1}
	for l, m := range modes {
		c.sizes, c.from = append(c.sizes, out.Levels[l].Size), append(c.from, strides[m])
		if m == t.Levels[len(t.Levels)-1].Mode {
			c.across = l
		}
	}
	c.tiles = make([]int64, len(c.sizes))
	for l, n := range c.sizes {
		switch c.tiles[l] = n; {
		case c.across == c.inner && l == c.inner:
			c.tiles[l] = 1
		case l == c.inner:
			c.tiles[l] = (n + alongRows - 1) / alongRows
		case l == c.across:
			c.tiles[l] = (n + acrossRows - 1) / acrossRows
		}
	}
	all := int64(1)
	for _, n := range c.tiles {
		all *= n
	}
	threads := min(max(values/minShare, 1), int64(cfg.threads()), all)
	errs := make([]error, threads)
	parallel(int(threads), func(i int) {
		k := int64(i)
		errs[i] = t.Guarded(func() error {
			c.copy(out, t, all*k/threads, all*(k+1)/threads)
			return nil
		})
	})
	if err := errors.Join(errs...); err != nil {
		out.Close()
		return nil, err
	}
	out.Trust()
	return out, nil
}

// copying describes how values are copied from one order of levels to another. Levels are numbered
// as in the copy. Level inner is the innermost level of the copy. Level across is the innermost
// level of the source. Both are cut into tiles, unless they are the same level.
type copying struct {
	sizes, from []int64 // by level, its size, and the distance of neighbours in the source
	// by level, the number of its tiles, or of its coordinates if the level is not cut
	tiles         []int64
	first         int64 // position of the first value in the source
	inner, across int
}

func (c *copying) copy(out, t *tcs.Tensor, lo, hi int64) {
	to, from := out.Vals.Bytes(), t.Vals.Bytes()
	switch t.Header.Type.Size() {
	case 1:
		copyTiles(c, to, from, lo, hi)
	case 2:
		copyTiles(c, asCells[uint16](to), asCells[uint16](from), lo, hi)
	case 4:
		copyTiles(c, asCells[uint32](to), asCells[uint32](from), lo, hi)
	case 8:
		copyTiles(c, asCells[uint64](to), asCells[uint64](from), lo, hi)
	default:
		copyTiles(c, asCells[[2]uint64](to), asCells[[2]uint64](from), lo, hi)
	}
}

// asCells returns the bytes of values as a slice of T, which must have the size of one value.
func asCells[T any](b []byte) []T {
	var z T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(z)))
}

// copyTiles copies tiles [lo, hi) of source to target. Tiles are numbered in the order of the
// copy's levels.
func copyTiles[T any](c *copying, target, source []T, lo, hi int64) {
	at := make([]int64, len(c.sizes))
	for n := lo; n < hi; n++ {
		rest := n
		for l := len(at) - 1; l >= 0; l-- {
			at[l], rest = rest%c.tiles[l], rest/c.tiles[l]
		}
		x, y := int64(0), c.first // positions of the first element of the tile
		for l, k := range at {
			switch l {
			case c.inner:
				k *= alongRows
			case c.across:
				k *= acrossRows
			}
			x, y = x*c.sizes[l]+k, y+k*c.from[l]
		}
		if c.across == c.inner {
			copy(target[x:x+c.sizes[c.inner]], source[y:])
			continue
		}
		rows := min(c.sizes[c.across]-at[c.across]*acrossRows, acrossRows)
		columns := min(c.sizes[c.inner]-at[c.inner]*alongRows, alongRows)
		step, apart := c.from[c.inner], int64(1)
		for _, s := range c.sizes[c.across+1:] {
			apart *= s
		}
		for r := range rows {
			row := target[x+r*apart:][:columns]
			for k := range row {
				row[k] = source[y+r+int64(k)*step]
			}
		}
	}
}
