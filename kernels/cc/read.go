package cc

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// ReadTrusted reads a file that is to be run as code: one that the user, root or
// the owner of this program owns and nobody else can write, in a folder that is
// Trusted. What is returned is what was checked.
func ReadTrusted(path string) ([]byte, error) {
	dir, err := Trusted(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	return readChecked(filepath.Join(dir, filepath.Base(path)))
}

// readChecked reads a regular file in a Trusted folder, after a check of its
// owner and mode on the open descriptor. The error of a file that is not there
// is fs.ErrNotExist.
func readChecked(path string) ([]byte, error) {
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
	return b, nil
}
