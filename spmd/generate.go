package spmd

import (
	"io"
	"iter"
	"math"
	"strconv"
	"strings"

	"distaff/codegen/place"
	"distaff/io/coo"
	"distaff/io/tcs"
)

// A generator makes the entries of one tensor: distinct coordinates, and values
// that depend on nothing but the key and the coordinates. So the same job has
// the same data in every format and at every number of ranks.
type generator struct {
	kind    string // dense, uniform, zipf, banded
	nnz     int64
	skew    float64
	width   int64
	integer bool // values 1 to 9 instead of (0,1]
	key     uint64
	dims    []int64
	typ     tcs.Type
	drawn   *zipfDrawn // of zipf: this process's entries
}

// parseGenerator reads a KIND of -g.
func parseGenerator(tensor, kind string) (*generator, error) {
	const want = "want dense, uniform:NNZ, zipf:NNZ:SKEW or banded:WIDTH, and :int at the end for integers"
	bad := func(why string) error {
		return commandErrorf("-g=%s:%s: %s; %s", printable(tensor), printable(kind), why, want)
	}
	parts := strings.Split(kind, ":")
	g := &generator{kind: parts[0]}
	if parts[len(parts)-1] == "int" && len(parts) > 1 {
		g.integer = true
		parts = parts[:len(parts)-1]
	}
	count := map[string]int{"dense": 0, "uniform": 1, "zipf": 2, "banded": 1}
	n, ok := count[g.kind]
	if !ok {
		return nil, bad("there is no kind " + strconv.Quote(g.kind))
	}
	if len(parts)-1 != n {
		return nil, bad("got " + plural(int64(len(parts)-1), "parameter") + ", want " + strconv.Itoa(n))
	}
	whole := func(s string) (int64, bool) {
		if v, err := strconv.ParseInt(s, 10, 64); err == nil {
			return v, v >= 0
		}
		f, err := strconv.ParseFloat(s, 64) // 1e6
		return int64(f), err == nil && f >= 0 && f < 1<<62 && f == math.Trunc(f)
	}
	switch g.kind {
	case "uniform", "zipf":
		if g.nnz, ok = whole(parts[1]); !ok {
			return nil, bad("NNZ is " + strconv.Quote(parts[1]) + ", no count")
		}
		if g.kind == "zipf" {
			var err error
			if g.skew, err = strconv.ParseFloat(parts[2], 64); err != nil || !(g.skew >= 0 && g.skew <= 100) {
				return nil, bad("SKEW is " + strconv.Quote(parts[2]) + ", no number from 0 to 100")
			}
		}
	case "banded":
		if g.width, ok = whole(parts[1]); !ok {
			return nil, bad("WIDTH is " + strconv.Quote(parts[1]) + ", no count")
		}
	}
	return g, nil
}

// dense reports whether every coordinate has an entry.
func (g *generator) dense() bool { return g.kind == "dense" }

// bind fixes the sizes, the type and the seed; it refuses more entries than
// there are coordinates, and fractions for an integer type.
func (g *generator) bind(tensor string, dims []int64, typ tcs.Type, seed int64) error {
	g.dims, g.typ = dims, typ
	g.key = mix(uint64(seed) * phi)
	for _, c := range []byte(tensor) {
		g.key = mix(g.key ^ uint64(c) + phi)
	}
	if typ.IsInt() && !g.integer {
		return commandErrorf("-g=%s:%s generates values in (0,1], which %v cannot hold; -g=%s:%s:int generates integers", tensor, g, typ, tensor, g)
	}
	if space, fits := product(dims); (g.kind == "uniform" || g.kind == "zipf") && fits && g.nnz > space {
		return commandErrorf("-g=%s:%s: %s has %s for %s (sizes %s)", tensor, g, tensor, plural(space, "coordinate"), plural(g.nnz, "entry"), sizesString(dims))
	}
	return nil
}

// String is the kind as -g takes it, without :int.
func (g *generator) String() string {
	switch g.kind {
	case "uniform":
		return "uniform:" + strconv.FormatInt(g.nnz, 10)
	case "zipf":
		return "zipf:" + strconv.FormatInt(g.nnz, 10) + ":" + strconv.FormatFloat(g.skew, 'g', -1, 64)
	case "banded":
		return "banded:" + strconv.FormatInt(g.width, 10)
	}
	return g.kind
}

// entries yields the coordinates whose mode 0 lies in [lo, hi). The slice is
// reused. Any two disjoint ranges give disjoint parts of the same tensor.
func (g *generator) entries(lo, hi int64) iter.Seq[[]int64] {
	return func(yield func([]int64) bool) {
		at := make([]int64, len(g.dims))
		if len(g.dims) == 0 {
			if g.dense() || g.kind == "banded" || g.nnz > 0 {
				yield(at)
			}
			return
		}
		if space, fits := product(g.dims); fits && space == 0 {
			return
		}
		switch g.kind {
		case "dense":
			g.walk(at, 0, lo, hi, math.MaxInt64, yield)
		case "banded":
			g.walk(at, 0, lo, hi, g.width, yield)
		case "uniform":
			newUniform(g, at, yield).run(lo, hi)
		case "zipf":
			g.zipfEntries(at, lo, hi, yield)
		}
	}
}

