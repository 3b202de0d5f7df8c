// Package outfile writes files that appear under their names whole or not at all.
//
// Create makes an output without a name in the folder of the file it is to
// become (a hidden temporary name where the file system cannot do without);
// CommitAll gives all outputs of a job their names, one rename after another, once
// every one of them is complete and on disk. What is not committed leaves
// nothing behind, however the program ends: Abort drops one, Abandon all. A
// pipe or a device that already has the name is written as it comes.
package outfile

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// File is an output on its way.
type File struct {
	*os.File
	name   string // as the caller gave it
	path   string // the name it is to have, symbolic links resolved
	temp   string // its temporary name, "" where it has none
	direct bool   // a pipe, a device or standard output: written as it comes
	done   bool
}

// open holds the files that have been created and neither committed nor
// aborted. No name changes after abandoned is set.
var (
	mu        sync.Mutex
	open      = map[*File]bool{}
	abandoned bool
)

// Create starts the output that is to become path. "-" is standard output.
// Errors are the system's, as *fs.PathError, or say that path is a folder.
func Create(path string) (*File, error) {
	if path == "-" {
		return &File{File: os.Stdout, name: "standard output", path: path, direct: true}, nil
	}
	mode := os.FileMode(0)
	target := path
	if info, err := os.Stat(path); err == nil {
		switch {
		case info.IsDir():
			return nil, &fs.PathError{Op: "create", Path: path, Err: unix.EISDIR}
		case !info.Mode().IsRegular():
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				return nil, err
			}
			return &File{File: f, name: path, path: path, direct: true}, nil
		}
		if err := unix.Access(path, unix.W_OK); err != nil {
			return nil, &fs.PathError{Op: "create", Path: path, Err: err}
		}
		mode = info.Mode().Perm()
		if target, err = filepath.EvalSymlinks(path); err != nil {
			return nil, err
		}
	} else if strings.HasSuffix(path, string(filepath.Separator)) {
		return nil, &fs.PathError{Op: "create", Path: path, Err: unix.EISDIR}
	}
	mu.Lock()
	defer mu.Unlock()
	if abandoned {
		return nil, errAbandoned(path)
	}
	f, err := create(target)
	if err != nil {
		// The error names the output, not the temporary file or its folder.
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return nil, &fs.PathError{Op: "create", Path: path, Err: err}
	}
	if mode != 0 {
		// Some file systems keep no modes; the data matters more.
		_ = f.Chmod(mode)
	}
	f.name = path
	open[f] = true
	return f, nil
}

func create(target string) (*File, error) {
	dir := filepath.Dir(target)
	if _, err := os.Stat("/proc/self/fd"); err == nil {
		fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o666)
		if err == nil {
			return &File{File: os.NewFile(uintptr(fd), target), path: target}, nil
		}
	}
	temp := tempName(target)
	f, err := os.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err
	}
	return &File{File: f, path: target, temp: temp}, nil
}

func tempName(target string) string {
	var b [6]byte
	rand.Read(b[:])
	base := filepath.Base(target)
	return filepath.Join(filepath.Dir(target), "."+base[:min(len(base), 200)]+"."+hex.EncodeToString(b[:])+".tmp")
}

func errAbandoned(path string) error {
	return fmt.Errorf("%s: not written: the program was stopped", path)
}

// Direct tells a pipe or device, which can be neither sought nor replaced.
func (f *File) Direct() bool { return f.direct }

// Commit closes the file and gives it its name.
func (f *File) Commit() error { return CommitAll(f) }

// Errorf adds the output's name to an error of writing it; nil stays nil.
func (f *File) Errorf(err error) error {
	var pe *fs.PathError
	if err == nil {
		return nil
	}
	if errors.As(err, &pe) && pe == err {
		err = pe.Err // its path is the same, or a temporary name
	}
	return fmt.Errorf("%s: %w", strings.Trim(strconv.Quote(f.name), `"`), err)
}

// CommitAll closes the files and gives them their names. Where anything fails
// before the first rename, no file that was there is changed.
func CommitAll(files ...*File) error {
	for _, f := range files {
		if f.direct || f.done {
			continue
		}
		if err := f.Sync(); err != nil && !errors.Is(err, unix.EINVAL) {
			abort(files)
			return err
		}
	}
	mu.Lock()
	defer mu.Unlock()
	for _, f := range files {
		if f.direct || f.done {
			continue
		}
		if abandoned {
			abortLocked(files)
			return errAbandoned(f.path)
		}
		if f.temp == "" {
			temp := tempName(f.path)
			if err := unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", f.Fd()), unix.AT_FDCWD, temp, unix.AT_SYMLINK_FOLLOW); err != nil {
				abortLocked(files)
				return &fs.PathError{Op: "create", Path: f.path, Err: err}
			}
			f.temp = temp
		}
	}
	for _, f := range files {
		if f.done {
			continue
		}
		if f.direct {
			f.done = true
			if f.File != os.Stdout {
				if err := f.Close(); err != nil {
					abortLocked(files)
					return err
				}
			}
			continue
		}
		if err := os.Rename(f.temp, f.path); err != nil {
			abortLocked(files)
			return err
		}
		f.temp, f.done = "", true
		delete(open, f)
		if err := f.Close(); err != nil {
			abortLocked(files)
			return err
		}
	}
	return nil
}

// Abort drops the output. After Commit it does nothing.
func (f *File) Abort() { abort([]*File{f}) }

func abort(files []*File) {
	mu.Lock()
	defer mu.Unlock()
	abortLocked(files)
}

func abortLocked(files []*File) {
	for _, f := range files {
		if f.done {
			continue
		}
		f.done = true
		delete(open, f)
		if f.temp != "" {
			os.Remove(f.temp)
		}
		if f.File != os.Stdout {
			f.Close()
		}
	}
}

// Abandon drops every output that is not committed, and lets none be created
// or committed from then on: what a program does before it exits on a signal.
func Abandon() {
	mu.Lock()
	defer mu.Unlock()
	abandoned = true
	for f := range open {
		if f.temp != "" {
			os.Remove(f.temp)
		}
	}
}
