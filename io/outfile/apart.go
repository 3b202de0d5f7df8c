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

// Use is one use of a file by a command, which reads or writes the file.
type Use struct {
	What string // the name of the use in messages: "--stats=a.json"
	// Path is the file's path. "-" is standard output or, if the file is read, standard input.
	Path   string
	Writes bool
	// Tensor means that the file contains a tensor. An output tensor may replace the file of an
	// input tensor in the same file format.
	Tensor bool
}

// Clash is the error that two uses of the same file conflict (exit code 2). Use writes the file.
// Other reads or writes the file.
type Clash struct{ Use, Other Use }

func (e *Clash) Error() string {
	got := "got the file that %s reads, want a different file"
	if e.Other.Writes {
		got = "got the file that %s also writes, want different files"
	}
	return fmt.Sprintf("%s: "+got, escaped(e.Use.What), escaped(e.Other.What))
}

// escaped returns text with escapes for backslashes and for characters that are not printable.
func escaped(text string) string {
	q := strconv.Quote(text)
	return strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
}

// ExitCode returns 2.
func (e *Clash) ExitCode() int { return 2 }

// Apart returns a *Clash if two of the uses are of the same file and conflict (see clashes). It
// compares files, not paths. Two paths have the same file if, after all symbolic links are
// resolved, they have the same name in the same folder. Two paths also have the same file if both
// are existing regular files with the same device and inode. For devices, pipes and descriptors see
// identities.
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

// clashes reports whether u and second, two uses of the same file, conflict.
//
//   - Two reads do not conflict.
//   - A read and a write conflict, unless both files contain a tensor, both paths have the same
//     extension, and the write does not go to a descriptor.
//   - Two writes conflict, unless both go to a descriptor and exactly one writes a tensor.
func (u Use) clashes(second Use) bool {
	if u.Writes == second.Writes {
		// A descriptor may receive a tensor and then the text about the job.
		streamed := u.descriptor() >= 0 && second.descriptor() >= 0 && u.Tensor != second.Tensor
		return u.Writes && !streamed
	}
	written := u
	if second.Writes {
		written = second
	}
	replaces := u.Tensor && second.Tensor && ending(u.Path) == ending(second.Path)
	return !replaces || written.descriptor() >= 0
}

// clash returns the error for two uses of a file that conflict. The error names a use that writes
// the file first.
func clash(u, second Use) *Clash {
	if !u.Writes {
		u, second = second, u
	}
	return &Clash{u, second}
}

func ending(path string) string { return strings.ToLower(filepath.Ext(path)) }

// identity identifies a file in one of three ways.
//
//   - If name is "", device and inode are the numbers of the file itself.
//   - If device is 0 and name is "a descriptor", inode is the number of a descriptor.
//   - Otherwise name is the name of the file in its folder, and device and inode are the numbers of
//     the folder.
type identity struct {
	device, inode uint64
	name          string
}

// descriptor returns the number of the descriptor that u.Path names, or -1 if the path does not
// name one.
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

// identities returns the identities of the file that u uses. If two uses have an identity in
// common, they use the same file. If u writes to a descriptor, the number of the descriptor is an
// identity. A device has no other identity. A pipe has another identity only if u writes to it.
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

// resolve returns path without symbolic links. The target of the last link need not exist.
func resolve(path string) (string, error) {
	for range 40 { // Linux follows at most 40 links
		// filepath.Join would remove "..", but after a symbolic link ".." is another folder.
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
	return "", &fs.PathError{Op: "open", Path: path,
		Err: errors.New("the path goes through too many symbolic links")}
}
