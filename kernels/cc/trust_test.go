package cc

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCacheThatCannotBeWritten(t *testing.T) {
	cfg := testConfig(t)
	b, n := newBuilder(t, cfg)
	if err := os.Remove(filepath.Join(cfg.Cache, "leaf")); err != nil {
		t.Fatal(err)
	}
	o, err := b.Build(context.Background(), Source{Text: add})
	if err != nil || o.Cached {
		t.Fatalf("%v, cached %v", err, o != nil && o.Cached)
	}
	if len(n.list) != 1 || !strings.Contains(n.list[0], "cannot be kept in the cache") {
		t.Errorf("notes %q", n.list)
	}
}

// A file that another user made is not loaded, although nobody else can write to it now.
func TestOwners(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	if programOwner() == 12345 {
		t.Skip("the test belongs to the stranger")
	}
	cfg := testConfig(t)
	b, n := newBuilder(t, cfg)
	src := Source{Text: add}
	if _, err := b.Build(context.Background(), src); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(b.cache.dir, b.name(src))
	if err := os.Chown(file, 12345, 12345); err != nil {
		t.Skip(err)
	}
	o, err := b.Build(context.Background(), src)
	if err != nil || o.Cached {
		t.Errorf("another user's file: %v, from the cache %v", err, o != nil && o.Cached)
	}
	if len(n.list) != 1 || !strings.Contains(n.list[0], "belongs to user 12345") {
		t.Errorf("notes %q", n.list)
	}
	for _, dir := range []string{b.cache.dir, cfg.Cache, filepath.Dir(cfg.Cache)} {
		if err := os.Chown(dir, 12345, 12345); err != nil {
			t.Fatal(err)
		}
		b, n := newBuilder(t, cfg)
		o, err := b.Build(context.Background(), src)
		if err != nil || o.Cached || len(n.list) != 1 ||
			!strings.Contains(n.list[0], "belongs to user 12345") {
			t.Errorf("another user's %s: %v, notes %q", dir, err, n.list)
		}
		if err := os.Chown(dir, 0, 0); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTrusted(t *testing.T) {
	dir := privateDir(t)
	inner := filepath.Join(dir, "a", "b")
	if err := os.MkdirAll(inner, 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(inner, link); err != nil {
		t.Fatal(err)
	}
	outer := filepath.Join(dir, "a")
	for _, c := range []struct {
		mode os.FileMode
		ok   bool
	}{{0o700, true}, {0o755, true}, {0o777, false}, {0o777 | os.ModeSticky, true}, {0o757, false}} {
		if err := os.Chmod(outer, c.mode); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{inner, link} {
			if real, err := Trusted(path); (err == nil) != c.ok ||
				err == nil && filepath.Base(real) != "b" {
				t.Errorf("%s below a folder of mode %v: %q, %v", path, c.mode, real, err)
			}
		}
	}
	if _, err := Trusted(filepath.Join(dir, "none")); err == nil {
		t.Error("a folder that is not there is trusted")
	}
}
