package arrays

import (
	"errors"

	"distaff/io/text"
)

// A File contains arrays, which have names.
type File interface {
	Source() *text.Source
	// Open opens an array. Different readers of a file are independent of each other.
	Open(name string) (*Elements, error)
	// What returns the name of an array for messages, with the name of the file.
	What(name string) string
}

// Fault adds the name of a file to an error that occurred while the file was read. what names the
// file. An error with an exit code is returned unchanged, because it already names the file.
func Fault(what string, err error) error {
	var coded interface{ ExitCode() int }
	if errors.As(err, &coded) {
		return err
	}
	return text.Dataf(what, 0, 0, "%s", err.Error())
}

// OpenShaped opens an array of f. Its shape must have the given number of dimensions.
func OpenShaped(f File, name string, dims int) (*Elements, error) {
	e, err := f.Open(name)
	if err != nil {
		return nil, err
	}
	if len(e.Header.Shape) != dims {
		e.Close()
		return nil, text.Dataf(f.What(name), 0, 0, "got the shape %v, want %s", e.Header.Shape,
			text.Plural(int64(dims), "dimension", "dimensions"))
	}
	return e, nil
}

// WantIntegers returns an error unless the elements of an array have a type that the method Ints
// can read as integers. name is the array's name.
func WantIntegers(f File, name string, e *Elements) error {
	if typ := e.Header.Elem.Type(); typ.IsNumber() && !typ.IsComplex() {
		return nil
	}
	return text.Dataf(f.What(name), 0, 0, "got an array of type %c%d, want integers",
		e.Header.Elem.Kind, e.Header.Elem.Size)
}

// openIntegers opens an array, which must be an array of integers with one dimension. The caller
// reads the array's elements with the method Ints.
func openIntegers(f File, name string) (*Elements, error) {
	e, err := OpenShaped(f, name, 1)
	if err != nil {
		return nil, err
	}
	if err := WantIntegers(f, name, e); err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}
