package text

import (
	"bytes"
	"io"
)

// maxLine is the longest line that is read: far above any real one, so that a
// file without line ends does not fill the memory.
const maxLine = 16 << 20

// Head reads lines one by one, for the header of a file.
type Head struct {
	Line  int   // the number of the line that Next returned last, from 1
	Begin int64 // the offset of that line in the content, a byte order mark left out
	Off   int64 // the offset of the line after it

	name string
	r    io.Reader
	buf  []byte
	pos  int
	eof  bool
}

// NewHead reads lines from r; name is for messages.
func NewHead(r io.Reader, name string) *Head { return &Head{r: r, name: name} }

// Next returns the next line without its end, valid until the next call, and
// io.EOF after the last. A byte order mark before the first line is left out.
func (h *Head) Next() ([]byte, error) {
	for {
		if i := bytes.IndexByte(h.buf[h.pos:], '\n'); i >= 0 {
			return h.take(i, i+1), nil
		}
		if h.eof {
			n := len(h.buf) - h.pos
			if n == 0 {
				return nil, io.EOF
			}
			return h.take(n, n), nil
		}
		if len(h.buf)-h.pos > maxLine {
			return nil, Dataf(h.name, h.Line+1, 1, "got a line of more than %d bytes, want lines of text", maxLine)
		}
		h.buf = append(h.buf[:0], h.buf[h.pos:]...)
		h.pos = 0
		n := len(h.buf)
		h.buf = append(h.buf, make([]byte, max(1<<16, n))...)
		m, err := io.ReadAtLeast(h.r, h.buf[n:], 1)
		h.buf = h.buf[:n+m]
		if err == io.EOF {
			h.eof = true
		} else if err != nil {
			return nil, err
		}
	}
}

func (h *Head) take(n, skip int) []byte {
	line := h.buf[h.pos : h.pos+n]
	h.pos += skip
	h.Begin = h.Off
	h.Off += int64(skip)
	h.Line++
	if h.Line == 1 && bytes.HasPrefix(line, bom) {
		line = line[len(bom):]
		h.Begin += int64(len(bom))
	}
	return line
}

var bom = []byte{0xef, 0xbb, 0xbf}

// Field is a word of a line, and its column (from 1).
type Field struct {
	Text []byte
	Col  int
}

// Fields splits a line at white space. Words of comment's byte and what follows
// it are left out; 0 stands for no comments.
func Fields(line []byte, comment byte) []Field {
	var fs []Field
	for i := 0; i < len(line); {
		if blank(line[i]) {
			i++
			continue
		}
		if comment != 0 && line[i] == comment {
			break
		}
		j := i
		for j < len(line) && !blank(line[j]) {
			j++
		}
		fs = append(fs, Field{line[i:j], i + 1})
		i = j
	}
	return fs
}
