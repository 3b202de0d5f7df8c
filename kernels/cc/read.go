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

// ReadTrusted reads a file that will be run as code. The file must belong to the user, root or the
// owner of this program, nobody else may write to the file, and its folder must be Trusted. The
// returned bytes are the bytes that were checked.
func ReadTrusted(path string) ([]byte, error) {
	dir, err := Trusted(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	return readChecked(filepath.Join(dir, filepath.Base(path)), false)
}

// readChecked reads a regular file and returns its contents. It checks the owner and the mode of
// the open file; the caller must have checked that the folder is Trusted. If used is true, it sets
// the times of the file to now, so that the cache keeps the file longer. The error is
// fs.ErrNotExist if the file does not exist.
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
		return nil, fmt.Errorf("%s must be a regular file", path)
	}
	if err := trustedStat(path, st, false); err != nil {
		return nil, err
	}
	if st.Size() > maxObject {
		return nil, fmt.Errorf("%s has %d bytes, which is too many for a compiled leaf", path,
			st.Size())
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

// markUsed records that a cached object was used now. f is the object's open file. markUsed sets
// the access time and the modification time of the file to now. The modification time is the time
// of last use, because listing the cache changes the access time. last is the earlier time of last
// use. If last is less than a minute ago, markUsed does nothing. It also does nothing if the user
// may not change the times.
func markUsed(f *os.File, last time.Time) {
	now := time.Now()
	if age := now.Sub(last); age >= 0 && age < time.Minute {
		return
	}
	t := unix.NsecToTimeval(now.UnixNano())
	unix.Futimes(int(f.Fd()), []unix.Timeval{t, t})
}
