// Package format describes how a tensor's coordinate tree is stored: one level
// kind a storage level, outermost first, and the order of modes.
//
// A level maps each position of its parent (the root has position 0 alone) to
// positions of its own, each with a coordinate. The compiler asks a kind for
// what it can do (Caps), never for its letter where a capability will do: how it
// is iterated, whether a coordinate can be located, how results are assembled.
//
// The positions of the last level number the values. What lies on a path from
// the root to a value is stored (present), zero or not; every coordinate of a
// dense level is on a path, the padding of a padded singleton is on none.
package format

import (
	"slices"
	"strconv"
	"strings"

	"distaff/codegen/diag"
)

// Kind is a level kind, by TACO's letter.
type Kind byte

const (
	Dense               Kind = 'd' // every coordinate of [offset, offset+size)
	Compressed          Kind = 's' // pos/crd segments, unique sorted coordinates
	CompressedNonunique Kind = 'u' // pos/crd segments, a coordinate may repeat
	Singleton           Kind = 'q' // one coordinate a parent position
	SingletonNonunique  Kind = 'c' // one a parent position, repeats among siblings kept
	// one slot a parent position; coordinate -1 marks padding, an absent entry
	SingletonPadded Kind = 'p'
)

// Kinds lists the level kinds.
var Kinds = []Kind{Dense, Compressed, CompressedNonunique, Singleton, SingletonNonunique,
	SingletonPadded}

// Format is the storage of one tensor.
type Format struct {
	Levels []Kind
	// Order[l] is the mode that level l stores. len(Order) == len(Levels).
	Order []int
}

// Parse reads a level string and an optional mode order: "ds", "ds:1,0", and
// "" for a scalar.
func Parse(s string) (Format, error) { return parse(s, 0) }

// ParseFlag reads the value of -f, NAME:LEVELS[:ORDER].
func ParseFlag(s string) (name string, f Format, err error) {
	name, _, ok := strings.Cut(s, ":")
	if !ok || name == "" {
		return "", Format{}, diag.At(diag.BadFormat, s, 0, len(s),
			"got no tensor and levels, want NAME:LEVELS[:ORDER], as in B:ds or B:ds:1,0")
	}
	f, err = parse(s, len(name)+1)
	return name, f, err
}

// named are formats that go by names elsewhere.
var named = map[string]string{"csr": "ds", "csc": "ds:1,0", "coo": "uq", "dcsr": "ss",
	"dcsc": "ss:1,0", "csf": "sss", "bcsr": "dsdd", "bsr": "dsdd", "dense": "dd"}

// parse reads src[at:]; errors point into src.
func parse(src string, at int) (Format, error) {
	levels, order, hasOrder := strings.Cut(src[at:], ":")
	var f Format
	if s, ok := named[strings.ToLower(levels)]; ok {
		return f, diag.At(diag.BadFormat, src, at, at+len(levels),
			"got %s, want a letter for each level: %s is %s", levels, strings.ToUpper(levels), s)
	}
	for k := 0; k < len(levels); k++ {
		kind := Kind(levels[k])
		if !kind.Valid() {
			r := []rune(levels[k:])[0]
			return Format{}, diag.At(diag.BadFormat, src, at+k, at+k+len(string(r)),
				"got level %q, want one of %s", r, listed())
		}
		f.Levels = append(f.Levels, kind)
		if msg := f.refuse(k); msg != "" {
			return Format{}, diag.At(diag.BadFormat, src, at+k, at+k+1, "%s", msg)
		}
	}
	f.Order = make([]int, len(f.Levels))
	for l := range f.Order {
		f.Order[l] = l
	}
	if !hasOrder {
		return f, nil
	}
	pos := at + len(levels) + 1
	parts := strings.Split(order, ",")
	if len(f.Levels) == 0 && order == "" {
		return f, nil
	}
	if len(parts) != len(f.Levels) {
		return Format{}, diag.At(diag.BadFormat, src, pos, len(src),
			"got %s in the order, want %d, one a level", diag.Count(len(parts), "mode"), len(f.Levels))
	}
	seen := make([]bool, len(parts))
	for l, p := range parts {
		m, err := strconv.Atoi(strings.TrimSpace(p))
		if err != nil || m < 0 || m >= len(parts) {
			return Format{}, diag.At(diag.BadFormat, src, pos, pos+len(p),
				"got mode %q, want a number from 0 to %d", p, len(parts)-1)
		}
		if seen[m] {
			return Format{}, diag.At(diag.BadFormat, src, pos, pos+len(p),
				"got mode %d twice, want each mode once", m)
		}
		seen[m] = true
		f.Order[l] = m
		pos += len(p) + 1
	}
	return f, nil
}

// listed are the kinds in words.
func listed() string {
	var out []string
	for _, k := range Kinds {
		out = append(out, k.String()+" ("+k.Word()+")")
	}
	return strings.Join(out, ", ")
}

// Check refuses a format that was built by hand and could not have been parsed.
func (f Format) Check() error {
	_, err := Parse(f.full())
	return err
}

