package cc

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// programOwner returns the owner of the running program's file, or -1 if it is unknown.
var programOwner = sync.OnceValue(func() int {
	st, err := os.Stat("/proc/self/exe")
	if err != nil {
		return -1
	}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		return int(sys.Uid)
	}
	return -1
})

// trustedStat returns an error unless only the user, root and the owner of this program can have
// created the file and can change it. st describes the file at path.
//
// If passing is true, the file is a folder above the file or folder that must be trusted. Such a
// folder may be writable for others if it has a sticky bit. It may also be writable for a private
// group. If passing is false, the file must not be writable for others, even with a sticky bit.
func trustedStat(path string, st fs.FileInfo, passing bool) error {
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf(
			"%s: its owner is not known; want you, root or the owner of this program", path)
	}
	uid := int(sys.Uid)
	if uid != os.Geteuid() && uid != 0 && uid != programOwner() {
		return fmt.Errorf(
			"%s belongs to user %d; want you, root or the owner of this program", path, uid)
	}
	if passing && st.Mode()&fs.ModeSticky != 0 {
		return nil
	}
	const groupWrite, worldWrite = 0o020, 0o002
	switch mode := st.Mode().Perm(); {
	case mode&worldWrite != 0:
		return fmt.Errorf("%s is writable by everyone (mode %04o); chmod go-w it", path, mode)
	case mode&groupWrite != 0:
		// A private group, by the convention that its number is the user's.
		if passing && sys.Gid == sys.Uid {
			return nil
		}
		return fmt.Errorf("%s is writable by its group (mode %04o); chmod go-w it", path, mode)
	}
	return nil
}

// Trusted checks a folder that holds code to be loaded, and every folder above it. Each must belong
// to the user, root or the owner of this program. Nobody else may write to the folder. A folder
// above it may be writable for others if it has a sticky bit, or for a private group. Trusted
// returns the folder's path without links.
func Trusted(dir string) (string, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	if real, err = filepath.Abs(real); err != nil {
		return "", err
	}
	for path := real; ; path = filepath.Dir(path) {
		st, err := os.Lstat(path)
		if err != nil {
			return "", err
		}
		if path == real && !st.IsDir() {
			return "", fmt.Errorf("%s is not a folder", path)
		}
		if err := trustedStat(path, st, path != real); err != nil {
			return "", err
		}
		if path == "/" {
			return real, nil
		}
	}
}
