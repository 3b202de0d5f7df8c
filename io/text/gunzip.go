package text

import (
	"bufio"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
)

// members reads the members of a gzip file, one after another. It skips zero bytes after each
// member, because a file that was stored in blocks of a fixed size, for example on a tape, is
// padded with zeros. The program gzip skips zeros only at the end of a file.
type members struct {
	in *bufio.Reader
	z  *gzip.Reader
}

// newMembers returns a reader of the gzip file r. piece is the size of its input buffer in
// bytes.
func newMembers(r io.Reader, piece int) (*members, error) {
	m := &members{in: bufio.NewReaderSize(r, piece)}
	var err error
	if m.z, err = gzip.NewReader(m.in); err != nil {
		return nil, err
	}
	m.z.Multistream(false)
	return m, nil
}

func (m *members) Read(p []byte) (int, error) {
	for {
		n, err := m.z.Read(p)
		if err != io.EOF {
			return n, err
		}
		if err = m.next(); n > 0 || err != nil {
			return n, err
		}
	}
}

// next advances to the next member. It returns io.EOF if there is none.
func (m *members) next() error {
	for {
		c, err := m.in.ReadByte()
		if err != nil {
			return err
		}
		if c != 0 {
			m.in.UnreadByte() // cannot fail after ReadByte
			break
		}
	}
	const magic = "\x1f\x8b"
	head, err := m.in.Peek(len(magic))
	if err != nil && err != io.EOF {
		return err
	}
	if string(head) != magic {
		return fmt.Errorf("got %s after the compressed data, want the end of the file",
			Quote(head))
	}
	err = m.z.Reset(m.in)
	m.z.Multistream(false)
	return err
}

// Close releases the decoder.
func (m *members) Close() error { return m.z.Close() }
