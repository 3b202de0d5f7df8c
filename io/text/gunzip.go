package text

import (
	"bufio"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
)

// members reads a gzip file: its members one after another. Zeros behind a member are passed
// over, as gzip does: files that went through tapes or fixed blocks are filled up with them.
type members struct {
	in *bufio.Reader
	z  *gzip.Reader
}

// newMembers reads r in pieces of the given number of bytes.
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

// next goes to the next member. It returns io.EOF if there is none.
func (m *members) next() error {
	for {
		c, err := m.in.ReadByte()
		if err != nil {
			return err
		}
		if c != 0 {
			m.in.UnreadByte() // what was read last can be
			break
		}
	}
	const magic = "\x1f\x8b"
	head, err := m.in.Peek(len(magic))
	if err != nil && err != io.EOF {
		return err
	}
	if string(head) != magic {
		return fmt.Errorf("got %s after the compressed data, want their end", Quote(head))
	}
	err = m.z.Reset(m.in)
	m.z.Multistream(false)
	return err
}

// Close releases the decoder.
func (m *members) Close() error { return m.z.Close() }
