package memory

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"sort"
	"strings"

	"distaff/io/tcs"
	"distaff/io/tensor"
)

const exitData = 3

func fault(format string, args ...any) error {
	return &tcs.Error{Exit: exitData, Msg: fmt.Sprintf(format, args...)}
}

// Check checks a tensor that a program made: everything that a compiled function relies on. Errors
// in the data begin with name. Each call checks the sizes, lengths and widths, and the first and
// last position of each level. The other positions and the coordinates are checked once, and again
// if the tensor gets other arrays. If trusted is true, they are not checked.
func Check(t *tcs.Tensor, name string, trusted bool) error {
	if t == nil {
		return fault("%s: the tensor is nil", name)
	}
	w := &words{of: name, vals: "Vals"}
	for m := range t.Header.Dims {
		w.size = append(w.size, fmt.Sprintf("Dims[%d]", m))
	}
	parents := ""
	for l := range t.Levels {
		lev := fmt.Sprintf("Levels[%d]", l)
		w.pos, w.crd, w.bound = append(w.pos, lev+".Pos"), append(w.crd, lev+".Crd"),
			append(w.bound, lev+".Size")
		w.parents, w.count = append(w.parents, parents), append(w.count, "positions of "+lev)
		w.segment, w.sorted = append(w.segment, "segment"), append(w.sorted, "coordinates")
		parents = w.count[l]
	}
	if t.Compressed() { // it has arrays only after Load
		if err := t.Load(nil); err != nil {
			return err
		}
	}
	return w.check(t, trusted)
}

// words are the names that errors use for the parts of a tensor. A name is "" if it is missing or
// if its slice is too short.
type words struct {
	of   string   // the start of every error
	size []string // for each mode
	vals string

	// For each level:
	pos, crd []string
	bound    []string // the size of the mode
	parents  []string // the number of positions of the level above
	count    []string // the number of positions
	segment  []string // the coordinates of one parent
	sorted   []string // the numbers that are sorted in a segment
}

func at(list []string, i int) string {
	if i < 0 || i >= len(list) {
		return ""
	}
	return list[i]
}

func (w *words) fault(format string, args ...any) error {
	return fault("%s: %s", w.of, fmt.Sprintf(format, args...))
}

// check checks t: its header and its levels, in constant time per level, and then, unless trusted,
// its arrays.
func (w *words) check(t *tcs.Tensor, trusted bool) error {
	if err := w.header(t); err != nil {
		return err
	}
	positions := int64(1)
	for l := range t.Levels {
		var err error
		if positions, err = w.level(t, l, positions); err != nil {
			return err
		}
	}
	count := at(w.count, len(t.Levels)-1)
	if err := w.array(w.vals, "values", t.Vals, positions, count); err != nil {
		return err
	}
	if size := int(t.Header.Type.Size()); int(t.Vals.Width) != size {
		return w.fault("%s has values of %s, want %d as for type %v", w.vals,
			tensor.Count(int(t.Vals.Width), "byte"), size, t.Header.Type)
	}
	if err := w.memory(w.vals, t.Vals, min(int(t.Header.Type.Size()), 8)); err != nil || trusted {
		return err
	}
	return w.element(t, t.ValidateGiven())
}

