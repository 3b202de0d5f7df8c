package tensor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Format is the storage format of one tensor.
type Format struct {
	Levels []Kind
	// Order[l] is the mode that level l stores. len(Order) == len(Levels).
	Order []int
}

// Layout describes how a tensor is stored: the sizes of its modes, the type of its values, and its
// format.
type Layout struct {
	Dims   []int64
	Type   Type
	Format Format
}

// ParseFormat reads a level string with an optional mode order, such as "ds" or "ds:1,0". The empty
// string is the format of a scalar. The error is a *FormatError.
func ParseFormat(text string) (Format, error) {
	levels, order, hasOrder := strings.Cut(text, ":")
	refuse := func(pos, end int, format string, args ...any) (Format, error) {
		return Format{}, &FormatError{Pos: pos, End: end, Msg: fmt.Sprintf(format, args...)}
	}
	if s, ok := named[strings.ToLower(levels)]; ok {
		return refuse(0, len(levels), "got %s, want a letter for each level: %s is %s", levels,
			strings.ToUpper(levels), s)
	}
	var f Format
	for l := range len(levels) {
		k := Kind(levels[l])
		if !k.IsValid() {
			r := []rune(levels[l:])[0]
			return refuse(l, l+len(string(r)), "got level %q, want one of %s", r, listed())
		}
		f.Levels = append(f.Levels, k)
		if msg := f.refuse(l); msg != "" {
			return refuse(l, l+1, "%s", msg)
		}
	}
	f.Order = Identity(len(f.Levels))
	if !hasOrder || len(f.Levels) == 0 && order == "" {
		return f, nil
	}
	pos := len(levels) + 1
	parts := strings.Split(order, ",")
	if len(parts) != len(f.Levels) {
		return refuse(pos, len(text), "got %s in the order, want %d: one for each level",
			Count(len(parts), "mode"), len(f.Levels))
	}
	seen := make([]bool, len(parts))
	for l, p := range parts {
		m, err := strconv.Atoi(strings.TrimSpace(p))
		if err != nil || m < 0 || m >= len(parts) {
			return refuse(pos, pos+len(p), "got mode %q, want a number from 0 to %d", Clip(p),
				len(parts)-1)
		}
		if seen[m] {
			return refuse(pos, pos+len(p), "got mode %d twice, want each mode once", m)
		}
		seen[m] = true
		f.Order[l] = m
		pos += len(p) + 1
	}
	return f, nil
}

// FormatError is a mistake in a format's text, at bytes Pos to End.
type FormatError struct {
	Pos, End int
	Msg      string
}

func (e *FormatError) Error() string { return e.Msg }

// named maps common names of formats, such as csr, to level strings. It is used only for hints in
// error messages.
var named = map[string]string{"csr": "ds", "csc": "ds:1,0", "coo": "uq", "dcsr": "ss",
	"dcsc": "ss:1,0", "csf": "sss", "bcsr": "dsdd", "bsr": "dsdd", "dense": "dd"}

// listed returns the level kinds and their names, for a message.
func listed() string {
	var out []string
	for _, k := range Kinds {
		out = append(out, k.String()+" ("+k.Words()+")")
	}
	return strings.Join(out, ", ")
}

// Check returns the error that ParseFormat would return for the text of f. It is for code that
// builds a Format.
func (f Format) Check() error {
	_, err := ParseFormat(f.full())
	return err
}

// refuse returns the reason why level l is not allowed after the levels above it, or "" if it is
// allowed.
//
// A level of kind q or c has exactly one coordinate for each position of its parent. Each parent
// position must therefore belong to an entry. That holds for parents of kind u, s, c and q. It does
// not hold for d, which has positions for all coordinates, or p, whose slots may be padding.
func (f Format) refuse(l int) string {
	k := f.Levels[l]
	if k != Singleton && k != SingletonNonunique {
		return ""
	}
	const want = "want a u, s or c level above it: it has one coordinate for each entry of the level above"
	if l == 0 {
		return "got level " + string(k) + " outermost, " + want
	}
	switch f.Levels[l-1] {
	case Dense, SingletonPadded:
		return "got level " + string(k) + " under " + string(f.Levels[l-1]) + ", " + want
	}
	return ""
}

