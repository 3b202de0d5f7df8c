// Package convert reads and writes files of all formats, as streams, in bounded memory.
//
// A format is a row of the table in formats.go. It has the extensions of its files, a function
// that opens a file as a coo.Stream, and a function that writes sorted entries. The extension
// of a path determines the format; if the file is compressed, it is the extension before .gz or
// .zst. "-" with an extension ("-.mtx") is standard input or output, and "-" alone means
// "-.tns".
//
// Each format determines the order of the entries in a file: mode 0 first in text formats. So a
// conversion opens the input, sorts its entries (coo.Sort, which may have nothing to do), and
// writes them. A .tcs file is instead assembled in two passes (coo.AssembleFile).
//
// # Files
//
//	convert.go  options; File
//	open.go     any file as a stream or a tensor
//	write.go    any stream as a file
//	formats.go  the table of formats
//	stored.go   the entries that a format stores
//	gzip.go     compressed output
package convert

import (
	"fmt"

	"distaff/io/tensor"
	"distaff/io/text"
)

// Error is a request that can't be satisfied (exit code 2).
type Error struct {
	File string
	Msg  string
}

func (e *Error) Error() string {
	if e.File == "" {
		return e.Msg
	}
	return tensor.Printable(e.File) + ": " + e.Msg
}

// ExitCode returns 2.
func (e *Error) ExitCode() int { return 2 }

func errorf(file, format string, args ...any) error {
	return &Error{file, fmt.Sprintf(format, args...)}
}

// Ext returns the extension that names the format of path, in lower case, without the extension
// of a compressed file.
func Ext(path string) string { return text.Ext(path) }