// header checks the tensor's header and levels, without the arrays.
func (w *words) header(t *tcs.Tensor) error {
	n := len(t.Header.Dims)
	if !t.Header.Type.IsValue() {
		return w.fault("got %d for Type, want one of tensor.Float64 to tensor.Uint64",
			uint8(t.Header.Type))
	}
	if n > tcs.MaxOrder {
		return w.fault("got %d sizes, want at most %d", n, tcs.MaxOrder)
	}
	for m, d := range t.Header.Dims {
		if d < 0 || d > tensor.MaxSize {
			return w.fault("%s = %d, want 0 to %d (2^61)", w.size[m], d, int64(tensor.MaxSize))
		}
	}
	if len(t.Levels) != n {
		return w.fault("Levels has %s, want %d: one for each of Dims",
			tensor.Count(len(t.Levels), "level"), n)
	}
	if t.Header.Box != nil && len(t.Header.Box) != n {
		return w.fault("Box has %s, want %d: one for each of Dims",
			tensor.Count(len(t.Header.Box), "range"),
			n)
	}
	if t.Header.Splits != nil && len(t.Header.Splits) != n {
		return w.fault("Splits has %s, want %d: one for each of Dims",
			tensor.Count(len(t.Header.Splits), "split"), n)
	}
	for m := range t.Header.Dims {
		if r := t.Header.Range(m); r != [2]int64{0, t.Header.Dims[m]} {
			return w.fault(
				"Box[%d] is [%d,%d), want [0,%d): a tensor in memory must be whole", m, r[0],
				r[1], t.Header.Dims[m])
		}
	}
	seen := make([]bool, n)
	for l := range t.Levels {
		lev := &t.Levels[l]
		if !lev.Kind.IsValid() {
			return w.fault("Levels[%d].Kind is %q, want one of %s", l, rune(lev.Kind),
				strings.Trim(fmt.Sprint(tensor.Kinds), "[]"))
		}
		if lev.Mode < 0 || lev.Mode >= n || seen[lev.Mode] {
			return w.fault(
				"Levels[%d].Mode = %d, want 0 to %d, and each mode in exactly one level",
				l, lev.Mode,
				n-1)
		}
		seen[lev.Mode] = true
		if lev.Size != t.Header.Dims[lev.Mode] {
			return w.fault("Levels[%[1]d].Size = %[2]d, want %[4]s = %[3]d",
				l, lev.Size, t.Header.Dims[lev.Mode],
				w.size[lev.Mode])
		}
		if lev.Offset != 0 {
			return w.fault("Levels[%d].Offset = %d, want 0: a tensor in memory must be whole", l,
				lev.Offset)
		}
	}
	return nil
}

// level checks the lengths and widths of a level's arrays, and its first and last position.
// above is the number of positions of the level above. level returns the number of positions of
// this level.
func (w *words) level(t *tcs.Tensor, l int, above int64) (int64, error) {
	lev := &t.Levels[l]
	kind := lev.Kind
	pos, crd := at(w.pos, l), at(w.crd, l)
	if !kind.HasPos() && lev.Pos.Len != 0 {
		return 0, w.fault("%s has %s, want none: a level of kind %c must have no positions", pos,
			tensor.Count(lev.Pos.Len, "value"), lev.Kind)
	}
	if !kind.HasCrd() {
		if lev.Crd.Len != 0 {
			return 0, w.fault(
				"%s has %s, want none: a level of kind %c must have no coordinates", crd,
				tensor.Count(lev.Crd.Len, "value"), lev.Kind)
		}
		hi, n := bits.Mul64(uint64(above), uint64(lev.Size))
		if hi != 0 || n > tensor.MaxCount {
			return 0, w.fault(
				"the sizes %v give more than 2^62 positions, want at most 2^62", t.Header.Dims)
		}
		return int64(n), nil
	}
	want, why := above, at(w.count, l-1)
	if kind.HasPos() {
		if want, why = above+1, at(w.parents, l); why != "" {
			why += "+1"
		}
		if err := w.array(pos, "value", lev.Pos, want, why); err != nil {
			return 0, err
		}
		if err := w.integers(pos, lev.Pos); err != nil {
			return 0, err
		}
		if first := lev.Pos.Int(0); first != 0 {
			return 0, w.fault("%s[0] = %d, want 0", pos, first)
		}
		if last := lev.Pos.Int(lev.Pos.Len - 1); last != lev.Crd.Len {
			return 0, w.fault("%s[%d] = %d, want len(%s) = %d", pos, lev.Pos.Len-1, last, crd,
				lev.Crd.Len)
		}
		want, why = lev.Crd.Len, ""
	}
	if err := w.array(crd, "value", lev.Crd, want, why); err != nil {
		return 0, err
	}
	if err := w.integers(crd, lev.Crd); err != nil {
		return 0, err
	}
	if lev.Crd.Width == 4 && lev.Size > math.MaxInt32 {
		return 0, w.fault(
			"%s has 32-bit integers, want 64-bit ones, because %s = %d is more than 2^31-1",
			crd, at(w.bound, l), lev.Size)
	}
	return lev.Crd.Len, nil
}

// array returns an error if array a does not have length want, or does not begin at index 0
// (First). In the error, name is the name of the array, and noun is the word for its elements, in
// the plural. expr is the expression whose value is want, or "".
func (w *words) array(name, noun string, a tcs.Array, want int64, expr string) error {
	noun = strings.TrimSuffix(noun, "s")
	switch {
	case a.Len == want && a.First == 0:
		return nil
	case a.Len == want:
		return w.fault("%s.First = %d, want 0: a tensor in memory must be whole", name, a.First)
	case a.Len < 0:
		return w.fault("%s.Len = %d, want %d", name, a.Len, want)
	case expr != "":
		return w.fault("%[1]s has %[2]s, want %[4]d (%[3]s)",
			name, tensor.Count(a.Len, noun), expr, want)
	}
	return w.fault("%s has %s, want %d", name, tensor.Count(a.Len, noun), want)
}

