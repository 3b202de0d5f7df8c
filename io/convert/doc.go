// Package convert reads any readable file and writes any writable one, by
// streams, in bounded memory.
//
// A format is a row of the table in formats.go: the endings of its files, how
// they are opened as a coo.Stream, and how entries in order become one.
// A path's ending decides, before .gz or .zst where the file is compressed; "-"
// with an ending ("-.mtx") is standard input or output, and "-" alone is "-.tns".
//
// What goes out comes in the order that the format asks for (mode 0 first in
// text), so every conversion is: open, bring into order (coo.Sort, which may
// find nothing to do), write. A .tcs is assembled in two passes instead
// (coo.AssembleFile).
//
// # Files
//
//	convert.go  options; File
//	open.go     any file as a stream, or as a tensor
//	write.go    any stream as a file
//	formats.go  the table of formats
//	stored.go   what a format stores of a stream's entries
//	gzip.go     compressed output
package convert

import (
	"fmt"

	"distaff/io/tcs"
	"distaff/io/text"
)

// Error is a request that can't be done (exit 2).
type Error struct {
	File string
	Msg  string
}

func (e *Error) Error() string {
	if e.File == "" {
		return e.Msg
	}
	return tcs.Printable(e.File) + ": " + e.Msg
}

// ExitCode is 2.
func (e *Error) ExitCode() int { return 2 }

func errorf(file, format string, args ...any) error {
	return &Error{file, fmt.Sprintf(format, args...)}
}

// Ext is the ending of path that names its format, lower case, without those of
// compression.
func Ext(path string) string { return text.Ext(path) }
