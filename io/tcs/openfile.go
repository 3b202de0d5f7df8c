package tcs

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
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
// messages. The header is read and checked first: nothing is unpacked of what is
// no .tcs, no more than the header says is written, and nothing where f's disk has no
// room for that. An error of r that has an ExitCode is returned as it is.
func OpenReader(name string, r io.Reader, f *os.File) (*Tensor, error) {
	if err := copyFile(name, r, f); err != nil {
		f.Close()
		return nil, err
	}
	return OpenFile(name, f)
}

func copyFile(name string, r io.Reader, f *os.File) error {
	h, head, err := streamHeader(name, r)
	if err != nil {
		return err
	}
	var s unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &s); err == nil {
		if free := int64(s.Bavail) * s.Bsize; h.total > free {
			return &Error{Exit: exitRun, File: name, Msg: fmt.Sprintf("its contents take %s, and the disk of temporary files has %s: --tmp names another folder", Size(h.total), Size(free))}
		}
	}
	if _, err := f.Write(head); err != nil {
		return openErr(name, err)
	}
	n, err := io.CopyN(f, r, h.total-h.length)
	if err == io.EOF {
		return truncated(name, h, n)
	}
	if err != nil {
		return streamErr(name, err)
	}
	return atEnd(name, h, r)
}

// streamHeader reads and checks the header of a file that comes as a stream, and
// returns its bytes too.
func streamHeader(name string, r io.Reader) (*fileHeader, []byte, error) {
	buf := make([]byte, fixedLen, maxHeader)
	n, err := io.ReadFull(r, buf)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, nil, streamErr(name, err)
	}
	h, order, sections, err := decodeFixed(buf[:n], -1)
	if err != nil {
		return nil, nil, headerErr(name, err)
	}
	buf = buf[:h.length]
	if _, err := io.ReadFull(r, buf[fixedLen:]); err == io.EOF || err == io.ErrUnexpectedEOF {
		return nil, nil, headerErr(name, errors.New("truncated in its header"))
	} else if err != nil {
		return nil, nil, streamErr(name, err)
	}
	if err := h.decodeTables(buf, order, sections); err != nil {
		return nil, nil, headerErr(name, err)
	}
	return h, buf, nil
}

// atEnd checks that nothing follows in a stream.
func atEnd(name string, h *fileHeader, r io.Reader) error {
	var more [1]byte
	switch n, err := io.ReadFull(r, more[:]); {
	case n > 0:
		return dataErr(name, "more than %s, and the header says as many", Count(h.total, "byte"))
	case err != io.EOF:
		return streamErr(name, err)
	}
	return nil
}

func truncated(name string, h *fileHeader, n int64) error {
	return dataErr(name, "truncated: %s, and the header says %d", Count(h.length+n, "byte"), h.total)
}

// streamErr is openErr for an error of reading, which may have an exit code.
func streamErr(name string, err error) error {
	var coded interface{ ExitCode() int }
	if errors.As(err, &coded) {
		return err
	}
	return openErr(name, err)
}
