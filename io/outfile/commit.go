package outfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Commit flushes the file to disk and gives it its name. If it fails, the name refers to the
// same file as before.
func (o *File) Commit() error { return CommitAll(o) }

// FlushAll flushes the data of several outputs to disk. A later CommitAll then needs more room on
// the disk only for a file that it must copy (see copyOut).
func FlushAll(files ...*File) error {
	for _, o := range files {
		if o.done || o.target == "" {
			continue
		}
		if err := o.flush(); err != nil {
			return o.Errorf(err)
		}
	}
	return nil
}

// CommitAll commits several outputs. It flushes them to disk, and then gives them their final names
// one after another. Outputs without a name (see Streams) are only closed. If any step fails,
// CommitAll aborts all outputs and tries to restore the files that had the names before.
//
// To make this possible, each of these files keeps a hidden name in its folder (.NAME.xxxxxxxx.old)
// until all outputs have their names. The output that is named last does not need this. If the
// process is killed meanwhile, some names may refer to new files and others to old files, and
// hidden names may be left.
func CommitAll(files ...*File) (err error) {
	defer func() {
		if err != nil {
			for _, o := range files {
				o.Abort()
			}
		}
	}()
	if err := FlushAll(files...); err != nil {
		return err
	}
	for _, o := range files {
		if o.done || o.target != "" {
			continue
		}
		o.done = true
		if o.f != os.Stdout {
			if err := o.f.Close(); err != nil {
				return o.Errorf(err)
			}
		}
	}
	return nameAll(files)
}

// nameAll gives flushed files their final names. It holds the mutex pending for the whole time, so
// a concurrent Stop takes effect either before the first name is given or after the last one.
func nameAll(files []*File) (err error) {
	pending.Lock()
	defer pending.Unlock()
	var unnamed []*File
	for _, o := range files {
		if !o.done {
			unnamed = append(unnamed, o)
		}
	}
	var named []replaced
	defer func() {
		for k := len(named) - 1; err != nil && k >= 0; k-- {
			err = named[k].undo(err)
		}
		for _, r := range named {
			if err == nil && r.old != "" {
				os.Remove(r.old)
			}
		}
	}()
	for k, o := range unnamed {
		r := replaced{target: o.target}
		// A failed rename changes nothing, so the last file need not be undone.
		if k < len(unnamed)-1 {
			if err := r.keep(); err != nil {
				return o.Errorf(err)
			}
		}
		if err := o.name(); err != nil {
			return r.unkeep(o.Errorf(err))
		}
		named = append(named, r)
	}
	for _, o := range unnamed {
		o.syncFolder()
		o.done = true
		o.f.Close() // the file is flushed, so Close has no error to report
		delete(pending.files, o)
	}
	return nil
}

// replaced is a name that was given to an output, and the file that had the name before.
type replaced struct {
	target string
	old    string // another name of the earlier file; "" if there was none
	moved  bool   // old is its only name
}

// keep gives the file at the target a second name, under which undo finds it. If that fails, for
// example because the file system has no links, it renames the file.
func (r *replaced) keep() error {
	switch st, err := os.Lstat(r.target); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case st.IsDir():
		return fmt.Errorf("%s is a folder, want a file", r.target)
	}
	name := strings.TrimSuffix(tempName(r.target), ".tmp") + ".old"
	err := os.Link(r.target, name)
	if err != nil {
		r.moved = true
		err = os.Rename(r.target, name)
	}
	if err == nil {
		r.old = name
	}
	return err
}

// unkeep undoes keep. It is called if the output could not get its final name; err is the reason.
// If keep gave the earlier file a second name, unkeep removes this name. If keep renamed the
// earlier file, unkeep renames it back. unkeep returns err, and adds to it if renaming fails.
func (r *replaced) unkeep(err error) error {
	switch {
	case r.old == "":
	case r.moved:
		return r.undo(err)
	default:
		os.Remove(r.old)
	}
	return err
}

// undo restores the earlier file, or removes the output if there was no earlier file. It returns
// err, extended if this fails.
func (r *replaced) undo(err error) error {
	var e error
	if r.old == "" {
		e = os.Remove(r.target)
	} else {
		e = os.Rename(r.old, r.target)
	}
	if e != nil {
		err = fmt.Errorf("%w; restoring %s failed as well: %v", err, printable(r.target), e)
	}
	return err
}

// flush flushes the data to disk. Afterwards the file needs more room on the disk only if it must
// be copied (see copyOut).
func (o *File) flush() error {
	if o.mode != 0 {
		if err := o.f.Chmod(o.mode); err != nil {
			return err
		}
	}
	return o.f.Sync()
}

// name gives a flushed file its final name. The caller must have locked the mutex pending, because
// the program may be ended at the same time.
func (o *File) name() error {
	if pending.abandoned {
		return errors.New("the program is being ended")
	}
	placed := false
	if o.temp == "" {
		var err error
		if placed, err = o.link(); err != nil {
			return err
		}
	}
	if !placed {
		if err := os.Rename(o.temp, o.target); err != nil {
			return err
		}
		o.temp = ""
	}
	return nil
}

// link gives an unnamed file a name. If the target does not exist, link gives the file the target's
// name, and placed is true. Otherwise it gives the file a temporary name, because a link cannot
// replace a file, and placed is false. If there is no /proc, or if the file system cannot link
// unnamed files, link calls copyOut, which copies the file to a temporary name.
func (o *File) link() (placed bool, err error) {
	proc := fmt.Sprintf("/proc/self/fd/%d", o.f.Fd())
	err = unix.Linkat(unix.AT_FDCWD, proc, unix.AT_FDCWD, o.target, unix.AT_SYMLINK_FOLLOW)
	if err == nil {
		return true, nil
	}
	for try := 0; err == unix.EEXIST && try < 100; try++ {
		name := tempName(o.target)
		if err = unix.Linkat(unix.AT_FDCWD, proc, unix.AT_FDCWD, name,
			unix.AT_SYMLINK_FOLLOW); err == nil {
			o.temp = name
			return false, nil
		}
	}
	if err == unix.ENOENT || err == unix.EPERM || err == unix.EXDEV {
		return false, o.copyOut() // no /proc, or the file system can't link unnamed files
	}
	return false, err
}

func (o *File) syncFolder() {
	if d, err := os.Open(filepath.Dir(o.target)); err == nil {
		d.Sync() // some file systems refuse this for folders; the rename is done
		d.Close()
	}
}

// copyOut copies an unnamed file to a file with a temporary name.
func (o *File) copyOut() error {
	st, err := o.f.Stat()
	if err != nil {
		return err
	}
	f, name, err := tempFile(o.target)
	if err != nil {
		return err
	}
	o.temp = name
	from := o.f
	o.f = f
	defer from.Close()
	if _, err := io.Copy(f, io.NewSectionReader(from, 0, st.Size())); err != nil {
		return err
	}
	if o.mode != 0 {
		if err := f.Chmod(o.mode); err != nil {
			return err
		}
	}
	return f.Sync()
}
