package hb

import (
	"fmt"
	"io"
	"strings"

	"distaff/io/tensor"
	"distaff/io/text"
)

// header has the information in a file's first lines, before the column pointers.
type header struct {
	kind             byte // r c i or p
	sym              byte // u s z h or r
	rows, cols, nnz  int64
	ptr, ind, val    []field
	start            int64 // the offset of the column pointers
	line             int   // the number of lines before start
	rhs              bool
	dimLine, fmtLine int
}

// triangle reports whether the file stores one triangle of a matrix.
func (h *header) triangle() bool { return h.sym != 'u' && h.sym != 'r' }

// symWord returns the name of a symmetry, or "" if the file does not store a triangle.
func (h *header) symWord() string {
	return map[byte]string{'s': "symmetric", 'z': "skew-symmetric", 'h': "Hermitian"}[h.sym]
}

// readHeader reads the lines before the column pointers.
func readHeader(src *text.Source) (*header, error) {
	r, err := src.Reader()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	in := text.NewHead(r, src.Name)
	h := &header{}
	next := func(what string) (string, error) {
		line, err := in.Next()
		if err == io.EOF {
			return "", text.Dataf(src.Name, in.Line+1, 1, "got the end of the file, want %s", what)
		}
		return strings.TrimRight(string(line), "\r"), err
	}
	if _, err := next("a title"); err != nil {
		return nil, err
	}
	line, err := next("the numbers of lines")
	if err != nil {
		return nil, err
	}
	cards, err := ints(src.Name, in.Line, line, 0, 4,
		"the numbers of lines: of all, of pointers, of indices, of values")
	if err != nil {
		return nil, err
	}
	h.rhs = len(cards) > 4 && cards[4] > 0
	if line, err = next("the type and the sizes"); err != nil {
		return nil, err
	}
	if err := h.matrix(src.Name, in.Line, line); err != nil {
		return nil, err
	}
	if line, err = next("the formats"); err != nil {
		return nil, err
	}
	if err := h.formats(src.Name, in.Line, line); err != nil {
		return nil, err
	}
	if h.kind != 'p' && h.nnz > 0 && cards[3] == 0 {
		return nil, text.Dataf(src.Name, 2, 1,
			"got no lines of values, want at least one: the type is not a pattern's")
	}
	if h.rhs {
		if _, err := next("the type of the right-hand sides"); err != nil {
			return nil, err
		}
	}
	h.start, h.line = in.Off, in.Line
	return h, nil
}

// ints reads the non-negative integers in a line, up to the first other word. White space separates
// the integers. ints ignores each word that starts in the first indent columns of the line. It
// returns an error if the line has fewer than minCount integers. In the error, n is the line's
// number, and meaning says what the integers are.
func ints(file string, n int, line string, indent, minCount int, meaning string) ([]int64, error) {
	var vs []int64
	for _, f := range text.Fields([]byte(line), 0) {
		if f.Col <= indent {
			continue
		}
		v, err := text.Int64(f.Text)
		if err != nil || v < 0 {
			if len(vs) >= minCount {
				break
			}
			return nil, text.Dataf(file, n, f.Col, "got %s, want %s", text.Quote(f.Text), meaning)
		}
		vs = append(vs, v)
	}
	if len(vs) < minCount {
		return nil, text.Dataf(file, n, len(line)+1, "got %s, want %d: %s",
			text.Plural(int64(len(vs)), "number", "numbers"), minCount, meaning)
	}
	return vs, nil
}

// matrix parses the line of type and sizes. n is the line number.
func (h *header) matrix(file string, n int, line string) error {
	word := strings.TrimSpace(line[:min(3, len(line))])
	t := strings.ToLower(word)
	if len(t) != 3 || strings.IndexByte("rcip", t[0]) < 0 || strings.IndexByte("uszhr", t[1]) < 0 ||
		strings.IndexByte("ae", t[2]) < 0 {
		return text.Dataf(file, n, 1,
			"got %s, want a type: r, c, i or p, then u, s, z, h or r, then a (e.g. RUA)",
			text.Quote([]byte(word)))
	}
	if t[2] == 'e' {
		return text.Dataf(file, n, 3,
			"got an elemental matrix (%s); only assembled matrices (type %s) can be read",
			text.Quote([]byte(word)), word[:2]+"A")
	}
	h.kind, h.sym, h.dimLine = t[0], t[1], n
	vs, err := ints(file, n, line, 3, 3, "the numbers of rows, columns and entries")
	if err != nil {
		return err
	}
	h.rows, h.cols, h.nnz = vs[0], vs[1], vs[2]
	for _, d := range vs[:2] {
		if err := tensor.CheckSize(d); err != nil {
			return text.Dataf(file, n, 15, "%v", err)
		}
	}
	switch {
	case h.triangle() && h.rows != h.cols:
		return text.Dataf(file, n, 15,
			"got %s and %s for a matrix of type %s, which must be square",
			tensor.Count(h.rows, "row"), tensor.Count(h.cols, "column"), word)
	case h.sym == 'h' && h.kind != 'c':
		return text.Dataf(file, n, 1, "got the type %s, but a Hermitian matrix must be complex",
			word)
	case h.sym == 'z' && h.kind == 'p':
		return text.Dataf(file, n, 1,
			"got the type %s, but a skew-symmetric matrix must have values", word)
	case h.nnz > tensor.MaxCount:
		return text.Dataf(file, n, 15, "got %s, want less than 2^62", tensor.Count(h.nnz, "entry"))
	}
	return nil
}

// formats parses the line of formats. n is the line number.
func (h *header) formats(file string, n int, line string) error {
	h.fmtLine = n
	rest, col := line, 1
	for _, f := range []struct {
		to     *[]field
		what   string
		needed bool
		kinds  string
	}{
		{&h.ptr, "pointers", true, "I"},
		{&h.ind, "indices", true, "I"},
		{&h.val, "values", h.kind != 'p', "IEDFG"},
	} {
		if !f.needed {
			continue
		}
		blanks := len(rest) - len(strings.TrimLeft(rest, " "))
		rest, col = rest[blanks:], col+blanks
		end := group(rest)
		fs, ok := parseFormat(rest[:end])
		for _, x := range fs {
			ok = ok && strings.IndexByte(f.kinds, x.kind) >= 0
		}
		if !ok {
			got := rest[:end]
			if got == "" {
				got, _, _ = strings.Cut(rest, " ")
			}
			return text.Dataf(file, n, col, "got %s, want a Fortran format for the %s, e.g. %s",
				text.Quote([]byte(got)), f.what,
				fmt.Sprintf("(%s)", map[bool]string{true: "16I5",
					false: "4E20.12"}[f.kinds == "I"]))
		}
		*f.to = fs
		rest, col = rest[end:], col+end
	}
	return nil
}

// group returns the length of the parenthesized text at the start of s, or 0 if there is none.
func group(s string) int {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		if depth == 0 {
			return 0
		}
	}
	return 0
}
