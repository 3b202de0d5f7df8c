package oracle

import (
	"fmt"
	"math"

	"distaff/codegen/notation"
	"distaff/io/tensor"
)

// style describes the values of a case.
type style struct {
	special  bool // some floats are infinite, NaN or -0
	fraction bool // arithmetic rounds
	large    bool // integer arithmetic may overflow
	full     bool // every coordinate is stored and nonzero, so that integers can be divided
}

// data returns a case with drawn formats, types, sizes and entries for a statement.
func (g *generator) data(s *notation.Stmt) *Case {
	n := notation.Normalize(s)
	sizes := withRanges(n, g.sizes(n))
	c := &Case{Stmt: s.String(), Variant: g.rand.Uint64N(1 << 20)}
	types := g.types()
	st := style{special: g.chance(0.08) && !g.o.Exact, fraction: g.chance(0.06) && !g.o.Exact,
		large: g.chance(0.03) && !g.o.Exact}
	dims := map[string][]int64{}
	for _, a := range append([]*notation.Access{n.LHS}, n.Accesses()...) {
		dims[a.Name] = nil
		for _, v := range a.Vars {
			dims[a.Name] = append(dims[a.Name], sizes[v])
		}
	}
	ints := true
	for k, u := range s.Tensors() {
		t := &Tensor{Name: u.Name, Dims: dims[u.Name], Type: types()}
		switch {
		case k > 0:
			t.Input = true
			t.Format = g.format(u.Order, g.o.Kinds, false)
		default:
			t.Input = s.KeepsOld() && g.chance(0.7)
			t.Format = g.format(u.Order, "dddsssuqc", true)
			if g.chance(0.3) || g.o.Kinds == "d" {
				t.Format = g.format(u.Order, "d", true)
			}
			if !t.Input && g.chance(0.85) {
				t.Type = tensor.None
			}
		}
		if f, ok := g.formats[u.Name]; ok {
			t.Format = f
		}
		ints = ints && (t.Type.HoldsInts() || !t.Input)
		c.Tensors = append(c.Tensors, t)
	}
	st.full = ints && g.divides && g.chance(0.7)
	for _, t := range c.Tensors {
		if t.Input {
			g.entries(t, st)
		}
	}
	return c
}

// withRanges returns the sizes with a size of each mode for which its indices that are not
// variables are in range.
func withRanges(n *notation.Normal, sizes map[string]int64) map[string]int64 {
	class := n.SameSize()
	need := map[string]int64{}
	for _, a := range n.Accesses() {
		last := len(a.Vars) - 1
		if !a.IsPick() || a.Made.Outside {
			continue
		}
		high := a.Made.Const
		for k, v := range a.Vars[:last] {
			high += max(a.Made.Coef[k], 0) * max(sizes[v]-1, 0)
		}
		need[class[a.Vars[last]]] = max(need[class[a.Vars[last]]], high+1)
	}
	for v := range sizes {
		if m, ok := need[class[v]]; ok {
			sizes[v] = m + sizes[v]%2
		}
	}
	return sizes
}

// types draws the types that the case may use, and returns a function that draws one of them for
// each tensor.
func (g *generator) types() func() tensor.Type {
	choice := g.o.Types
	if choice == nil {
		choice = []tensor.Type{tensor.Float64}
		switch g.pick(50, 10, 14, 6, 20) {
		case 1:
			choice = []tensor.Type{tensor.Float32}
		case 2:
			choice = []tensor.Type{tensor.Int32, tensor.Int64}
		case 3:
			choice = []tensor.Type{tensor.Complex64, tensor.Complex128}
		case 4:
			choice = tensor.ValueTypes
		}
	}
	return func() tensor.Type { return choice[g.rand.IntN(len(choice))] }
}

// sizes draws a size for each variable. Variables that index the same mode of a tensor have equal
// sizes.
func (g *generator) sizes(n *notation.Normal) map[string]int64 {
	class := n.SameSize()
	size := map[string]int64{}
	for _, v := range n.Vars {
		if class[v] == v {
			switch g.pick(3, 10, 74, 7, 6) {
			case 0:
				size[v] = 0
			case 1:
				size[v] = 1
			case 2:
				size[v] = int64(2 + g.rand.IntN(4))
			case 3:
				size[v] = int64(6 + g.rand.IntN(40))
			case 4: // sizes that are compiled in
				size[v] = []int64{8, 9, 16, 32}[g.rand.IntN(4)]
			}
		}
	}
	if len(n.LHS.Vars) > 0 && (g.long != "" || g.o.Long > 0 && g.chance(g.o.Long/2)) {
		g.lengthen(n, class, size)
	}
	out := map[string]int64{}
	for {
		space, largest := 1.0, "" // 45^12 passes 2^63
		for _, v := range n.Vars {
			out[v] = size[class[v]]
			space *= float64(max(out[v], 1))
			if largest == "" || size[class[v]] > size[largest] {
				largest = class[v]
			}
		}
		tensor := 1.0 // points of the largest tensor; a variable may index several of its modes
		for _, a := range append([]*notation.Access{n.LHS}, n.Accesses()...) {
			points := 1.0
			for _, v := range a.Vars {
				points *= float64(max(out[v], 1))
			}
			tensor = max(tensor, points)
		}
		if space <= float64(g.o.MaxPoints) && tensor <= maxSpace {
			return out
		}
		size[largest] = max(size[largest]*2/3, 1)
	}
}

