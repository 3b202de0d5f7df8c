package tns

import (
	"distaff/io/coo"
	"distaff/io/text"
)

// Head returns the file's head for OpenPart, or nil if the file can't be read in parts.
func (s *stream) Head() []byte { return text.EncodeHead(s.Src, s.head) }

// OpenPart divides the file at path into n parts and opens part k. headOf is what the function Head
// returned for the file, so OpenPart does not parse the first lines again. opt must be the options
// for the whole file.
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
