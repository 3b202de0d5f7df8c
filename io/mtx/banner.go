package mtx

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"distaff/io/tensor"
	"distaff/io/text"
)

type symmetry uint8

const (
	general symmetry = iota
	symmetric
	skew
	hermitian
)

// header is the information in the banner and the line of sizes.
type header struct {
	array    bool
	integer  bool
	values   int // numbers per value: 0 for a pattern, 1, or 2 for complex values
	sym      symmetry
	symWord  string
	object   string
	dims     []int64
	nnz      int64 // entries, or values of an array, that the body must contain
	sizeLine int
	start    int64 // the offset of the body
	line     int   // the number of lines before the body
	ones     bool  // the first entry of a pattern is followed by a value

	bannerLine int    // the line number of the banner; 0 if the file has none
	words      string // the words of the banner, without %%MatrixMarket
	note       string // a note to the user about an irregular banner, or ""
}

const bannerWord = "%%MatrixMarket"

// readHeader reads the file up to the line of sizes. For a pattern it also reads the first entry,
// to find out whether a value follows the coordinates.
func readHeader(src *text.Source) (*header, error) {
	r, err := src.Reader()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return headerFrom(r, src)
}

// headerFrom reads the header from r. src names the file in messages.
func headerFrom(r io.Reader, src *text.Source) (*header, error) {
	in := text.NewHead(r, src.Name)
	h := &header{object: "matrix", values: 1}
	for {
		line, err := in.Next()
		if err == io.EOF && in.Line == 0 {
			return nil, text.Dataf(src.Name, 1, 1,
				"got an empty file, want a banner: %s matrix coordinate real general", bannerWord)
		} else if err == io.EOF {
			return nil, text.Dataf(src.Name, in.Line+1, 1,
				"got the end of the file, want the line of sizes")
		} else if err != nil {
			return nil, err
		}
		if h.bannerLine == 0 {
			found, err := h.findBanner(src.Name, in.Line, line)
			if err != nil {
				return nil, err
			}
			if found {
				continue
			}
		}
		if fs := text.Fields(line, '%'); len(fs) > 0 {
			h.start, h.line, h.sizeLine = in.Off, in.Line, in.Line
			if err := h.sizes(src.Name, fs, len(line)+1, h.bannerLine > 0); err != nil {
				return nil, err
			}
			h.ones = h.values == 0 && h.hasValueColumn(in)
			return h, nil
		}
	}
}

// hasValueColumn reports whether the first entry has a word after its coordinates. It ignores
// errors, because the stream reports them.
func (h *header) hasValueColumn(in *text.Head) bool {
	for {
		line, err := in.Next()
		if err != nil {
			return false
		}
		if fs := text.Fields(line, '%'); len(fs) > 0 {
			return len(fs) == len(h.dims)+1
		}
	}
}

// bannerWords are the four words of a banner after %%MatrixMarket, with their permitted values.
var bannerWords = [4]struct {
	name string
	want []string
}{
	{"object", []string{"matrix", "vector", "tensor"}},
	{"format", []string{"coordinate", "array"}},
	{"field", []string{"real", "double", "integer", "unsigned-integer", "complex", "pattern"}},
	{"symmetry", []string{"general", "symmetric", "skew-symmetric", "hermitian"}},
}

// bannerWordOf returns the permitted value of banner word k that equals word, in upper or lower
// case, or "" if there is none.
func bannerWordOf(k int, word []byte) string {
	for _, s := range bannerWords[k].want {
		if strings.EqualFold(s, string(word)) {
			return s
		}
	}
	return ""
}

