package memory

import (
	"fmt"
	"slices"
	"strings"

	"distaff/io/tcs"
	"distaff/io/tensor"
)

// Value is a type of values. The values of a tensor of type Bool are tensor.Truth.
type Value interface {
	~float64 | ~float32 | ~int64 | ~int32 | ~complex128 | ~complex64 | ~int8 | ~int16 | ~uint8 |
		~uint16 | ~uint32 | ~uint64
}

// Index is a type of positions and coordinates.
type Index interface{ ~int | ~int64 | ~int32 }

// Option changes how a tensor is made.
type Option struct{ trusted bool }

// Trusted returns an option that skips the check of positions and coordinates, except the first and
// last position of a level. The caller guarantees that they are correct. If they are not, results
// are wrong or the program crashes.
func Trusted() Option { return Option{trusted: true} }

// Dense returns a dense tensor of the given sizes. values has the value of each coordinate, in
// row-major order: the last mode's coordinate changes fastest. Without sizes it is a scalar.
func Dense[V Value](values []V, dims ...int64) (*tcs.Tensor, error) {
	w := &words{of: "Dense", vals: "values"}
	for m := range dims {
		w.size = append(w.size, fmt.Sprintf("dims[%d]", m))
	}
	w.count = slices.Clone(w.size)
	if n := len(dims); n > 1 {
		w.count[n-1] = strings.ReplaceAll(strings.Trim(fmt.Sprint(dims), "[]"), " ", "*")
	}
	t := newTensor[V](dims, tensor.DenseOf(len(dims)))
	t.Vals = tcs.Of(values)
	return finish(t, w, nil)
}

// CSR returns a matrix in compressed rows. The entries of row i are pos[i] to pos[i+1]-1. Entry
// q has column crd[q] and value values[q]. The columns of a row must increase. The tensor's
// format is ds.
func CSR[V Value, P, C Index](rows, cols int64, pos []P, crd []C, values []V,
	options ...Option) (*tcs.Tensor, error) {
	t := newTensor[V]([]int64{rows, cols}, tensor.FormatOf("ds", nil))
	w := compressedWords("CSR", "rows", "cols", "row", "columns")
	w.size = []string{"rows", "cols"}
	return compressed(t, w, pos, crd, values, options)
}

// CSC returns a matrix in compressed columns. The entries of column j are pos[j] to pos[j+1]-1.
// Entry q has row crd[q] and value values[q]. The rows of a column must increase. The tensor's
// format is ds:1,0.
func CSC[V Value, P, C Index](rows, cols int64, pos []P, crd []C, values []V,
	options ...Option) (*tcs.Tensor, error) {
	t := newTensor[V]([]int64{rows, cols}, tensor.FormatOf("ds", []int{1, 0}))
	w := compressedWords("CSC", "cols", "rows", "column", "rows")
	w.size = []string{"rows", "cols"}
	return compressed(t, w, pos, crd, values, options)
}

func compressedWords(of, outer, inner, segment, sorted string) *words {
	return &words{of: of, pos: []string{"", "pos"}, crd: []string{"", "crd"}, vals: "values",
		parents: []string{"", outer}, count: []string{outer, "len(crd)"},
		bound: []string{outer, inner}, segment: []string{"", segment},
		sorted: []string{"", sorted}}
}

func compressed[V Value, P, C Index](t *tcs.Tensor, w *words, pos []P, crd []C, values []V,
	options []Option) (*tcs.Tensor, error) {
	if t.Levels[0].Size == 0 && pos == nil {
		pos = make([]P, 1)
	}
	t.Levels[1].Pos, t.Levels[1].Crd, t.Vals = tcs.Of(pos), tcs.Of(crd), tcs.Of(values)
	return finish(t, w, options)
}

// COO returns a tensor from a list of entries: entry q has coordinate coords[m][q] in mode m
// and value values[q]. Entries must be sorted by coordinates, mode 0 first, and have distinct
// coordinates. The tensor's format is s for one mode, uq for two, ucq for three, and so on.
func COO[V Value, I Index](dims []int64, coords [][]I, values []V, options ...Option) (*tcs.Tensor,
	error) {
	n := len(dims)
	switch {
	case n == 0:
		return nil, fault(
			"COO: dims is empty, want one size for each mode; use Dense for a scalar")
	case n > tcs.MaxOrder:
		return nil, fault("COO: dims has %d sizes, want at most %d", n, tcs.MaxOrder)
	case len(coords) != n:
		return nil, fault("COO: coords has %s, want %d: one for each mode",
			tensor.Count(len(coords), "slice"), n)
	}
	kinds := "s"
	if n > 1 {
		kinds = "u" + strings.Repeat("c", n-2) + "q"
	}
	t := newTensor[V](dims, tensor.FormatOf(kinds, nil))
	w := &words{of: "COO", vals: "values", sorted: []string{"coordinates"}}
	for m := range dims {
		name := fmt.Sprintf("coords[%d]", m)
		w.size = append(w.size, fmt.Sprintf("dims[%d]", m))
		w.crd = append(w.crd, name)
		w.count = append(w.count, "len(coords[0])")
		t.Levels[m].Crd = tcs.Of(coords[m])
	}
	w.bound = w.size
	w.pos = []string{"the length of coords[0]"}
	t.Levels[0].Pos = ends(int64(len(coords[0])))
	t.Vals = tcs.Of(values)
	return finish(t, w, options)
}

