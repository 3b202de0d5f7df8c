package tns

import (
	"bytes"
	"io"
	"slices"

	"distaff/io/coo"
	"distaff/io/mtx"
	"distaff/io/tensor"
	"distaff/io/text"
)

// head is the information in the first lines of a file. Its fields are exported for gob (see
// part.go).
type head struct {
	Header  text.Header
	Start   int64 // the offset of the first line of entries
	Line    int   // the number of lines before Start
	First   int   // the number of the first line of entries, 0 if there is none
	Columns int   // the number of columns of that line
	// Second is the number of columns of the second line of entries. It is 0 if that line does not
	// exist or was not read.
	Second int
	// Word is the column of the first word in line First that is not a number, and Text is the
	// word. Word is 0 if all words are numbers.
	Word    int
	Text    string
	Sizes   []int64
	SizesAt int // the number of the line of Sizes
	Complex bool
	// Dense means that the lines are the values of a dense tensor, without coordinates.
	Dense bool
	// Announced is the number of entries that line AnnouncedAt announces. If no line does,
	// AnnouncedAt is 0.
	Announced   int64
	AnnouncedAt int

	extended bool // a comment says that the file has MLIR's header
}

// Open reads path as a stream of entries in the file's order. The stream's sizes are exact if the
// file has ParTI's header or opt.Dims has all sizes. If a coordinate exceeds an exact size, reading
// fails with an error that says where in the file the coordinate is. The stream owns the file.
func Open(path string, opt coo.Options) (coo.Stream, error) { return text.Open(path, opt, New) }

// New returns a stream of the entries of src. The stream owns src.
func New(src *text.Source, opt coo.Options) (coo.Stream, error) {
	h, err := readHead(src)
	if err != nil {
		return nil, err
	}
	_, h.Header.Size = src.Plain()
	if h.Dense {
		s, err := mtx.NewArray(src, h.Sizes, h.SizesAt, h.Start, h.Line, opt)
		return dense{s}, err
	}
	return open(src, h, opt)
}

// stream is a coo.Stream of a file or a part of a file.
type stream struct {
	text.Entries
	head *head
}

// open makes the stream of a file with head h.
func open(src *text.Source, h *head, opt coo.Options) (*stream, error) {
	order, values, err := h.shape(src.Name, opt)
	if err != nil {
		return nil, err
	}
	typ := opt.Type
	if typ == tensor.None {
		typ = tensor.Float64
		if values == 2 {
			typ = tensor.Complex128
		}
	}
	if values == 2 && typ != tensor.Complex128 && typ != tensor.Complex64 {
		return nil, text.Commandf(src.Name, 0, 0,
			"the file's values are complex, but the type asked for is real")
	}
	l := &text.Layout{File: src.Name, Order: order, Values: values, Base: 1, Comment: '#',
		Type: typ,
		Hint: " (--index-base=0 if it counts from 0)"}
	if opt.ZeroBased {
		l.Base, l.Hint = 0, ""
	}
	e := &stream{head: h}
	e.Entries = text.Entries{Src: src, Start: h.Start, Line: h.Line, Comment: '#', Order: order,
		Value: typ, Opt: opt, Announced: h.Announced, AnnouncedAt: h.AnnouncedAt}
	e.ReadLines(l, (*text.Layout).Parse, h.Sizes, "the file's first lines")
	return e, nil
}

// shape returns the order of the tensor, and the number of columns of a value (2 for complex
// values, otherwise 1). It derives them from ParTI's header, the mark of complex values, the number
// of columns, and the order or the sizes in opt. It returns an error if these contradict each
// other. file names the file in errors.
func (h *head) shape(file string, opt coo.Options) (order, values int, err error) {
	want := opt.Order
	if opt.Dims != nil {
		want = len(opt.Dims)
	}
	values = 1
	if h.Complex {
		values = 2
	}
	if h.Sizes != nil {
		order = len(h.Sizes)
		if want > 0 && order != want {
			return 0, 0, text.Commandf(file, h.Line-1, 1, "the file has %d modes, want %d", order,
				want)
		}
		if h.Columns == order+2 {
			values = 2
		}
		return order, values, nil
	}
	switch {
	case h.Columns == 0 && want == 0:
		return 0, 0, text.Commandf(file, 0, 0,
			"the file has no entries, so its sizes are not known; give them with -d")
	case h.Columns == 0:
		return want, values, nil
	}
	order = h.Columns - values
	switch {
	case order < 0:
		return 0, 0, text.Dataf(file, h.First, 1, "got %s, want the two parts of a complex value",
			text.Plural(int64(h.Columns), "column", "columns"))
	case want > 0 && order != want && h.Word > 0:
		return 0, 0, text.Dataf(file, h.First, h.Word, "got %s, want a number: %s and %s",
			text.Quote([]byte(h.Text)),
			text.Plural(int64(want), "coordinate", "coordinates"),
			[...]string{"a value", "the two parts of a complex value"}[values-1])
	case want > 0 && order != want:
		fault := text.Commandf // the request is wrong if the lines of the file agree
		if h.Second > 0 && h.Second != h.Columns {
			fault = text.Dataf
		}
		return 0, 0, fault(file, h.First, 1, "got %s, want %d: %s and %s",
			text.Plural(int64(h.Columns), "column", "columns"),
			want+values, text.Plural(int64(want), "coordinate", "coordinates"),
			[...]string{"a value", "the two parts of a complex value"}[values-1])
	}
	return order, values, nil
}

