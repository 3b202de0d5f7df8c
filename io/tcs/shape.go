package tcs

import (
	"distaff/io/tensor"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
)

// MaxOrder is the largest number of modes of a tensor.
const MaxOrder = 64

// Align is the alignment in bytes of every array of a Layout, in memory and in the file.
const Align = 64

// Shape determines the layout of a tensor's arrays. Counts[l] is the number of coordinates of level
// l if its kind is s or u. The other elements of Counts are not used.
type Shape struct {
	Header Header
	Format tensor.Format
	Counts []int64
	Wide   bool // all pos and crd elements have 64 bits, even if 32 are enough
	// Entries is the number of entries that the tensor will hold, or 0 if it is not known. It is
	// used only for advice in errors.
	Entries int64
}

// ArrayKind selects an array: pos or crd of a level, or the values.
type ArrayKind uint8

const (
	PosArray ArrayKind = iota
	CrdArray
	ValsArray
)

func (p ArrayKind) String() string { return [...]string{"pos", "crd", "vals"}[p] }

// Section is one array in a layout: Len elements of Width bytes, which start Offset bytes after
// the start of the data. Level is -1 for the values.
type Section struct {
	Level  int
	Array  ArrayKind
	Width  uint8
	Len    int64
	Offset int64
}

// Bytes returns the size of the section in bytes.
func (s Section) Bytes() int64 { return s.Len * int64(s.Width) }

// Layout is the order of a tensor's arrays in memory or in a file: pos and crd of each level,
// outermost first, then the values. Each array is aligned to Align. Positions[l] is the number
// of positions of level l. Bytes is the total size.
type Layout struct {
	Positions []int64
	Sections  []Section
	Bytes     int64
}

// CheckFormat returns an error if the format does not fit a tensor of the given order, or if the
// order exceeds MaxOrder. The format must have one level for each mode, each level must be of a
// valid kind, and the mode order must be a permutation. CheckFormat accepts every sequence of
// kinds. The format language has stricter rules.
func CheckFormat(f tensor.Format, order int) error {
	bad := func(format string, args ...any) error {
		return &Error{Exit: exitCommand, Msg: fmt.Sprintf(format, args...)}
	}
	letters := f.Letters()
	if order > MaxOrder {
		return bad("got a tensor of %d modes, want at most %d", order, MaxOrder)
	}
	if len(letters) != order {
		return bad("format %q has %s, but the tensor has %s", letters,
			tensor.Count(len(letters), "level"), tensor.Count(order, "mode"))
	}
	for l, k := range f.Levels {
		if !k.IsValid() {
			return bad("got level kind %q in format %q, want one of %s", letters[l:l+1], letters,
				strings.Trim(fmt.Sprint(tensor.Kinds), "[]"))
		}
	}
	if len(f.Order) != order {
		return bad("format %q has %s, but its order has %s",
			letters, tensor.Count(order, "level"),
			tensor.Count(len(f.Order), "mode"))
	}
	seen := make([]bool, order)
	for _, m := range f.Order {
		if m < 0 || m >= order || seen[m] {
			return bad("got the mode order %v, want each of 0 to %d once", f.Order, order-1)
		}
		seen[m] = true
	}
	return nil
}

// Layout computes the layout. It returns an error with exit code 5 if the arrays would exceed
// 2^62 bytes.
func (s *Shape) Layout() (*Layout, error) {
	lay, err := s.layout()
	if err == errSpace {
		err = &Error{Exit: exitMemory, Msg: fmt.Sprintf(
			"a tensor of sizes %v as %s takes more than 2^62 bytes", s.Header.Dims,
			s.Format.String())}
		if hint := s.smaller(MachineMemory()); hint != "" {
			err.(*Error).Msg += "; " + hint
		}
	}
	return lay, err
}

// errSpace is the error of Shape.layout if the arrays would exceed 2^62 bytes.
var errSpace = errors.New("more than 2^62 bytes")