// walk yields every coordinate whose modes differ by at most width, in order.
func (g *generator) walk(at []int64, m int, lo, hi, width int64, yield func([]int64) bool) bool {
	for c := lo; c < hi; c++ {
		at[m] = c
		if m == len(at)-1 {
			if !yield(at) {
				return false
			}
			continue
		}
		nlo, nhi := int64(0), g.dims[m+1]
		if width < math.MaxInt64 {
			low, high := at[0], at[0]
			for _, x := range at[1 : m+1] {
				low, high = min(low, x), max(high, x)
			}
			nlo = max(nlo, high-width)
			if low < nhi-1-width {
				nhi = low + width + 1
			}
		}
		if !g.walk(at, m+1, nlo, nhi, width, yield) {
			return false
		}
	}
	return true
}

// prefix and value split the hash of a coordinate: value(prefix(at[:n-1]), at[n-1]).
func (g *generator) prefix(at []int64) uint64 {
	h := g.key ^ 0x76616c7565 // "value"
	for _, c := range at {
		h = mix(h + phi*uint64(c+1))
	}
	return h
}

func (g *generator) value(prefix uint64, last int64) tcs.Value {
	h := mix(prefix + phi*uint64(last+1))
	v := tcs.Value{Type: g.typ}
	switch {
	case g.typ.IsInt():
		v.I = int64(1 + h%9)
	case g.integer && g.typ.IsComplex():
		v.C = complex(float64(1+h%9), float64(1+mix(h)%9))
	case g.integer:
		v.C = complex(float64(1+h%9), 0)
	case g.typ.IsComplex():
		v.C = complex(unit(h), unit(mix(h)))
	default:
		v.C = complex(unit(h), 0)
	}
	return v
}

// at is the value at a coordinate.
func (g *generator) at(coord []int64) tcs.Value {
	if len(coord) == 0 {
		return g.value(g.prefix(nil), 0)
	}
	return g.value(g.prefix(coord[:len(coord)-1]), coord[len(coord)-1])
}

// stream is the whole tensor as entries.
func (g *generator) stream() coo.Stream { return g.part(0, 1) }

// part is part k of n of the tensor: an even range of mode 0, generated alone, or of
// zipf what was drawn.
func (g *generator) part(k, n int) coo.Stream {
	if g.drawn != nil {
		k, n = 0, 1
	}
	size := int64(1)
	if len(g.dims) > 0 {
		size = g.dims[0]
	}
	cuts := place.EvenCuts(size, int64(n))
	return &generated{g: g, lo: cuts[k], hi: cuts[k+1]}
}

// generated is a generator's entries as a coo.Stream.
type generated struct {
	g      *generator
	lo, hi int64 // of mode 0
	next   func() ([]int64, bool)
	stop   func()
}

// batchEntries is the length of a batch.
const batchEntries = 4096

func (s *generated) Dims() ([]int64, bool) { return s.g.dims, true }
func (s *generated) Type() tcs.Type        { return s.g.typ }
func (s *generated) Dense() bool           { return s.g.dense() }

func (s *generated) Next(b *coo.Batch) error {
	if s.next == nil {
		s.next, s.stop = iter.Pull(s.g.blocks(s.lo, s.hi))
	}
	block, ok := s.next()
	if !ok {
		return io.EOF
	}
	order := len(s.g.dims)
	n := batchEntries
	if order > 0 {
		n = len(block) / order
	} else {
		n = 1
	}
	size := s.g.typ.Size()
	b.N = n
	b.Vals = resize(b.Vals, n*size)
	b.Coords = resize(b.Coords, order)
	for m := range b.Coords {
		b.Coords[m] = resize(b.Coords[m], n)
	}
	for k := range n {
		at := block[k*order:][:order]
		for m, c := range at {
			b.Coords[m][k] = c
		}
		storeValue(b.Vals[k*size:], s.g.at(at))
	}
	return nil
}

// blocks yields the coordinates in runs: the switch between producer and
// consumer is paid once a run.
func (g *generator) blocks(lo, hi int64) iter.Seq[[]int64] {
	return func(yield func([]int64) bool) {
		buf := make([]int64, 0, batchEntries*max(len(g.dims), 1))
		n := 0
		for at := range g.entries(lo, hi) {
			buf = append(buf, at...)
			if n++; n == batchEntries {
				if !yield(buf) {
					return
				}
				buf, n = buf[:0], 0
			}
		}
		if n > 0 {
			yield(buf)
		}
	}
}

func (s *generated) Rewind() error {
	if s.stop != nil {
		s.stop()
	}
	s.next, s.stop = nil, nil
	return nil
}

func (s *generated) Close() error { return s.Rewind() }

func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return append(s[:0], make([]T, n)...)
	}
	return s[:n]
}
