package npy

import (
	"archive/zip"
	"io"
	"strings"
	"unsafe"

	"github.com/klauspost/compress/flate"

	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/io/text"
)

// blocksMember is the name of a BSR matrix that is read as a tensor of its blocks, in paths of the
// form FILE:NAME.
const blocksMember = "blocks"

// archive is an open .npz file.
type archive struct {
	src     *text.Source
	members map[string]*zip.File
	names   []string
}

// OpenNpz opens the .npz file at path and returns a stream of its entries. The file must contain a
// sparse array that SciPy or pydata/sparse saved, or dense arrays. If it contains several dense
// arrays, path is FILE:NAME and selects one. The stream knows the exact sizes of the modes. The
// stream owns the file.
func OpenNpz(path string, opt coo.Options) (coo.Stream, error) {
	return text.Open(path, opt, newNpz)
}

// newNpz returns a stream of the entries of src. The stream owns src.
func newNpz(src *text.Source, opt coo.Options) (coo.Stream, error) {
	if err := checkZip(src); err != nil {
		return nil, err
	}
	at, size, err := src.ReaderAt()
	if err != nil {
		return nil, err
	}
	z, err := zip.NewReader(at, size)
	if err != nil {
		return nil, text.Dataf(src.Name, 0, 0,
			"the file is not a zip archive (%v), want one of .npy files",
			err)
	}
	z.RegisterDecompressor(zip.Deflate, func(r io.Reader) io.ReadCloser {
		return flate.NewReader(r)
	})
	a := &archive{src: src, members: map[string]*zip.File{}}
	for _, f := range z.File {
		name, ok := strings.CutSuffix(f.Name, ".npy")
		if !ok {
			return nil, text.Dataf(src.Name, 0, 0, "got the member %s, want only .npy files",
				text.Quote([]byte(f.Name)))
		}
		if a.members[name] != nil {
			return nil, text.Dataf(src.Name, 0, 0, "got two members named %s, want one",
				text.Quote([]byte(f.Name)))
		}
		a.members[name] = f
		a.names = append(a.names, name)
	}
	name := strings.TrimSuffix(src.Member, ".npy")
	if (a.members["format"] != nil || a.members["coords"] != nil) &&
		(name == "" || name == blocksMember) {
		return a.sparse(opt)
	}
	if name == "" && len(a.names) == 1 {
		name = a.names[0]
	}
	if a.members[name] == nil {
		return nil, text.NoMember(src.Name, src.Member, a.names)
	}
	d := &array{src: src, open: a.opener(name), what: a.what(name), opt: opt}
	if err := d.init(); err != nil {
		return nil, err
	}
	return d, nil
}

// checkZip returns an error if src is not a zip archive, as far as its first two bytes tell. It
// checks only a pipe or a compressed file. Without this check, such a file would be read and stored
// completely before the error is found.
func checkZip(src *text.Source) error {
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
		return text.Dataf(src.Name, 0, 0, "got %s at the start, want a zip archive of .npy files",
			text.Quote(head[:n]))
	}
	return nil
}

// list returns the names of the members for a message.
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

// what returns the name of a member for messages.
func (a *archive) what(name string) string { return a.src.Name + ": " + name }

func (a *archive) opener(name string) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) {
		f := a.members[name]
		if f == nil {
			return nil, text.Dataf(a.src.Name, 0, 0,
				"the member %s is missing%s; want what scipy.sparse.save_npz writes",
				name, a.list())
		}
		r, err := f.Open()
		if err != nil {
			return nil, text.Dataf(a.what(name), 0, 0, "%v", err)
		}
		return r, nil
	}
}

// elements opens a member. Its shape must have dims dimensions.
func (a *archive) elements(name string, dims int) (*elements, error) {
	r, err := a.opener(name)()
	if err != nil {
		return nil, err
	}
	e, err := openElements(r)
	if err != nil {
		return nil, fault(a.what(name), err)
	}
	if len(e.header.shape) != dims {
		e.close()
		return nil, text.Dataf(a.what(name), 0, 0, "got the shape %v, want %s", e.header.shape,
			text.Plural(int64(dims), "dimension", "dimensions"))
	}
	return e, nil
}

// integers opens a member, which must be an array of integers with one dimension. The caller reads
// the array's elements with the method ints.
func (a *archive) integers(name string) (*elements, error) {
	e, err := a.elements(name, 1)
	if err != nil {
		return nil, err
	}
	if err := a.wantIntegers(name, e); err != nil {
		e.close()
		return nil, err
	}
	return e, nil
}

// wantIntegers returns an error unless the elements of a member have a type that the method ints
// can read as integers. name is the member's name.
func (a *archive) wantIntegers(name string, e *elements) error {
	if typ := e.header.dtype.typ(); typ.IsNumber() && !typ.IsComplex() {
		return nil
	}
	return text.Dataf(a.what(name), 0, 0, "got an array of type %c%d, want integers",
		e.header.dtype.kind, e.header.dtype.size)
}