// smaller returns a phrase for an error message: the tensor's format with compressed levels instead
// of dense levels, and the tensor's size in this format. It returns "" if no level is dense, if the
// number of entries is not known, or if that size exceeds room bytes.
func (s *Shape) smaller(room int64) string {
	if s.Entries == 0 || !slices.Contains(s.Format.Levels, tensor.Dense) {
		return ""
	}
	t := *s
	t.Format.Levels, t.Counts = slices.Clone(s.Format.Levels), slices.Clone(s.Counts)
	space := int64(1) // all coordinates of the levels down to l
	for l := range t.Format.Levels {
		r := s.Header.Range(s.Format.Order[l])
		space = tensor.Times(space, r[1]-r[0])
		if s.Format.Levels[l] == tensor.Dense {
			t.Format.Levels[l], t.Counts[l] = tensor.Compressed, min(space, s.Entries)
		}
	}
	lay, err := t.layout()
	if err != nil || lay.Bytes > room {
		return ""
	}
	return fmt.Sprintf("stored as %s (-f) it takes at most %s", t.Format.String(),
		tensor.Bytes(lay.Bytes))
}

// layout computes the layout. It returns errSpace if the arrays would exceed 2^62 bytes.
func (s *Shape) layout() (*Layout, error) {
	if err := CheckFormat(s.Format, len(s.Header.Dims)); err != nil {
		return nil, err
	}
	lay := &Layout{Positions: make([]int64, len(s.Format.Levels))}
	add := func(level int, part ArrayKind, width uint8, n int64) bool {
		off := (lay.Bytes + Align - 1) &^ (Align - 1)
		hi, lo := bits.Mul64(uint64(n), uint64(width))
		if hi != 0 || lo > tensor.MaxCount || uint64(off)+lo > tensor.MaxCount {
			return false
		}
		lay.Sections = append(lay.Sections, Section{Level: level, Array: part, Width: width, Len: n,
			Offset: off})
		lay.Bytes = off + int64(lo)
		return true
	}
	parent := int64(1)
	for l := range s.Format.Levels {
		n := parent
		ok := true
		r := s.Header.Range(s.Format.Order[l])
		switch s.Format.Levels[l].Form() {
		case tensor.Full:
			hi, lo := bits.Mul64(uint64(parent), uint64(r[1]-r[0]))
			if hi != 0 || lo > tensor.MaxCount {
				return nil, errSpace
			}
			n = int64(lo)
		case tensor.Segmented:
			n = s.Counts[l]
			ok = add(l, PosArray, s.width(n), parent+1) &&
				add(l, CrdArray, s.width(s.Header.Dims[s.Format.Order[l]]), n)
		case tensor.Single:
			ok = add(l, CrdArray, s.width(s.Header.Dims[s.Format.Order[l]]), n)
		}
		if !ok {
			return nil, errSpace
		}
		lay.Positions[l] = n
		parent = n
	}
	if !add(-1, ValsArray, uint8(s.Header.Type.Size()), parent) {
		return nil, errSpace
	}
	return lay, nil
}

// width returns the number of bytes of an integer from 0 to n: 4 if n fits in 31 bits and the shape
// is not Wide, and otherwise 8.
func (s *Shape) width(n int64) uint8 {
	if n <= 1<<31-1 && !s.Wide {
		return 4
	}
	return 8
}

// New allocates a tensor of shape s. Its arrays are zero and in one allocation, which is counted by
// limit. name names the tensor in an error; it may be "". The slices of the header are copied.
func New(s *Shape, limit *Limit, name string) (*Tensor, error) {
	t, err := NewIn(s, name, func(bytes int64, what string) (*Memory, error) {
		return Alloc(limit, bytes, what)
	})
	if err != nil || t.Vals.Ptr == nil {
		return t, err
	}
	// Values are a Memory of their own, so that a tensor that shares the levels does not keep them.
	m := t.held[0]
	if rest := m.cut(int64(uintptr(t.Vals.Ptr) - uintptr(m.Ptr))); rest != nil {
		t.held = append(t.held, rest)
	}
	return t, nil
}

// NewIn is like New, but gets the memory of the arrays from alloc. It does not clear the memory.
func NewIn(s *Shape, name string, alloc func(bytes int64, what string) (*Memory, error)) (*Tensor,
	error) {
	lay, err := s.Layout()
	if err != nil {
		return nil, err
	}
	what := "the tensor"
	if name != "" {
		what = "tensor " + name
	}
	m, err := alloc(lay.Bytes,
		strings.TrimSuffix(fmt.Sprintf("%s of sizes %v as %s", what, s.Header.Dims,
			s.Format.String()), " as "))
	if err != nil {
		var full *MemoryError
		if errors.As(err, &full) {
			full.Hint = s.smaller(full.Max - full.Used)
		}
		return nil, err
	}
	t := s.Bare()
	for _, sec := range lay.Sections {
		*t.Array(sec.Level, sec.Array) = m.Array(sec.Offset, sec.Len, sec.Width)
	}
	t.held = []*Memory{m}
	return t, nil
}

