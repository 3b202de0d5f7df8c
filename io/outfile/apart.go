package outfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Use is a file that a command reads or writes.
type Use struct {
	What   string // as messages name it: "--stats=a.json"
	Path   string // "-" is standard output or, for a file that is read, standard input
	Writes bool
	// Tensor says that the file holds a tensor. The output of a tensor may take the place of
	// an input in the same file format.
	Tensor bool
}

// Clash is the error of two uses that are one file on the disk (exit code 2).
type Clash struct{ Use, Other Use }

func (e *Clash) Error() string {
	got := "got the file that %s reads, want another one"
	if e.Other.Writes {
		got = "got the file that %s writes too, want a file for each"
	}
	return fmt.Sprintf("%s: "+got, escaped(e.Use.What), escaped(e.Other.What))
}

// escaped is text with escapes for what does not print.
func escaped(text string) string {
	q := strconv.Quote(text)
	return strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
}

// ExitCode is 2.
func (e *Clash) ExitCode() int { return 2 }

// Apart refuses uses of one file of which one is written: what the other one reads or writes
// would be lost. Files are compared as they will be on the disk, whatever their paths are: by the
// device and inode of the folder and the name in it, behind all symbolic links, and by the device
// and inode of the file where it is there.
func Apart(uses ...Use) error {
	taken := map[identity][]Use{}
	for _, u := range uses {
		for _, key := range u.identities() {
			for _, other := range taken[key] {
				if u.clashes(other) {
					return clash(u, other)
				}
			}
		}
		for _, key := range u.identities() {
			taken[key] = append(taken[key], u)
		}
	}
	return nil
}

// clashes reports whether u and other may not be one file.
func (u Use) clashes(other Use) bool {
	if u.Writes == other.Writes {
		// A descriptor takes a tensor, and after it what is said of the job.
		streamed := u.descriptor() >= 0 && other.descriptor() >= 0 && u.Tensor != other.Tensor
		return u.Writes && !streamed
	}
	written := u
	if other.Writes {
		written = other
	}
	replaces := u.Tensor && other.Tensor && ending(u.Path) == ending(other.Path)
	return !replaces || written.descriptor() >= 0
}

// clash puts the use that is written first.
func clash(u, other Use) *Clash {
	if !u.Writes {
		u, other = other, u
	}
	return &Clash{u, other}
}

func ending(path string) string { return strings.ToLower(filepath.Ext(path)) }

// identity tells files apart: by a device and an inode, or, where name is not "", by the name in
// a folder with these.
type identity struct {
	device, inode uint64
	name          string
}

// descriptor is the number of the open descriptor that u's path means, -1 for none.
func (u Use) descriptor() int {
	switch {
	case u.Path == "-" && u.Writes:
		return 1
	case u.Path == "-":
		return 0
	}
	if fd, ok := descriptor(u.Path); ok {
		return fd
	}
	return -1
}

// identities are u's: uses with one in common are one file. Devices have none, and pipes where
// they are read.
func (u Use) identities() (list []identity) {
	var st unix.Stat_t
	fd := u.descriptor()
	var err error
	if fd >= 0 {
		err = unix.Fstat(fd, &st)
		if u.Writes {
			list = append(list, identity{inode: uint64(fd), name: "a descriptor"})
		}
	} else {
		err = unix.Stat(u.Path, &st)
	}
	regular := false
	switch kind := st.Mode & unix.S_IFMT; {
	case err != nil:
		regular = fd < 0
	case kind == unix.S_IFREG:
		regular = fd < 0
		list = append(list, identity{device: uint64(st.Dev), inode: st.Ino})
	case kind == unix.S_IFIFO && u.Writes:
		list = append(list, identity{device: uint64(st.Dev), inode: st.Ino})
	}
	if !regular {
		return list
	}
	path, err := resolve(u.Path)
	if err == nil && unix.Stat(filepath.Dir(path), &st) == nil {
		list = append(list, identity{uint64(st.Dev), st.Ino, filepath.Base(path)})
	}
	return list
}

// resolve is path without symbolic links, also where the last of them points to nothing yet.
func resolve(path string) (string, error) {
	for range 40 { // as many links as Linux follows
		// Joining would drop "..", which is another folder behind a link.
		dir, name := ".", path
		if k := strings.LastIndexByte(path, filepath.Separator); k >= 0 {
			dir, name = path[:k+1], path[k+1:]
		}
		folder, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return "", err
		}
		path = filepath.Join(folder, name)
		link, err := os.Readlink(path)
		switch {
		case err != nil: // no link, or nothing
			return path, nil
		case filepath.IsAbs(link):
			path = link
		default:
			path = folder + string(filepath.Separator) + link
		}
	}
	return "", &fs.PathError{Op: "open", Path: path, Err: errors.New("too many levels of symbolic links")}
}
