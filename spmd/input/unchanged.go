package input

import (
	"os"

	"distaff/io/tensor"
	"distaff/io/text"
	"distaff/spmd/fault"
)

// recordState records the state of the source's file before it is opened.
func (s *Source) recordState() {
	if text.Stdin(s.In.File) {
		return
	}
	file, _ := text.Split(s.In.File)
	if st, err := os.Stat(file); err == nil && st.Mode().IsRegular() {
		s.found = st
	}
}

// Unchanged returns an error if an input file was written after it was opened. A text file that was
// truncated, for example, would be read as another tensor.
func (r *Reader) Unchanged() error {
	for _, name := range r.p.Names {
		s := r.Sources[name]
		if s == nil {
			continue
		}
		if s.Tensor != nil { // a caller's tensor may be a mapped file too
			if err := s.Tensor.Changed(); err != nil {
				return err
			}
		} else if err := s.changed(r.Env.Comm.Size() > 1); err != nil {
			return err
		}
	}
	return nil
}

// changed returns an error with exit code 3 if the stream's file was written after recordState.
//
// several says that there are several ranks. With several ranks, changed also returns an error if
// the file was replaced, because some ranks may have opened the old file and others the new one.
// With one rank, a replaced file is accepted, because the rank still reads the old file. A removed
// file is accepted in both cases.
func (s *Source) changed(several bool) error {
	if s.found == nil || s.Scalar != nil {
		return nil
	}
	file, _ := text.Split(s.In.File)
	st, err := os.Stat(file)
	switch {
	case err != nil:
		return nil
	case !os.SameFile(st, s.found) && several:
		return fault.Dataf("%s: the file was replaced while it was in use", tensor.Printable(s.In.File))
	case os.SameFile(st, s.found) &&
		(st.Size() != s.found.Size() || !st.ModTime().Equal(s.found.ModTime())):
		return fault.Dataf("%s: the file was written while it was in use", tensor.Printable(s.In.File))
	}
	return nil
}
