package flow_test

import (
	"fmt"
	"slices"

	"distaff/codegen/place"
	"distaff/spmd/plan/flow"
)

// brute computes the flow of a tensor over all ranks and points straight from the definitions.
type brute struct {
	nest   *place.Nest
	ranks  int
	t      flow.Tensor
	points [][][]int64  // by rank
	needs  [][][]string // by rank and instance, each piece once
	at     map[string][]int64
	alike  bool // instances have the same values at all ranks
	comes  [][]arrival
}

// arrival is a piece that a rank receives.
type arrival struct {
	t    int
	name string
	from int
}

func newBrute(n *place.Nest, ranks int, t flow.Tensor) *brute {
	b := &brute{nest: n, ranks: ranks, t: t, points: make([][][]int64, ranks),
		needs: make([][][]string, ranks), at: map[string][]int64{}}
	for _, p := range b.allPoints() {
		r := b.rank(p)
		b.points[r] = append(b.points[r], p)
	}
	for r, list := range b.points {
		for k, p := range list {
			if k == 0 || !slices.Equal(p[:t.Scope], list[k-1][:t.Scope]) {
				b.needs[r] = append(b.needs[r], nil)
			}
			if t.Reads != nil && !t.Reads(p) {
				continue
			}
			name := b.name(b.chunks(p))
			if now := &b.needs[r][len(b.needs[r])-1]; !slices.Contains(*now, name) {
				*now = append(*now, name)
			}
		}
	}
	b.alike = b.aligned()
	b.comes = make([][]arrival, ranks)
	for r := range ranks {
		for t, needs := range b.needs[r] {
			for _, name := range needs {
				if !b.needed(r, t-1, name) {
					b.comes[r] = append(b.comes[r], arrival{t, name, b.source(r, t, name)})
				}
			}
		}
	}
	return b
}

// allPoints returns the points of the nest in the order of its loops.
func (b *brute) allPoints() [][]int64 {
	list := [][]int64{{}}
	for _, l := range b.nest.Loops {
		var longer [][]int64
		for _, p := range list {
			for v := range l.N {
				longer = append(longer, append(slices.Clone(p), v))
			}
		}
		list = longer
	}
	return list
}

func (b *brute) rank(p []int64) int {
	dims := b.nest.Machine.Dims()
	at := make([]int64, len(dims))
	for k, l := range b.nest.Loops {
		if l.Dim >= 0 {
			at[l.Dim] = p[k] % dims[l.Dim]
		}
	}
	number := int64(0)
	for d, n := range dims {
		number = number*n + at[d]
	}
	return int(number % int64(b.ranks))
}

func (b *brute) chunks(p []int64) []int64 {
	at := []int64{}
	for _, c := range b.t.Cut {
		number := int64(0)
		for _, d := range b.nest.Chunks[c].Digits {
			sum := p[d.Loop]
			for _, l := range d.Plus {
				sum += p[l]
			}
			number = number*d.N + sum%d.N
		}
		at = append(at, number)
	}
	return at
}

func (b *brute) name(at []int64) string {
	s := fmt.Sprint(at)
	b.at[s] = at
	return s
}

func (b *brute) owners(name string) []int {
	if b.t.Copies != nil {
		return b.t.Copies(b.at[name])
	}
	return []int{b.t.Owner(b.at[name])}
}

func (b *brute) coordinates(rank int) []int64 {
	dims := b.nest.Machine.Dims()
	at := make([]int64, len(dims))
	below := int64(1)
	for _, n := range dims {
		below *= n
	}
	left := int64(rank)
	for d, n := range dims {
		below /= n
		at[d] = left / below
		left -= at[d] * below
	}
	return at
}

func (b *brute) distance(x, y int) int {
	differ := 0
	for d, c := range b.coordinates(x) {
		if b.coordinates(y)[d] != c {
			differ++
		}
	}
	return differ
}

// nearest returns the rank of list that is nearest to rank, or the lowest of several, and its
// distance.
func (b *brute) nearest(rank int, list []int) (best, far int) {
	best = -1
	for r := range b.ranks {
		if d := b.distance(rank, r); slices.Contains(list, r) && (best < 0 || d < far) {
			best, far = r, d
		}
	}
	return best, far
}

// aligned reports whether all points of each rank have the same values of the distributed loops.
func (b *brute) aligned() bool {
	for _, list := range b.points {
		for _, p := range list {
			for k, l := range b.nest.Loops {
				if l.Dim >= 0 && p[k] != list[0][k] {
					return false
				}
			}
		}
	}
	return true
}

// needed reports whether a rank needs a piece in an instance.
func (b *brute) needed(rank, t int, name string) bool {
	return t >= 0 && t < len(b.needs[rank]) && slices.Contains(b.needs[rank][t], name)
}

func (b *brute) source(rank, t int, name string) int {
	homes := b.owners(name)
	if slices.Contains(homes, rank) {
		return rank
	}
	var had []int
	for r := range b.ranks {
		if b.alike && b.needed(r, t-1, name) && !slices.Contains(homes, r) {
			had = append(had, r)
		}
	}
	home, far := b.nearest(rank, homes)
	switch forwarder, near := b.nearest(rank, had); {
	case len(had) == 0, len(had) > 1 && far <= near:
		return home
	default:
		return forwarder
	}
}

// fetches returns the fetches of a rank: instance, piece and source.
func (b *brute) fetches(rank int) []string {
	var list []string
	for _, x := range b.comes[rank] {
		list = append(list, fmt.Sprint(x.t, x.name, x.from))
	}
	return list
}

// number returns the row-major number of a piece over the axes.
func (b *brute) number(at []int64) (piece int64) {
	for k, c := range b.t.Cut {
		for _, d := range b.nest.Chunks[c].Digits {
			piece *= d.N
		}
		piece += at[k]
	}
	return piece
}

// sends returns the multicasts of a rank in no particular order: instance, piece and receivers.
func (b *brute) sends(rank int) []string {
	to := map[string][]int{}
	for r, list := range b.comes {
		for _, x := range list {
			if r != rank && x.from == rank {
				key := fmt.Sprint(x.t, x.name)
				to[key] = append(to[key], r)
			}
		}
	}
	var list []string
	for key, ranks := range to {
		list = append(list, key+fmt.Sprint(ranks))
	}
	return list
}
