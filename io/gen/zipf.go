package gen

import (
	"cmp"
	"math"
	"slices"

	"distaff/io/tcs"
)

// zipfDrawn is one process's share of a zipf tensor, which has nnz distinct coordinates. In every
// mode, coordinates are drawn by Zipf's law: the coordinate of rank r has weight r^-skew. A random
// permutation of the mode gives each coordinate its rank.
//
// Entries must be distinct in the whole tensor. So every process draws the same sequence of
// entries, and keeps only the entries whose hash belongs to its share. If the tensor has few
// coordinates, or few coordinates for each entry, zipfSmall selects the entries instead.
type zipfDrawn struct {
	g     *Generator
	small *zipfSmall
	keys  []int64 // numbers of coordinates, sorted
	all   []int64 // coordinates, one after another, if their numbers exceed 63 bits
	held  int64   // bytes that limit counts
	limit *tcs.Limit
}

// draw draws the entries of share p. All processes must call it together, because it sums counts
// over all processes. If one process exceeds its memory limit, only this process gets an error. The
// other processes then get no entries and no error.
func (g *Generator) draw(p Share) (*zipfDrawn, error) {
	d := &zipfDrawn{g: g, limit: p.Limit}
	space, fits := tcs.Coordinates(g.dims)
	if g.Kind.nnz == 0 || fits && space == 0 {
		return d, nil
	}
	each := int64(8)
	switch {
	case fits && (space <= 1<<16 || (space-1)/8 < g.Kind.nnz):
		small, err := g.newZipfSmall(space, p)
		d.small = small
		return d, err
	case !fits:
		each = int64(8*len(g.dims) + 32)
	}
	d.held = each * min(g.Kind.nnz/int64(p.N)+1, math.MaxInt64/each)
	err := p.Limit.Reserve(d.held, "generating a tensor")
	failed := []int64{0}
	if err != nil {
		d.held, failed[0] = 0, 1
	}
	if e := p.sum(failed); e != nil || failed[0] > 0 {
		d.drop()
		return d, cmp.Or(err, e)
	}
	if fits {
		d.keys, err = g.zipfKeys(p)
	} else {
		d.all, err = g.zipfCoords(p)
	}
	if err != nil {
		d.drop()
	}
	return d, err
}

// drop releases the share's memory.
func (d *zipfDrawn) drop() {
	d.limit.Release(d.held)
	d.held, d.small, d.keys, d.all = 0, nil, nil, nil
}

// entries calls yield with the coordinates of each entry that this process generates. It uses the
// same slice for every call.
func (d *zipfDrawn) entries(yield func([]int64) bool) {
	dims := d.g.dims
	at := make([]int64, len(dims))
	emit := func(key int64) bool {
		for m := len(at) - 1; m >= 0; m-- {
			at[m] = key % dims[m]
			key /= dims[m]
		}
		return yield(at)
	}
	if d.small != nil {
		d.small.keys(emit)
		return
	}
	for _, key := range d.keys {
		if !emit(key) {
			return
		}
	}
	for k := 0; k < len(d.all); k += len(at) {
		copy(at, d.all[k:])
		if !yield(at) {
			return
		}
	}
}

// zipfKeys draws coordinates, as numbers, until nnz distinct ones are found. It returns the share's
// numbers, sorted.
func (g *Generator) zipfKeys(p Share) ([]int64, error) {
	keys := make([]int64, 0, g.Kind.nnz/int64(p.N)*17/16+64)
	sorted := 0
	err := g.zipfDraw(p, func(c []int64) {
		key := int64(0)
		for m, x := range c {
			key = key*g.dims[m] + x
		}
		if p.owns(mix(uint64(key))) {
			keys = append(keys, key)
		}
	}, func() int64 {
		slices.Sort(keys[sorted:])
		keys = mergeKeys(keys, sorted)
		sorted = len(keys)
		return int64(sorted)
	})
	return keys, err
}

