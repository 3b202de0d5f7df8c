package csv

import (
	"bytes"

	"distaff/io/coo"
	"distaff/io/text"
)

// Open reads the table of entries at path as a stream of entries in the file's order. Sizes are
// exact only if opt.Dims has every size. The stream owns the file.
func Open(path string, opt coo.Options) (coo.Stream, error) {
	return text.Open(path, opt, func(src *text.Source, opt coo.Options) (coo.Stream, error) {
		return newStream(src, opt, false)
	})
}

// OpenEdges is like Open, for an edge list.
func OpenEdges(path string, opt coo.Options) (coo.Stream, error) {
	return text.Open(path, opt, func(src *text.Source, opt coo.Options) (coo.Stream, error) {
		return newStream(src, opt, true)
	})
}

func newStream(src *text.Source, opt coo.Options, edges bool) (coo.Stream, error) {
	h, err := readHead(src, opt, edges)
	if err != nil {
		return nil, err
	}
	return open(src, h, opt)
}

// stream is a coo.Stream of a file or a part of a file.
type stream struct {
	text.Entries
	head *head
}

// open makes the stream of a file with head h.
func open(src *text.Source, h *head, opt coo.Options) (*stream, error) {
	order, values, err := h.shape(src.Name, opt)
	if err != nil {
		return nil, err
	}
	typ, err := valueType(src.Name, values, opt)
	if err != nil {
		return nil, err
	}
	l := &text.Layout{File: src.Name, Order: order, Values: values, Base: 1, Comment: '#', Type: typ,
		Hint: " (--index-base=0 if it counts from 0)"}
	if opt.ZeroBased {
		l.Base, l.Hint = 0, ""
	}
	s := &stream{head: h}
	s.Entries = text.Entries{Src: src, Start: h.Start, Line: h.Line, Comment: '#', Order: order,
		Value: typ, Opt: opt}
	delimiter := h.Delimiter
	s.ReadLines(l, func(l *text.Layout, b *text.Block) { parse(l, b, delimiter) }, nil, "")
	return s, nil
}

// parse separates the columns of b by white space instead of delimiter and then parses b.
func parse(l *text.Layout, b *text.Block, delimiter byte) {
	at, line, err := separate(b.Text, delimiter)
	if err != nil { // the lines before may have an error too
		b.Text = b.Text[:at]
	}
	l.Parse(b)
	if err != nil && b.Err == nil {
		err.File, err.Line = l.File, line
		b.Err = err
	}
}

// separate writes blanks over the delimiters and the quotation marks of lines, and '#' over a '%'
// that starts a comment. It returns an error for a field that is empty or has white space inside.
// at is then the offset of the line, and line is its number, from 1.
func separate(lines []byte, delimiter byte) (at, line int, err *text.Error) {
	for line = 1; at < len(lines); line++ {
		n := bytes.IndexByte(lines[at:], '\n') + 1
		if err := separateLine(lines[at:at+n], delimiter); err != nil {
			return at, line, err
		}
		at += n
	}
	return at, line, nil
}

// separateLine does the work of separate for one line.
func separateLine(line []byte, delimiter byte) *text.Error {
	start := 0
	for start < len(line) && isBlank(line[start]) && line[start] != delimiter {
		start++
	}
	switch c := line[start]; {
	case c == '%':
		line[start] = '#'
		return nil
	case c == '#' || c == '\n':
		return nil
	}
	from := 0 // the start of the field
	for k, c := range line {
		switch {
		case c == delimiter && c != ' ' || c == '\n' || c == '#':
			if err := cleanField(line[from:k], from, delimiter); err != nil {
				return err
			}
			if c == '#' {
				return nil
			}
			if from = k + 1; c != '\n' {
				line[k] = ' '
			}
		}
	}
	return nil
}

// cleanField writes blanks over the quotation marks around a field, or around all fields between
// white space if delimiter is ' '. column is the index of the field in its line.
func cleanField(field []byte, column int, delimiter byte) *text.Error {
	words := 0
	for k := 0; k < len(field); {
		if isBlank(field[k]) {
			k++
			continue
		}
		end := k
		for end < len(field) && !isBlank(field[end]) {
			end++
		}
		if words++; words > 1 && delimiter != ' ' {
			return text.Dataf("", 0, column+k+1, "got %s after white space, want one number in a field",
				text.Quote(field[k:end]))
		}
		if w := field[k:end]; len(w) > 2 && w[0] == '"' && w[len(w)-1] == '"' {
			w[0], w[len(w)-1] = ' ', ' '
		}
		k = end
	}
	if words == 0 && delimiter != ' ' {
		return text.Dataf("", 0, column+1, "got an empty field, want a number")
	}
	return nil
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f' }

// Head returns the file's head for OpenPart, or nil if the file can't be read in parts.
func (s *stream) Head() []byte { return text.EncodeHead(s.Src, s.head) }

// OpenPart divides the file at path into n parts and opens part k. headOf is what the function Head
// returned for the file. opt must be the options for the whole file.
func OpenPart(path string, headOf []byte, k, n int, opt coo.Options) (text.Part, error) {
	return text.OpenPart(path, headOf, opt.Tmp, func(src *text.Source, h *head) (text.Part, error) {
		if err := h.Header.Check(src); err != nil {
			return nil, err
		}
		s, err := open(src, h, opt)
		if err != nil {
			return nil, err
		}
		return text.PartOf(&s.Entries, k, n), nil
	})
}
