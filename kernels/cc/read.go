package cc

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ReadTrusted reads a file that is to be run as code: one that the user, root or
// the owner of this program owns and nobody else can write, in a folder that is
// Trusted. What is returned is what was checked.
func ReadTrusted(path string) ([]byte, error) {
	dir, err := Trusted(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	return readChecked(filepath.Join(dir, filepath.Base(path)), false)
}

// readChecked reads a regular file in a Trusted folder, after a check of its
// owner and mode on the open descriptor. The error of a file that is not there
// is fs.ErrNotExist. used marks what was read as used.
func readChecked(path string, used bool) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	if err := trustedStat(path, st, false); err != nil {
		return nil, err
	}
	if st.Size() > maxObject {
		return nil, fmt.Errorf("%s: %d bytes are too many for an object", path, st.Size())
	}
	b := make([]byte, st.Size())
	if _, err := io.ReadFull(f, b); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if used {
		markUsed(f, st.ModTime())
	}
	return b, nil
}

// markUsed sets the times of a file that was checked, by its open descriptor, to now. The time of
// change serves, since a reader of the list changes the time of access too. Who may read the
// file alone, or finds its file system read-only, leaves it as it is.
func markUsed(f *os.File, last time.Time) {
	now := time.Now()
	if age := now.Sub(last); age >= 0 && age < time.Minute {
		return
	}
	t := unix.NsecToTimeval(now.UnixNano())
	unix.Futimes(int(f.Fd()), []unix.Timeval{t, t})
}
