package reference

import (
	"fmt"
	"slices"
	"sort"
	"sync"

	"distaff/io/tensor"
)

// Int and Float return values of types int64 and float64.
func Int(i int64) tensor.Value     { return tensor.Value{Type: tensor.Int64, I: i} }
func Float(f float64) tensor.Value { return tensor.Value{Type: tensor.Float64, C: complex(f, 0)} }

// Tensor holds the present coordinates of a tensor with their values. After Finish, entries are
// sorted by coordinate, mode 0 first, and each coordinate occurs once. Coords has one array of
// coordinates for each mode. A value occupies 8 bytes, or 16 if it is complex. A scalar is a tensor
// without modes that has one entry.
type Tensor struct {
	Dims   []int64
	Type   tensor.Type
	Coords [][]int64 // [mode][entry]

	n        int
	ints     []int64
	floats   []float64
	complex  []complex128
	full     bool
	finished bool
	indexing sync.Mutex
	indexes  map[string][]int32 // the results of index, by the text of modes
}

// NewTensor returns an empty tensor.
func NewTensor(t tensor.Type, dims ...int64) *Tensor {
	return &Tensor{Dims: slices.Clone(dims), Type: t, Coords: make([][]int64, len(dims))}
}

// Len returns the number of entries.
func (t *Tensor) Len() int { return t.n }

// Append adds an entry. Entries may come in any order, and coordinates may repeat. The value must
// have the tensor's type. Append does not keep coord.
func (t *Tensor) Append(coord []int64, v tensor.Value) {
	if len(coord) != len(t.Dims) {
		panic(fmt.Sprintf("BUG: reference: %d coordinates for %d modes", len(coord), len(t.Dims)))
	}
	for m, c := range coord {
		if c < 0 || c >= t.Dims[m] {
			panic(fmt.Sprintf("BUG: reference: coordinate %d in mode %d of size %d", c, m, t.Dims[m]))
		}
		t.Coords[m] = append(t.Coords[m], c)
	}
	t.n++
	t.finished = false
	switch {
	case t.Type.HoldsInts():
		t.ints = append(t.ints, v.I)
	case t.Type.IsFloat():
		t.floats = append(t.floats, real(v.C))
	default:
		t.complex = append(t.complex, v.C)
	}
}

// Finish sorts the entries. It adds up entries of the same coordinate in the order of Append, in
// the tensor's type. It returns t.
func (t *Tensor) Finish() *Tensor {
	if t.n > 1<<31-1 {
		panic("BUG: reference: too many entries")
	}
	t.finished = true
	t.indexes = map[string][]int32{}
	if !t.ascending() {
		t.sortAndSum()
	}
	t.full = true
	space := 1.0
	for _, d := range t.Dims {
		space *= float64(d)
	}
	t.full = space == float64(t.n)
	return t
}

// ascending reports whether the entries are already sorted and distinct.
func (t *Tensor) ascending() bool {
	for k := 1; k < t.n; k++ {
		if t.compare(k-1, k) >= 0 {
			return false
		}
	}
	return true
}

func (t *Tensor) compare(a, b int) int {
	for _, c := range t.Coords {
		if c[a] != c[b] {
			if c[a] < c[b] {
				return -1
			}
			return 1
		}
	}
	return 0
}

func (t *Tensor) sortAndSum() {
	perm := make([]int, t.n)
	for k := range perm {
		perm[k] = k
	}
	sort.SliceStable(perm, func(a, b int) bool { return t.compare(perm[a], perm[b]) < 0 })
	s := NewTensor(t.Type, t.Dims...)
	coord := make([]int64, len(t.Dims))
	for k := 0; k < t.n; {
		e := perm[k]
		v := t.Value(e)
		for k++; k < t.n && t.compare(e, perm[k]) == 0; k++ {
			v = add(t.Type, v, t.Value(perm[k]))
		}
		t.Coord(e, coord)
		s.Append(coord, v)
	}
	t.Coords, t.n, t.ints, t.floats, t.complex = s.Coords, s.n, s.ints, s.floats, s.complex
}

// Value returns the value of entry e, of the tensor's type.
func (t *Tensor) Value(e int) tensor.Value {
	switch {
	case t.Type.HoldsInts():
		return tensor.Value{Type: t.Type, I: t.ints[e]}
	case t.Type.IsFloat():
		return tensor.Value{Type: t.Type, C: complex(t.floats[e], 0)}
	}
	return tensor.Value{Type: t.Type, C: t.complex[e]}
}

// Coord copies the coordinates of entry e to coord.
func (t *Tensor) Coord(e int, coord []int64) {
	for m, c := range t.Coords {
		coord[m] = c[e]
	}
}

// Find returns the entry at a coordinate. ok is false if it is absent.
func (t *Tensor) Find(coord []int64) (e int, ok bool) {
	if t.full {
		p := int64(0)
		for m, c := range coord {
			p = p*t.Dims[m] + c
		}
		return int(p), true
	}
	lo, hi := 0, t.n
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		switch t.compareTo(mid, coord) {
		case 0:
			return mid, true
		case -1:
			lo = mid + 1
		default:
			hi = mid
		}
	}
	return 0, false
}

func (t *Tensor) compareTo(e int, coord []int64) int {
	for m, c := range coord {
		if x := t.Coords[m][e]; x < c {
			return -1
		} else if x > c {
			return 1
		}
	}
	return 0
}

// index returns the numbers of the entries in a new order: sorted by their coordinates in the given
// modes. Entries that agree in these modes are then consecutive. It returns nil if modes are the
// first modes of the tensor in order, because the entries already have this order.
func (t *Tensor) index(modes []int) []int32 {
	prefix := true
	for k, m := range modes {
		prefix = prefix && k == m
	}
	if prefix {
		return nil
	}
	key := fmt.Sprint(modes)
	t.indexing.Lock()
	defer t.indexing.Unlock()
	if perm, ok := t.indexes[key]; ok {
		return perm
	}
	perm := make([]int32, t.n)
	for k := range perm {
		perm[k] = int32(k)
	}
	slices.SortFunc(perm, func(a, b int32) int {
		for _, m := range modes {
			if x, y := t.Coords[m][a], t.Coords[m][b]; x != y {
				if x < y {
					return -1
				}
				return 1
			}
		}
		return int(a) - int(b)
	})
	t.indexes[key] = perm
	return perm
}

// segment returns the range of entries whose coordinates in the given modes equal key. perm is the
// order of the entries that the method index returned for these modes, or nil if the entries are in
// this order already. lo and hi are positions in this order.
func (t *Tensor) segment(perm []int32, modes []int, key []int64) (lo, hi int) {
	at := func(p int) int {
		e := p
		if perm != nil {
			e = int(perm[p])
		}
		for k, m := range modes {
			if x := t.Coords[m][e]; x != key[k] {
				if x < key[k] {
					return -1
				}
				return 1
			}
		}
		return 0
	}
	lo = sort.Search(t.n, func(p int) bool { return at(p) >= 0 })
	hi = lo + sort.Search(t.n-lo, func(p int) bool { return at(lo+p) > 0 })
	return lo, hi
}
