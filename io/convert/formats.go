package convert

import (
	"io"
	"os"
	"strings"

	"distaff/io/coo"
	"distaff/io/hb"
	"distaff/io/mtx"
	"distaff/io/npy"
	"distaff/io/outfile"
	"distaff/io/tcs"
	"distaff/io/text"
	"distaff/io/tns"
)

// Format is a kind of file.
type Format struct {
	Name string
	Exts []string

	// Open reads a file as a stream; nil: the format is only written.
	Open func(path string, opt coo.Options) (coo.Stream, error)

	// OpenPart opens part k of n of a file whose text.Parted stream gave head;
	// nil: files are read as a whole.
	OpenPart func(path string, head []byte, k, n int, opt coo.Options) (text.Part, error)

	// Write writes entries that come in the order of Modes; nil: the format is
	// only read. With opt.Dense, coordinates that do not come are zeros.
	Write func(w io.Writer, in *coo.Ordered, opt coo.WriteOptions) error

	// Head and Body are Write in two, for files that are written in parts: what
	// comes before nnz entries, and entries that follow one another, of
	// positions [from, to) where Strides says that every coordinate is listed.
	// Nil where a file can't be cut.
	Head func(typ tcs.Type, dims []int64, nnz int64, opt coo.WriteOptions) ([]byte, error)
	Body func(w io.Writer, in coo.Stream, from, to int64, opt coo.WriteOptions) error

	// Strides are the step of each mode in a file that lists every coordinate,
	// and their number; nil where only entries are listed.
	Strides func(dims []int64, opt coo.WriteOptions) (strides []int64, total int64)

	// Least is the least number of bytes that a file of nnz entries takes; nil
	// where it is about what the entries take. It may be past what 63 bits count.
	Least func(typ tcs.Type, dims []int64, nnz int64, opt coo.WriteOptions) float64

	// Modes is the order in which Write wants the entries of a tensor of that
	// order; nil: mode 0 first.
	Modes func(order int, opt coo.WriteOptions) []int

	// Loose formats leave it to the job to say what sizes are (over those that a file may
	// have) and whether coordinates count from 0.
	Loose bool

	// Repeats tells whether a coordinate may have several entries, which are summed.
	Repeats bool

	// Filled formats list every coordinate.
	Filled bool

	// Write takes tensors of at most MaxOrder modes; 0: any number.
	MaxOrder int
}

// formats is the table of formats. The first match of an ending counts.
var formats = []*Format{
	{Name: "tcs", Exts: []string{".tcs"}, Open: openTCS},
	{Name: "FROSTT", Exts: []string{".tns"}, Open: tns.Open, OpenPart: tns.OpenPart, Write: tns.Write, Head: tns.Head, Body: tns.Body, Loose: true, Repeats: true},
	{Name: "Matrix Market", Exts: []string{".mtx"}, Open: mtx.Open, OpenPart: mtx.OpenPart, Write: mtx.Write, Head: mtx.Head, Body: mtx.Body,
		Strides: mtx.Strides, Modes: mtx.Modes, MaxOrder: 2, Repeats: true},
	{Name: "TACO tensor", Exts: []string{".ttx"}, Open: mtx.Open, OpenPart: mtx.OpenPart},
	{Name: "NumPy", Exts: []string{".npy"}, Open: npy.Open, Write: npy.Write, Head: npy.Head, Body: npy.Body, Strides: npy.Strides, Least: npy.Least, Filled: true},
	{Name: "SciPy", Exts: []string{".npz"}, Open: npy.OpenNpz, Write: npy.WriteNpz, Least: npy.LeastNpz, Modes: npy.NpzModes},
	{Name: "Rutherford-Boeing", Exts: []string{".rb"}, Open: hb.Open},
	{Name: "Harwell-Boeing", Exts: []string{".hb", ".rua", ".rsa", ".rza", ".rha", ".rra", ".cua", ".csa", ".cza", ".cha", ".cra",
		".pua", ".psa", ".pza", ".pha", ".pra", ".iua", ".isa", ".iza", ".iha", ".ira"}, Open: hb.Open},
}

// FormatOf is the format of the path's ending; FROSTT's for a pipe or a device
// whose name has none.
func FormatOf(path string) (*Format, error) { return formatOf(path, nil) }

// formatOf is FormatOf; its errors list the endings of formats that pass.
func formatOf(path string, pass func(*Format) bool) (*Format, error) {
	ext := Ext(path)
	for _, f := range formats {
		for _, e := range f.Exts {
			if e == ext {
				return f, nil
			}
		}
	}
	if ext == "" && stream(path) {
		return formatOf("-.tns", pass)
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil, errorf(path, "a folder, want a file with one of the endings %s", endings(pass))
	}
	if ext == "" {
		return nil, errorf(path, "the name has no ending that says its format: want one of %s", endings(pass))
	}
	return nil, errorf(path, "files of ending %q are not known: want one of %s", ext, endings(pass))
}

// stream tells whether the path is that of a pipe, a character device or an open descriptor,
// as /dev/null is, /dev/fd/3 or what a shell puts in the place of <(...): their names have no
// ending, and their format is that of "-" alone.
func stream(path string) bool {
	if outfile.Descriptor(path) {
		return true
	}
	info, err := os.Stat(path)
	return err == nil && info.Mode()&(os.ModeNamedPipe|os.ModeCharDevice) != 0
}

// endings lists the endings of the formats that pass.
func endings(pass func(*Format) bool) string {
	var s []string
	for _, f := range formats {
		if pass == nil || pass(f) {
			s = append(s, f.Exts...)
		}
	}
	return strings.Join(s, " ")
}

func writable(f *Format) bool { return f.Write != nil || f.Name == "tcs" }

// Based refuses --index-base=0 where no file of paths is of a format that leaves the base open.
func Based(paths ...string) error {
	for _, p := range paths {
		if f, err := FormatOf(p); err != nil || f.Loose {
			return nil // what is wrong with the name is said where the file is opened
		}
	}
	if len(paths) == 0 {
		return nil
	}
	return errorf(paths[0], "--index-base=0 is for .tns files that are read; other formats say themselves what they count from, and outputs count from 1")
}

// holds refuses orders that the format has no room for.
func (f *Format) holds(path string, order int) error {
	if f.MaxOrder == 0 || order <= f.MaxOrder {
		return nil
	}
	return errorf(path, "a %s file holds at most %d modes, and the tensor has %d: .tns and .tcs hold any number", f.Name, f.MaxOrder, order)
}

// canWrite refuses a path whose ending is no writable format's.
func canWrite(path string) error {
	f, err := formatOf(path, writable)
	if err != nil {
		return err
	}
	if !writable(f) {
		return errorf(path, "%s files are only read: %s can be written", f.Name, endings(writable))
	}
	return nil
}

// Writable refuses a path to which a tensor of that order can't be written.
func Writable(path string, order int) error {
	if err := canWrite(path); err != nil {
		return err
	}
	f, err := FormatOf(path)
	if err != nil {
		return err
	}
	return f.holds(path, order)
}