// format returns the name of the storage format, which is stored as bytes or a string.
// pydata/sparse before version 0.16 stored no format; its archives are "coo".
func (a *archive) format() (string, error) {
	if a.members["format"] == nil {
		return "coo", nil
	}
	e, err := a.elements("format", 0)
	if err != nil {
		return "", err
	}
	defer e.close()
	if e.header.dtype.kind != 'S' && e.header.dtype.kind != 'U' {
		return "", text.Dataf(a.what("format"), 0, 0,
			"got an array of type %c%d, want bytes or a string", e.header.dtype.kind, e.header.dtype.size)
	}
	raw, _, err := e.read(1)
	if err != nil {
		return "", fault(a.what("format"), err)
	}
	if e.header.dtype.kind == 'U' {
		low := 0
		if e.header.dtype.big {
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

// sizes reads the sizes of a sparse array from the member "shape". If general is true, it accepts
// up to tcs.MaxOrder sizes. Otherwise it accepts two sizes or, if row is true, also a single one.
func (a *archive) sizes(general, row bool) ([]int64, error) {
	e, err := a.elements("shape", 1)
	if err != nil {
		return nil, err
	}
	defer e.close()
	switch {
	case general && e.header.count == 0: // NumPy converts Python's () to an array of floats
		return []int64{}, nil
	case !general && e.header.count != 2 && !(row && e.header.count == 1):
		return nil, text.Dataf(a.what("shape"), 0, 0,
			"got %s, want 2: the numbers of rows and columns",
			text.Plural(e.header.count, "size", "sizes"))
	case e.header.count > tcs.MaxOrder:
		return nil, text.Dataf(a.what("shape"), 0, 0, "got %d sizes, want at most %d", e.header.count,
			tcs.MaxOrder)
	}
	if err := a.wantIntegers("shape", e); err != nil {
		return nil, err
	}
	dims := make([]int64, e.header.count)
	if _, err := e.ints(dims); err != nil {
		return nil, fault(a.what("shape"), err)
	}
	for m, d := range dims {
		if err := tensor.CheckSize(d); err != nil {
			return nil, text.Dataf(a.what("shape"), 0, 0, "element %d: %v", m, err)
		}
	}
	return dims, nil
}

// checkFill returns an error if the fill value is not zero. pydata/sparse stores the fill
// value, which is the value of absent entries.
func (a *archive) checkFill() error {
	const name = "fill_value"
	if a.members[name] == nil {
		return nil
	}
	e, err := a.elements(name, 0)
	if err != nil {
		return err
	}
	defer e.close()
	typ := e.header.dtype.typ()
	if typ == tensor.None {
		return text.Dataf(a.what(name), 0, 0, "got a string, want the number 0")
	}
	var b buffer
	raw := b.bytes(int(typ.Size()))
	if _, err := e.values(raw, 1); err != nil {
		return fault(a.what(name), err)
	}
	if v := typ.Load(unsafe.Pointer(unsafe.SliceData(raw))); v.I != 0 || v.C != 0 {
		return text.Dataf(a.what(name), 0, 0,
			"got the fill value %v, want 0", v)
	}
	return nil
}

// sparse returns the stream of a sparse array.
func (a *archive) sparse(opt coo.Options) (coo.Stream, error) {
	name, err := a.format()
	if err != nil {
		return nil, err
	}
	if err := a.checkFill(); err != nil {
		return nil, err
	}
	s := &sparse{a: a}
	points := name == "coo" && a.members["coords"] != nil
	switch {
	case points:
		s.start = func() (walker, error) { return a.points(s) }
	case name == "csr", name == "csc":
		s.start = func() (walker, error) { return a.compressed(s, name == "csc") }
	case name == "bsr":
		s.start = func() (walker, error) { return a.blocks(s) }
	case name == "coo":
		s.start = func() (walker, error) { return a.coordinates(s) }
	case name == "dia":
		s.start = func() (walker, error) { return a.diagonals(s) }
	case name == "gcxs":
		return nil, text.Dataf(a.what("format"), 0, 0,
			"got the format %s, want coo, as x.asformat('coo') makes it before sparse.save_npz",
			text.Quote([]byte(name)))
	default:
		return nil, text.Dataf(a.what("format"), 0, 0,
			"got the format %s, want csr, csc, coo, bsr or dia",
			text.Quote([]byte(name)))
	}
	inBlocks := name == "bsr" &&
		(opt.Order == 4 || len(opt.Dims) == 4 || a.src.Member == blocksMember)
	if a.src.Member == blocksMember && !inBlocks {
		return nil, text.Commandf(a.src.Name, 0, 0, "got a matrix in format %s, which has no %s",
			text.Quote([]byte(name)), blocksMember)
	}
	dims, err := a.sizes(points, name == "coo" || name == "csr")
	if err != nil {
		return nil, err
	}
	s.full = dims
	if !points {
		if len(dims) == 1 { // SciPy's array of one dimension is stored as a row
			s.full = []int64{1, dims[0]}
		}
		s.rows, s.cols = s.full[0], s.full[1]
	}
	w, err := s.start()
	if err != nil {
		return nil, err
	}
	if b, ok := w.(*blocks); ok && inBlocks {
		s.full = []int64{b.inner.rows, b.inner.cols, b.r, b.c}
		dims = s.full
	}
	elems := w.data().header
	s.nat, s.count = elems.dtype.typ(), elems.count
	w.close()
	if s.nat == tensor.None {
		return nil, text.Dataf(a.what("data"), 0, 0, "got an array of strings, want numbers")
	}
	s.shape, err = fit(a.src.Name, dims, elems.dtype, opt)
	if len(dims) < len(s.full) {
		s.shape.keep = []int{1}
	}
	return s, err
}
