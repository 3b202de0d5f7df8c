package jobfile

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"distaff/codegen/diag"
	"distaff/codegen/notation"
	"distaff/io/tensor"
)

// segment is a part of File.text: the whole text of a file, or a text that a call makes from parts
// of other segments. The first segment is the text of the job file.
type segment struct {
	span
	// name is the name of the file that the segment is the text of. If it is "", the segment is made
	// from pieces.
	name   string
	pieces []piece
	// by is the include or the call that made the segment. word says which: "included" or "called".
	by   notation.Span
	word string
}

// piece is a part of a segment: size bytes from offset pos. Its text, or the text that it replaces,
// is at the place from, in another segment. by is the call of a function that put the text there,
// if there is one.
type piece struct {
	pos, size int
	from      notation.Span
	by        notation.Span
}

// segmentAt returns the segment that has an offset.
func (f *File) segmentAt(offset int) *segment {
	k, found := slices.BinarySearchFunc(f.segments, offset,
		func(s *segment, at int) int { return s.Pos - at })
	if !found {
		k--
	}
	return f.segments[max(k, 0)]
}

// addSegment appends a text, and the same text without comments, as a segment.
func (f *File) addSegment(s *segment, text, clean string) *segment {
	s.Pos = len(f.text)
	s.End = s.Pos + len(text)
	// A character between segments keeps an offset at the end of one apart from the next.
	f.text, f.clean = f.text+text+"\n", f.clean+clean+"\n"
	f.segments = append(f.segments, s)
	return s
}

// origin returns the place in a file's own text that the text at a place comes from, and the
// segment of that file. trace receives the place of each include and call on the way, innermost
// first.
func (f *File) origin(at notation.Span, trace func(word string, by notation.Span)) (notation.Span,
	*segment) {
	for {
		s := f.segmentAt(at.Pos)
		if s.name != "" {
			f.ways(s, trace)
			at.Pos, at.End = at.Pos-s.Pos, min(max(at.End, at.Pos), s.End)-s.Pos
			return at, s
		}
		from := s.pieceAt(at.Pos)
		last := s.pieceAt(max(at.Pos, at.End-1))
		if from.by != (notation.Span{}) {
			trace("called", from.by)
		} else {
			f.ways(s, trace)
		}
		start, end := from.origin(at.Pos), last.origin(max(at.Pos, at.End-1))+1
		if at.End <= at.Pos || end < start || f.segmentAt(end-1) != f.segmentAt(start) {
			end = min(start+1, from.from.End)
		}
		at = notation.Span{Pos: start, End: max(start, end)}
	}
}

// ways calls trace with the include or the call that made a segment, then with the one around it,
// and so on.
func (f *File) ways(s *segment, trace func(word string, by notation.Span)) {
	for s.word != "" {
		trace(s.word, s.by)
		s = f.segmentAt(s.by.Pos)
	}
}

// pieceAt returns the piece with an offset.
func (s *segment) pieceAt(offset int) piece {
	k, found := slices.BinarySearchFunc(s.pieces, offset,
		func(p piece, at int) int { return p.pos - at })
	if !found {
		k--
	}
	return s.pieces[max(k, 0)]
}

// origin returns where the text at an offset of the piece comes from.
func (p piece) origin(offset int) int {
	return p.from.Pos + min(offset-p.pos, max(p.from.End-p.from.Pos-1, 0))
}

// Errorf returns an error at a place of the file. If the place is in a call or an included file,
// the error has the place in the text that was written, and names each call and include on the way.
func (f *File) Errorf(at notation.Span, code diag.Code, format string, args ...any) *diag.Error {
	return f.placedAt(diag.At(code, "", 0, 0, format, args...), at)
}

// placedAt returns a copy of e at a place of the file.
func (f *File) placedAt(e *diag.Error, at notation.Span) *diag.Error {
	c := *e
	var ways []string
	at, s := f.origin(at, func(word string, by notation.Span) {
		file, line, col := f.Place(by.Pos)
		ways = append(ways, fmt.Sprintf("%s at %s:%d:%d", word, tensor.Printable(file), line, col))
	})
	if len(ways) > 0 {
		c.Msg += " (" + strings.Join(ways, ", ") + ")"
	}
	c.Src, c.Pos, c.End = f.text[s.Pos:s.End], at.Pos, at.End
	return c.InFile(s.name, 1, 1)
}

// Place returns the file of an offset in the text, and the line and column there, counted from 1.
func (f *File) Place(offset int) (file string, line, col int) {
	at, s := f.origin(notation.Span{Pos: offset, End: offset}, func(string, notation.Span) {})
	e := diag.At(Syntax, f.text[s.Pos:s.End], at.Pos, at.Pos, "").InFile(s.name, 1, 1)
	return s.name, e.Line, e.Col
}

// line returns the number of the line where s begins, and the file if it is not the job file.
func (f *File) line(s span) string {
	file, line, _ := f.Place(s.Pos)
	if file == f.Name {
		return fmt.Sprint(line)
	}
	return fmt.Sprintf("%d of %s", line, tensor.Printable(file))
}

// Included returns the names of the included files.
func (f *File) Included() []string {
	var list []string
	for _, s := range f.segments[1:] {
		if s.name != "" {
			list = append(list, s.name)
		}
	}
	return list
}

// include parses "FILE" and returns the items of that file.
func (p *parser) include(l line) ([]Item, error) {
	r := p.f.reader(l.at)
	r.skip("include")
	name, at := r.quoted(`a job file in quotes, as in include "functions.dst"`)
	r.ends("the end of the line")
	if r.err != nil {
		return nil, r.err
	}
	from, _, _ := p.f.Place(l.at.Pos)
	if !filepath.IsAbs(name) {
		name = filepath.Join(filepath.Dir(from), name)
	}
	for s := p.f.segmentAt(l.at.Pos); ; s = p.f.segmentAt(s.by.Pos) {
		if s.name == name {
			return nil, p.f.Errorf(at, Declaration, "got the file %s, which includes this line",
				tensor.Printable(name))
		}
		if s.word == "" {
			break
		}
	}
	if p.read == nil {
		return nil, p.f.Errorf(at, Declaration, "got include in a text that is not in a file")
	}
	text, err := p.read(name)
	if err != nil {
		return nil, p.f.Errorf(at, Declaration, "got a file that cannot be read: %v", err)
	}
	if len(p.f.text)+len(text) > MaxBytes {
		return nil, p.f.Errorf(at, diag.TooLarge, "got job files of more than %d bytes together",
			MaxBytes)
	}
	text = strings.TrimPrefix(text, "\ufeff")
	s := p.f.addSegment(&segment{name: name, by: l.at, word: "included"}, text, text)
	clean, err := clean(p.f, s)
	if err != nil {
		return nil, err
	}
	p.f.clean = p.f.clean[:s.Pos] + clean + "\n"
	p.lines.moveTo(l.at.End)
	var items []Item
	err = p.within(s, func() error {
		items, err = p.items(0)
		return err
	})
	if err == nil {
		err = p.noLineIndented(l, "include")
	}
	return items, err
}

// within parses a segment with f. The parser then continues at its former place.
func (p *parser) within(s *segment, f func() error) error {
	old := p.lines
	p.lines = lineReader{f: p.f, at: s.Pos, limit: s.End}
	err := f()
	p.lines = old
	return err
}