// Bare returns a tensor with this shape whose arrays have no memory yet. The caller sets the
// arrays.
func (s *Shape) Bare() *Tensor {
	t := &Tensor{Header: s.Header.Clone(), Levels: make([]Level, len(s.Format.Levels))}
	if t.Header.Box == nil {
		t.Header.Box = make([][2]int64, len(t.Header.Dims))
		for m, n := range t.Header.Dims {
			t.Header.Box[m] = [2]int64{0, n}
		}
	}
	for l := range s.Format.Levels {
		m := s.Format.Order[l]
		t.Levels[l] = Level{Kind: s.Format.Levels[l], Mode: m, Size: t.Header.Dims[m]}
		if s.Format.Levels[l].Form() == tensor.Full {
			t.Levels[l].Size, t.Levels[l].Offset = t.Header.Box[m][1]-t.Header.Box[m][0], t.Header.Box[m][0]
		}
	}
	return t
}

// Shape returns the tensor's shape. The second result is false if the arrays may be parts of larger
// arrays, as in a view.
func (t *Tensor) Shape() (*Shape, bool) {
	s := &Shape{Header: t.Header.Clone(), Format: t.Format(), Counts: make([]int64, len(t.Levels))}
	lay := int64(1)
	for l, lev := range t.Levels {
		r := t.Header.Range(lev.Mode)
		if lev.Form() == tensor.Full && (lev.Offset != r[0] || lev.Size != r[1]-r[0]) ||
			lev.Pos.First != 0 || lev.Crd.First != 0 || lev.Pos.Len != 0 && lev.Pos.Len != lay+1 ||
			lev.Kind.IsSingle() && lev.Crd.Len != lay {
			return nil, false
		}
		s.Counts[l] = lev.Crd.Len
		lay = t.Positions(l)
	}
	return s, t.Vals.First == 0 && t.Vals.Len == lay && !t.part
}

// Array returns the pos or crd array of a level, or the values, for which level is ignored.
func (t *Tensor) Array(level int, kind ArrayKind) *Array {
	switch kind {
	case PosArray:
		return &t.Levels[level].Pos
	case CrdArray:
		return &t.Levels[level].Crd
	}
	return &t.Vals
}

// levelArray is one array of a tensor, with the array's level and kind (pos, crd or values).
type levelArray struct {
	*Array
	level int
	kind  ArrayKind
}

// arrays returns the arrays of the tensor in the order of a Layout's sections.
func (t *Tensor) arrays() []levelArray {
	var list []levelArray
	for l := range t.Levels {
		lev := &t.Levels[l]
		if lev.Kind.HasPos() {
			list = append(list, levelArray{&lev.Pos, l, PosArray})
		}
		if lev.Kind.HasCrd() {
			list = append(list, levelArray{&lev.Crd, l, CrdArray})
		}
	}
	return append(list, levelArray{&t.Vals, -1, ValsArray})
}

// Scalar returns a tensor of order 0 with the value v.
func Scalar(v tensor.Value) *Tensor {
	t, err := New(&Shape{Header: Header{Type: v.Type}}, nil, "")
	if err != nil {
		panic("BUG: tcs: no memory for a scalar: " + err.Error())
	}
	t.SetValue(0, v)
	return t
}

// Coordinates returns the number of coordinates of a tensor of sizes dims, and whether it fits
// an int64. If it does not fit, n is math.MaxInt64.
func Coordinates(dims []int64) (n int64, fits bool) {
	n, fits = 1, true
	for _, d := range dims {
		if d == 0 {
			return 0, true
		}
		hi, lo := bits.Mul64(uint64(n), uint64(d))
		if hi != 0 || lo > math.MaxInt64 {
			n, fits = math.MaxInt64, false
			continue
		}
		n = int64(lo)
	}
	return n, fits
}
