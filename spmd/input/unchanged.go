package input

import (
	"os"

	"distaff/io/tcs"
	"distaff/io/text"
	"distaff/spmd/fault"
)

// find notes the source's file as it is before it is opened.
func (s *Source) find() {
	if text.Stdin(s.In.File) {
		return
	}
	if st, err := os.Stat(s.In.File); err == nil && st.Mode().IsRegular() {
		s.found = st
	}
}

// Unchanged refuses a result of files that were cut or written meanwhile: a
// text file that ends earlier reads as another tensor.
func (r *Reader) Unchanged() error {
	for _, name := range r.p.Names {
		s := r.Sources[name]
		if s == nil {
			continue
		}
		if s.Tensor != nil { // a caller's may be of a file, too
			if err := s.Tensor.Changed(); err != nil {
				return err
			}
		} else if err := s.changed(r.Env.Comm.Size() > 1); err != nil {
			return err
		}
	}
	return nil
}

// changed is an error (exit 3) if the stream's file is another than was found.
// One that was replaced as a whole, or removed, was read as it had been, unless
// several ranks may have opened both.
func (s *Source) changed(several bool) error {
	if s.found == nil || s.Scalar != nil {
		return nil
	}
	st, err := os.Stat(s.In.File)
	switch {
	case err != nil:
		return nil
	case !os.SameFile(st, s.found) && several:
		return fault.Dataf("%s: the file was replaced while it was in use", tcs.Printable(s.In.File))
	case os.SameFile(st, s.found) &&
		(st.Size() != s.found.Size() || !st.ModTime().Equal(s.found.ModTime())):
		return fault.Dataf("%s: the file was written while it was in use", tcs.Printable(s.In.File))
	}
	return nil
}
