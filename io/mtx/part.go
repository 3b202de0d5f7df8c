package mtx

import (
	"bytes"
	"io"

	"distaff/io/coo"
	"distaff/io/text"
)

// head is the information that all parts of a file need, encoded by gob. Text is the lines up to
// and including the line of sizes.
type head struct {
	Header text.Header
	Text   []byte
	Ones   bool // header.ones
}

// headOf returns the head of a file for OpenPart, or nil if the file can't be read in parts.
func headOf(src *text.Source, h *header) []byte {
	f, size := src.Plain()
	if f == nil {
		return nil
	}
	out := head{text.Header{Size: size}, make([]byte, h.start), h.ones}
	if _, err := f.ReadAt(out.Text, 0); err != nil {
		return nil // the whole stream reports the error
	}
	return text.EncodeHead(src, out)
}

// Head implements text.PartedStream.
func (s *matrix) Head() []byte { return headOf(s.Src, s.count.h) }

// Head implements text.PartedStream.
func (a *array) Head() []byte { return headOf(a.lines.Src, a.h) }

// OpenPart opens part k of n of the file at path. headOf is the head of the file, as the function
// Head returned it. So OpenPart does not read the start of the file again. opt must be the options
// for the whole file.
func OpenPart(path string, headOf []byte, k, n int, opt coo.Options) (text.Part, error) {
	return text.OpenPart(path, headOf, opt.Tmp, func(src *text.Source, h *head) (text.Part, error) {
		p, err := openPart(src, h, opt)
		switch p := p.(type) {
		case *matrixPart:
			p.Entries.Part(k, n)
		case *arrayPart:
			p.lines.Part(k, n)
			p.last = k == n-1
		}
		return p, err
	})
}

func openPart(src *text.Source, h *head, opt coo.Options) (text.Part, error) {
	if err := h.Header.Check(src); err != nil {
		return nil, err
	}
	hdr, err := headerFrom(bytes.NewReader(h.Text), src)
	if err != nil {
		return nil, err
	}
	hdr.ones = h.Ones
	s, err := open(src, hdr, opt)
	if err != nil {
		return nil, err
	}
	if a, ok := s.(*array); ok {
		return &arrayPart{array: a}, nil
	}
	m := s.(*matrix)
	m.count.partial = true
	return &matrixPart{m}, nil
}

type matrixPart struct{ *matrix }

func (p *matrixPart) Ordinals() bool     { return false }
func (p *matrixPart) Count() int64       { return 0 }
func (p *matrixPart) Begin(before int64) {}
func (p *matrixPart) Seen() int64        { return p.count.seen }

// Marks implements text.Marked.
func (p *matrixPart) Marks() uint8             { return p.count.marks }
func (p *matrixPart) Suspect(marks uint8) bool { return suspect(marks) }
func (p *matrixPart) CheckWholeFile() error    { return p.count.judge() }

// SetDims does nothing, because the file has sizes.
func (p *matrixPart) SetDims([]int64, []string) {}

// CheckCount implements text.Part. It checks that the file has the number of entries that its
// header announces. before is the number of entries in earlier parts, and last is true for the last
// part of the file. If the first excess entry is in this part, CheckCount reads the part again, so
// that the error can name its line.
func (p *matrixPart) CheckCount(before int64, last bool) error {
	c := p.count
	switch total := before + c.seen; {
	case before <= c.h.nnz && total > c.h.nnz:
		if err := p.Rewind(); err != nil {
			return err
		}
		c.partial, c.seen = false, before
		defer func() { c.partial = true }()
		for {
			if _, err := p.Entries.NextBlock(); err == io.EOF {
				return text.Dataf(c.file, 0, 0, "the file changed while it was read")
			} else if err != nil {
				return err
			}
		}
	case last && total < c.h.nnz:
		c.partial, c.seen = false, total
		defer func() { c.partial, c.seen = true, total-before }()
		return c.check(nil)
	}
	return nil
}

// arrayPart is a part of an array file. Begin gives the part the index of its first value, so that
// the part can report excess values as it reads them.
type arrayPart struct {
	*array
	last bool
}

func (p *arrayPart) Ordinals() bool            { return true }
func (p *arrayPart) SetDims([]int64, []string) {}

// Seen returns 0, because CheckCount does not need the number of values in the part: a part of an
// array counts its values while it reads them, and reports an excess value immediately.
func (p *arrayPart) Seen() int64                              { return 0 }
func (p *arrayPart) CheckCount(before int64, last bool) error { return nil }

// Count returns the number of values. It does not compute their coordinates.
func (p *arrayPart) Count() int64 {
	n := int64(0)
	check := p.lines.Check
	p.lines.Check = func(b *text.Block) error {
		if b != nil {
			n += int64(b.Raw)
		}
		return nil
	}
	for {
		if _, err := p.lines.NextBlock(); err != nil {
			break
		}
	}
	p.lines.Check = check
	p.lines.Rewind() // the next pass finds an error again
	return n
}

// Begin implements text.Part.
func (p *arrayPart) Begin(before int64) {
	p.first = before
	p.count.seen, p.next = before, nil
	if !p.last {
		p.lines.Check = func(b *text.Block) error {
			if b == nil { // only the last part checks the end of the file
				return nil
			}
			return p.count.check(b)
		}
	}
}
