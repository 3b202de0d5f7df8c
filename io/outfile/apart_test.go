package outfile

import (
	"os"
	"path/filepath"
	"testing"
)

// TestApart: files are one where they will be one on the disk, whatever their paths are.
func TestApart(t *testing.T) {
	dir := t.TempDir()
	at := func(names ...string) string { return filepath.Join(append([]string{dir}, names...)...) }
	for _, err := range []error{
		os.MkdirAll(at("sub", "deep"), 0o700),
		os.WriteFile(at("a.npy"), nil, 0o600),
		os.Link(at("a.npy"), at("hard.npy")),
		os.Symlink("a.npy", at("soft.npy")),
		os.Symlink("new.npy", at("dangling.npy")),
		os.Symlink("dangling.npy", at("twice.npy")),
		os.Symlink(at("sub"), at("folder")),
		os.Symlink(at("sub", "deep"), at("deep")),
		os.Symlink("../up.npy", at("sub", "deep", "up.npy")), // sub/up.npy
		os.Symlink("loop.npy", at("loop.npy")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		a, b string
		one  bool
	}{
		{"a.npy", "a.npy", true},
		{"a.npy", "sub/../a.npy", true},
		{"a.npy", "soft.npy", true},
		{"a.npy", "hard.npy", true},
		{"a.npy", "new.npy", false},
		{"new.npy", "dangling.npy", true},
		{"new.npy", "twice.npy", true},
		{"dangling.npy", "twice.npy", true},
		{"sub/x.npy", "folder/x.npy", true},
		{"sub/x.npy", "x.npy", false},
		{"deep/up.npy", "sub/up.npy", true},
		{"deep/up.npy", "up.npy", false},
		{"deep/../y.npy", "sub/y.npy", true},
		{"deep/../y.npy", "y.npy", false},
		{"loop.npy", "a.npy", false},
		{"missing/x.npy", "a.npy", false},
	} {
		// Joining would drop "..".
		a, b := Use{What: "a", Path: dir + "/" + c.a, Writes: true},
			Use{What: "b", Path: dir + "/" + c.b, Writes: true}
		if err := Apart(a, b); (err != nil) != c.one {
			t.Errorf("%s and %s: got %v, want one file: %v", c.a, c.b, err, c.one)
		}
		b.Writes = false
		if err := Apart(b, a); (err != nil) != c.one {
			t.Errorf("%s, and %s that is read: got %v, want one file: %v", c.a, c.b, err, c.one)
		}
		a.Writes = false
		if err := Apart(a, b); err != nil {
			t.Errorf("%s and %s are only read: %v", c.a, c.b, err)
		}
	}
}

// TestApartUses checks which uses may have the same file, and the errors for the others.
func TestApartUses(t *testing.T) {
	dir := t.TempDir()
	a, link := filepath.Join(dir, "a.npy"), filepath.Join(dir, "a.mtx")
	if err := os.WriteFile(a, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(a, link); err != nil {
		t.Fatal(err)
	}
	const reads, writes = "--stats=f: got the file that -i=x:a.npy reads, want a different file",
		"--stats=f: got the file that -i=x:a.npy also writes, want different files"
	for _, c := range []struct {
		name  string
		other Use // the first, of a.npy
		use   Use
		want  string
	}{
		{"a tensor over itself", Use{Path: a, Tensor: true},
			Use{Path: a, Writes: true, Tensor: true}, ""},
		{"a tensor over another format", Use{Path: a, Tensor: true},
			Use{Path: link, Writes: true, Tensor: true}, reads},
		{"statistics over a tensor", Use{Path: a, Tensor: true}, Use{Path: a, Writes: true}, reads},
		{"two outputs", Use{Path: a, Writes: true, Tensor: true}, Use{Path: a, Writes: true},
			writes},
		{"two on standard output", Use{Path: "-", Writes: true},
			Use{Path: "/dev/stdout", Writes: true}, writes},
		{"a tensor and statistics on standard output", Use{Path: "-", Writes: true, Tensor: true},
			Use{Path: "-", Writes: true}, ""},
		{"a device", Use{Path: "/dev/null", Writes: true}, Use{Path: "/dev/null", Writes: true},
			""},
		{"standard input and output", Use{Path: "-", Tensor: true},
			Use{Path: "/dev/fd/2", Writes: true, Tensor: true}, ""},
	} {
		c.other.What, c.use.What = "-i=x:a.npy", "--stats=f"
		got := ""
		if err := Apart(c.other, c.use); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// TestDanglingLinks: the file that a chain of links names appears, and the links stay.
func TestDanglingLinks(t *testing.T) {
	dir := t.TempDir()
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
	for _, err := range []error{os.Symlink("new", one), os.Symlink("one", two)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	f, err := Create(two)
	if err != nil {
		t.Fatal(err)
	}
	f.Write([]byte("text"))
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	want(t, filepath.Join(dir, "new"), "text")
	if link, err := os.Readlink(one); link != "new" {
		t.Errorf("one: got a link to %q, %v, want it to stay", link, err)
	}
}
