package spmd

import (
	"cmp"
	"math"
	"slices"

	"distaff/io/tcs"
)

// share is what one of several processes makes of a tensor that all make together.
type share struct {
	k, n int
	// sum adds numbers over all processes, in place. Every one calls it as often.
	sum   func([]int64) error
	limit *tcs.Limit
}

// alone is the share of a process that makes everything.
func alone() share { return share{0, 1, func([]int64) error { return nil }, nil} }

// zipfDrawn is a share of the entries of a zipf tensor: nnz distinct coordinates,
// every mode's by Zipf's law (the r-th most frequent one has weight r^-skew), the
// ranks of a mode shuffled over its coordinates. All processes draw all of them, since
// distinctness ties them together, and keep those whose hash is theirs.
type zipfDrawn struct {
	small *zipfSmall
	keys  []int64 // numbers of coordinates, in order
	all   []int64 // coordinates one after another, where they have no numbers below 2^63
	held  int64   // bytes counted against the limit
	limit *tcs.Limit
}

// draw makes this process's share. Collective; where memory is refused to one, only
// that one has the error.
func (g *generator) draw(s share) error {
	if g.kind != "zipf" || len(g.dims) == 0 || g.nnz == 0 {
		return nil
	}
	space, fits := product(g.dims)
	if fits && space == 0 {
		return nil
	}
	d := &zipfDrawn{limit: s.limit}
	each := int64(8)
	switch {
	case fits && space <= max(1<<16, 8*g.nnz):
		small, err := g.newZipfSmall(space, s)
		if err != nil {
			return err
		}
		d.small = small
		g.drawn = d
		return nil
	case !fits:
		each = int64(8*len(g.dims) + 32)
	}
	d.held = each * (g.nnz/int64(s.n) + 1)
	err := s.limit.Reserve(d.held, "generating a tensor")
	failed := []int64{0}
	if err != nil {
		d.held, failed[0] = 0, 1
	}
	if e := s.sum(failed); e != nil || failed[0] > 0 {
		d.drop()
		return cmp.Or(err, e)
	}
	if fits {
		d.keys, err = g.zipfKeys(s)
	} else {
		d.all, err = g.zipfCoords(s)
	}
	if err != nil {
		d.drop()
		return err
	}
	g.drawn = d
	return nil
}

// drop gives the share up.
func (d *zipfDrawn) drop() {
	d.limit.Release(d.held)
	d.held, d.keys, d.all = 0, nil, nil
}

// undraw gives up what was drawn.
func (g *generator) undraw() {
	if g.drawn != nil {
		g.drawn.drop()
		g.drawn = nil
	}
}

// zipfEntries yields the share's entries whose mode 0 lies in [lo, hi).
func (g *generator) zipfEntries(at []int64, lo, hi int64, yield func([]int64) bool) {
	if g.drawn == nil {
		if err := g.draw(alone()); err != nil || g.drawn == nil {
			return // without entries: one process's own draw has no other fault
		}
	}
	d := g.drawn
	emit := func(key int64) bool {
		for m := len(at) - 1; m >= 0; m-- {
			at[m] = key % g.dims[m]
			key /= g.dims[m]
		}
		return at[0] < lo || at[0] >= hi || yield(at)
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
		if at[0] >= lo && at[0] < hi && !yield(at) {
			return
		}
	}
}

// zipfKeys draws numbers of coordinates until nnz distinct ones are found.
func (g *generator) zipfKeys(s share) ([]int64, error) {
	keys := make([]int64, 0, g.nnz/int64(s.n)*17/16+64)
	sorted := 0
	err := g.zipfDraw(s, func(c []int64) {
		key := int64(0)
		for m, x := range c {
			key = key*g.dims[m] + x
		}
		if s.n == 1 || mix(uint64(key))%uint64(s.n) == uint64(s.k) {
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

// mergeKeys brings a list into order whose first n are in order and distinct, and
// whose others are in order, and leaves one of those that are alike.
func mergeKeys(keys []int64, n int) []int64 {
	if n == 0 {
		return slices.Compact(keys)
	}
	fresh := slices.Compact(slices.Clone(keys[n:]))
	w, i, k := n+len(fresh), n-1, len(fresh)-1
	for out := keys[:w]; k >= 0; { // from behind, into the room of those that came
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

// zipfCoords draws coordinates that have no number below 2^63: they are told apart
// by a hash. Two that share one count as equal, and one of them is redrawn.
func (g *generator) zipfCoords(s share) ([]int64, error) {
	var all []int64
	seen := newSet(g.nnz/int64(s.n)*17/16 + 64)
	err := g.zipfDraw(s, func(c []int64) {
		h := g.key
		for _, x := range c {
			h = mix(h + phi*uint64(x+1))
		}
		if (s.n == 1 || mix(h)%uint64(s.n) == uint64(s.k)) && seen.add(h) {
			all = append(all, c...)
		}
	}, func() int64 { return seen.n })
	return all, err
}

// zipfDraw draws until all processes together have nnz distinct coordinates; add is told
// each, and count, after a round, how many distinct ones this process has. Where
// the law's weight sits in fewer coordinates than are asked for, later rounds draw from a
// flatter law, so that it ends.
func (g *generator) zipfDraw(s share, add func(at []int64), count func() int64) error {
	at := make([]int64, len(g.dims))
	skew := g.skew
	found := []int64{0}
	for round := uint64(0); found[0] < g.nnz; round++ {
		if round >= 8 {
			skew *= 0.8
		}
		laws := make([]zipfLaw, len(g.dims))
		for m, d := range g.dims {
			laws[m] = newZipfLaw(d, skew)
		}
		r := random(mix(g.key ^ mix(round+1)))
		for range g.nnz - found[0] {
			for m, d := range g.dims {
				at[m] = shuffle(g.modeKey(m), d, laws[m].draw(&r)-1)
			}
			add(at)
		}
		found[0] = count()
		if err := s.sum(found); err != nil {
			return err
		}
	}
	return nil
}

func (g *generator) modeKey(m int) uint64 { return mix(g.key + uint64(m)*phi + 1) }

// zipfLaw draws ranks 1 to n with weight r^-s by rejection-inversion
// (Hörmann and Derflinger, 1996).
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