// DenseOf returns the row-major dense format of the given number of modes. It is the default format
// of dense files, generated dense tensors and results.
func DenseOf(order int) Format { return uniform(Dense, order) }

// SparseOf returns the default format of a sparse file: s for one mode, ds for two, and sss... for
// more.
func SparseOf(order int) Format {
	f := uniform(Compressed, order)
	if order == 2 {
		f.Levels[0] = Dense
	}
	return f
}

// uniform returns the format whose levels are all of kind k, in the order of the modes.
func uniform(k Kind, order int) Format {
	return Format{Levels: slices.Repeat([]Kind{k}, order), Order: Identity(order)}
}

// String returns the level string, followed by the mode order if it is not 0,1,2... ParseFormat can
// read the result.
func (f Format) String() string {
	for l, m := range f.Order {
		if l != m {
			return f.full()
		}
	}
	return f.Letters()
}

// Letters returns the level string without the mode order.
func (f Format) Letters() string {
	b := make([]byte, len(f.Levels))
	for l, k := range f.Levels {
		b[l] = byte(k)
	}
	return string(b)
}

// full returns the level string and the mode order.
func (f Format) full() string {
	modes := make([]string, len(f.Order))
	for l, m := range f.Order {
		modes[l] = strconv.Itoa(m)
	}
	return f.Letters() + ":" + strings.Join(modes, ",")
}

// NumModes returns the number of modes, which is also the number of levels.
func (f Format) NumModes() int { return len(f.Levels) }

// Level returns the level that stores the given mode.
func (f Format) Level(mode int) int {
	l := slices.Index(f.Order, mode)
	if l < 0 {
		panic("BUG: format " + f.full() + " has no mode " + strconv.Itoa(mode))
	}
	return l
}

// Equal reports whether two formats are the same.
func (f Format) Equal(g Format) bool {
	return slices.Equal(f.Levels, g.Levels) && slices.Equal(f.Order, g.Order)
}

// AllDense reports whether every level is dense. It is true for a scalar.
func (f Format) AllDense() bool { return f.TrailingDense() == len(f.Levels) }

// IsDenseOrCompressed reports whether every level is dense or compressed. It is true for a scalar.
func (f Format) IsDenseOrCompressed() bool { return f.DenseOrCompressed().Equal(f) }

// DenseOrCompressed returns the format with compressed levels in place of all levels that are
// neither dense nor compressed.
func (f Format) DenseOrCompressed() Format {
	g := Format{Levels: slices.Clone(f.Levels), Order: slices.Clone(f.Order)}
	for l, k := range f.Levels {
		if !k.IsDenseOrCompressed() {
			g.Levels[l] = Compressed
		}
	}
	return g
}

// TrailingDense returns the number of dense levels at the end of the format. If there are any, each
// position of the level above them has a block of values. The block contains one value for each
// combination of coordinates of these dense levels.
func (f Format) TrailingDense() int {
	n := 0
	for n < len(f.Levels) && f.Levels[len(f.Levels)-1-n] == Dense {
		n++
	}
	return n
}

// LeadingDense returns how many of the outermost levels are dense.
func (f Format) LeadingDense() int {
	n := 0
	for n < len(f.Levels) && f.Levels[n] == Dense {
		n++
	}
	return n
}

// HasPadding reports whether a level has kind p, so that a position of it may have no entry.
func (f Format) HasPadding() bool { return slices.ContainsFunc(f.Levels, Kind.IsPadded) }

