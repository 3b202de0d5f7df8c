package convert

import (
	"fmt"
	"io"
	"os"
	"strings"

	"distaff/io/coo"
	"distaff/io/csv"
	"distaff/io/hb"
	"distaff/io/mat"
	"distaff/io/mtx"
	"distaff/io/npy"
	"distaff/io/outfile"
	"distaff/io/petsc"
	"distaff/io/tensor"
	"distaff/io/text"
	"distaff/io/tns"
)

// Format describes a file format.
type Format struct {
	Name string
	Exts []string

	// Open opens a file as a stream. It is nil if the format can only be written.
	Open func(path string, opt coo.Options) (coo.Stream, error)

	// OpenPart opens part k of n of a file; head is from the file's text.PartedStream stream. It is
	// nil if files can't be read in parts.
	OpenPart func(path string, head []byte, k, n int, opt coo.Options) (text.Part, error)

	// Write writes entries that are sorted in the order of Modes. With opt.Dense, absent
	// coordinates are zeros. It is nil if the format can only be read.
	Write func(w io.Writer, in *coo.Ordered, opt coo.WriteOptions) error

	// Head and Body do what Write does in two steps, for files that are written in parts. Head
	// returns the bytes before nnz entries. Body writes consecutive entries. If Strides lists every
	// coordinate, it writes all positions in [from, to). Both are nil if a file can't be written in
	// parts.
	Head func(typ tensor.Type, dims []int64, nnz int64, opt coo.WriteOptions) ([]byte, error)
	Body func(w io.Writer, in coo.Stream, from, to int64, opt coo.WriteOptions) error

	// Strides returns the stride of each mode and the number of coordinates if the file lists every
	// coordinate, and otherwise nil. The field is nil if files of the format never do.
	Strides func(dims []int64, opt coo.WriteOptions) (strides []int64, total int64)

	// Least returns a lower bound in bytes of the size of a file with nnz entries. It may
	// exceed 2^63. Least is nil if the size is about the size of the entries.
	Least func(typ tensor.Type, dims []int64, nnz int64, opt coo.WriteOptions) float64

	// Modes returns the mode order that Write needs for a tensor with order modes. Nil means
	// mode 0 first.
	Modes func(order int, opt coo.WriteOptions) []int

	// SizesFromOptions means that a file of the format may lack the sizes, and that the user's
	// options decide if coordinates count from 0 or 1.
	SizesFromOptions bool

	// Delimited means that the user's options can say what separates columns.
	Delimited bool

	// Repeats means that a file may have several entries with equal coordinates. Their values are
	// added.
	Repeats bool

	// Filled formats list every coordinate.
	Filled bool

	// MaxOrder is the largest number of modes that Write supports; 0 means any number.
	MaxOrder int
}

// formats is the table of formats. The first format with a matching extension is used.
var formats = []*Format{
	{Name: "tcs", Exts: []string{".tcs"}, Open: openTCS},
	{Name: "FROSTT", Exts: []string{".tns"}, Open: tns.Open, OpenPart: tns.OpenPart,
		Write: tns.Write, Head: tns.Head, Body: tns.Body, SizesFromOptions: true, Repeats: true},
	{Name: "Matrix Market", Exts: []string{".mtx"}, Open: mtx.Open, OpenPart: mtx.OpenPart,
		Write: mtx.Write, Head: mtx.Head, Body: mtx.Body,
		Strides: mtx.Strides, Modes: mtx.Modes, MaxOrder: 2, Repeats: true},
	{Name: "TACO tensor", Exts: []string{".ttx"}, Open: mtx.Open, OpenPart: mtx.OpenPart},
	{Name: "NumPy", Exts: []string{".npy"}, Open: npy.Open, Write: npy.Write, Head: npy.Head,
		Body: npy.Body, Strides: npy.Strides, Least: npy.Least, Filled: true},
	{Name: "SciPy", Exts: []string{".npz"}, Open: npy.OpenNpz, Write: npy.WriteNpz,
		Least: npy.LeastNpz, Modes: npy.NpzModes},
	{Name: "Rutherford-Boeing", Exts: []string{".rb"}, Open: hb.Open},
	{Name: "Harwell-Boeing", Exts: []string{".hb", ".rua", ".rsa", ".rza", ".rha", ".rra", ".cua",
		".csa", ".cza", ".cha", ".cra",
		".pua", ".psa", ".pza", ".pha", ".pra", ".iua", ".isa", ".iza", ".iha", ".ira"},
		Open: hb.Open},
	{Name: "CSV", Exts: []string{".csv"}, Open: csv.Open, OpenPart: csv.OpenPart,
		Write: csv.CSV.Write, Head: csv.CSV.Head, Body: csv.CSV.Body, SizesFromOptions: true, Delimited: true,
		Repeats: true},
	{Name: "TSV", Exts: []string{".tsv"}, Open: csv.Open, OpenPart: csv.OpenPart,
		Write: csv.TSV.Write, Head: csv.TSV.Head, Body: csv.TSV.Body, SizesFromOptions: true, Delimited: true,
		Repeats: true},
	{Name: "edges", Exts: []string{".wel", ".edges"}, Open: csv.OpenEdges,
		OpenPart: csv.OpenPart, Write: csv.Edges.Write, Head: csv.Edges.Head, Body: csv.Edges.Body,
		SizesFromOptions: true, Delimited: true, Repeats: true, MaxOrder: 2},
	{Name: "edges without weights", Exts: []string{".el"}, Open: csv.OpenEdges,
		OpenPart: csv.OpenPart, SizesFromOptions: true, Delimited: true, Repeats: true},
	{Name: "MATLAB", Exts: []string{".mat"}, Open: mat.Open, Write: mat.Write, Modes: mat.Modes,
		Least: mat.Least, MaxOrder: 2},
	{Name: "PETSc", Exts: []string{".petsc", ".dat"}, Open: petsc.Open, Write: petsc.Write,
		Least: petsc.Least, MaxOrder: 2},
}

