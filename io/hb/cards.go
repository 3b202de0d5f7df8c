package hb

import (
	"bytes"
	"io"

	"distaff/io/tensor"
	"distaff/io/text"
)

// cards reads the numbers of one section of a file.
type cards struct {
	file   string
	format []field
	r      io.ReadCloser
	in     *text.Head
	line   []byte
	no     int // the line number
	col    int // the column of the last number, from 1
	next   int // index in format of the next field
}

// open returns a reader of a section of the file. The section begins after the first skipLines
// lines, and its lines have the given format.
func open(src *text.Source, format []field, skipLines int64) (*cards, error) {
	r, err := src.Reader()
	if err != nil {
		return nil, err
	}
	c := &cards{file: src.Name, format: format, r: r, in: text.NewHead(r, src.Name),
		next: len(format)}
	for range skipLines {
		if _, err := c.in.Next(); err == io.EOF {
			break // reading the first number reports the error
		} else if err != nil {
			r.Close()
			return nil, err
		}
	}
	return c, nil
}

// lines returns the number of lines that n numbers occupy.
func lines(n int64, format []field) int64 {
	k := int64(len(format))
	return n/k + min(n%k, 1)
}

// number returns the text of the next number, its column and its field. what names the number
// in an error.
func (c *cards) number(what string) ([]byte, int, field, error) {
	if c.next == len(c.format) {
		line, err := c.in.Next()
		if err == io.EOF {
			return nil, 0, field{},
				text.Dataf(c.file, c.in.Line+1, 1, "got the end of the file, want %s", what)
		} else if err != nil {
			return nil, 0, field{}, err
		}
		c.line, c.no, c.next = line, c.in.Line, 0
	}
	f := c.format[c.next]
	c.next++
	tok := c.line[min(f.col, len(c.line)):min(f.col+f.width, len(c.line))]
	trimmed := bytes.TrimLeft(tok, " ")
	c.col = f.col + len(tok) - len(trimmed) + 1
	trimmed = bytes.TrimRight(trimmed, " \r")
	if len(trimmed) == 0 {
		return nil, 0, f, text.Dataf(c.file, c.no, f.col+1, "got blanks, want %s in %s", what,
			tensor.Count(f.width, "column"))
	}
	return trimmed, c.col, f, nil
}

// integer returns the next number, which must be from lo to hi.
func (c *cards) integer(what string, lo, hi int64) (int64, error) {
	tok, col, _, err := c.number(what)
	if err != nil {
		return 0, err
	}
	v, ok := int64(0), len(tok) <= 18
	for _, d := range tok {
		if d -= '0'; d > 9 {
			ok = false
		}
		v = v*10 + int64(d)
	}
	if !ok {
		if v, err = text.Int64(tok); err != nil {
			return 0, text.Dataf(c.file, c.no, col, "got %s, want %s, an integer from %d to %d",
				text.Quote(tok), what, lo, hi)
		}
	}
	if v < lo || v > hi {
		return 0, text.Dataf(c.file, c.no, col, "got %d, want %s, from %d to %d", v, what, lo, hi)
	}
	return v, nil
}

func (c *cards) close() {
	if c != nil {
		c.r.Close()
	}
}
