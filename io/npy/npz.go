package npy

import (
	"archive/zip"
	"io"
	"strings"
	"unsafe"

	"github.com/klauspost/compress/flate"

	"distaff/io/arrays"
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
	return arrays.NewDense(a, name, opt)
}

// checkZip returns an error if a pipe or a compressed file is not a zip archive, as far as its first
// two bytes tell.
func checkZip(src *text.Source) error {
	head, err := src.Start(2)
	if err == nil && head != nil && string(head) != "PK" {
		return text.Dataf(src.Name, 0, 0, "got %s at the start, want a zip archive of .npy files",
			text.Quote(head))
	}
	return err
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

// Source returns the file of the archive.
func (a *archive) Source() *text.Source { return a.src }

// What returns the name of a member for messages.
func (a *archive) What(name string) string { return a.src.Name + ": " + name }

// Open opens a member.
func (a *archive) Open(name string) (*arrays.Elements, error) {
	f := a.members[name]
	if f == nil {
		return nil, text.Dataf(a.src.Name, 0, 0,
			"the member %s is missing%s; want what scipy.sparse.save_npz writes", name, a.list())
	}
	r, err := f.Open()
	if err != nil {
		return nil, text.Dataf(a.What(name), 0, 0, "%v", err)
	}
	e, err := openElements(r)
	if err != nil {
		return nil, arrays.Fault(a.What(name), err)
	}
	return e, nil
}

// format returns the name of the storage format, which is stored as bytes or a string.
// pydata/sparse before version 0.16 stored no format; its archives are "coo".
func (a *archive) format() (string, error) {
	if a.members["format"] == nil {
		return "coo", nil
	}
	e, err := arrays.OpenShaped(a, "format", 0)
	if err != nil {
		return "", err
	}
	defer e.Close()
	if e.Header.Elem.Kind != 'S' && e.Header.Elem.Kind != 'U' {
		return "", text.Dataf(a.What("format"), 0, 0,
			"got an array of type %c%d, want bytes or a string", e.Header.Elem.Kind, e.Header.Elem.Size)
	}
	raw, _, err := e.Read(1)
	if err != nil {
		return "", arrays.Fault(a.What("format"), err)
	}
	if e.Header.Elem.Kind == 'U' {
		low := 0
		if e.Header.Elem.Big {
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
	e, err := arrays.OpenShaped(a, "shape", 1)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	switch {
	case general && e.Header.Count == 0: // NumPy converts Python's () to an array of floats
		return []int64{}, nil
	case !general && e.Header.Count != 2 && !(row && e.Header.Count == 1):
		return nil, text.Dataf(a.What("shape"), 0, 0,
			"got %s, want 2: the numbers of rows and columns",
			text.Plural(e.Header.Count, "size", "sizes"))
	case e.Header.Count > tcs.MaxOrder:
		return nil, text.Dataf(a.What("shape"), 0, 0, "got %d sizes, want at most %d", e.Header.Count,
			tcs.MaxOrder)
	}
	if err := arrays.WantIntegers(a, "shape", e); err != nil {
		return nil, err
	}
	dims := make([]int64, e.Header.Count)
	if _, err := e.Ints(dims); err != nil {
		return nil, arrays.Fault(a.What("shape"), err)
	}
	for m, d := range dims {
		if err := tensor.CheckSize(d); err != nil {
			return nil, text.Dataf(a.What("shape"), 0, 0, "element %d: %v", m, err)
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
	e, err := arrays.OpenShaped(a, name, 0)
	if err != nil {
		return err
	}
	defer e.Close()
	typ := e.Header.Elem.Type()
	if typ == tensor.None {
		return text.Dataf(a.What(name), 0, 0, "got a string, want the number 0")
	}
	raw := arrays.Aligned(int(typ.Size()))
	if _, err := e.Values(raw, 1); err != nil {
		return arrays.Fault(a.What(name), err)
	}
	if v := typ.Load(unsafe.Pointer(unsafe.SliceData(raw))); v.I != 0 || v.C != 0 {
		return text.Dataf(a.What(name), 0, 0,
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
	points := name == "coo" && a.members["coords"] != nil
	inBlocks := name == "bsr" &&
		(opt.Order == 4 || len(opt.Dims) == 4 || a.src.Member == blocksMember)
	if a.src.Member == blocksMember && !inBlocks {
		return nil, text.Commandf(a.src.Name, 0, 0, "got a matrix in format %s, which has no %s",
			text.Quote([]byte(name)), blocksMember)
	}
	kind := arrays.Kind(name)
	switch {
	case points:
		kind = arrays.Points
	case inBlocks:
		kind = arrays.Blocks
	case kind == arrays.CSR, kind == arrays.CSC, kind == arrays.COO, kind == arrays.BSR,
		kind == arrays.DIA:
	case name == "gcxs":
		return nil, text.Dataf(a.What("format"), 0, 0,
			"got the format %s, want coo, as x.asformat('coo') makes it before sparse.save_npz",
			text.Quote([]byte(name)))
	default:
		return nil, text.Dataf(a.What("format"), 0, 0,
			"got the format %s, want csr, csc, coo, bsr or dia", text.Quote([]byte(name)))
	}
	dims, err := a.sizes(points, name == "coo" || name == "csr")
	if err != nil {
		return nil, err
	}
	return arrays.NewSparse(a, kind, dims, opt)
}
