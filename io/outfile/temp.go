package outfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// TempError says that temporary files cannot be made or written (exit 1).
type TempError struct {
	dir string // as it was given: "" for os.TempDir
	err error
}

// InTemp returns an error that says why temporary files in dir, which is as for TempFile, cannot be
// made or written; nil if err is.
func InTemp(dir string, err error) error {
	if err == nil {
		return nil
	}
	// The path in it would be a file's of whose name nobody knows.
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return &TempError{dir, err}
}

func (e *TempError) Error() string {
	where := "TMPDIR=" + printable(os.Getenv("TMPDIR"))
	switch {
	case e.dir != "" && e.dir != os.TempDir():
		return fmt.Sprintf("temporary files in %s: %v; --tmp and DISTAFF_TMP name another folder", printable(e.dir), e.err)
	case os.Getenv("TMPDIR") == "":
		where = "temporary files in " + os.TempDir()
	}
	return fmt.Sprintf("%s: %v; TMPDIR, --tmp and DISTAFF_TMP name another folder for temporary files", where, e.err)
}

func (e *TempError) Unwrap() error { return e.err }

// ExitCode is 1.
func (e *TempError) ExitCode() int { return 1 }

// TempFile opens a file without a name in dir ("" for os.TempDir), of which
// nothing is left when it is closed, or the process ends. The error is a *TempError.
func TempFile(dir string) (*os.File, error) {
	in := dir
	if in == "" {
		in = os.TempDir()
	}
	fd, err := unix.Open(in, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err == nil {
		return os.NewFile(uintptr(fd), filepath.Join(in, "(a temporary file)")), nil
	}
	f, err := os.CreateTemp(in, "distaff-*.tmp")
	if err != nil {
		return nil, InTemp(dir, err)
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, InTemp(dir, err)
	}
	return f, nil
}

// MkdirTemp makes a folder in dir ("" for os.TempDir), whose name begins with prefix and which the
// caller removes. The error is a *TempError.
func MkdirTemp(dir, prefix string) (string, error) {
	made, err := os.MkdirTemp(dir, prefix)
	return made, InTemp(dir, err)
}
