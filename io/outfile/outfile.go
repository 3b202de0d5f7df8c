// Package outfile writes files that appear complete, under their names, or not at all. Data is
// written to an unnamed file if the system supports them, so that even a killed process leaves
// nothing. Otherwise data is written to a temporary name in the same folder. Commit flushes the
// data to disk and gives the file its name. Pipes, devices, standard output and descriptors
// (/dev/stdout, /dev/fd/3) are written directly.
//
// # Files
//
//	outfile.go     files that appear complete
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

// File is an output that is being written. Only the first call of Commit or Abort takes effect,
// so a deferred Abort after Commit does nothing.
type File struct {
	f      *os.File
	target string      // the name to replace; "" for a pipe, device or descriptor
	temp   string      // the temporary name; "" if the file has none
	mode   fs.FileMode // of the existing file; 0 if there is none
	path   string      // as given by the caller, or "standard output"; for messages
	done   bool
}

// Error is a failed write (exit code 1).
type Error struct {
	Path string
	Err  error
}

func (e *Error) Error() string {
	return printable(e.Path) + ": can't write the file: " + e.Err.Error()
}
func (e *Error) Unwrap() error { return e.Err }

// ExitCode returns 1.
func (e *Error) ExitCode() int { return 1 }

func printable(s string) string {
	if q := strconv.Quote(s); q[1:len(q)-1] != s {
		return q
	}
	return s
}

// pending contains the outputs that still await their final names. Once the field abandoned is
// true, no output gets its final name any more.
var pending struct {
	sync.Mutex
	files     map[*File]struct{}
	abandoned bool
}

// Create starts the output to path; "-" is standard output. If path is a symbolic link, the
// file that it points to is replaced.
func Create(path string) (*File, error) { return create(path, false) }

// Check returns the error that Create would return for path. It does not open pipes and devices, so
// it does not find their errors.
func Check(path string) error {
	if st, err := os.Stat(path); path == "-" || err == nil && !st.IsDir() &&
		!st.Mode().IsRegular() {
		return nil
	}
	f, err := Create(path)
	if err != nil {
		return err
	}
	f.Abort()
	return nil
}

// create does the work of Create. If named is true, the file has a temporary name from the start.
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
		return nil, &Error{path, errors.New("got a folder, want a file")}
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
		// A user who may not write the file may not replace it.
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

// open creates the temporary file that the data is written to. If named is false, the file has no
// name until Commit, unless the file system does not support files without a name.
func (o *File) open(named bool) error {
	if !named {
		fd, err := unix.Open(filepath.Dir(o.target), unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC,
			0o666)
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
	return filepath.Join(filepath.Dir(target),
		fmt.Sprintf(".%.200s.%08x.tmp", filepath.Base(target), rand.Uint32()))
}

func tempFile(target string) (f *os.File, name string, err error) {
	for range 100 {
		name = tempName(target)
		if f, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666); !errors.Is(err,
			fs.ErrExist) {
			break
		}
	}
	return f, name, err
}

// Stop makes every later Commit fail, because the program is ending. Outputs that are written
// directly to their destination (see Streams) can still be committed.
func Stop() {
	pending.Lock()
	defer pending.Unlock()
	pending.abandoned = true
}

// Cleanup does what Stop does, and removes the temporary files of all outputs that are not
// committed. It is for a process that is ended by a signal.
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

// Errorf returns err as an error of this output. Its message has the path that the caller gave, or
// "standard output" for "-", and not the name of the temporary file. If err is nil or has an exit
// code, it is returned unchanged.
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

// Streams reports whether data is written directly to its destination, such as a pipe. Such an
// output has no offsets and cannot be undone.
func (o *File) Streams() bool { return o.target == "" }

// Write appends b.
func (o *File) Write(b []byte) (int, error) {
	n, err := o.f.Write(b)
	return n, o.Errorf(err)
}

// WriteAt writes b at offset off. It must not be called if Streams returns true, because such an
// output has no offsets.
func (o *File) WriteAt(b []byte, off int64) (int, error) {
	n, err := o.f.WriteAt(b, off)
	return n, o.Errorf(err)
}

// ReadAt reads data that was written.
func (o *File) ReadAt(b []byte, off int64) (int, error) { return o.f.ReadAt(b, off) }

// Reserve makes the file n bytes long and allocates its room on the disk, so that a full disk is
// detected early. If the file system can't allocate, it only sets the length. It does nothing if n
// is 0 or Streams returns true.
func (o *File) Reserve(n int64) error {
	if o.Streams() || n == 0 {
		return nil
	}
	// In steps, because a file system may block writers during a step.
	step := max(n/16, 16<<20)
	for at := int64(0); at < n; at += step {
		err := unix.Fallocate(int(o.f.Fd()), 0, at, min(step, n-at))
		switch err {
		case unix.ENOSPC, unix.EFBIG, unix.EDQUOT:
			return &Error{o.path, err}
		}
		if err != nil { // the file system does not support it
			break
		}
	}
	return o.Errorf(o.f.Truncate(n))
}

// Buffered returns a large buffer for writing to the file. It must be flushed before Commit.
func (o *File) Buffered() *bufio.Writer { return bufio.NewWriterSize(o, 1<<20) }

// Abort discards the output. An existing file with its name stays unchanged. What was written
// directly (see Streams) is not undone.
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

// Fd returns the descriptor of the file, for mapping it.
func (o *File) Fd() uintptr { return o.f.Fd() }

// Free returns the number of free bytes on the disk that the file is written to. It returns -1 if
// Streams returns true, or if the number is unknown.
func (o *File) Free() int64 {
	var s unix.Statfs_t
	if o.Streams() || unix.Fstatfs(int(o.f.Fd()), &s) != nil {
		return -1
	}
	return int64(s.Bavail) * s.Bsize
}
