package cc

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestDamagedEntryIsRebuilt(t *testing.T) {
	cfg := testConfig(t)
	b, n := newBuilder(t, cfg)
	src := Source{Text: add}
	o, err := b.Build(context.Background(), src)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(b.cache.dir, b.name(src))
	for what, damage := range map[string]func() error{
		"truncated": func() error { return os.WriteFile(file, o.Bytes[:len(o.Bytes)/2], 0o644) },
		"empty":     func() error { return os.WriteFile(file, nil, 0o644) },
		"a bit": func() error {
			b := bytes.Clone(o.Bytes)
			b[len(b)/3] ^= 4
			return os.WriteFile(file, b, 0o644)
		},
		"mode":   func() error { return os.Chmod(file, 0o666) },
		"a link": func() error { os.Remove(file); return os.Symlink("/bin/true", file) },
		"a pipe": func() error { os.Remove(file); return syscall.Mkfifo(file, 0o600) },
		"another leaf": func() error {
			other := Source{Text: "int add(int a, int b) { return a - b; }"}
			if _, err := b.Build(context.Background(), other); err != nil {
				return err
			}
			return os.Rename(filepath.Join(b.cache.dir, b.name(other)), file)
		},
		"a leaf of another kind": func() error {
			cfg := cfg
			cfg.Kind = "mpi"
			other, _ := newBuilder(t, cfg)
			if _, err := other.Build(context.Background(), src); err != nil {
				return err
			}
			return os.Rename(filepath.Join(other.cache.dir, other.name(src)), file)
		},
	} {
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		n.list = nil
		got, err := b.Build(context.Background(), src)
		if err != nil || got.Cached {
			t.Errorf("%s: %v, from the cache %v", what, err, got != nil && got.Cached)
			continue
		}
		if len(n.list) == 0 || !strings.Contains(n.list[0], "compiled again") {
			t.Errorf("%s: notes %q", what, n.list)
		}
		if got, err = b.Build(context.Background(), src); err != nil || !got.Cached {
			t.Errorf("%s: not cached after the rebuild: %v", what, err)
		}
	}
}

