package mtx

import (
	"io"
	"strings"

	"distaff/io/tcs"
	"distaff/io/text"
)

type symmetry uint8

const (
	general symmetry = iota
	symmetric
	skew
	hermitian
)

// header is what banner and sizes say.
type header struct {
	array    bool
	integer  bool
	values   int // numbers a value: 0 for a pattern, 2 for complex
	sym      symmetry
	symWord  string
	object   string
	dims     []int64
	nnz      int64 // entries, or values of an array, that the body must hold
	sizeLine int
	start    int64 // the offset of the body
	line     int   // lines before it
	ones     bool  // the first entry of a pattern has a value
}

const bannerWord = "%%MatrixMarket"

// readHeader reads up to the line of sizes.
func readHeader(src *text.Source) (*header, error) {
	r, err := src.Reader()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return headerFrom(r, src)
}

// headerFrom reads the header from r.
func headerFrom(r io.Reader, src *text.Source) (*header, error) {
	in := text.NewHead(r, src.Name)
	h := &header{object: "matrix", values: 1}
	line, err := in.Next()
	if err == io.EOF {
		return nil, text.Dataf(src.Name, 1, 1, "got an empty file, want a banner: %s matrix coordinate real general", bannerWord)
	} else if err != nil {
		return nil, err
	}
	banner := false
	if fs := text.Fields(line, 0); len(fs) > 0 && strings.EqualFold(string(fs[0].Text), bannerWord) {
		banner = true
		if err := h.banner(src.Name, fs, len(line)+1); err != nil {
			return nil, err
		}
		line = nil
	}
	for {
		if fs := text.Fields(line, '%'); len(fs) > 0 {
			h.start, h.line, h.sizeLine = in.Off, in.Line, in.Line
			if err := h.sizes(src.Name, fs, len(line)+1, banner); err != nil {
				return nil, err
			}
			h.ones = h.values == 0 && h.valued(in)
			return h, nil
		}
		line, err = in.Next()
		if err == io.EOF {
			return nil, text.Dataf(src.Name, in.Line+1, 1, "got the end of the file, want the line of sizes")
		} else if err != nil {
			return nil, err
		}
	}
}

// valued tells whether the first entry has one word more than coordinates. What is wrong
// with the line is said where entries are read.
func (h *header) valued(in *text.Head) bool {
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

// banner reads the words of the first line; end is the column after them.
func (h *header) banner(file string, fs []text.Field, end int) error {
	words := []struct {
		name string
		want []string
	}{
		{"object", []string{"matrix", "vector", "tensor"}},
		{"format", []string{"coordinate", "array"}},
		{"field", []string{"real", "double", "integer", "complex", "pattern"}},
		{"symmetry", []string{"general", "symmetric", "skew-symmetric", "hermitian"}},
	}
	var got [4]string
	for k, w := range words {
		if k+1 >= len(fs) {
			return text.Dataf(file, 1, end, "got the end of the banner, want its %s: %s", w.name, oneOf(w.want))
		}
		f := fs[k+1]
		for _, s := range w.want {
			if strings.EqualFold(s, string(f.Text)) {
				got[k] = s
			}
		}
		if got[k] == "" {
			return text.Dataf(file, 1, f.Col, "got %s as the banner's %s, want %s", text.Quote(f.Text), w.name, oneOf(w.want))
		}
	}
	if len(fs) > 5 {
		return text.Dataf(file, 1, fs[5].Col, "got %s, want the end of the banner", text.Quote(fs[5].Text))
	}
	h.object = got[0]
	h.array = got[1] == "array"
	switch got[2] {
	case "integer":
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
		return text.Dataf(file, 1, fs[3].Col, "got an array of field pattern, want an array that has values: real, integer or complex")
	case h.values == 0 && (h.sym == skew || h.sym == hermitian):
		return text.Dataf(file, 1, fs[4].Col, "got a pattern that is %s, want general or symmetric: a pattern has no values to negate or conjugate", got[3])
	case h.values == 1 && h.sym == hermitian:
		return text.Dataf(file, 1, fs[4].Col, "got a %s matrix that is hermitian, want the field complex or the symmetry symmetric", got[2])
	case h.sym != general && h.object == "vector":
		return text.Dataf(file, 1, fs[4].Col, "got a vector that is %s, want general", got[3])
	}
	return nil
}

func oneOf(words []string) string {
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// sizes reads the line of sizes.
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
			return text.Dataf(file, h.sizeLine, f.Col, "got %s, want the end of the line after %s", text.Quote(f.Text), what)
		}
		if k < want && text.Whole(f.Text) {
			d, err := text.Size(f.Text)
			if err != nil {
				return text.Dataf(file, h.sizeLine, f.Col, "%v", err)
			}
			h.dims = append(h.dims, d)
			continue
		}
		v, err := text.Int64(f.Text)
		if err != nil || v < 0 {
			hint := ""
			if !banner {
				hint = ", or the banner " + bannerWord
			}
			return text.Dataf(file, h.sizeLine, f.Col, "got %s, want %s: integers from 0%s", text.Quote(f.Text), what, hint)
		}
		if k < want {
			h.dims = append(h.dims, v)
		} else {
			h.nnz = v
		}
	}
	if len(fs) < want+extra || want < 0 {
		return text.Dataf(file, h.sizeLine, end, "got %s, want %d: %s", text.Plural(int64(len(fs)), "number", "numbers"), max(want, 0)+extra, what)
	}
	if h.sym != general && (len(h.dims) != 2 || h.dims[0] != h.dims[1]) {
		return text.Dataf(file, h.sizeLine, fs[0].Col, "got sizes %s of a %s matrix, want a square one", text.Sizes(h.dims), h.symWord)
	}
	if h.array {
		return h.arrayCount(file)
	}
	return nil
}

// arrayCount sets nnz to the number of values that an array lists.
func (h *header) arrayCount(file string) error {
	if err := tcs.CheckSpace(h.dims, tcs.Complex128.Size()); err != nil {
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
