package convert

import (
	"errors"
	"os"

	"distaff/io/coo"
	"distaff/io/outfile"
	"distaff/io/tcs"
	"distaff/io/tcsfile"
	"distaff/io/tensor"
	"distaff/io/text"
)

// Open opens the file at path, in any format, as a stream of its entries.
func Open(path string, opt coo.Options) (coo.Stream, error) {
	f, err := FormatOf(path)
	if err != nil {
		return nil, err
	}
	if f.Open == nil {
		return nil, errorf(path, "%s files cannot be read, only written", f.Name)
	}
	s, err := f.Open(path, opt)
	if err != nil {
		return nil, err
	}
	// Some formats allow more modes than a tensor.
	if dims, _ := s.Dims(); len(dims) > tcs.MaxOrder {
		s.Close()
		return nil, text.Dataf(path, 0, 0, "got %d modes, want at most %d", len(dims), tcs.MaxOrder)
	}
	return s, nil
}

// HeadOf returns the head of the text file that s, a stream from Open, reads. Ranks need the head
// to open parts of the file with OpenPart. HeadOf returns nil if the file cannot be read in parts,
// because it is a pipe or compressed, or its format has no function OpenPart.
func HeadOf(s coo.Stream) []byte {
	if p, ok := s.(text.PartedStream); ok {
		return p.Head()
	}
	return nil
}

// OpenPart opens part k of n of the text file at path. head is from HeadOf, and opt the same as
// for Open.
func OpenPart(path string, head []byte, k, n int, opt coo.Options) (text.Part, error) {
	f, err := FormatOf(path)
	if err != nil {
		return nil, err
	}
	if f.OpenPart == nil {
		panic("BUG: convert: part of a " + f.Name + " file")
	}
	return f.OpenPart(path, head, k, n, opt)
}

// OpenTensor opens the .tcs file at path. The file is mapped, or read into memory if it is small.
// If it is a pipe or compressed as a whole (.gz, .zst), its content is first copied to an unlinked
// file in folder tmp. The arrays are neither loaded nor validated (see tcsfile.Open).
func OpenTensor(path, tmp string) (*tcs.Tensor, error) {
	t, _, err := OpenTensorFile(path, tmp)
	return t, err
}

// OpenTensorFile is like OpenTensor. mapped is true if the tensor comes from the file at path
// itself, which other processes can open too, and not from a copy.
func OpenTensorFile(path, tmp string) (t *tcs.Tensor, mapped bool, err error) {
	src, err := text.OpenSource(path, tmp)
	if err != nil {
		return nil, false, err
	}
	defer src.Close()
	if f, _ := src.Plain(); f != nil {
		t, err = tcsfile.Open(path)
		return t, true, err
	}
	r, err := src.Reader()
	if err != nil {
		return nil, false, err
	}
	defer r.Close()
	f, err := outfile.TempFile(tmp)
	if err != nil {
		return nil, false, err
	}
	t, err = tcsfile.OpenReader(src.Name, r, f)
	return t, false, err
}

// Locate opens the file at path again and searches it for entries with the given coordinate. It
// returns the line numbers of the first two such entries; see text.Locate. If the file is not a
// regular file, it returns 0 and 0.
func Locate(path string, opt coo.Options, coord []int64) (first, second int) {
	file, _ := text.Split(path)
	if st, err := os.Stat(file); err != nil || !st.Mode().IsRegular() || text.Stdin(path) {
		return 0, 0
	}
	s, err := Open(path, opt)
	if err != nil {
		return 0, 0
	}
	defer s.Close()
	return text.Locate(s, coord)
}

// tensorFile is the stream of a .tcs file, which it owns.
type tensorFile struct {
	coo.Stream
	t *tcs.Tensor
}

func openTCS(path string, opt coo.Options) (coo.Stream, error) {
	t, err := OpenTensor(path, opt.Tmp)
	if err != nil {
		return nil, err
	}
	if err := Ready(t, opt); err != nil {
		t.Close()
		return nil, err
	}
	return &tensorFile{coo.FromTensor(t, coo.DropFill), t}, nil
}

// Ready loads the arrays of the .tcs file of t, and validates the file unless opt.Trust is set. If
// the arrays exceed the memory limit, it loads them into an unlinked file in opt.Tmp.
func Ready(t *tcs.Tensor, opt coo.Options) error {
	if err := checkDims(t, opt.Dims); err != nil {
		return err
	}
	var limit *tcs.Limit
	if opt.Limit > 0 {
		limit = tcs.NewLimit(opt.Limit)
	}
	err := t.Load(limit)
	var full *tcs.MemoryError
	if errors.As(err, &full) {
		f, ferr := outfile.TempFile(opt.Tmp)
		if ferr != nil {
			return ferr
		}
		err = tcsfile.LoadInto(t, f)
	}
	if err != nil {
		return err
	}
	if opt.Trust {
		t.Trust()
		return nil
	}
	return tcsfile.Verify(t)
}

// checkDims returns an error if the sizes in dims differ from the file's. A negative size is not
// compared. dims may be nil.
func checkDims(t *tcs.Tensor, dims []int64) error {
	if dims == nil {
		return nil
	}
	if len(dims) != len(t.Header.Dims) {
		return errorf(t.File(), "-d gives sizes for %s, but the file has %d",
			tensor.Count(len(dims), "mode"), len(t.Header.Dims))
	}
	for m, n := range dims {
		if n >= 0 && n != t.Header.Dims[m] {
			return errorf(t.File(), "mode %d has size %d, but -d gives %d",
				m, t.Header.Dims[m], n)
		}
	}
	return nil
}

// keepFor prepares the stream for a new tensor of format f. The stream then yields the zeros of
// trailing dense levels that coo.ZerosFor selects for this format. fit must be true if the dense
// levels of the new tensor will cover only the range of the entries. Call keepFor before the first
// entry is read.
func (s *tensorFile) keepFor(f tensor.Format, fit bool) {
	s.Stream = coo.FromTensor(s.t, coo.ZerosFor(s.t, f, fit))
}

// Close closes the stream and the file.
func (s *tensorFile) Close() error {
	s.Stream.Close()
	return s.t.Close()
}

// Tensor returns the tensor of the file.
func (s *tensorFile) Tensor() *tcs.Tensor           { return s.t }
func (s *tensorFile) Dense() bool                   { return s.t.Dense() }
func (s *tensorFile) Progress() (done, total int64) { return s.Stream.(coo.Progressed).Progress() }

// DefaultLimit returns the default memory limit of a conversion: a quarter of the machine's
// memory.
func DefaultLimit() *tcs.Limit { return tcs.NewLimit(tcs.MachineMemory() / 4) }
