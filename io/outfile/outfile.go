// Package outfile writes files that appear whole, under their name, or not at
// all. Data goes to a file without a name where the system has those (so that
// even a killed process leaves nothing), else to a temporary name in the same
// folder; Commit flushes it to disk and renames it into place. Pipes, devices,
// standard output and descriptors (/dev/stdout, /dev/fd/3) are written as the data comes.
//
// # Files
//
//	outfile.go     files that appear whole
//	commit.go      flushing and naming
//	shared.go      outputs that several processes write
//	descriptor.go  standard output and other descriptors
//	temp.go        temporary files and folders
//	apart.go       files that a command reads and writes, compared
package outfile

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// File is an output on its way. Exactly one of Commit and Abort takes effect,
// the first; Abort after Commit does nothing, so that it can be deferred.
type File struct {
	f      *os.File
	target string      // what the rename replaces; "" for a pipe, device or standard output
	temp   string      // the temporary name; "" while the file has none
	mode   fs.FileMode // of the file that is there; 0 for none
	path   string      // as given, for messages
	done   bool
}

// Error is a failed write (exit 1).
type Error struct {
	Path string
	Err  error
}

func (e *Error) Error() string { return printable(e.Path) + ": can't write the file: " + e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// ExitCode is 1.
func (e *Error) ExitCode() int { return 1 }

func printable(s string) string {
	if q := strconv.Quote(s); q[1:len(q)-1] != s {
		return q
	}
	return s
}

// pending are the outputs that are neither committed nor aborted. Nothing gets
// its name after abandoned is set.
var pending struct {
	sync.Mutex
	files     map[*File]struct{}
	abandoned bool
}

// Create starts the output to path; "-" is standard output. A symbolic link is
// followed: what it points to is replaced.
func Create(path string) (*File, error) { return create(path, false) }

// Check is the error that Create would return, as far as it can be told without
// opening a pipe or a device.
func Check(path string) error {
	if st, err := os.Stat(path); path == "-" || err == nil && !st.IsDir() && !st.Mode().IsRegular() {
		return nil
	}
	f, err := Create(path)
	if err != nil {
		return err
	}
	f.Abort()
	return nil
}

// create is Create, of a file that has a temporary name from the beginning where named says so.
func create(path string, named bool) (*File, error) {
	if path == "-" {
		return &File{f: os.Stdout, path: "standard output"}, nil
	}
	if fd, ok := descriptor(path); ok {
		return openDescriptor(path, fd)
	}
	o := &File{path: path, target: path}
	st, err := os.Stat(path)
	switch {
	case err == nil && st.IsDir():
		return nil, &Error{path, errors.New("it is a folder")}
	case err == nil && !st.Mode().IsRegular():
		o.target = ""
		if o.f, err = os.OpenFile(path, os.O_WRONLY, 0); err != nil {
			return nil, o.Errorf(err)
		}
		return o, nil
	case err == nil:
		if o.target, err = resolve(path); err != nil {
			return nil, o.Errorf(err)
		}
		// Who may not write the file may not replace it either.
		if err := unix.Access(o.target, unix.W_OK); err != nil {
			return nil, &Error{path, err}
		}
		o.mode = st.Mode().Perm()
	case !errors.Is(err, fs.ErrNotExist):
		return nil, o.Errorf(err)
	default:
		if o.target, err = resolve(path); err != nil {
			return nil, o.Errorf(err)
		}
	}
	if err := o.open(named); err != nil {
		return nil, o.Errorf(err)
	}
	pending.Lock()
	defer pending.Unlock()
	if pending.files == nil {
		pending.files = map[*File]struct{}{}
	}
	pending.files[o] = struct{}{}
	return o, nil
}

// open makes the file that the data goes to.
func (o *File) open(named bool) error {
	if !named {
		fd, err := unix.Open(filepath.Dir(o.target), unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o666)
		if err == nil {
			o.f = os.NewFile(uintptr(fd), o.target)
			return nil
		}
	}
	f, name, err := tempFile(o.target)
	if err == nil {
		o.f, o.temp = f, name
	}
	return err
}

func tempName(target string) string {
	return filepath.Join(filepath.Dir(target), fmt.Sprintf(".%.200s.%08x.tmp", filepath.Base(target), rand.Uint32()))
}

func tempFile(target string) (f *os.File, name string, err error) {
	for range 100 {
		name = tempName(target)
		if f, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666); !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return f, name, err
}

// Stop keeps outputs that have no name yet from ever getting one: the program
// was told to end. Their Commit fails.
func Stop() {
	pending.Lock()
	defer pending.Unlock()
	pending.abandoned = true
}

// Cleanup removes the temporary names of all outputs that are not committed,
// and lets none be committed from now on: for a process that ends on a signal.
func Cleanup() {
	pending.Lock()
	defer pending.Unlock()
	pending.abandoned = true
	for o := range pending.files {
		if o.temp != "" {
			os.Remove(o.temp)
		}
	}
}

// Errorf is err as this output's error, without the temporary name. An error
// that has an exit code of its own stays as it is.
func (o *File) Errorf(err error) error {
	var coded interface{ ExitCode() int }
	if err == nil || errors.As(err, &coded) {
		return err
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	var l *os.LinkError
	if errors.As(err, &l) {
		err = l.Err
	}
	return &Error{o.path, err}
}

// Streams reports whether the data goes out as it comes: no offsets, and
// nothing to take back.
func (o *File) Streams() bool { return o.target == "" }

// Write appends.
func (o *File) Write(b []byte) (int, error) {
	n, err := o.f.Write(b)
	return n, o.Errorf(err)
}

// WriteAt writes at an offset; not where the output Streams.
func (o *File) WriteAt(b []byte, off int64) (int, error) {
	n, err := o.f.WriteAt(b, off)
	return n, o.Errorf(err)
}

// ReadAt reads back what was written.
func (o *File) ReadAt(b []byte, off int64) (int, error) { return o.f.ReadAt(b, off) }

// Reserve makes the file n bytes long and asks the file system for the room, so
// that a full disk is known before the work.
func (o *File) Reserve(n int64) error {
	if o.Streams() || n == 0 {
		return nil
	}
	// In steps, since a file system may keep writers out meanwhile.
	step := max(n/16, 16<<20)
	for at := int64(0); at < n; at += step {
		err := unix.Fallocate(int(o.f.Fd()), 0, at, min(step, n-at))
		switch err {
		case unix.ENOSPC, unix.EFBIG, unix.EDQUOT:
			return &Error{o.path, err}
		}
		if err != nil { // it has no such thing
			break
		}
	}
	return o.Errorf(o.f.Truncate(n))
}

// Buffered is a large buffer before the file; Flush it before Commit.
func (o *File) Buffered() *bufio.Writer { return bufio.NewWriterSize(o, 1<<20) }

// Abort drops the output. What was there under its name stays as it was.
func (o *File) Abort() {
	if o == nil || o.done {
		return
	}
	if o.target == "" {
		o.done = true
		if o.f != os.Stdout {
			o.f.Close()
		}
		return
	}
	o.f.Close()
	pending.Lock()
	defer pending.Unlock()
	if o.temp != "" {
		os.Remove(o.temp)
	}
	o.done = true
	delete(pending.files, o)
}

// Fd is the descriptor of the file, for mapping it.
func (o *File) Fd() uintptr { return o.f.Fd() }

// Free is the bytes that the file's disk has room for; -1 where the output
// Streams or the system can't tell.
func (o *File) Free() int64 {
	var s unix.Statfs_t
	if o.Streams() || unix.Fstatfs(int(o.f.Fd()), &s) != nil {
		return -1
	}
	return int64(s.Bavail) * s.Bsize
}