// findBanner reports whether line is a banner. If so, it also reads the banner. no is the number of
// the line.
//
// A banner should be line 1. A comment may also be an irregular banner: with a single %, a space
// inside, other characters between its words, or in a later line. If its last words are the four
// words of a banner, findBanner reads it as a banner, and sets h.note. If findBanner ignored it,
// half of a symmetric matrix could be lost. Another comment that looks like the start of a banner
// is an error, because its meaning is unknown.
func (h *header) findBanner(file string, no int, line []byte) (bool, error) {
	fs := text.Fields(line, 0)
	if len(fs) == 0 || fs[0].Text[0] != '%' {
		return false, nil
	}
	words := text.Fields(bytes.Map(func(r rune) rune {
		if strings.ContainsRune("%#,;:\"'", r) {
			return ' '
		}
		return r
	}, line), 0)
	exact := strings.EqualFold(string(fs[0].Text), bannerWord)
	switch whole := wholeBanner(words); {
	case exact:
		words = fs[1:]
	case whole:
		words = words[len(words)-len(bannerWords):]
	case !likeBanner(words):
		return false, nil
	case strings.EqualFold(string(words[0].Text), bannerWord[2:]):
		words = words[1:]
	default:
		return false, text.Dataf(file, no, fs[0].Col,
			"got the comment %s, which looks like a banner but is not; want %s matrix "+
				"coordinate real general",
			text.Quote(bytes.TrimRight(line, "\r")), bannerWord)
	}
	h.bannerLine = no
	if err := h.banner(file, words, len(line)+1); err != nil {
		return false, err
	}
	if !exact || no > 1 {
		h.note = fmt.Sprintf(
			"%s:%d: this line is used as the banner (%s %s), although a banner should be on "+
				"line 1", tensor.Printable(file), no, bannerWord, h.words)
	}
	return true, nil
}

// wholeBanner reports whether the last words are the four words of a banner.
func wholeBanner(words []text.Field) bool {
	first := len(words) - len(bannerWords)
	if first < 0 {
		return false
	}
	for k := range bannerWords {
		if bannerWordOf(k, words[first+k].Text) == "" {
			return false
		}
	}
	return true
}

// likeBanner reports whether the letters of the words begin with "matrixmarket", with at most
// two letters wrong, missing or added.
func likeBanner(words []text.Field) bool {
	const want, most = "matrixmarket", 2
	var got []byte
	for _, w := range words {
		if got = append(got, bytes.ToLower(w.Text)...); len(got) >= len(want)+most {
			got = got[:len(want)+most]
			break
		}
	}
	// row[k] is the edit distance between the letters read so far and want[:k].
	row := make([]int, len(want)+1)
	for k := range row {
		row[k] = k
	}
	least := len(want)
	for n, c := range got {
		diagonal := row[0]
		row[0] = n + 1
		for k := range len(want) {
			same := diagonal
			if c != want[k] {
				same++
			}
			diagonal = row[k+1]
			row[k+1] = min(same, row[k]+1, row[k+1]+1)
		}
		least = min(least, row[len(want)])
	}
	return least <= most
}

// banner reads fs, the words of a banner after %%MatrixMarket, in line h.bannerLine. end is the
// column after the line.
func (h *header) banner(file string, fs []text.Field, end int) error {
	line := h.bannerLine
	var got [len(bannerWords)]string
	for k, w := range bannerWords {
		if k >= len(fs) {
			return text.Dataf(file, line, end, "got the end of the banner, want its %s: %s", w.name,
				oneOf(w.want))
		}
		if got[k] = bannerWordOf(k, fs[k].Text); got[k] == "" {
			return text.Dataf(file, line, fs[k].Col, "got %s as the banner's %s, want %s",
				text.Quote(fs[k].Text), w.name, oneOf(w.want))
		}
	}
	if n := len(bannerWords); len(fs) > n {
		return text.Dataf(file, line, fs[n].Col, "got %s, want the end of the banner",
			text.Quote(fs[n].Text))
	}
	h.words = strings.Join(got[:], " ")
	h.object = got[0]
	h.array = got[1] == "array"
	switch got[2] {
	case "integer", "unsigned-integer":
		h.integer = true
	case "complex":
		h.values = 2
	case "pattern":
		h.values = 0
	}
	h.symWord = got[3]
	switch got[3] {
	case "symmetric":
		h.sym = symmetric
	case "skew-symmetric":
		h.sym = skew
	case "hermitian":
		h.sym = hermitian
	}
	switch {
	case h.values == 0 && h.array:
		return text.Dataf(file, line, fs[2].Col,
			"got an array with the field pattern, which has no values; want real, integer or "+
				"complex")
	case h.values == 0 && (h.sym == skew || h.sym == hermitian):
		return text.Dataf(file, line, fs[3].Col,
			"got a pattern with the symmetry %s, which would need values; want general or "+
				"symmetric", got[3])
	case h.values == 1 && h.sym == hermitian:
		return text.Dataf(file, line, fs[3].Col,
			"got a %s matrix with the symmetry hermitian; want either the field complex or "+
				"the symmetry symmetric",
			got[2])
	case h.sym != general && h.object == "vector":
		return text.Dataf(file, line, fs[3].Col,
			"got a vector with the symmetry %s, want general", got[3])
	}
	return nil
}

