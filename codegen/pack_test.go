package codegen_test

import (
	"math/rand/v2"
	"slices"

	"distaff/codegen/format"
	"distaff/codegen/interp"
)

// entry is a stored value at coordinates, in mode order.
type entry struct {
	at []int64
	v  float64
}

// fitting drops the entries that a format cannot hold: below a level with one
// place a parent, all but one coordinate.
func fitting(f format.Format, entries []entry) []entry {
	single := false
	for m := 1; m < len(f.Levels); m++ {
		branchless := f.Levels[m].Caps().Branchless
		single = branchless && (single || f.Levels[m-1].Caps().Unique)
		if !single {
			continue
		}
		seen := map[string]int64{}
		entries = slices.DeleteFunc(slices.Clone(entries), func(e entry) bool {
			key := prefix(f, e, m)
			c, ok := seen[key]
			if !ok {
				seen[key] = e.at[f.Order[m]]
				return false
			}
			return c != e.at[f.Order[m]]
		})
	}
	if len(f.Levels) > 0 && f.Levels[0] == format.SingletonPadded && len(entries) > 0 {
		c := entries[0].at[f.Order[0]]
		entries = slices.DeleteFunc(slices.Clone(entries), func(e entry) bool { return e.at[f.Order[0]] != c })
	}
	return entries
}

func prefix(f format.Format, e entry, n int) string {
	var b []byte
	for l := range n {
		b = append(b, byte(e.at[f.Order[l]]), ',')
	}
	return string(b)
}

// packer stores entries as a format's levels.
type packer struct {
	f    format.Format
	dims []int64
	arg  interp.Arg
	pos  [][]int32
	crd  [][]int32
	rng  *rand.Rand
}

// pack stores sorted entries, summed where the format keeps no repeats.
func pack(f format.Format, dims []int64, entries []entry, rng *rand.Rand) interp.Arg {
	p := &packer{f: f, dims: dims, pos: make([][]int32, len(dims)), crd: make([][]int32, len(dims)), rng: rng}
	slices.SortStableFunc(entries, func(a, b entry) int {
		for _, m := range f.Order {
			if a.at[m] != b.at[m] {
				return int(a.at[m] - b.at[m])
			}
		}
		return 0
	})
	groups := [][]entry{entries}
	for l := 0; l < len(dims); {
		groups, l = p.level(l, groups)
	}
	vals := make([]float64, len(groups))
	for k, g := range groups {
		for _, e := range g {
			vals[k] += e.v
		}
	}
	p.arg.Vals = interp.Array{Data: vals}
	for l, m := range f.Order {
		lev := interp.Level{}
		if f.Levels[l] == format.Dense {
			lev.Size = dims[m]
		}
		if f.Levels[l].Caps().HasPos {
			lev.Pos = interp.Array{Data: p.pos[l]}
		}
		if f.Levels[l].Caps().HasCrd {
			lev.Crd = interp.Array{Data: p.crd[l]}
		}
		p.arg.Levels = append(p.arg.Levels, lev)
	}
	return p.arg
}

// level stores the levels from l to the end of its run of singletons, and gives the
// entries below each position.
func (p *packer) level(l int, parents [][]entry) (groups [][]entry, next int) {
	f := p.f
	mode := f.Order[l]
	if f.Levels[l] == format.Dense {
		for _, g := range parents {
			for c := range p.dims[mode] {
				groups = append(groups, slices.DeleteFunc(slices.Clone(g), func(e entry) bool { return e.at[mode] != c }))
			}
		}
		return groups, l + 1
	}
	if !f.Levels[l].Caps().HasPos { // padded, under a dense level
		for _, g := range parents {
			c := int32(-1)
			if len(g) > 0 {
				c = int32(g[0].at[mode])
			}
			p.crd[l] = append(p.crd[l], c)
			groups = append(groups, g)
		}
		return groups, l + 1
	}
	end := f.RunEnd(l)
	p.pos[l] = append(p.pos[l], 0)
	repeats := end == len(f.Levels)-1 && repeats(f)
	for _, g := range parents {
		for len(g) > 0 {
			n := 1
			for n < len(g) && !repeats && same(f, g[0], g[n], l, end) {
				n++
			}
			if slices.Contains(f.Levels[l:end+1], format.SingletonPadded) && p.padAt(l, end) {
				for m := l; m <= end; m++ {
					c := int32(g[0].at[f.Order[m]])
					if f.Levels[m] == format.SingletonPadded {
						c = -1
					}
					p.crd[m] = append(p.crd[m], c)
				}
				groups = append(groups, nil)
			}
			for m := l; m <= end; m++ {
				p.crd[m] = append(p.crd[m], int32(g[0].at[f.Order[m]]))
			}
			groups = append(groups, g[:n])
			g = g[n:]
		}
		p.pos[l] = append(p.pos[l], int32(len(p.crd[l])))
	}
	return groups, end + 1
}

// padAt decides whether to put padding into a run: only below levels that
// keep repeats, so that the padding's own coordinates may stand twice.
func (p *packer) padAt(l, end int) bool {
	for m := l; m < end; m++ {
		if p.f.Levels[m].Caps().Unique {
			return false
		}
	}
	return p.f.Levels[end] == format.SingletonPadded && p.rng.IntN(3) == 0
}

func same(f format.Format, a, b entry, l, end int) bool {
	for m := l; m <= end; m++ {
		if a.at[f.Order[m]] != b.at[f.Order[m]] {
			return false
		}
	}
	return true
}

// unpack lists what levels d and s hold.
func unpack(f format.Format, dims []int64, arg interp.Arg, visit func(at []int64, pos int)) {
	at := make([]int64, len(dims))
	var walk func(l, p int)
	walk = func(l, p int) {
		if l == len(dims) {
			visit(at, p)
			return
		}
		m := f.Order[l]
		if f.Levels[l] == format.Dense {
			for c := range dims[m] {
				at[m] = c
				walk(l+1, p*int(dims[m])+int(c))
			}
			return
		}
		pos, crd := ints(arg.Levels[l].Pos), ints(arg.Levels[l].Crd)
		for q := pos[p]; q < pos[p+1]; q++ {
			at[m] = crd[q]
			walk(l+1, int(q))
		}
	}
	walk(0, 0)
}

func ints(a interp.Array) []int64 {
	switch d := a.Data.(type) {
	case []int64:
		return d
	case []int32:
		out := make([]int64, len(d))
		for k, x := range d {
			out[k] = int64(x)
		}
		return out
	}
	return nil
}

// repeats tells whether a format can hold one coordinate several times: no
// level of the last run is unique.
func repeats(f format.Format) bool {
	for l := len(f.Levels) - 1; l >= 0; l-- {
		if f.Levels[l].Caps().Unique {
			return false
		}
		if f.Levels[l].Caps().HasPos {
			return true
		}
	}
	return false
}
