package npy

import (
	"archive/zip"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/klauspost/compress/flate"

	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/text"
)

// archive is an open .npz file.
type archive struct {
	src     *text.Source
	members map[string]*zip.File
	names   []string
}

// OpenNpz reads path, an .npz file: a sparse matrix as SciPy saves it, or the
// only array of the archive, dense. The stream is exact in its sizes and owns
// the file.
func OpenNpz(path string, opt coo.Options) (coo.Stream, error) {
	src, err := text.OpenSource(path, opt.Tmp)
	if err != nil {
		return nil, err
	}
	s, err := NewNpz(src, opt)
	if err != nil {
		src.Close()
		return nil, err
	}
	return s, nil
}

// NewNpz reads src, which the stream owns from then on.
func NewNpz(src *text.Source, opt coo.Options) (coo.Stream, error) {
	if err := isZip(src); err != nil {
		return nil, err
	}
	at, size, err := src.ReaderAt()
	if err != nil {
		return nil, err
	}
	z, err := zip.NewReader(at, size)
	if err != nil {
		return nil, text.Dataf(src.Name, 0, 0, "got no zip archive (%v), want one of .npy files", err)
	}
	z.RegisterDecompressor(zip.Deflate, func(r io.Reader) io.ReadCloser { return flate.NewReader(r) })
	a := &archive{src: src, members: map[string]*zip.File{}}
	for _, f := range z.File {
		name, ok := strings.CutSuffix(f.Name, ".npy")
		if !ok {
			return nil, text.Dataf(src.Name, 0, 0, "got the member %s, want .npy files", text.Quote([]byte(f.Name)))
		}
		if a.members[name] != nil {
			return nil, text.Dataf(src.Name, 0, 0, "got two members %s, want one", text.Quote([]byte(f.Name)))
		}
		a.members[name] = f
		a.names = append(a.names, name)
	}
	if a.members["format"] != nil {
		return a.sparse(opt)
	}
	if len(a.names) != 1 {
		return nil, text.Dataf(src.Name, 0, 0, "got %s%s, want one array or a matrix that scipy.sparse.save_npz wrote",
			text.Plural(int64(len(a.names)), "array", "arrays"), a.list())
	}
	d := &array{src: src, open: a.opener(a.names[0]), what: a.what(a.names[0]), opt: opt}
	if err := d.init(); err != nil {
		return nil, err
	}
	return d, nil
}

// isZip looks at the first bytes of a file that is not there as it is, so that
// nothing else is unpacked.
func isZip(src *text.Source) error {
	if f, _ := src.Plain(); f != nil {
		return nil
	}
	r, err := src.Reader()
	if err != nil {
		return err
	}
	defer r.Close()
	head := make([]byte, 2)
	n, err := io.ReadFull(r, head)
	if err != nil && !short(err) {
		return err
	}
	if string(head[:n]) != "PK" {
		return text.Dataf(src.Name, 0, 0, "got %s at the start, want a zip archive of .npy files", text.Quote(head[:n]))
	}
	return nil
}

// list names the members.
func (a *archive) list() string {
	if len(a.names) == 0 {
		return ""
	}
	names := a.names
	more := ""
	if len(names) > 8 {
		names, more = names[:8], ", ..."
	}
	var quoted []string
	for _, n := range names {
		quoted = append(quoted, text.Clean(n))
	}
	return " (" + strings.Join(quoted, ", ") + more + ")"
}

// what names a member in messages.
func (a *archive) what(name string) string { return a.src.Name + ": " + name }

func (a *archive) opener(name string) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) {
		f := a.members[name]
		if f == nil {
			return nil, text.Dataf(a.src.Name, 0, 0, "got no member %s%s, want what scipy.sparse.save_npz writes", name, a.list())
		}
		r, err := f.Open()
		if err != nil {
			return nil, text.Dataf(a.what(name), 0, 0, "%v", err)
		}
		return r, nil
	}
}

