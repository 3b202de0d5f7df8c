package spmd

import (
	"cmp"
	"math"
	"slices"
)

// zipfEntries yields nnz distinct coordinates, every mode's coordinate by
// Zipf's law (the r-th most frequent one has weight r^-skew), the ranks of a
// mode shuffled over its coordinates. All ranges are drawn, and those outside
// [lo, hi) of mode 0 dropped: distinctness ties them together.
func (g *generator) zipfEntries(at []int64, lo, hi int64, yield func([]int64) bool) {
	space, fits := product(g.dims)
	emit := func(key int64) bool {
		for m := len(at) - 1; m >= 0; m-- {
			at[m] = key % g.dims[m]
			key /= g.dims[m]
		}
		return at[0] < lo || at[0] >= hi || yield(at)
	}
	switch {
	case g.nnz == 0:
	case fits && space <= max(1<<16, 8*g.nnz):
		for _, key := range g.zipfSmall(space) {
			if !emit(key) {
				return
			}
		}
	case fits:
		keys := make([]int64, 0, g.nnz)
		g.zipfDraw(func(c []int64) uint64 {
			key := int64(0)
			for m, x := range c {
				key = key*g.dims[m] + x
			}
			return uint64(key)
		}, func(_ []int64, key uint64) { keys = append(keys, int64(key)) })
		slices.Sort(keys)
		for _, key := range keys {
			if !emit(key) {
				return
			}
		}
	default:
		// Coordinates have no number below 2^63: they are told apart by a
		// hash. Two that share one count as equal, and one of them is redrawn.
		var all []int64
		g.zipfDraw(func(c []int64) uint64 {
			h := g.key
			for _, x := range c {
				h = mix(h + phi*uint64(x+1))
			}
			return h
		}, func(c []int64, _ uint64) { all = append(all, c...) })
		for k := 0; k < len(all); k += len(at) {
			copy(at, all[k:])
			if at[0] >= lo && at[0] < hi && !yield(at) {
				return
			}
		}
	}
}

// zipfSmall draws without replacement from a space not much larger than the
// number of entries: the nnz smallest of exponential variates over weights
// (Efraimidis and Spirakis, 2006), as coordinate numbers in order.
func (g *generator) zipfSmall(space int64) []int64 {
	weights := make([][]float64, len(g.dims))
	for m, d := range g.dims {
		weights[m] = make([]float64, d)
		for r := range d {
			weights[m][shuffle(g.modeKey(m), d, r)] = -g.skew * math.Log(float64(r+1))
		}
	}
	type drawn struct {
		at  float64
		key int64
	}
	all := make([]drawn, space)
	r := random(mix(g.key ^ 0x7a697066))
	for key := range space {
		w, k := 0.0, key
		for m := len(g.dims) - 1; m >= 0; m-- {
			w += weights[m][k%g.dims[m]]
			k /= g.dims[m]
		}
		all[key] = drawn{math.Log(-math.Log(r.float()*(1-0x1p-53))) - w, key}
	}
	slices.SortFunc(all, func(a, b drawn) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.key, b.key)) })
	keys := make([]int64, g.nnz)
	for k := range keys {
		keys[k] = all[k].key
	}
	slices.Sort(keys)
	return keys
}

// zipfDraw draws until nnz distinct coordinates are found; add is told each.
// Where the law's weight sits in fewer coordinates than are asked for, later
// rounds draw from a flatter law, so that it ends.
func (g *generator) zipfDraw(number func([]int64) uint64, add func(at []int64, key uint64)) {
	seen := newSet(g.nnz)
	at := make([]int64, len(g.dims))
	skew := g.skew
	for round := uint64(0); seen.n < g.nnz; round++ {
		if round >= 8 {
			skew *= 0.8
		}
		laws := make([]zipfLaw, len(g.dims))
		for m, d := range g.dims {
			laws[m] = newZipfLaw(d, skew)
		}
		r := random(mix(g.key ^ mix(round+1)))
		for range g.nnz - seen.n {
			for m, d := range g.dims {
				at[m] = shuffle(g.modeKey(m), d, laws[m].draw(&r)-1)
			}
			if key := number(at); seen.add(key) {
				add(at, key)
			}
		}
	}
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

// set is a hash set of numbers, open addressing.
type set struct {
	slots []uint64 // 0 is empty
	zero  bool     // whether 0 is in
	n     int64
}

func newSet(n int64) *set {
	size := 16
	for int64(size) < 2*n {
		size *= 2
	}
	return &set{slots: make([]uint64, size)}
}

// add reports whether x was not in the set.
func (s *set) add(x uint64) bool {
	if x == 0 {
		if s.zero {
			return false
		}
		s.zero = true
		s.n++
		return true
	}
	mask := uint64(len(s.slots) - 1)
	for k := mix(x) & mask; ; k = (k + 1) & mask {
		switch s.slots[k] {
		case 0:
			s.slots[k] = x
			s.n++
			return true
		case x:
			return false
		}
	}
}
