package tns

import (
	"bytes"
	"encoding/gob"
	"slices"

	"distaff/io/coo"
	"distaff/io/text"
)

// Head returns the file's head for OpenPart, or nil if the file can't be read in parts.
func (s *stream) Head() []byte {
	if f, _ := s.Src.Plain(); f == nil {
		return nil
	}
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(s.head); err != nil {
		panic("BUG: tns: a head does not encode: " + err.Error())
	}
	return b.Bytes()
}

// OpenPart divides the file at path into n parts and opens part k. headOf is what the function Head
// returned for the file, so OpenPart does not parse the first lines again. opt must be the options
// for the whole file.
func OpenPart(path string, headOf []byte, k, n int, opt coo.Options) (text.Part, error) {
	h := &head{}
	if err := gob.NewDecoder(bytes.NewReader(headOf)).Decode(h); err != nil {
		panic("BUG: tns: a head does not decode: " + err.Error())
	}
	src, err := text.OpenSource(path, opt.Tmp)
	if err != nil {
		return nil, err
	}
	var s *stream
	if err = h.Header.Check(src); err == nil {
		s, err = open(src, h, opt)
	}
	if err != nil {
		src.Close()
		return nil, err
	}
	s.Entries.Part(k, n)
	return &entriesPart{stream: s}, nil
}

// entriesPart is a part of a file. A .tns file does not announce its number of entries, so
// CheckCount does nothing.
type entriesPart struct {
	*stream
	seen int64
}

func (p *entriesPart) Ordinals() bool                           { return false }
func (p *entriesPart) Count() int64                             { return 0 }
func (p *entriesPart) Begin(before int64)                       {}
func (p *entriesPart) Seen() int64                              { return p.seen }
func (p *entriesPart) CheckCount(before int64, last bool) error { return nil }

func (p *entriesPart) Next(b *coo.Batch) error {
	err := p.stream.Next(b)
	if err == nil {
		p.seen += int64(b.N)
	}
	return err
}

func (p *entriesPart) Rewind() error {
	p.seen = 0
	return p.stream.Rewind()
}

// SetDims sets the mode sizes if neither the file nor the options have them. sources contains the
// source of each size, for error messages. If the file or the options have the sizes, SetDims
// panics unless dims equals them.
func (p *entriesPart) SetDims(dims []int64, sources []string) {
	if p.Bound == nil && !slices.Equal(dims, p.Sizes) {
		panic("BUG: tns: other sizes than the file's")
	}
	p.stream.SetDims(dims, sources)
}
