package tns

import (
	"bytes"
	"encoding/gob"

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
	return text.PartOf(&s.Entries, k, n), nil
}