// readHead reads the first line that is neither blank nor a comment, and up to two further lines
// with fields. If the first line has several columns, readHead also counts the columns of the
// second line. If the first line has one number, it may be the number of modes in a header of
// ParTI. The second line then has the sizes, and the third line is the first entry.
func readHead(src *text.Source) (*head, error) {
	r, err := src.Reader()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	in := text.NewHead(r, src.Name)
	h := &head{}
	line, err := h.firstLine(in)
	if err != nil {
		return h, errIfNotEOF(err)
	}
	if bytes.HasPrefix(line, []byte("%%MatrixMarket")) {
		return h, text.Dataf(src.Name, in.Line, 1,
			"got the banner of a Matrix Market file, want coordinates and a value; the name "+
				"of such a file must end in .mtx (or -.mtx)")
	}
	fs := text.Fields(line, '#')
	if len(fs) == 1 {
		switch word := string(fs[0].Text); word {
		case "sptensor", "tensor":
			return h, h.toolbox(in, word == "tensor")
		case "matrix":
			return h, text.Dataf(src.Name, in.Line, 1, "got a matrix of the Tensor Toolbox, whose "+
				"programs list the values by rows or by columns; want a tensor or a sptensor")
		}
	}
	h.Columns, h.First = len(fs), in.Line
	for _, f := range slices.Backward(fs) {
		if !text.IsNumber(f.Text) {
			h.Word, h.Text = f.Col, string(f.Text)
		}
	}
	if len(fs) != 1 {
		return h, h.second(in, fs)
	}
	n, err := text.Int64(fs[0].Text)
	if err != nil || n < 1 || n > maxOrder {
		return h, nil
	}
	sizes, _, err := h.nextFields(in)
	if err != nil || int64(len(sizes)) != n {
		return h, errIfNotEOF(err)
	}
	var dims []int64
	for _, f := range sizes {
		if _, err := text.Int64(f.Text); !text.Whole(f.Text) || n == 1 && err != nil {
			return h, nil // a number such as 5.0 may be the value of a tensor of order 0
		}
		d, err := text.Size(f.Text)
		if err != nil {
			return h, text.Dataf(src.Name, in.Line, f.Col, "%v", err)
		}
		dims = append(dims, d)
	}
	h.Sizes, h.Start, h.Line = dims, in.Off, in.Line
	fs, first, err := h.nextFields(in)
	if err != nil {
		return h, errIfNotEOF(err)
	}
	h.Columns, h.First = len(fs), first
	return h, nil
}

// maxOrder is the largest order that a header may have.
const maxOrder = 1024

// firstLine returns the first line that is neither blank nor a comment, and records that the
// entries start there.
func (h *head) firstLine(in *text.Head) ([]byte, error) {
	for {
		line, err := in.Next()
		if err != nil {
			return nil, err
		}
		t := bytes.TrimSpace(line)
		if string(t) == ComplexMark {
			h.Complex = true
		}
		if len(t) > 0 && t[0] == ';' && bytes.Contains(t, []byte(extendedMark)) {
			h.extended = true
			continue
		}
		h.extended = h.extended || bytes.HasPrefix(t, []byte("# "+extendedMark))
		if len(t) > 0 && t[0] != '#' {
			h.Start, h.Line = in.Begin, in.Line-1
			return line, nil
		}
	}
}

func (h *head) nextFields(in *text.Head) ([]text.Field, int, error) {
	for {
		line, err := in.Next()
		if err != nil {
			return nil, 0, err
		}
		if fs := text.Fields(line, '#'); len(fs) > 0 {
			return fs, in.Line, nil
		}
	}
}

func errIfNotEOF(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}
