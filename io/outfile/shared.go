package outfile

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Handle tells another process how to open an output that does not have its final name yet. A
// process on the same machine opens the descriptor Fd of process Pid through /proc. If that fails,
// or on another machine, the process opens the temporary name, if the file has one. The file begins
// with Token until data overwrites the token. The other process reads the token to verify that it
// opened the right file.
type Handle struct {
	Path    string // as given by the caller, for messages
	Machine string // identifies the running kernel, for which Pid and Fd are valid
	Pid, Fd int
	Name    string // "" if the file has no name
	Token   []byte
}

// Handle returns the file's handle, so that other processes can open the file. It first writes a
// random token to the file. The other processes recognize the file by its token. Handle must not be
// called if Streams returns true.
func (o *File) Handle() (Handle, error) {
	h := Handle{Path: o.path, Machine: machine(), Pid: os.Getpid(), Fd: int(o.f.Fd()), Name: o.temp,
		Token: make([]byte, 16)}
	rand.Read(h.Token) // never fails
	_, err := o.WriteAt(h.Token, 0)
	if err == nil && o.temp != "" { // other nodes see only data on the server
		err = o.Errorf(o.f.Sync())
	}
	return h, err
}

// Named gives an unnamed file a temporary name, for processes on other machines. If the process
// is killed, the file stays.
func (o *File) Named() error {
	if o.temp != "" {
		return nil
	}
	pending.Lock()
	defer pending.Unlock()
	if pending.abandoned {
		return errors.New("the program is being ended")
	}
	proc := fmt.Sprintf("/proc/self/fd/%d", o.f.Fd())
	var err error
	for range 100 {
		name := tempName(o.target)
		if err = unix.Linkat(unix.AT_FDCWD, proc, unix.AT_FDCWD, name,
			unix.AT_SYMLINK_FOLLOW); err == nil {
			o.temp = name
			return nil
		}
		if err != unix.EEXIST {
			break
		}
	}
	return o.Errorf(err)
}

// machine returns an identifier of this machine since its last boot. By comparing identifiers,
// processes find out whether they run on the same machine. It returns "" if the operating system
// gives no identifier.
func machine() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// Writer lets one process write to an output that several processes write together.
type Writer struct {
	f    *os.File
	path string
	own  bool // of the process that created the File: f is the File's own
	here bool // own, or opened through /proc: the creator's flush includes this data
}

// Writer returns the Writer of the process that created the output.
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

// openToken opens a file, which must begin with token.
func openToken(name string, token []byte) (*os.File, error) {
	// The name may now be another process's pipe: don't block on it, and don't create a file.
	f, err := os.OpenFile(name, os.O_RDWR|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	got := make([]byte, len(token))
	if _, err := f.ReadAt(got, 0); err != nil || string(got) != string(token) {
		f.Close()
		return nil, errors.New("another process has replaced the file")
	}
	return f, nil
}

// WriteAt writes at an offset.
func (p *Writer) WriteAt(b []byte, off int64) (int, error) {
	n, err := p.f.WriteAt(b, off)
	return n, p.errorf(err)
}

// errorf returns err as an error of the output.
func (p *Writer) errorf(err error) error { return (&File{path: p.path}).Errorf(err) }

// Fd returns the descriptor, for mapping the file.
func (p *Writer) Fd() uintptr { return p.f.Fd() }

// Flush flushes the data of this process to disk. If p.here is true, it does nothing, because the
// creator's flush includes the data.
func (p *Writer) Flush() error {
	if p.here {
		return nil
	}
	return p.errorf(p.f.Sync())
}

// Close closes the file. It does nothing if p is from File.Writer, because the File closes its file
// itself.
func (p *Writer) Close() error {
	if p.own {
		return nil
	}
	return p.errorf(p.f.Close())
}

// Networked reports whether the file's folder is on a file system that may not support several
// machines writing one file at the same time.
func (o *File) Networked() bool {
	var s unix.Statfs_t
	if unix.Fstatfs(int(o.f.Fd()), &s) != nil {
		return false
	}
	const smb2, fuse, ninep = 0xFE534D42, 0x65735546, 0x01021997
	switch uint32(s.Type) {
	case unix.NFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, 0xFF534D42, smb2, unix.AFS_SUPER_MAGIC,
		unix.CODA_SUPER_MAGIC, fuse, ninep:
		return true
	}
	return false
}

// Resize is like Reserve, but if n is 0, it makes the file empty.
func (o *File) Resize(n int64) error {
	if n == 0 {
		return o.Errorf(o.f.Truncate(0))
	}
	return o.Reserve(n)
}