// FormatOf returns the file format that belongs to the extension of path. For a pipe or a device
// without an extension it returns the FROSTT format (.tns). For any other path without a known
// extension, such as a folder, it returns an error.
func FormatOf(path string) (*Format, error) { return formatOf(path, nil) }

// formatOf does the work of FormatOf. Its errors list the extensions of only those formats for
// which pass returns true. A nil pass means all formats.
func formatOf(path string, pass func(*Format) bool) (*Format, error) {
	ext := Ext(path)
	for _, f := range formats {
		for _, e := range f.Exts {
			if e == ext {
				return f, nil
			}
		}
	}
	if ext == "" && isStream(path) {
		return formatOf("-.tns", pass)
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil, errorf(path, "got a folder, want a file that ends in one of %s",
			endings(pass))
	}
	if ext == "" {
		return nil, errorf(path,
			"got a name without an ending that tells its format, want one of %s",
			endings(pass))
	}
	return nil, errorf(path, "got a file that ends in %q, want one of %s", ext, endings(pass))
}

// isStream reports whether path is a pipe, a character device or an open descriptor: /dev/null,
// /dev/fd/3, or the file that a shell substitutes for <(...). Such a path needs no extension (see
// FormatOf).
func isStream(path string) bool {
	if outfile.Descriptor(path) {
		return true
	}
	info, err := os.Stat(path)
	return err == nil && info.Mode()&(os.ModeNamedPipe|os.ModeCharDevice) != 0
}

// endings lists the extensions of the formats for which pass returns true.
func endings(pass func(*Format) bool) string {
	var s []string
	for _, f := range formats {
		if pass == nil || pass(f) {
			s = append(s, f.Exts...)
		}
	}
	return strings.Join(s, " ")
}

// Help returns two texts for each format: the extensions of its files, such as ".rb", and a
// description of what distaff can do with the files.
func Help() [][2]string {
	var out [][2]string
	for _, f := range formats {
		does := f.Name + ": read and written"
		if !writable(f) {
			does = f.Name + ": read only"
		}
		if f.MaxOrder > 0 && writable(f) {
			does += fmt.Sprintf(", at most %d modes", f.MaxOrder)
		}
		if f.SizesFromOptions {
			does += "; sizes may be missing"
		}
		if f.Filled {
			does += "; has every coordinate"
		}
		out = append(out, [2]string{strings.Join(f.Exts, " "), does})
	}
	return out
}

func writable(f *Format) bool { return f.Write != nil || f.Name == "tcs" }

// Based returns an error if the option --index-base=0 has no effect, because each of the files at
// paths has a format that fixes the base. Call it if the option was given. Based returns nil if
// paths is empty, or if the format of a file is unknown.
func Based(paths ...string) error {
	for _, p := range paths {
		if f, err := FormatOf(p); err != nil || f.SizesFromOptions {
			return nil // opening the file reports a bad name
		}
	}
	if len(paths) == 0 {
		return nil
	}
	return errorf(paths[0],
		"--index-base=0 is only for files that are read and end in one of %s: other formats say "+
			"themselves whether they count from 0 or 1, and outputs count from 1",
		endings(func(f *Format) bool { return f.SizesFromOptions }))
}

// checkOrder returns an error if the format does not support tensors of that order.
func (f *Format) checkOrder(path string, order int) error {
	if f.MaxOrder == 0 || order <= f.MaxOrder {
		return nil
	}
	return errorf(path,
		"a %s file can have at most %d modes, but the tensor has %d; want .tns or .tcs, which "+
			"have no limit",
		f.Name, f.MaxOrder, order)
}

// canWrite returns an error if the format of the path's extension can't be written.
func canWrite(path string) error {
	file, name := text.Split(path)
	packed := strings.ToLower(text.PackedExt(file))
	switch {
	case text.IsTar(file):
		return errorf(path, "tar archives cannot be written, only read")
	case packed == ".bz2" || packed == ".xz":
		return errorf(path, "%s files cannot be written, only read; want .gz or .zst", packed)
	case name != "":
		return errorf(path, "got the name of a tensor in a file, which is only for inputs; want %s",
			tensor.Printable(file))
	}
	f, err := formatOf(path, writable)
	if err != nil {
		return err
	}
	if !writable(f) {
		return errorf(path, "%s files cannot be written; want one of %s",
			f.Name, endings(writable))
	}
	return nil
}

// Writable returns an error if a tensor of that order can't be written to path.
func Writable(path string, order int) error {
	if err := canWrite(path); err != nil {
		return err
	}
	f, err := FormatOf(path)
	if err != nil {
		return err
	}
	return f.checkOrder(path, order)
}
