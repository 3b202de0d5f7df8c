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

// Commit flushes to disk and gives the file its name. After a failure there is
// what was there before.
func (o *File) Commit() error { return CommitAll(o) }

// FlushAll brings the data of several outputs to disk. CommitAll then has nothing left to do
// that wants room.
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

// CommitAll commits several outputs: names are given, one after another, only once all of them are
// on disk. Where that fails all are aborted, and what was there stands under every name, as before:
// until all have their names, the old files keep a hidden one beside it (.NAME.xxxxxxxx.old). A process that is
// killed between two names leaves some outputs new, some old, and such old ones.
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

// nameAll gives flushed files their names: Stop comes before all, or after.
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
		if k < len(unnamed)-1 { // a rename that fails changes nothing, so that the last needs no undoing
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
		o.f.Close() // flushed: it has nothing left to report
		delete(pending.files, o)
	}
	return nil
}

// replaced is a name that an output took.
type replaced struct {
	target string
	old    string // a name of the file that was there; "" where there was none
	moved  bool   // old is its only name
}

// keep gives the file that stands at the target a second name, or, on a file system that has
// no links, another one.
func (r *replaced) keep() error {
	switch st, err := os.Lstat(r.target); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case st.IsDir():
		return errors.New("it is a folder")
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

// unkeep ends keep where the output did not take the name, because of err.
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

// undo puts back what was there. The error is err, and what could not be put back.
func (r *replaced) undo(err error) error {
	var e error
	if r.old == "" {
		e = os.Remove(r.target)
	} else {
		e = os.Rename(r.old, r.target)
	}
	if e != nil {
		err = fmt.Errorf("%w; and %s is not as it was before: %v", err, printable(r.target), e)
	}
	return err
}

// flush brings the data to disk, under a temporary name where the file's own is
// taken: what can fail for want of room is behind it then.
func (o *File) flush() error {
	if o.mode != 0 {
		if err := o.f.Chmod(o.mode); err != nil {
			return err
		}
	}
	return o.f.Sync()
}

// name gives a flushed file its name; the caller holds pending.
func (o *File) name() error {
	if pending.abandoned {
		return errors.New("the program is ending")
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

// link names an unnamed file: by its own name at once where that is free
// (placed), else by a temporary one, since a link replaces nothing.
func (o *File) link() (placed bool, err error) {
	proc := fmt.Sprintf("/proc/self/fd/%d", o.f.Fd())
	err = unix.Linkat(unix.AT_FDCWD, proc, unix.AT_FDCWD, o.target, unix.AT_SYMLINK_FOLLOW)
	if err == nil {
		return true, nil
	}
	for try := 0; err == unix.EEXIST && try < 100; try++ {
		name := tempName(o.target)
		if err = unix.Linkat(unix.AT_FDCWD, proc, unix.AT_FDCWD, name, unix.AT_SYMLINK_FOLLOW); err == nil {
			o.temp = name
			return false, nil
		}
	}
	if err == unix.ENOENT || err == unix.EPERM || err == unix.EXDEV {
		return false, o.copyOut() // no /proc, or a file system that links no unnamed files
	}
	return false, err
}

func (o *File) syncFolder() {
	if d, err := os.Open(filepath.Dir(o.target)); err == nil {
		d.Sync() // some file systems refuse this for folders; the rename stands
		d.Close()
	}
}

// copyOut copies an unnamed file to a temporary name.
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