// refuse says why level l may not stand where it does, or "".
//
// A q or c holds exactly one coordinate for each position of its parent, so
// each such position must belong to an entry: those of u, s, c and q do, those
// of d (any coordinate) and p (a slot that may be padding) do not.
func (f Format) refuse(l int) string {
	k := f.Levels[l]
	if k != Singleton && k != SingletonNonunique {
		return ""
	}
	const want = "want a u, s or c above it: it holds one coordinate for each entry of the level above"
	if l == 0 {
		return "got level " + string(k) + " outermost, " + want
	}
	switch f.Levels[l-1] {
	case Dense, SingletonPadded:
		return "got level " + string(k) + " under " + string(f.Levels[l-1]) + ", " + want
	}
	return ""
}

// DenseOf is the row-major dense format: what a dense file, a generated dense
// tensor and a result are without -f.
func DenseOf(order int) Format { return uniform(Dense, order) }

// SparseOf is the format of a sparse file without -f: s, ds, or sss...
func SparseOf(order int) Format {
	f := uniform(Compressed, order)
	if order == 2 {
		f.Levels[0] = Dense
	}
	return f
}

func uniform(k Kind, order int) Format {
	f := Format{Levels: make([]Kind, order), Order: make([]int, order)}
	for l := range f.Levels {
		f.Levels[l], f.Order[l] = k, l
	}
	return f
}

// String is the level string, and the mode order where it is not 0,1,2...
// Parse gives the same format back.
func (f Format) String() string {
	for l, m := range f.Order {
		if l != m {
			return f.full()
		}
	}
	return f.Letters()
}

// Letters is the level string alone.
func (f Format) Letters() string {
	b := make([]byte, len(f.Levels))
	for l, k := range f.Levels {
		b[l] = byte(k)
	}
	return string(b)
}

func (f Format) full() string {
	modes := make([]string, len(f.Order))
	for l, m := range f.Order {
		modes[l] = strconv.Itoa(m)
	}
	return f.Letters() + ":" + strings.Join(modes, ",")
}

// NumModes is the number of modes (and levels).
func (f Format) NumModes() int { return len(f.Levels) }

// Level returns the level that stores a mode.
func (f Format) Level(mode int) int {
	l := slices.Index(f.Order, mode)
	if l < 0 {
		panic("BUG: format " + f.full() + " has no mode " + strconv.Itoa(mode))
	}
	return l
}

// Equal tells whether two formats are the same.
func (f Format) Equal(g Format) bool {
	return slices.Equal(f.Levels, g.Levels) && slices.Equal(f.Order, g.Order)
}

// AllDense tells whether every level is dense (true of a scalar).
func (f Format) AllDense() bool { return f.TrailingDense() == len(f.Levels) }

// TrailingDense is the number of innermost levels that are dense: all their
// coordinates are stored below each position that the levels above store.
func (f Format) TrailingDense() int {
	n := 0
	for n < len(f.Levels) && f.Levels[len(f.Levels)-1-n] == Dense {
		n++
	}
	return n
}

// Repeats tells whether one coordinate may be stored several times: whether
// the last level is u, or c under a run of c that begins with u. The tensor's
// value there is the sum. (A c that begins under s has one place a coordinate,
// as q has.)
func (f Format) Repeats() bool {
	l := len(f.Levels) - 1
	for l > 0 && f.Levels[l] == SingletonNonunique {
		l--
	}
	return l >= 0 && f.Levels[l] == CompressedNonunique
}

// Sharing says which coordinates make a position: entries share a position of
// level l exactly where they agree in levels 0 to Sharing()[l]. That is l
// itself but for levels that repeat their coordinate (u, and c below it, before a
// singleton or last), where it is the depth of the level below;
// len(f.Levels) stands for entries that never share.
func (f Format) Sharing() []int {
	n := len(f.Levels)
	d := make([]int, n)
	for l := n - 1; l >= 0; l-- {
		d[l] = l
		if f.Levels[l].Caps().Unique || !f.repeating(l) {
			continue
		}
		if l == n-1 {
			d[l] = n
		} else if f.Levels[l+1].Caps().Branchless {
			d[l] = d[l+1]
		}
	}
	return d
}

// repeating tells whether level l is u, or c below a run of c that begins with u.
func (f Format) repeating(l int) bool {
	for l > 0 && f.Levels[l] == SingletonNonunique {
		l--
	}
	return f.Levels[l] == CompressedNonunique
}

// Bound returns the singleton levels that hold only some tensors: level l is
// listed where the levels above give entries of different coordinates in l one
// position, which has room for one. sq, dp and uqq are such formats, uq and ucq not.
func (f Format) Bound() []int {
	var out []int
	d := f.Sharing()
	for l, k := range f.Levels {
		if k.Caps().Branchless && (l == 0 || d[l-1] < l) {
			out = append(out, l)
		}
	}
	return out
}

// RunEnd is the last level of the run of singletons below level l (l itself if
// none): levels l to RunEnd number their positions alike, one for one.
func (f Format) RunEnd(l int) int {
	for l+1 < len(f.Levels) && f.Levels[l+1].Caps().Branchless {
		l++
	}
	return l
}