// elements opens a member whose shape must have that many dimensions.
func (a *archive) elements(name string, dims int) (*elements, error) {
	r, err := a.opener(name)()
	if err != nil {
		return nil, err
	}
	e, err := openElements(r)
	if err != nil {
		return nil, fault(a.what(name), err)
	}
	if len(e.shape) != dims {
		e.close()
		return nil, text.Dataf(a.what(name), 0, 0, "got the shape %v, want %s", e.shape, text.Plural(int64(dims), "dimension", "dimensions"))
	}
	return e, nil
}

// integers opens a member of integers in one dimension.
func (a *archive) integers(name string) (*elements, error) {
	e, err := a.elements(name, 1)
	if err == nil && (!e.dtype.typ().Valid() || !e.dtype.typ().IsInt()) {
		e.close()
		return nil, text.Dataf(a.what(name), 0, 0, "got an array of type %c%d, want integers", e.dtype.kind, e.dtype.size)
	}
	return e, err
}

// format reads the name of the storage format, bytes or a string.
func (a *archive) format() (string, error) {
	e, err := a.elements("format", 0)
	if err != nil {
		return "", err
	}
	defer e.close()
	if e.dtype.kind != 'S' && e.dtype.kind != 'U' {
		return "", text.Dataf(a.what("format"), 0, 0, "got an array of type %c%d, want bytes or a string", e.dtype.kind, e.dtype.size)
	}
	raw, _, err := e.read(1)
	if err != nil {
		return "", fault(a.what("format"), err)
	}
	if e.dtype.kind == 'U' {
		low := 0
		if e.dtype.big {
			low = 3
		}
		var s []byte
		for k := 0; k+3 < len(raw); k += 4 {
			s = append(s, raw[k+low])
		}
		raw = s
	}
	return strings.TrimRight(string(raw), "\x00"), nil
}

// matrixShape reads the sizes of a sparse matrix.
func (a *archive) matrixShape() ([]int64, error) {
	e, err := a.integers("shape")
	if err != nil {
		return nil, err
	}
	defer e.close()
	dims := make([]int64, 2)
	if e.count != 2 {
		return nil, text.Dataf(a.what("shape"), 0, 0, "got %s, want 2: numbers of rows and columns", text.Plural(e.count, "size", "sizes"))
	}
	if _, err := e.ints(dims); err != nil {
		return nil, fault(a.what("shape"), err)
	}
	for m, d := range dims {
		if err := tcs.CheckSize(d); err != nil {
			return nil, text.Dataf(a.what("shape"), 0, 0, "element %d: %v", m, err)
		}
	}
	return dims, nil
}

// sparse makes the stream of SciPy's matrix.
func (a *archive) sparse(opt coo.Options) (coo.Stream, error) {
	name, err := a.format()
	if err != nil {
		return nil, err
	}
	dims, err := a.matrixShape()
	if err != nil {
		return nil, err
	}
	s := &sparse{a: a, rows: dims[0], cols: dims[1]}
	switch name {
	case "csr", "csc":
		s.start = func() (walker, error) { return a.compressed(s, name == "csc") }
	case "bsr":
		s.start = func() (walker, error) { return a.blocks(s) }
	case "coo":
		s.start = func() (walker, error) { return a.coordinates(s) }
	case "dia":
		s.start = func() (walker, error) { return a.diagonals(s) }
	default:
		return nil, text.Dataf(a.what("format"), 0, 0, "got %s, want csr, csc, coo, bsr or dia", text.Quote([]byte(name)))
	}
	w, err := s.start()
	if err != nil {
		return nil, err
	}
	s.nat, s.count = w.data().dtype.typ(), w.data().count
	w.close()
	if s.nat == tcs.Invalid {
		return nil, text.Dataf(a.what("data"), 0, 0, "got an array of strings, want numbers")
	}
	s.shape, err = fit(a.src.Name, dims, s.nat, opt)
	return s, err
}

// walker yields the entries of a sparse matrix in the order of the file.
type walker interface {
	// next fills rows, cols and vals (of the file's type) with at most len(rows)
	// entries, and returns how many; 0 is the end.
	next(rows, cols []int64, vals []byte) (int, error)
	data() *elements
	close()
}

