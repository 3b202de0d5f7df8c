package spmd

import (
	"math"

	"distaff/codegen/notation"
	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/spmd/plan"
)

// sizer tells the entries and bytes of a tensor's blocks before there are any.
type sizer struct {
	p       *plan.Problem
	modes   []int // plan.Operand.Modes
	dims    []int64
	kinds   string
	order   []int // levels to modes
	typ     tcs.Type
	entries float64
	levels  []float64 // positions of each level of the whole tensor; negative where unknown
	whole   *blockSize
	mapped  bool
	known   map[plan.Block]blockSize
}

type blockSize struct {
	box            [][2]int64
	entries, bytes int64
	messages       int64 // arrays that are not empty
}

// memory is what the block takes: its arrays are aligned, and large memory is
// counted in pages.
func (z blockSize) memory() int64 {
	n := z.bytes + z.messages*tcs.Align
	if n >= 1<<18 {
		n += 1 << 12
	}
	return n
}

func round(x float64) int64 {
	if x >= 1<<62 {
		return 1 << 62
	}
	return int64(math.Round(x))
}

// exactWhole tells whether bytes and entries are no estimates.
func (s *sizer) exactWhole() bool {
	return s.whole != nil || sparseLevels(s.kinds) == 0
}

func sparseLevels(kinds string) int {
	n := 0
	for _, k := range kinds {
		if k != 'd' {
			n++
		}
	}
	return n
}

// space is the number of coordinates of some sizes.
func space(dims []int64) float64 {
	n := 1.0
	for _, d := range dims {
		n *= float64(d)
	}
	return n
}

// newSizer sizes an operand from what its input's header says.
func (x *planner) newSizer(name string, modes []int) *sizer {
	r := x.k.r
	f, src := r.formats[name], r.sources[name]
	s := &sizer{p: x.p, modes: modes, dims: r.sizes.Dims[name], kinds: f.Letters(), order: f.Order, typ: tcsType(r.types[name]), known: map[plan.Block]blockSize{}}
	if s.entries = src.entryCount(s.dims); sparseLevels(s.kinds) == 0 {
		s.entries = space(s.dims)
	}
	for range s.kinds {
		s.levels = append(s.levels, -1)
	}
	if t := src.tensor; t != nil && r.asStored(src) {
		for l := range t.Levels {
			s.levels[l] = float64(t.Positions(l))
		}
		s.mapped = s.viewable(t) && src.in.File != "" && !t.Compressed()
		if s.viewable(t) && x.p.SpaceOf(modes).Size() == 1 {
			b := blockSize{entries: round(s.entries)}
			for _, lev := range t.Levels {
				b.add(lev.Pos.Len, int64(lev.Pos.Width))
				b.add(lev.Crd.Len, int64(lev.Crd.Width))
			}
			b.add(t.Vals.Len, int64(t.Vals.Width))
			s.whole = &b
		}
	}
	return s
}

func (s *sizer) viewable(t *tcs.Tensor) bool {
	for m, v := range s.modes {
		if v >= 0 && (len(t.Levels) == 0 || t.Levels[0].Mode != m || tcs.Singleton(t.Levels[0].Kind)) {
			return false
		}
	}
	return true
}

func (b *blockSize) add(n, width int64) {
	if n > 0 && width > 0 {
		b.bytes += n * width
		b.messages++
	}
}

// entryCount is how many entries a source has, as far as can be told without
// reading it.
func (s *source) entryCount(dims []int64) float64 {
	all := space(dims)
	switch {
	case s == nil || s.scalar != nil:
		return all
	case s.tensor != nil:
		if st, ok := s.tensor.FileStats(); ok {
			return float64(st.Entries)
		}
		return float64(s.tensor.Vals.Len)
	case s.gen != nil:
		return s.gen.Entries(dims)
	case s.dense:
		return all
	case s.stream != nil:
		if n, ok := s.stream.(interface{ NNZ() int64 }); ok {
			return min(all, float64(n.NNZ()))
		}
	}
	if s.counted > 0 {
		return min(all, float64(s.counted))
	}
	bytes := s.bytes
	if p, ok := s.stream.(coo.Progressed); ok && bytes == 0 {
		_, bytes = p.Progress()
	}
	if bytes > 0 { // of a text file: a short number for each coordinate, and a value
		return min(all, float64(bytes)/float64(4*len(dims)+6))
	}
	return all
}

// countKnown tells whether entryCount is no estimate.
func (s *source) countKnown() bool {
	switch {
	case s == nil:
		return false
	case s.gen != nil:
		return true
	case s.tensor != nil:
		_, ok := s.tensor.FileStats()
		return ok || s.tensor.Whole()
	}
	return s.dense || s.scalar != nil
}

