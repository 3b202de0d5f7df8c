package tcsfile

import (
	"distaff/io/tcs"
	"distaff/io/tensor"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// OpenFile opens the .tcs file f, and owns f from then on. name is for messages. See Open.
func OpenFile(name string, f *os.File) (*tcs.Tensor, error) {
	t, err := openFile(name, f)
	if err != nil {
		f.Close()
	}
	return t, err
}

// OpenReader copies a .tcs file from r, up to the end of r, into the file f, and opens f. It owns f
// from then on; f should already be unlinked. name is for messages. The header is read and checked
// first, so nothing else is read if r is not a .tcs file. OpenReader never writes more than the
// length in the header, and writes nothing if the disk of f does not have enough room. An error of
// r that has an ExitCode method is returned unchanged.
func OpenReader(name string, r io.Reader, f *os.File) (*tcs.Tensor, error) {
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
			return &tcs.Error{Exit: exitRun, File: name,
				Msg: fmt.Sprintf(
					"its contents take %s, but the disk for temporary files has only %s; "+
						"choose another folder with --tmp",
					tensor.Bytes(h.total), tensor.Bytes(free))}
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

// streamHeader reads and checks the header of a file that is read as a stream. It returns the
// header's bytes too.
func streamHeader(name string, r io.Reader) (*fileHeader, []byte, error) {
	buf := make([]byte, fixedLen, maxHeader)
	n, err := io.ReadFull(r, buf)
	if err != nil && !short(err) {
		return nil, nil, streamErr(name, err)
	}
	h, order, sections, err := decodeFixed(buf[:n], -1)
	if err != nil {
		return nil, nil, headerErr(name, err)
	}
	buf = buf[:h.length]
	if _, err := io.ReadFull(r, buf[fixedLen:]); short(err) {
		return nil, nil, headerErr(name, errors.New("truncated in its header"))
	} else if err != nil {
		return nil, nil, streamErr(name, err)
	}
	if err := h.decodeTables(buf, order, sections); err != nil {
		return nil, nil, headerErr(name, err)
	}
	return h, buf, nil
}

// short reports whether io.ReadFull returned err because the stream ended.
func short(err error) bool { return err == io.EOF || err == io.ErrUnexpectedEOF }

// atEnd checks that a stream ends here.
func atEnd(name string, h *fileHeader, r io.Reader) error {
	var more [1]byte
	switch n, err := io.ReadFull(r, more[:]); {
	case n > 0:
		return dataErr(name, "got more than %s, although the header says as many",
			tensor.Count(h.total, "byte"))
	case err != io.EOF:
		return streamErr(name, err)
	}
	return nil
}

func truncated(name string, h *fileHeader, n int64) error {
	return dataErr(name, "truncated: got %s, but the header says %d",
		tensor.Count(h.length+n, "byte"),
		h.total)
}

// streamErr returns the error for a failed read of a stream. If err already has an exit code,
// streamErr returns err. Otherwise it returns the error that openErr makes of err.
func streamErr(name string, err error) error {
	var coded interface{ ExitCode() int }
	if errors.As(err, &coded) {
		return err
	}
	return openErr(name, err)
}