// integers checks the width and the memory of positions or coordinates.
func (w *words) integers(name string, a tcs.Array) error {
	if a.Width != 4 && a.Width != 8 {
		return w.fault("%s has integers of %s, want 4 or 8", name, tensor.Count(int(a.Width), "byte"))
	}
	return w.memory(name, a, int(a.Width))
}

// memory checks that an array has memory, aligned to align bytes.
func (w *words) memory(name string, a tcs.Array, align int) error {
	switch {
	case a.Len == 0:
		return nil
	case a.Ptr == nil:
		return w.fault(
			"%s has no memory for its %s: either the tensor is closed, or Ptr is not set", name,
			tensor.Count(a.Len, "value"))
	case uintptr(a.Ptr)%uintptr(align) != 0:
		return w.fault("%s must be at an address that is a multiple of %d", name, align)
	}
	return nil
}

// element converts an error of ValidateGiven about one element to an error that usually uses the
// names of w. Other data errors get only the tensor's name.
func (w *words) element(t *tcs.Tensor, err error) error {
	var e *tcs.Error
	if !errors.As(err, &e) || e.Exit != exitData {
		return err
	}
	if e.Place == nil {
		return w.fault("%v", err)
	}
	l, q := e.Place.Level, e.Place.Index
	lev := &t.Levels[l]
	if e.Place.Array == tcs.PosArray {
		pos := at(w.pos, l)
		return w.fault(
			"%s[%d] = %d is less than %s[%d] = %d: positions must not decrease", pos, q,
			lev.Pos.Int(q), pos, q-1, lev.Pos.Int(q-1))
	}
	crd, x := at(w.crd, l), lev.Crd.Int(q)
	in := w.in(lev, l, q)
	if x < 0 || x >= lev.Size {
		return w.fault("%s[%d] = %d%s, want 0 or more and less than %s = %d", crd, q, x, in,
			at(w.bound, l), lev.Size)
	}
	if l+1 < len(t.Levels) && t.Levels[l+1].Kind.IsSingle() {
		if lev.Kind.IsUnique() {
			return w.fault("%v", err)
		}
		return w.entries(t, l, q)
	}
	before := lev.Crd.Int(q - 1)
	if x == before {
		return w.fault("%s[%d] and %s[%d] are both %d%s: the %s must be distinct",
			crd, q-1, crd, q, x,
			in, at(w.sorted, l))
	}
	return w.fault("%s[%d] = %d comes after %s[%d] = %d%s: the %s must increase",
		crd, q, x, crd, q-1,
		before, in, at(w.sorted, l))
}

// in returns a phrase for errors that names the segment of level l with position q. It returns ""
// if l is 0, or if w has no name for the level's segments, or if the level has no array of
// positions.
func (w *words) in(lev *tcs.Level, l int, q int64) string {
	if at(w.segment, l) == "" || l == 0 || !lev.Kind.HasPos() {
		return ""
	}
	p := sort.Search(int(lev.Pos.Len), func(i int) bool { return lev.Pos.Int(int64(i)) > q }) - 1
	return fmt.Sprintf(" in %s %d", w.segment[l], p)
}

// entries returns the error for entries q-1 and q of level l, which are equal or in the wrong
// order. The error lists their coordinates in level l and in the singleton levels that follow level
// l.
func (w *words) entries(t *tcs.Tensor, l int, q int64) error {
	var names []string
	var a, b []int64
	for k := l; k < len(t.Levels) && (k == l || t.Levels[k].Kind.IsSingle()); k++ {
		names = append(names, w.crd[k])
		a, b = append(a, t.Levels[k].Crd.Int(q-1)), append(b, t.Levels[k].Crd.Int(q))
	}
	by := strings.Join(names, ", then ")
	if fmt.Sprint(a) == fmt.Sprint(b) {
		return w.fault(
			"entries %d and %d have the same coordinates %s: entries must be distinct", q-1,
			q, tuple(a))
	}
	return w.fault("entry %d %s comes after entry %d %s: entries must be sorted by %s",
		q, tuple(b),
		q-1, tuple(a), by)
}

// tuple formats coordinates: "(1, 2)".
func tuple(at []int64) string {
	return "(" + strings.ReplaceAll(strings.Trim(fmt.Sprint(at), "[]"), " ", ", ") + ")"
}
