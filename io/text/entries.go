package text

import (
	"bytes"
	"math"
	"unsafe"

	"distaff/io/tensor"
)

// Layout describes the lines of a file with one entry a line: Order coordinates, then Values
// numbers, then only white space or a comment. Blank lines and lines that contain only a
// comment are skipped.
type Layout struct {
	File    string
	Order   int
	Values  int         // 0: a pattern, all values are 1; 1: real; 2: real and imaginary parts
	Base    int64       // the smallest coordinate, 0 or 1
	Lims    []int64     // the size of each mode; tensor.MaxSize if unknown
	From    []string    // where each size was given, for messages; "" or a nil list: not known
	Comment byte        // '#' or '%'
	Integer bool        // the file declares that its numbers are integers
	Type    tensor.Type // the type of the parsed values
	Room    int         // reserve memory for this many times the entries; 0 counts as 1
	Hint    string      // added to the message about a coordinate below Base
	Ones    bool        // with Values 0: the number 1 may follow the coordinates
}

// Parse parses the lines in b.Text and stores the entries in b. It stops at the first error, which
// it stores in b.Err.
func (l *Layout) Parse(b *Block) {
	l.reserve(b)
	cols, end := b.Coords, len(b.Text)
	text := b.Text[:end+slack]
	var f64 []float64
	if l.Type == tensor.Float64 && l.Values == 1 && !l.Integer {
		f64 = unsafe.Slice((*float64)(unsafe.Pointer(unsafe.SliceData(b.Vals))), len(b.Vals)/8)
	}
	order, base, comment := l.Order, l.Base, l.Comment
	lims := l.Lims[:order]
	n, lines, i, start := 0, 0, 0, 0
	for i < end {
		start = i
		for text[i] <= ' ' && blank(text[i]) {
			i++
		}
		if c := text[i]; c == '\n' {
			i++
			lines++
			continue
		} else if c == comment {
			i += bytes.IndexByte(text[i:], '\n') + 1
			lines++
			continue
		}
		for m := 0; m < order; m++ {
			first := i
			v, k := digits8(load8(text, i))
			i += k
			for k == 8 {
				var more uint64
				if more, k = digits8(load8(text, i)); k > 0 {
					v = v*pow10[k&15] + more
				}
				i += k
			}
			v -= uint64(base)
			c := text[i]
			if v >= uint64(lims[m]) || i == first || i-first > 18 || c != ' ' && !blank(c) &&
				c != '\n' && c != comment {
				tok := l.token(text[first:end])
				if v = l.slowCoord(tok); v >= uint64(lims[m]) {
					l.coordError(b, n, lines, start, first, m)
					return
				}
				i = first + len(tok)
			}
			cols[m][n] = int64(v)
			if text[i] == ' ' {
				i++
			}
			for text[i] <= ' ' && blank(text[i]) {
				i++
			}
		}
		if f64 != nil {
			man, exp, neg, next, ok := scanDecimal(text, i)
			var f float64
			if ok && text[next] <= ' ' {
				f, ok = makeFloat64(man, exp, neg)
			} else {
				ok = false
			}
			if ok {
				f64[n] = f
				i = next
			} else if next, err := l.store(b, n, 0, i); err == nil {
				i = next
			} else {
				l.valueError(b, n, lines, start, i, 0, err)
				return
			}
		} else {
			for k := range max(l.Values, 1) {
				for k > 0 && blank(text[i]) {
					i++
				}
				next, err := l.store(b, n, k, i)
				if err != nil {
					l.valueError(b, n, lines, start, i, k, err)
					return
				}
				i = next
			}
		}
		for text[i] <= ' ' && blank(text[i]) {
			i++
		}
		if l.Ones && text[i] != '\n' && text[i] != comment {
			tok := l.token(text[i:end])
			if v, err := slowFloat(tok, 64); err != nil || v != 1 {
				l.finish(b, n, lines)
				b.Err = Dataf(l.File, lines+1, i-start+1,
					"got %s after the coordinates, want 1 or nothing: a pattern has no other "+
						"values", Quote(tok))
				return
			}
			i += len(tok)
			for blank(text[i]) {
				i++
			}
		}
		if c := text[i]; c == comment {
			i += bytes.IndexByte(text[i:], '\n')
		} else if c != '\n' {
			l.finish(b, n, lines)
			b.Err = Dataf(l.File, lines+1, i-start+1, "got %s, want the end of the line after %s",
				Quote(word(text[i:])), l.columns())
			return
		}
		i++
		lines++
		n++
	}
	l.finish(b, n, lines)
}

// finish stores in b the number of parsed entries and the number of parsed lines, and shortens
// b.Vals to the values of the entries.
func (l *Layout) finish(b *Block, n, lines int) {
	b.N, b.Raw, b.Lines = n, n, lines
	b.Vals = b.Vals[:n*int(l.Type.Size())]
}

// reserve clears b and makes room for every entry that b.Text can contain.
func (l *Layout) reserve(b *Block) {
	b.N, b.Raw, b.Lines, b.Err, b.Marks = 0, 0, 0, nil, 0
	n := (len(b.Text)/max(2*(l.Order+l.Values), 1) + 1) * max(l.Room, 1)
	if len(b.Coords) != l.Order {
		b.Coords = make([][]int64, l.Order)
	}
	for m := range b.Coords {
		if cap(b.Coords[m]) < n {
			b.Coords[m] = make([]int64, n)
		}
		b.Coords[m] = b.Coords[m][:n]
	}
	b.ReserveVals(n * int(l.Type.Size()))
}

