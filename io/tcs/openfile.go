package tcs

import (
	"errors"
	"io"
	"os"
)

// OpenFile opens a .tcs that is there as an open file, which it takes over; name
// is for messages. See Open.
func OpenFile(name string, f *os.File) (*Tensor, error) {
	t, err := openFile(name, f)
	if err != nil {
		f.Close()
	}
	return t, err
}

// OpenReader reads a .tcs from r, to its end, into the file f, which it takes
// over and which should have no name any more, and opens that. name is for
// messages. An error of r that has an ExitCode is returned as it is.
func OpenReader(name string, r io.Reader, f *os.File) (*Tensor, error) {
	if _, err := io.Copy(f, r); err != nil {
		f.Close()
		var coded interface{ ExitCode() int }
		if errors.As(err, &coded) { // of r
			return nil, err
		}
		return nil, openErr(name, err)
	}
	return OpenFile(name, f)
}