// Repeats reports whether the format may store several entries with the same coordinates. The
// tensor's value at these coordinates is then the sum of the entries. Repeats returns true if the
// last level has kind u, or if the last levels have kind c and the level above them has kind u.
func (f Format) Repeats() bool {
	l := len(f.Levels) - 1
	for l > 0 && f.Levels[l] == SingletonNonunique {
		l--
	}
	return l >= 0 && f.Levels[l] == CompressedNonunique
}

// Sharing returns a depth d[l] for each level l. Two entries share a position of level l if and
// only if they have the same coordinates in levels 0 to d[l].
//
// For a level that cannot repeat a coordinate, d[l] is l. A level can repeat a coordinate if it has
// kind u, or kind c below kind u. If the last level can repeat a coordinate, its d[l] is
// len(f.Levels), because entries never share its positions. If another level l can repeat a
// coordinate, d[l] is d[l+1] if level l+1 is a singleton, and otherwise l.
func (f Format) Sharing() []int {
	n := len(f.Levels)
	d := make([]int, n)
	for l := n - 1; l >= 0; l-- {
		d[l] = l
		if f.Levels[l].IsUnique() || !f.repeating(l) {
			continue
		}
		if l == n-1 {
			d[l] = n
		} else if f.Levels[l+1].IsSingle() {
			d[l] = d[l+1]
		}
	}
	return d
}

// HasRepeats reports whether neighboring positions of level l may have the same coordinate. The
// level must have kind u or c. It must also be the last level, where the values of the positions
// are summed, or have a singleton level directly below it, which distinguishes the positions.
// HasRepeats does not look at the levels above.
func (f Format) HasRepeats(l int) bool {
	return !f.Levels[l].IsUnique() && (l == len(f.Levels)-1 || f.Levels[l+1].IsSingle())
}

// HasPosFrom reports whether level k or a deeper level has a pos array.
func (f Format) HasPosFrom(k int) bool { return slices.ContainsFunc(f.Levels[k:], Kind.HasPos) }

// LastPos returns the last level that has a pos array, or -1 if there is none.
func (f Format) LastPos() int {
	k := len(f.Levels) - 1
	for k >= 0 && !f.Levels[k].HasPos() {
		k--
	}
	return k
}

// repeating reports whether level l may store the same coordinate several times below one position.
// Either its kind is u, or its kind is c and the nearest level above it with another kind has kind
// u.
func (f Format) repeating(l int) bool {
	for l > 0 && f.Levels[l] == SingletonNonunique {
		l--
	}
	return f.Levels[l] == CompressedNonunique
}

// Bound returns the singleton levels that restrict which tensors can be stored. A singleton level
// has room for only one coordinate per position. A tensor therefore does not fit if the levels
// above give one position to several entries that differ in this level. The formats sq, dp and uqq
// have such levels. The formats uq and ucq do not, because their levels above have a position for
// each entry.
func (f Format) Bound() []int {
	var out []int
	d := f.Sharing()
	for l, k := range f.Levels {
		if k.IsSingle() && (l == 0 || d[l-1] < l) {
			out = append(out, l)
		}
	}
	return out
}

// RunEnd returns the last of the singleton levels that directly follow level l, or l if there is
// none. Levels l to RunEnd have the same positions, because a singleton has one position for each
// position of the level above.
func (f Format) RunEnd(l int) int {
	for l+1 < len(f.Levels) && f.Levels[l+1].IsSingle() {
		l++
	}
	return l
}

// Ordered returns the format with the mode order 0, 1, ... if it has none.
func (f Format) Ordered() Format {
	if f.Order == nil {
		f.Order = Identity(len(f.Levels))
	}
	return f
}

// FormatOf returns the format whose level kinds have the given letters. order[l] is the mode that
// level l stores; if order is nil, the modes are 0, 1, ... FormatOf does not check the format.
func FormatOf(letters string, order []int) Format {
	return Format{Levels: []Kind(letters), Order: order}.Ordered()
}

// Identity returns the mode order 0, 1, ..., n-1.
func Identity(n int) []int {
	m := make([]int, n)
	for i := range m {
		m[i] = i
	}
	return m
}