// block sizes block b: where nothing else is known, as if the entries were
// spread evenly over the tensor's coordinates.
func (s *sizer) block(b plan.Block) blockSize {
	if z, ok := s.known[b]; ok {
		return z
	}
	var z blockSize
	if s.whole != nil {
		z = *s.whole
	}
	z.box = s.p.Box(s.modes, b, s.dims)
	if s.whole == nil {
		s.estimate(&z)
	}
	s.known[b] = z
	return z
}

func (s *sizer) estimate(z *blockSize) {
	extent := func(m int) float64 { return float64(z.box[m][1] - z.box[m][0]) }
	share := 1.0 // of the coordinates
	for m, d := range s.dims {
		if d > 0 {
			share *= extent(m) / float64(d)
		}
	}
	entries := s.entries * share
	parents := 1.0
	outer := 1.0 // the share in the modes of the levels so far
	for l, m := range s.order {
		d := float64(s.dims[m])
		if d > 0 {
			outer *= extent(m) / d
		}
		n := parents * extent(m)
		switch s.kinds[l] {
		case 'd':
		case 's':
			n = s.distinct(l, outer, share, entries)
			z.add(round(parents)+1, width(s.entries))
			z.add(round(n), width(d))
		case 'u':
			n = entries
			z.add(round(parents)+1, width(s.entries))
			z.add(round(n), width(d))
		default:
			n = parents
			z.add(round(n), width(d))
		}
		parents = n
	}
	z.add(round(parents), int64(s.typ.Size()))
	z.entries = round(parents)
}

// distinct is about how many positions level l has in a block with that many
// entries: prefixes of coordinates with an entry below.
func (s *sizer) distinct(l int, outer, share, entries float64) float64 {
	if l == len(s.kinds)-1 && s.levels[l] < 0 {
		return entries
	}
	if n := s.levels[l]; n >= 0 {
		if n == 0 {
			return 0
		}
		if share == outer {
			return n * outer
		}
		// Of a prefix's entries each is in the block with probability share/outer.
		return n * outer * -math.Expm1(s.entries/n*math.Log1p(-min(share/outer, 1-1e-12)))
	}
	prefixes := outer
	for _, m := range s.order[:l+1] {
		prefixes *= float64(s.dims[m])
	}
	if prefixes == 0 {
		return 0
	}
	return prefixes * -math.Expm1(-entries/prefixes)
}

// width is the bytes of a position or coordinate up to n.
func width(n float64) int64 {
	if n <= math.MaxInt32 {
		return 4
	}
	return 8
}

// resultSizer sizes the result: of a sparse one, by the densities of the
// operands, as if their entries were independent.
func (x *planner) resultSizer() *sizer {
	r := x.k.r
	name := r.p.result
	f := r.formats[name]
	s := &sizer{p: x.p, modes: x.p.Result, dims: r.sizes.Dims[name], kinds: f.Letters(), order: f.Order, typ: tcsType(r.types[name]), known: map[plan.Block]blockSize{}}
	for range s.kinds {
		s.levels = append(s.levels, -1)
	}
	if s.entries = space(s.dims); sparseLevels(s.kinds) > 0 {
		s.entries *= x.density(x.k.norm.Terms, nil)
	}
	return s
}

// density is the share of coordinates at which a sum of terms has an entry.
func (x *planner) density(terms []*notation.Term, vars []string) float64 {
	absent := 1.0
	for _, t := range terms {
		d := 1.0
		for _, f := range t.Factors {
			d *= x.factorDensity(f)
		}
		absent *= 1 - x.summed(d, append(vars, t.Sum...))
	}
	return 1 - absent
}

// summed is the density after a sum over vars.
func (x *planner) summed(d float64, vars []string) float64 {
	n := 1.0
	for _, v := range vars {
		n *= float64(x.k.r.sizes.Vars[v])
	}
	if d >= 1 {
		return 1
	}
	return -math.Expm1(n * math.Log1p(-d))
}

func (x *planner) factorDensity(f notation.Factor) float64 {
	switch f := f.(type) {
	case *notation.Access:
		return x.exprDensity(f)
	case *notation.Group:
		return x.exprDensity(f.X)
	case *notation.Quotient:
		return x.exprDensity(f.Num)
	case *notation.Reduction:
		return x.density(f.Body, f.Vars)
	}
	return 1
}

func (x *planner) exprDensity(e notation.Expr) float64 {
	switch e := e.(type) {
	case *notation.Access:
		for n, o := range x.k.operands {
			if o.name == e.Name {
				if all := space(x.sizers[n].dims); sparseLevels(x.sizers[n].kinds) > 0 && all > 0 {
					return min(1, x.sizers[n].entries/all)
				}
			}
		}
		return 1
	case *notation.Neg:
		return x.exprDensity(e.X)
	case *notation.Binary:
		a, b := x.exprDensity(e.X), x.exprDensity(e.Y)
		switch e.Op {
		case '*':
			return a * b
		case '/':
			return a
		}
		return 1 - (1-a)*(1-b)
	case *notation.ReductionExpr:
		return x.density(e.Body, e.Vars)
	}
	return 1
}