func TestUntrustedCache(t *testing.T) {
	cfg := testConfig(t)
	parent := filepath.Dir(cfg.Cache)
	b, _ := newBuilder(t, cfg)
	src := Source{Text: add}
	if _, err := b.Build(context.Background(), src); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path string
		mode fs.FileMode
	}{
		{cfg.Cache, 0o777}, {cfg.Cache, 0o770}, {filepath.Join(cfg.Cache, "leaf"), 0o702},
		{parent, 0o777},
	} {
		if err := os.Chmod(c.path, c.mode); err != nil {
			t.Fatal(err)
		}
		b, n := newBuilder(t, cfg)
		o, err := b.Build(context.Background(), src)
		if err != nil || o.Cached {
			t.Errorf("%s with mode %o: %v, from the cache %v", c.path, c.mode, err,
				o != nil && o.Cached)
		}
		if len(n.list) != 1 || !strings.Contains(n.list[0], "writable by") {
			t.Errorf("%s with mode %o: notes %q", c.path, c.mode, n.list)
		}
		if err := os.Chmod(c.path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCacheThatCannotBeMade(t *testing.T) {
	cfg := testConfig(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cfg.Cache = filepath.Join(file, "cache")
	b, n := newBuilder(t, cfg)
	if _, err := b.Build(context.Background(), Source{Text: add}); err != nil {
		t.Fatal(err)
	}
	if len(n.list) != 1 || !strings.Contains(n.list[0], "is not used") {
		t.Errorf("notes %q", n.list)
	}
}

func TestListAndClear(t *testing.T) {
	cfg := testConfig(t)
	if l, err := List(cfg.Cache); err != nil || l != nil {
		t.Errorf("a cache that is not there lists %v, %v", l, err)
	}
	b, _ := newBuilder(t, cfg)
	for i := range 2 {
		if _, err := b.Build(context.Background(),
			Source{Text: add, Label: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Build(context.Background(), Source{Text: add + " ", Label: "two"}); err != nil {
		t.Fatal(err)
	}
	precious := filepath.Join(cfg.Cache, "leaf", "thesis.tex")
	for _, f := range []string{precious, filepath.Join(cfg.Cache, "leaf", tempPrefix+"1")} {
		if err := os.WriteFile(f, []byte("12345"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l, err := List(cfg.Cache)
	if err != nil || len(l) != 2 {
		t.Fatalf("List: %v, %v", l, err)
	}
	size := int64(5)
	for _, e := range l {
		size += e.Size
		if e.Err != nil || e.Kind != "leaf" || e.Meta.Compiler == "" {
			t.Errorf("entry %+v", e)
		}
	}
	if n, s, err := Clear(cfg.Cache); err != nil || n != 3 || s != size {
		t.Errorf("Clear: %d files, %d bytes, %v; want 3, %d", n, s, err, size)
	}
	if l, err := List(cfg.Cache); err != nil || len(l) != 0 {
		t.Errorf("after Clear: %v, %v", l, err)
	}
	if _, err := os.Stat(precious); err != nil {
		t.Errorf("Clear took a file that is not ours: %v", err)
	}
}

// The list has the time of an object's last use. Get changes the time, and List does not.
func TestLastUse(t *testing.T) {
	cfg := testConfig(t)
	b, _ := newBuilder(t, cfg)
	src := Source{Text: add, Label: "a + b", Tensors: []Tensor{{"A", "ds", "float64"}}}
	if _, err := b.Build(context.Background(), src); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(cfg.Cache, "leaf", b.Key(src))
	old := time.Now().Add(-48 * time.Hour).Truncate(time.Second)
	entry := func() Entry {
		t.Helper()
		l, err := List(cfg.Cache)
		if err != nil || len(l) != 1 || l[0].Err != nil {
			t.Fatalf("List: %+v, %v", l, err)
		}
		return l[0]
	}
	for _, mode := range []os.FileMode{0o644, 0o444} {
		os.Chmod(path, mode)
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if e := entry(); !e.Used.Equal(old) ||
				!reflect.DeepEqual(e.Meta.Tensors, src.Tensors) ||
				time.Since(e.Meta.Made) > time.Hour {
				t.Errorf("before its use: %+v, want the time %v", e, old)
			}
		}
		if o, err := b.Build(context.Background(), src); err != nil || !o.Cached {
			t.Fatal(err)
		}
		if e := entry(); time.Since(e.Used) > time.Hour {
			t.Errorf("mode %o, after its use: %v", mode, e.Used)
		}
	}
	// A file that others may write is still refused, and is not marked.
	os.Chmod(path, 0o666)
	os.Chtimes(path, old, old)
	c, err := OpenCache(cfg.Cache, "leaf")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Get(b.Key(src)); err == nil ||
		!strings.Contains(err.Error(), "writable by everyone") {
		t.Errorf("a file that everyone may write: %v", err)
	}
	if st, err := os.Stat(path); err != nil || !st.ModTime().Equal(old) {
		t.Errorf("it was marked as used: %v, %v", st, err)
	}
}

func TestDefaultRoot(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"DISTAFF_CACHE": "/d", "XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/d"},
		{map[string]string{"XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/x/distaff"},
		{map[string]string{"XDG_CACHE_HOME": "x", "HOME": "/h"}, "/h/.cache/distaff"},
		{nil, ""},
	} {
		got, err := DefaultRoot(func(k string) string { return c.env[k] })
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%v: %q, %v, want %q", c.env, got, err, c.want)
		}
	}
}

// Objects of every kind are found only under their own names.
func TestObjectUnderAnotherName(t *testing.T) {
	root := filepath.Join(privateDir(t), "cache")
	for _, kind := range []string{"leaf", "mpi", "cuda", "machine"} {
		c, err := OpenCache(root, kind)
		if err != nil {
			t.Fatal(err)
		}
		names := []string{Name("one", "m", nil, nil), Name("two", "m", nil, nil)}
		for _, name := range names {
			o, err := Seal([]byte(name), Meta{Label: name})
			if err == nil {
				err = c.Put(name, o)
			}
			if err != nil {
				t.Fatal(err)
			}
			if got, err := c.Get(name); err != nil || string(got.Payload()) != name ||
				!bytes.Equal(got.Bytes, o.Bytes) {
				t.Fatalf("%s: %v", kind, err)
			}
		}
		if err := os.Rename(filepath.Join(c.dir, names[1]),
			filepath.Join(c.dir, names[0])); err != nil {
			t.Fatal(err)
		}
		if o, err := c.Get(names[0]); err == nil ||
			!strings.Contains(err.Error(), "the object of another leaf") {
			t.Errorf("%s: got %+v, %v", kind, o, err)
		}
		if o := c.Find(names[0]); o != nil {
			t.Errorf("%s: found %+v", kind, o)
		}
	}
	list, err := List(root)
	if err != nil || len(list) != 4 {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, e := range list {
		if e.Err == nil {
			t.Errorf("listed as whole: %+v", e)
		}
	}
}
