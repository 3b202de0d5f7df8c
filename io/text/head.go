package text

import (
	"bytes"
	"io"
)

// maxLine is a length in bytes. A longer line may be refused, so that a file without line ends does
// not fill the memory. maxLine is far longer than any real line.
const maxLine = 16 << 20

// Head reads the lines of a file's header one by one.
type Head struct {
	Line  int   // the number of the line that Next returned last, from 1
	Begin int64 // the offset of that line in the content, after a byte order mark
	Off   int64 // the offset of the next line

	name string
	r    io.Reader
	buf  []byte
	pos  int
	eof  bool
}

// NewHead returns a Head that reads r. name is for messages.
func NewHead(r io.Reader, name string) *Head { return &Head{r: r, name: name} }

// Name returns the name of the file for messages.
func (h *Head) Name() string { return h.name }

// Next returns the next line without its '\n', or io.EOF after the last line. The line is valid
// until the next call. Next removes a byte order mark before the first line.
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
			return nil, Dataf(h.name, h.Line+1, 1,
				"got a line of more than %d bytes, want lines of text", maxLine)
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

// Field is a word of a line. Col is its column, from 1.
type Field struct {
	Text []byte
	Col  int
}

// Fields splits a line at white space. A word that starts with the byte comment starts a
// comment, which is left out. The byte 0 means that a line has no comment.
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
