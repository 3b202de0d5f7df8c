package outfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// TempError reports that temporary files cannot be created or written (exit code 1).
type TempError struct {
	dir string // as given by the caller; "" for os.TempDir
	err error
}

// InTemp returns a *TempError for err, the error of an operation on temporary files in the folder
// dir. It returns nil if err is nil. If dir is "", the folder is os.TempDir.
func InTemp(dir string, err error) error {
	if err == nil {
		return nil
	}
	// Remove the path: the user does not know the temporary file.
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
		return fmt.Sprintf(
			"temporary files in %s: %v; choose another folder with --tmp or DISTAFF_TMP",
			printable(e.dir), e.err)
	case os.Getenv("TMPDIR") == "":
		where = "temporary files in " + os.TempDir()
	}
	return fmt.Sprintf(
		"%s: %v; choose another folder for temporary files with TMPDIR, --tmp or DISTAFF_TMP",
		where, e.err)
}

func (e *TempError) Unwrap() error { return e.err }

// ExitCode returns 1.
func (e *TempError) ExitCode() int { return 1 }

// TempFile creates an unlinked file in dir ("" for os.TempDir). The file disappears when it is
// closed or the process ends. The error is a *TempError.
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

// MkdirTemp creates a folder in dir ("" for os.TempDir). Its name begins with prefix. The
// caller removes the folder. The error is a *TempError.
func MkdirTemp(dir, prefix string) (string, error) {
	made, err := os.MkdirTemp(dir, prefix)
	return made, InTemp(dir, err)
}