// ends returns the positions array of a level with one segment of n coordinates.
func ends(n int64) tcs.Array {
	if n <= 1<<31-1 {
		return tcs.Of([]int32{0, int32(n)})
	}
	return tcs.Of([]int64{0, n})
}

// CSF returns a tensor in compressed sparse fibers: a tree whose level l has the coordinates of
// mode order[l]. A nil order means modes in their order. The children of node p of the level
// above are nodes pos[l][p] to pos[l][p+1]-1 of level l. Node q of level l has coordinate
// crd[l][q]; the coordinates of a node's children must increase. The root is the only node
// above level 0. Each node of the last level has a value. The tensor's format is s for every
// level.
func CSF[V Value, P, C Index](dims []int64, order []int, pos [][]P, crd [][]C, values []V,
	options ...Option) (*tcs.Tensor, error) {
	n := len(dims)
	if order == nil {
		order = tensor.Identity(n)
	}
	switch {
	case n == 0:
		return nil, fault(
			"CSF: dims is empty, want one size for each mode; use Dense for a scalar")
	case n > tcs.MaxOrder:
		return nil, fault("CSF: dims has %d sizes, want at most %d", n, tcs.MaxOrder)
	case len(order) != n:
		return nil, fault("CSF: order has %s, want %d: one for each level",
			tensor.Count(len(order), "mode"),
			n)
	case tcs.CheckFormat(tensor.FormatOf(strings.Repeat("s", n), order), n) != nil:
		return nil, fault("CSF: order = %v, want each of 0 to %d once", order, n-1)
	case len(pos) != n:
		return nil, fault("CSF: pos has %s, want %d: one for each level",
			tensor.Count(len(pos), "slice"), n)
	case len(crd) != n:
		return nil, fault("CSF: crd has %s, want %d: one for each level",
			tensor.Count(len(crd), "slice"), n)
	}
	t := newTensor[V](dims, tensor.FormatOf(strings.Repeat("s", n), order))
	w := &words{of: "CSF", vals: "values"}
	parents := ""
	for l, m := range order {
		w.size = append(w.size, fmt.Sprintf("dims[%d]", l))
		w.pos, w.crd = append(w.pos, fmt.Sprintf("pos[%d]", l)),
			append(w.crd, fmt.Sprintf("crd[%d]", l))
		w.parents, w.count = append(w.parents, parents),
			append(w.count, fmt.Sprintf("len(crd[%d])", l))
		w.bound = append(w.bound, fmt.Sprintf("dims[%d]", m))
		w.segment, w.sorted = append(w.segment, "segment"), append(w.sorted, "coordinates")
		parents = w.count[l]
		p := pos[l]
		if p == nil && l > 0 && len(crd[l-1]) == 0 {
			p = make([]P, 1)
		}
		t.Levels[l].Pos, t.Levels[l].Crd = tcs.Of(p), tcs.Of(crd[l])
	}
	t.Vals = tcs.Of(values)
	return finish(t, w, options)
}

func newTensor[V Value](dims []int64, f tensor.Format) *tcs.Tensor {
	t := &tcs.Tensor{Header: tcs.Header{Dims: slices.Clone(dims), Type: tensor.TypeOf[V]()},
		Levels: make([]tcs.Level, len(f.Levels))}
	for m, n := range dims {
		t.Header.Box = append(t.Header.Box, [2]int64{0, n})
		t.Levels[m].Kind = f.Levels[m]
	}
	for l, m := range f.Order {
		t.Levels[l].Mode, t.Levels[l].Size = m, dims[m]
	}
	return t
}

func finish(t *tcs.Tensor, w *words, options []Option) (*tcs.Tensor, error) {
	trusted := slices.ContainsFunc(options, func(o Option) bool { return o.trusted })
	if err := w.check(t, trusted); err != nil {
		return nil, err
	}
	if trusted {
		t.Trust()
	}
	return t, nil
}