// lengthen sets the size of one variable of the result to 100 or more, the size of another
// variable to 2 to 31, and all other sizes to at most 3.
func (g *generator) lengthen(n *notation.Normal, class map[string]string, size map[string]int64) {
	long, sum := g.long, g.sum
	if long == "" {
		long, sum = n.LHS.Vars[g.rand.IntN(len(n.LHS.Vars))], n.Vars[g.rand.IntN(len(n.Vars))]
	}
	for _, v := range n.Vars {
		if class[v] == v {
			size[v] = 1 + g.rand.Int64N(3)
		}
	}
	size[class[sum]] = 2 + g.rand.Int64N(30)
	size[class[long]] = 100 + g.rand.Int64N(900)
}

// maxEntries is the approximate largest number of entries of a tensor. Products with long rows
// (generator.product) have up to moreEntries, so that their partial results fill the memory.
const (
	maxEntries  = 400
	moreEntries = 4000
)

// maxSpace is the largest number of coordinates of a tensor, stored or not.
const maxSpace = 1 << 18

// entries draws the entries of a tensor.
func (g *generator) entries(t *Tensor, st style) {
	weights := []int{4, 20, 35, 26, 15}
	if g.o.Denser {
		weights = []int{1, 5, 14, 40, 40}
	}
	density := []float64{0, 0.1, 0.3, 0.6, 1}[g.pick(weights...)]
	space := 1.0
	for _, d := range t.Dims {
		space *= float64(d)
	}
	most := float64(maxEntries)
	if g.long != "" {
		most = moreEntries
	}
	density = min(density, most/max(space, 1))
	if st.full || len(t.Dims) == 0 {
		density = 1
	}
	if st.full {
		for m := range t.Format.Levels {
			t.Format.Levels[m] = 'd'
		}
	}
	empty := map[string]bool{} // slices without an entry
	if density < 1 && g.chance(0.3) {
		for m, d := range t.Dims {
			for c := range d {
				if g.chance(0.25) {
					empty[fmt.Sprint(m, c)] = true
				}
			}
		}
	}
	coord := make([]int64, len(t.Dims))
	var walk func(m int)
	walk = func(m int) {
		if m < len(coord) {
			for c := int64(0); c < t.Dims[m]; c++ {
				if coord[m] = c; !empty[fmt.Sprint(m, c)] {
					walk(m + 1)
				}
			}
			return
		}
		// Repeated coordinates are added either when the tensor is stored or when the leaf reads
		// it, and the two sums may have different types. So they are drawn only if sums are exact.
		for again := g.chance(density); again; again = g.chance(0.05) && !st.full && !st.large &&
			!st.fraction && len(coord) > 0 {
			t.Entries = append(t.Entries, Entry{append([]int64{}, coord...), g.value(t.Type, st)})
		}
	}
	walk(0)
	g.rand.Shuffle(len(t.Entries),
		func(a, b int) { t.Entries[a], t.Entries[b] = t.Entries[b], t.Entries[a] })
	t.Entries = storable(t.Format, t.Entries)
}

func (g *generator) value(t tensor.Type, st style) tensor.Value {
	if t.HoldsInts() {
		v := g.integer(st)
		if st.large && g.chance(0.2) {
			v = []int64{math.MaxInt32, math.MinInt32, 1 << 30, -1}[g.rand.IntN(4)]
			if t == tensor.Int64 && g.chance(0.5) {
				v = []int64{math.MaxInt64, math.MinInt64, 1 << 62}[g.rand.IntN(3)]
			}
		}
		if g.o.Exact && t.IsUnsigned() {
			v = max(v, -v) // a float does not hold 2^64-1
		}
		return tensor.Value{Type: t, I: t.Wrap(v)}
	}
	re, im := g.float(t, st), 0.0
	if t.IsComplex() {
		im = g.float(t, st)
	}
	return tensor.Value{Type: t, C: complex(re, im)}
}

func (g *generator) integer(st style) int64 {
	v := int64(g.rand.IntN(13) - 4)
	for st.full && v == 0 {
		v = int64(g.rand.IntN(13) - 4)
	}
	return v
}

func (g *generator) float(t tensor.Type, st style) float64 {
	switch {
	case g.o.Zeros > 0 && g.chance(g.o.Zeros):
		return []float64{0, math.Copysign(0, -1), math.Copysign(0, -1), -1}[g.rand.IntN(4)]
	case st.special && g.chance(0.12):
		return []float64{math.Inf(1), math.Inf(-1), math.NaN(), math.Copysign(0, -1)}[g.rand.IntN(4)]
	case st.fraction && g.chance(0.7):
		v := g.rand.NormFloat64() * 3
		if t == tensor.Float32 || t == tensor.Complex64 {
			v = float64(float32(v))
		}
		return v
	}
	return float64(g.integer(st))
}
