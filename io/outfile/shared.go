package outfile

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Handle says how another process opens an output before it has its name: by
// the descriptor of the process that created it where both run under one
// kernel, else by a temporary name. The file begins with Token until the data
// takes its place, so that who opens it knows that it is the same file.
type Handle struct {
	Path    string // as given, for messages
	Machine string // the kernel that Pid and Fd belong to
	Pid, Fd int
	Name    string // "" while the file has none
	Token   []byte
}

// Handle marks the file, and says how to open it. Not where the output Streams.
func (o *File) Handle() (Handle, error) {
	h := Handle{Path: o.path, Machine: machine(), Pid: os.Getpid(), Fd: int(o.f.Fd()), Name: o.temp, Token: make([]byte, 16)}
	rand.Read(h.Token) // never fails
	_, err := o.WriteAt(h.Token, 0)
	if err == nil && o.temp != "" { // other nodes see what is on the server
		err = o.Errorf(o.f.Sync())
	}
	return h, err
}

// Named gives a file without a name a temporary one, for processes under
// another kernel. A killed process leaves it behind.
func (o *File) Named() error {
	if o.temp != "" {
		return nil
	}
	pending.Lock()
	defer pending.Unlock()
	if pending.abandoned {
		return errors.New("the program is ending")
	}
	proc := fmt.Sprintf("/proc/self/fd/%d", o.f.Fd())
	var err error
	for range 100 {
		name := tempName(o.target)
		if err = unix.Linkat(unix.AT_FDCWD, proc, unix.AT_FDCWD, name, unix.AT_SYMLINK_FOLLOW); err == nil {
			o.temp = name
			return nil
		}
		if err != unix.EEXIST {
			break
		}
	}
	return o.Errorf(err)
}

// machine names the running kernel; "" where the system does not say.
func machine() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// Writer is an output as one of its writers sees it.
type Writer struct {
	f    *os.File
	path string
	own  bool // the creator's: the File's own descriptor
	here bool // under the creator's kernel: its flush covers what is written here
}

// Writer is the creator's.
func (o *File) Writer() *Writer { return &Writer{f: o.f, path: o.path, own: true, here: true} }

// OpenWriter opens the file of a handle.
func OpenWriter(h Handle) (*Writer, error) {
	err := error(unix.ENOENT)
	if h.Machine != "" && h.Machine == machine() {
		var f *os.File
		if f, err = openToken(fmt.Sprintf("/proc/%d/fd/%d", h.Pid, h.Fd), h.Token); err == nil {
			return &Writer{f: f, path: h.Path, here: true}, nil
		}
	}
	if h.Name != "" {
		var f *os.File
		if f, err = openToken(h.Name, h.Token); err == nil {
			return &Writer{f: f, path: h.Path}, nil
		}
	}
	return nil, &Error{h.Path, err}
}

// openToken opens a file that begins with token.
func openToken(name string, token []byte) (*os.File, error) {
	// What stands there may be another's pipe, which must not block or be created.
	f, err := os.OpenFile(name, os.O_RDWR|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	got := make([]byte, len(token))
	if _, err := f.ReadAt(got, 0); err != nil || string(got) != string(token) {
		f.Close()
		return nil, errors.New("it is another file")
	}
	return f, nil
}

// WriteAt writes at an offset.
func (p *Writer) WriteAt(b []byte, off int64) (int, error) {
	n, err := p.f.WriteAt(b, off)
	return n, p.errorf(err)
}

// errorf is err as the output's error.
func (p *Writer) errorf(err error) error { return (&File{path: p.path}).Errorf(err) }

// Fd is the descriptor, for mapping what was written.
func (p *Writer) Fd() uintptr { return p.f.Fd() }

// Flush brings what was written here to disk, unless the creator's own flush
// does.
func (p *Writer) Flush() error {
	if p.here {
		return nil
	}
	return p.errorf(p.f.Sync())
}

// Close lets go of the file.
func (p *Writer) Close() error {
	if p.own {
		return nil
	}
	return p.errorf(p.f.Close())
}

// Networked tells whether the file's folder is on a file system whose clients
// may not write one file at the same time.
func (o *File) Networked() bool {
	var s unix.Statfs_t
	if unix.Fstatfs(int(o.f.Fd()), &s) != nil {
		return false
	}
	const smb2, fuse, ninep = 0xFE534D42, 0x65735546, 0x01021997
	switch uint32(s.Type) {
	case unix.NFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, 0xFF534D42, smb2, unix.AFS_SUPER_MAGIC, unix.CODA_SUPER_MAGIC, fuse, ninep:
		return true
	}
	return false
}

// Resize makes the file n bytes long and asks for the room, as Reserve does,
// also where that is shorter than the file is.
func (o *File) Resize(n int64) error {
	if n == 0 {
		return o.Errorf(o.f.Truncate(0))
	}
	return o.Reserve(n)
}