func oneOf(words []string) string {
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// sizes reads the line of sizes. end is the column after the line; banner is true if the file has a
// banner.
func (h *header) sizes(file string, fs []text.Field, end int, banner bool) error {
	want := map[string]int{"matrix": 2, "vector": 1, "tensor": len(fs)}[h.object]
	what := "the sizes"
	if h.object == "tensor" && !h.array {
		want--
	}
	if !h.array {
		what += " and the number of entries"
	}
	extra := 1
	if h.array {
		extra = 0
	}
	for k, f := range fs {
		if k >= want+extra && h.object != "tensor" {
			return text.Dataf(file, h.sizeLine, f.Col, "got %s, want the end of the line after %s",
				text.Quote(f.Text), what)
		}
		if k < want && text.Whole(f.Text) {
			d, err := text.Size(f.Text)
			if err != nil {
				return text.Dataf(file, h.sizeLine, f.Col, "%v", err)
			}
			h.dims = append(h.dims, d)
			continue
		}
		v, err := text.Integer(f.Text)
		if err != nil || v < 0 {
			hint := ""
			if !banner {
				hint = ", or the banner " + bannerWord
			}
			return text.Dataf(file, h.sizeLine, f.Col, "got %s, want %s: integers from 0%s",
				text.Quote(f.Text), what, hint)
		}
		if k < want {
			h.dims = append(h.dims, v)
		} else {
			h.nnz = v
		}
	}
	if len(fs) < want+extra || want < 0 {
		return text.Dataf(file, h.sizeLine, end, "got %s, want %d: %s",
			text.Plural(int64(len(fs)), "number", "numbers"), max(want, 0)+extra, what)
	}
	if h.sym != general && (len(h.dims) != 2 || h.dims[0] != h.dims[1]) {
		return text.Dataf(file, h.sizeLine, fs[0].Col,
			"got sizes %s for a %s matrix, which must be square", text.Sizes(h.dims), h.symWord)
	}
	if h.array {
		return h.arrayCount(file)
	}
	return nil
}

// arrayCount sets nnz to the number of values that an array lists.
func (h *header) arrayCount(file string) error {
	if slices.Contains(h.dims, 0) {
		h.nnz = 0 // the product of the other sizes may overflow
		return nil
	}
	if err := tensor.CheckSpace(h.dims, tensor.Complex128.Size()); err != nil {
		return text.Dataf(file, h.sizeLine, 1, "%v", err)
	}
	h.nnz = 1
	for _, d := range h.dims {
		h.nnz *= d
	}
	d := int64(0)
	if h.sym != general {
		d = h.dims[0]
	}
	switch h.sym {
	case symmetric, hermitian:
		h.nnz = (h.nnz-d)/2 + d
	case skew:
		h.nnz = (h.nnz - d) / 2
	}
	return nil
}