// mergeKeys sorts a list and removes duplicates. The first n elements must already be sorted and
// distinct, and the elements after them sorted.
func mergeKeys(keys []int64, n int) []int64 {
	if n == 0 {
		return slices.Compact(keys)
	}
	fresh := slices.Compact(slices.Clone(keys[n:]))
	w, i, k := n+len(fresh), n-1, len(fresh)-1
	for out := keys[:w]; k >= 0; { // backward, into the place of the new elements
		w--
		if i >= 0 && out[i] >= fresh[k] {
			out[w] = out[i]
			i--
		} else {
			out[w] = fresh[k]
			k--
		}
	}
	return slices.Compact(keys[:n+len(fresh)])
}

// zipfCoords draws the entries of a share if the tensor is so large that the number of a coordinate
// exceeds 63 bits. It returns the coordinates, one after another. It compares coordinates by a
// hash: two coordinates with the same hash count as equal, so that the second one is not kept.
func (g *Generator) zipfCoords(p Share) ([]int64, error) {
	var all []int64
	seen := newSet(g.Kind.nnz/int64(p.N)*17/16 + 64)
	err := g.zipfDraw(p, func(c []int64) {
		h := g.key
		for _, x := range c {
			h = mix(h + phi*uint64(x+1))
		}
		if p.owns(mix(h)) && seen.add(h) {
			all = append(all, c...)
		}
	}, func() int64 { return seen.n })
	return all, err
}

// zipfDraw draws coordinates and calls add with each, until all processes together have nnz
// distinct ones. It draws in rounds. After each round, count must return the number of distinct
// coordinates in this share. From the ninth round on, each round uses a flatter law, so that the
// loop ends even if fewer than nnz coordinates have most of the weight.
func (g *Generator) zipfDraw(p Share, add func(at []int64), count func() int64) error {
	at := make([]int64, len(g.dims))
	skew := g.Kind.skew
	found := []int64{0}
	for round := uint64(0); found[0] < g.Kind.nnz; round++ {
		if round >= 8 {
			skew *= 0.8
		}
		laws := make([]zipfLaw, len(g.dims))
		for m, d := range g.dims {
			laws[m] = newZipfLaw(d, skew)
		}
		r := random(mix(g.key ^ mix(round+1)))
		for range g.Kind.nnz - found[0] {
			for m, d := range g.dims {
				at[m] = shuffle(g.modeKey(m), d, laws[m].draw(&r)-1)
			}
			add(at)
		}
		found[0] = count()
		if err := p.sum(found); err != nil {
			return err
		}
	}
	return nil
}

func (g *Generator) modeKey(m int) uint64 { return mix(g.key + uint64(m)*phi + 1) }

// zipfLaw draws ranks from 1 to n with weight r^-s by rejection-inversion (Hörmann and
// Derflinger, 1996).
type zipfLaw struct {
	n            int64
	s            float64
	first, last  float64
	certainWidth float64
}

func newZipfLaw(n int64, s float64) zipfLaw {
	z := zipfLaw{n: n, s: s}
	z.first = z.integral(1.5) - 1
	z.last = z.integral(float64(n) + 0.5)
	z.certainWidth = 2 - z.inverse(z.integral(2.5)-math.Pow(2, -s))
	return z
}

func (z zipfLaw) integral(x float64) float64 {
	l := math.Log(x)
	if e := (1 - z.s) * l; math.Abs(e) > 1e-8 {
		return math.Expm1(e) / (1 - z.s)
	}
	return l
}

func (z zipfLaw) inverse(y float64) float64 {
	t := max(y*(1-z.s), -1)
	if math.Abs(t) > 1e-8 {
		return math.Exp(math.Log1p(t) / (1 - z.s))
	}
	return math.Exp(y)
}

func (z zipfLaw) draw(r *random) int64 {
	for {
		u := z.last + r.float()*(z.first-z.last)
		x := z.inverse(u)
		k := math.Min(math.Max(math.Round(x), 1), float64(z.n))
		if k-x <= z.certainWidth || u >= z.integral(k+0.5)-math.Pow(k, -z.s) {
			return int64(k)
		}
	}
}
