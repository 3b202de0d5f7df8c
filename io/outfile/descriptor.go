package outfile

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Stdout reports whether an output to path goes to standard output.
func Stdout(path string) bool {
	fd, ok := descriptor(path)
	return path == "-" || ok && fd == 1
}

// Descriptor reports whether path names a descriptor of this process, for example /dev/fd/3. It
// does not check whether the descriptor is open.
func Descriptor(path string) bool {
	_, ok := descriptor(path)
	return ok
}

// descriptor returns the number of the file descriptor that path names. It accepts paths such as
// /dev/stdout, /dev/fd/N and /proc/self/fd/N, and symbolic links to them. ok is false for any other
// path. descriptor does not check whether the descriptor is open. Output to such a path must be
// written to the descriptor itself. If the path were opened again, output would begin at the start
// of the file instead of the current position of the descriptor.
func descriptor(path string) (fd int, ok bool) {
	for range 40 { // Linux follows at most 40 links
		path = filepath.Clean(path)
		switch path {
		case "/dev/stdout":
			return 1, true
		case "/dev/stderr":
			return 2, true
		}
		dir, name := filepath.Split(path)
		n, err := strconv.Atoi(name)
		switch filepath.Clean(dir) {
		case "/dev/fd", "/proc/self/fd", "/proc/thread-self/fd",
			"/proc/" + strconv.Itoa(os.Getpid()) + "/fd":
			return n, err == nil && n >= 0 && !strings.HasPrefix(name, "+")
		}
		link, err := os.Readlink(path)
		if err != nil {
			return 0, false
		}
		if !filepath.IsAbs(link) {
			link = filepath.Join(dir, link)
		}
		path = link
	}
	return 0, false
}

// openDescriptor returns the output to a descriptor of this process.
func openDescriptor(path string, fd int) (*File, error) {
	o := &File{path: path}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err == nil && flags&unix.O_ACCMODE == unix.O_RDONLY {
		err = errors.New("the file descriptor must be open for writing")
	}
	if err != nil {
		return nil, o.Errorf(err)
	}
	if fd, err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3); err != nil {
		return nil, o.Errorf(err)
	}
	o.f = os.NewFile(uintptr(fd), path)
	return o, nil
}
