package convert

import (
	"io"
	"strings"

	"distaff/io/coo"
	"distaff/io/hb"
	"distaff/io/mtx"
	"distaff/io/tns"
)

// Format is a kind of file.
type Format struct {
	Name string
	Exts []string

	// Open reads a file as a stream; nil: the format is only written.
	Open func(path string, opt coo.Options) (coo.Stream, error)

	// Write writes entries that come in the order of Modes; nil: the format is
	// only read. With opt.Dense, coordinates that do not come are zeros.
	Write func(w io.Writer, in *coo.Ordered, opt coo.WriteOptions) error

	// Modes is the order in which Write wants the entries of a tensor of that
	// order; nil: mode 0 first.
	Modes func(order int, opt coo.WriteOptions) []int

	// Filled formats list every coordinate.
	Filled bool

	// MaxOrder is the most modes that the format can hold; 0: any number.
	MaxOrder int
}

// formats is the table of formats. The first match of an ending counts.
var formats = []*Format{
	{Name: "tcs", Exts: []string{".tcs"}, Open: openTCS},
	{Name: "FROSTT", Exts: []string{".tns"}, Open: tns.Open},
	{Name: "Matrix Market", Exts: []string{".mtx"}, Open: mtx.Open, Modes: mtxModes, MaxOrder: 2},
	{Name: "TACO tensor", Exts: []string{".ttx"}, Open: mtx.Open},
	{Name: "Rutherford-Boeing", Exts: []string{".rb"}, Open: hb.Open},
	{Name: "Harwell-Boeing", Exts: []string{".hb", ".rua", ".rsa", ".rza", ".rha", ".rra", ".cua", ".csa", ".cza", ".cha", ".cra",
		".pua", ".psa", ".pza", ".pha", ".pra", ".iua", ".isa", ".iza", ".iha", ".ira"}, Open: hb.Open},
}

// mtxModes: arrays list the first mode fastest, coordinates are sorted by it.
func mtxModes(order int, opt coo.WriteOptions) []int {
	modes := make([]int, order)
	for i := range modes {
		modes[i] = i
		if opt.Dense {
			modes[i] = order - 1 - i
		}
	}
	return modes
}

// FormatOf is the format of the path's ending.
func FormatOf(path string) (*Format, error) {
	ext := Ext(path)
	for _, f := range formats {
		for _, e := range f.Exts {
			if e == ext {
				return f, nil
			}
		}
	}
	if ext == "" {
		return nil, errorf(path, "the name has no ending that says its format: want one of %s", endings(nil))
	}
	return nil, errorf(path, "files of ending %q are not known: want one of %s", ext, endings(nil))
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

// Writable refuses a path to which a tensor of that order can't be written.
func Writable(path string, order int) error {
	f, err := FormatOf(path)
	if err != nil {
		return err
	}
	if !writable(f) {
		return errorf(path, "%s files are only read: %s can be written", f.Name, endings(writable))
	}
	if f.MaxOrder > 0 && order > f.MaxOrder {
		return errorf(path, "a %s file holds at most %d modes, and the tensor has %d: .tns and .tcs hold any number", f.Name, f.MaxOrder, order)
	}
	return nil
}
