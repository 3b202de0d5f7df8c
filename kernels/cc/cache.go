package cc

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// maxObject is the largest size of a file that is read as an object.
const maxObject = 1 << 28

// DefaultRoot returns the root of the cache from the environment: DISTAFF_CACHE, or distaff in
// XDG_CACHE_HOME, or ~/.cache/distaff.
func DefaultRoot(getenv func(string) string) (string, error) {
	if d := getenv("DISTAFF_CACHE"); d != "" {
		return filepath.Abs(d)
	}
	// The XDG specification says to ignore a relative path.
	if d := getenv("XDG_CACHE_HOME"); filepath.IsAbs(d) {
		return filepath.Join(d, "distaff"), nil
	}
	if d := getenv("HOME"); filepath.IsAbs(d) {
		return filepath.Join(d, ".cache", "distaff"), nil
	}
	return "", errors.New("no folder for the cache; set DISTAFF_CACHE, XDG_CACHE_HOME or HOME")
}

// Cache holds the objects of one kind in the cache's root. Several goroutines and processes may
// call its methods at the same time.
type Cache struct {
	dir  string // ROOT/KIND, without links
	kind string // the folder's name
}

// OpenCache opens the folder of kind in root, and creates missing folders with mode 0700. It fails
// if the folder is not Trusted.
func OpenCache(root, kind string) (*Cache, error) {
	dir := filepath.Join(root, kind)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	// The root needs its own check, because a folder on the path is checked less strictly.
	if _, err := Trusted(root); err != nil {
		return nil, err
	}
	real, err := Trusted(dir)
	if err != nil {
		return nil, err
	}
	return &Cache{real, kind}, nil
}

// Get reads the object called name and marks it as used. The error is fs.ErrNotExist if there is no
// such object. Any other error says why the object cannot be used.
func (c *Cache) Get(name string) (*Object, error) { return c.read(name, true) }

func (c *Cache) read(name string, used bool) (*Object, error) {
	path := filepath.Join(c.dir, name)
	b, err := readChecked(path, used)
	if err != nil {
		return nil, err
	}
	o, err := Decode(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if o.Meta.Key != c.key(name) {
		return nil, fmt.Errorf("%s contains the object of another leaf, %q; remove it with distaff "+
			"cache clear", path, o.Meta.Key)
	}
	o.Cached = true
	return o, nil
}

// key returns the Meta.Key of an object stored under name.
func (c *Cache) key(name string) string { return c.kind + "/" + name }

// Put stores an object under name. If it returns an error, the cache has no incomplete object. Put
// first changes o: it adds the name to the trailer as o.Meta.Key, so that Get refuses the object
// under any other name.
func (c *Cache) Put(name string, o *Object) error {
	m := o.Meta
	m.Key = c.key(name)
	keyed, err := Seal(o.Payload(), m)
	if err != nil {
		return err
	}
	o.Bytes, o.Meta = keyed.Bytes, keyed.Meta
	f, err := os.CreateTemp(c.dir, tempPrefix)
	if err != nil {
		return err
	}
	_, err = f.Write(o.Bytes)
	if err == nil {
		// 0644, because a site may allow others to read its cache.
		err = f.Chmod(0o644)
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(c.dir, name))
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

const (
	tempPrefix   = ".new-"
	objectSuffix = ".so"
)

// names lists the objects whose names start with prefix.
func (c *Cache) names(prefix string) ([]string, error) {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if n := e.Name(); strings.HasPrefix(n, prefix) && strings.HasSuffix(n, objectSuffix) &&
			e.Type().IsRegular() {
			out = append(out, n)
		}
	}
	return out, nil
}

// Find returns an undamaged object whose name starts with prefix, or nil if there is none.
func (c *Cache) Find(prefix string) *Object {
	names, err := c.names(prefix)
	if err != nil {
		return nil
	}
	for _, n := range names {
		if o, err := c.Get(n); err == nil {
			return o
		}
	}
	return nil
}

// Name returns the name of an object in a cache. It consists of four parts: a hash of the source
// text, the kind of machine as text (for example "sm_90"), a hash of the flags, and a hash of the
// strings that identify the compiler.
func Name(source, machine string, flags, compiler []string) string {
	return strings.Join([]string{key(magic, source), machine, key(flags...), key(compiler...)},
		".") + objectSuffix
}

// Entry is one object in the cache.
type Entry struct {
	Kind string // the folder: "leaf", ...
	Name string // the file's name in the folder
	Size int64  // in bytes
	// Used is the time of the last use, or of creation, to a minute. Get updates it if this user
	// may change the file's times.
	Used time.Time
	Meta Meta  // zero if Err is set
	Err  error // the reason if the object cannot be used
}

// List returns the objects in root, sorted by kind and name. It returns nil if root does not exist.
func List(root string) ([]Entry, error) {
	kinds, err := os.ReadDir(root)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []Entry
	for _, k := range kinds {
		if !k.IsDir() {
			continue
		}
		c := &Cache{filepath.Join(root, k.Name()), k.Name()}
		names, err := c.names("")
		if err != nil {
			return nil, err
		}
		for _, n := range names {
			e := Entry{Kind: k.Name(), Name: n}
			if st, err := os.Lstat(filepath.Join(c.dir, n)); err == nil {
				e.Size, e.Used = st.Size(), st.ModTime()
			}
			if o, err := c.read(n, false); err != nil {
				e.Err = err
			} else {
				e.Meta = o.Meta
			}
			out = append(out, e)
		}
	}
	return out, nil
}

// Clear removes all objects and all incomplete files from root. An incomplete file is removed even
// if its process still writes it. Clear leaves all other files. It returns the number of the
// removed files and their total size in bytes.
func Clear(root string) (files int, size int64, err error) {
	kinds, err := os.ReadDir(root)
	if errors.Is(err, os.ErrNotExist) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, err
	}
	for _, k := range kinds {
		if !k.IsDir() {
			continue
		}
		dir := filepath.Join(root, k.Name())
		entries, err := os.ReadDir(dir)
		if err != nil {
			return files, size, err
		}
		for _, e := range entries {
			if !isObjectName(e.Name()) && !strings.HasPrefix(e.Name(), tempPrefix) ||
				!e.Type().IsRegular() {
				continue
			}
			st, err := e.Info()
			if err != nil {
				continue // another process cleared it first
			}
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return files, size, err
			}
			files, size = files+1, size+st.Size()
		}
	}
	return files, size, nil
}
