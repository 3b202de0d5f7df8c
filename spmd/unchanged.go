package spmd

import (
	"os"

	"distaff/codegen/diag"
	"distaff/io/text"
)

// find notes the source's file as it is before it is opened.
func (s *source) find() {
	if text.Stdin(s.in.File) {
		return
	}
	if st, err := os.Stat(s.in.File); err == nil && st.Mode().IsRegular() {
		s.found = st
	}
}

// unchanged refuses a result of files that were cut or written meanwhile: a
// text file that ends earlier reads as another tensor.
func (r *run) unchanged() error {
	for _, name := range r.p.names {
		s := r.sources[name]
		if s == nil {
			continue
		}
		if s.tensor != nil { // a caller's may be of a file, too
			if err := s.tensor.Changed(); err != nil {
				return err
			}
		} else if err := s.changed(r.comm.Size() > 1); err != nil {
			return err
		}
	}
	return nil
}

// changed is an error (exit 3) if the stream's file is another than was found.
// One that was replaced as a whole, or removed, was read as it had been, unless
// several ranks may have opened both.
func (s *source) changed(several bool) error {
	if s.found == nil || s.scalar != nil {
		return nil
	}
	st, err := os.Stat(s.in.File)
	switch {
	case err != nil:
		return nil
	case !os.SameFile(st, s.found) && several:
		return &Error{diag.ExitData, printable(s.in.File) + ": the file was replaced while it was in use"}
	case os.SameFile(st, s.found) && (st.Size() != s.found.Size() || !st.ModTime().Equal(s.found.ModTime())):
		return &Error{diag.ExitData, printable(s.in.File) + ": the file was written while it was in use"}
	}
	return nil
}