// sparse is the stream of SciPy's matrix.
type sparse struct {
	a          *archive
	rows, cols int64
	start      func() (walker, error)
	nat        tcs.Type
	count      int64 // elements of data
	shape

	w        walker
	own      coo.Batch
	raw, out buffer
	err      error
}

func (s *sparse) Dims() ([]int64, bool)         { return slices.Clone(s.dims), true }
func (s *sparse) Type() tcs.Type                { return s.typ }
func (s *sparse) Progress() (done, total int64) { return s.a.src.Progress() }

// NNZ is the most entries that there can be: the elements of data. Zeros of blocks and
// diagonals are among them.
func (s *sparse) NNZ() int64 { return s.count }

func (s *sparse) Rewind() error {
	s.stop()
	s.a.src.Restart()
	s.err = nil
	return nil
}

func (s *sparse) stop() {
	if s.w != nil {
		s.w.close()
		s.w = nil
	}
}

func (s *sparse) Close() error {
	s.stop()
	s.err = io.ErrClosedPipe
	return s.a.src.Close()
}

// Next yields up to chunk entries.
func (s *sparse) Next(b *coo.Batch) error {
	if s.err == nil {
		s.err = s.next(b)
	}
	return s.err
}

func (s *sparse) next(b *coo.Batch) (err error) {
	if s.w == nil {
		if s.w, err = s.start(); err != nil {
			return err
		}
		if s.w.data().dtype.typ() != s.nat {
			return text.Dataf(s.a.src.Name, 0, 0, "the file changed while it was read")
		}
	}
	s.own.Resize(2, chunk, 0)
	vals := s.raw.bytes(chunk * s.nat.Size())
	n, err := s.w.next(s.own.Coords[0], s.own.Coords[1], vals)
	if err != nil {
		return err
	}
	if n == 0 {
		s.stop()
		return io.EOF
	}
	if s.nat != s.typ {
		to := s.out.bytes(chunk * s.typ.Size())
		if bad, err := tcs.ConvertValues(to, s.typ, vals, s.nat, n); err != nil {
			bad = max(bad, 0)
			return text.Commandf(s.a.src.Name, 0, 0, "entry (%d,%d), counted from 1: %v", s.own.Coords[0][bad]+1, s.own.Coords[1][bad]+1, err)
		}
		vals = to
	}
	b.N, b.Vals = n, vals[:n*s.typ.Size()]
	b.Coords = b.Coords[:0]
	for _, m := range s.keep {
		b.Coords = append(b.Coords, s.own.Coords[m][:n])
	}
	return nil
}

// index is a buffered array of integers.
type index struct {
	e    *elements
	name string // for messages
	buf  []int64
	pos  int
	at   int64 // elements taken
}

// next is the next integer, which must be from lo to hi.
func (x *index) next(lo, hi int64) (int64, error) {
	if x.pos == len(x.buf) {
		if x.buf == nil {
			x.buf = make([]int64, chunk)
		}
		x.buf = x.buf[:cap(x.buf)]
		n, err := x.e.ints(x.buf)
		if err == nil && n == 0 {
			err = fmt.Errorf("got %s, want more", text.Plural(x.e.count, "element", "elements"))
		}
		if err != nil {
			return 0, fault(x.name, err)
		}
		x.buf, x.pos = x.buf[:n], 0
	}
	v := x.buf[x.pos]
	if v < lo || v > hi {
		return 0, text.Dataf(x.name, 0, 0, "got %d as element %d, want one from %d to %d", v, x.at, lo, hi)
	}
	x.pos++
	x.at++
	return v, nil
}

func (a *archive) index(name string) (*index, error) {
	e, err := a.integers(name)
	if err != nil {
		return nil, err
	}
	return &index{e: e, name: a.what(name)}, nil
}

func (x *index) close() {
	if x != nil {
		x.e.close()
	}
}