// ReserveVals makes Vals n bytes long, aligned for every value type.
func (b *Block) ReserveVals(n int) {
	if w := (n + 7) / 8; len(b.words) < w {
		b.words = make([]uint64, w)
	}
	b.Vals = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(b.words))), len(b.words)*8)[:n]
}

// LineOf returns the line number of entry k, counted from 1 in the block.
func (b *Block) LineOf(k int, comment byte) int {
	line := 0
	for rest := b.Text; len(rest) > 0; {
		n := bytes.IndexByte(rest, '\n') + 1
		line++
		if len(Fields(rest[:n-1], comment)) > 0 {
			if k--; k < 0 {
				return line
			}
		}
		rest = rest[n:]
	}
	panic("BUG: text: no such entry in the block")
}

// SetMax sets Max to the largest coordinate of each mode.
func (b *Block) SetMax() {
	b.Max = b.Max[:0]
	for _, col := range b.Coords {
		most := int64(-1)
		for _, c := range col[:b.N] {
			most = max(most, c)
		}
		b.Max = append(b.Max, most)
	}
}

// store parses the number at b.Text[i:] and stores it as part k of the value of entry n. It returns
// the index of the byte after the number. If l.Values is 0, it stores 1 without parsing and returns
// i.
func (l *Layout) store(b *Block, n, k, i int) (next int, err error) {
	if l.Values == 0 {
		PutOne(b.Vals, l.Type, n)
		return i, nil
	}
	tok := l.token(b.Text[i:])
	next = i + len(tok)
	return next, StoreNumber(b.Vals, l.Type, l.Integer, n, k, b.Text[:len(b.Text)+slack], i, next)
}

// token returns the word at the start of b, up to white space or a comment. A '#' starts no comment
// in 1.#INF, -1.#IND and 1.#QNAN, because old C libraries of Windows print infinities and NaNs in
// this way. If these words ended at the '#', they would be read as the numbers 1 and -1.
func (l *Layout) token(b []byte) []byte {
	for i, c := range b {
		if c == '\n' || blank(c) {
			return b[:i]
		}
		if c == l.Comment && (i == 0 || b[i-1] != '.' || b[i+1] != 'I' && b[i+1] != 'Q' &&
			b[i+1] != 'S') {
			return b[:i]
		}
	}
	return b
}

func word(b []byte) []byte {
	for i, c := range b {
		if c == '\n' || blank(c) {
			return b[:i]
		}
	}
	return b
}

// slowCoord parses all of tok as a coordinate and returns it counted from 0. It accepts a plus
// sign, many digits, a point and an exponent. If tok is not an integer or is below the base, it
// returns math.MaxUint64.
func (l *Layout) slowCoord(tok []byte) uint64 {
	v, err := Integer(tok)
	if err != nil || v < l.Base {
		return math.MaxUint64
	}
	return uint64(v - l.Base)
}

// columns says in words what a line contains, for messages.
func (l *Layout) columns() string {
	s := Plural(int64(l.Order), "coordinate", "coordinates")
	switch {
	case l.Values == 1 && l.Order == 0:
		return "a value"
	case l.Values == 2 && l.Order == 0:
		return "the two parts of a complex value"
	case l.Values == 1:
		s += " and a value"
	case l.Values == 2:
		s += " and the two parts of a complex value"
	}
	return s
}

func (l *Layout) coordError(b *Block, n, lines, start, i, m int) {
	tok := l.token(b.Text[i:])
	col := i - start + 1
	l.finish(b, n, lines)
	if len(tok) == 0 {
		b.Err = Dataf(l.File, lines+1, col,
			"got the end of the line, want coordinate %d of %d (want %s)", m+1, l.Order,
			l.columns())
		return
	}
	v, err := Integer(tok)
	switch {
	case err == errSyntax || err == errWhole:
		b.Err = Dataf(l.File, lines+1, col,
			"got %s, want coordinate %d of %d: an integer of at least %d",
			Quote(tok), m+1, l.Order, l.Base)
	case err == nil && v < l.Base:
		b.Err = Dataf(l.File, lines+1, col, "got coordinate %d in mode %d, want at least %d%s", v,
			m, l.Base, l.Hint)
	case l.Lims[m] == tensor.MaxSize:
		b.Err = Dataf(l.File, lines+1, col,
			"got coordinate %s in mode %d, want at most %d: sizes are at most 2^61", Quote(tok), m,
			l.Lims[m]-1+l.Base)
	default:
		from := ""
		if m < len(l.From) && l.From[m] != "" {
			from = ", by " + l.From[m]
		}
		b.Err = Dataf(l.File, lines+1, col,
			"got coordinate %s in mode %d, want at most %d: its size is %d%s",
			tensor.Clip(string(tok)), m, l.Lims[m]-1+l.Base, l.Lims[m], from)
	}
}

func (l *Layout) valueError(b *Block, n, lines, start, i, k int, err error) {
	tok := l.token(b.Text[i:])
	col := i - start + 1
	l.finish(b, n, lines)
	switch {
	case len(tok) == 0 && k == 0:
		b.Err = Dataf(l.File, lines+1, col, "got the end of the line, want a value: %s",
			l.columns())
	case len(tok) == 0:
		b.Err = Dataf(l.File, lines+1, col, "got the end of the line, want the imaginary part: %s",
			l.columns())
	default:
		b.Err = NumberError(l.File, lines+1, col, tok, l.Type, l.Integer, err)
	}
}
