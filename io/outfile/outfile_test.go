package outfile

import (
	"os"
	"path/filepath"
	"testing"
)

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func want(t *testing.T, path, text string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil || string(b) != text {
		t.Errorf("%s: got %q, %v, want %q", filepath.Base(path), b, err, text)
	}
}

func TestCommit(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	if err := os.WriteFile(a, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	fa, err := Create(a)
	if err != nil {
		t.Fatal(err)
	}
	fb, err := Create(b)
	if err != nil {
		t.Fatal(err)
	}
	fa.Write([]byte("new a"))
	fb.Write([]byte("new b"))
	want(t, a, "old")
	if _, err := os.Stat(b); err == nil {
		t.Error("b is there before Commit")
	}
	if err := CommitAll(fa, fb); err != nil {
		t.Fatal(err)
	}
	want(t, a, "new a")
	want(t, b, "new b")
	if info, _ := os.Stat(a); info.Mode().Perm() != 0o640 {
		t.Errorf("mode of a: got %v, want 0640", info.Mode().Perm())
	}
	fa.Abort()
	want(t, a, "new a")
	if got := names(t, dir); len(got) != 2 {
		t.Errorf("files left: %v", got)
	}
}

func TestAbort(t *testing.T) {
	dir := t.TempDir()
	a := filepath.Join(dir, "a")
	if err := os.WriteFile(a, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Create(a)
	if err != nil {
		t.Fatal(err)
	}
	f.Write([]byte("new"))
	f.Abort()
	want(t, a, "old")
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("files left: %v", got)
	}
}

// TestNamed forces the way of file systems that cannot make nameless files.
func TestNamed(t *testing.T) {
	dir := t.TempDir()
	a := filepath.Join(dir, "a")
	temp := tempName(a)
	file, err := os.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	f := &File{f: file, path: a, target: a, temp: temp}
	f.Write([]byte("x"))
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	want(t, a, "x")
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("files left: %v", got)
	}
}

func TestLink(t *testing.T) {
	dir := t.TempDir()
	a, l := filepath.Join(dir, "a"), filepath.Join(dir, "l")
	os.WriteFile(a, []byte("old"), 0o600)
	if err := os.Symlink("a", l); err != nil {
		t.Skip(err)
	}
	f, err := Create(l)
	if err != nil {
		t.Fatal(err)
	}
	f.Write([]byte("new"))
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	want(t, a, "new")
	if info, _ := os.Lstat(l); info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link was replaced, not the file that it names")
	}
}

func TestCreateErrors(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Join(dir, "missing", "a"), dir + "/a/"} {
		if f, err := Create(path); err == nil {
			f.Abort()
			t.Errorf("%s: created", path)
		}
	}
}

func TestDirect(t *testing.T) {
	f, err := Create(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	if !f.Streams() {
		t.Error("a device is not direct")
	}
	if err := f.Commit(); err != nil {
		t.Error(err)
	}
}

// TestCleanup comes last: nothing gets its name after it.
func TestCleanup(t *testing.T) {
	defer func() { pending.abandoned = false }()
	dir := t.TempDir()
	a := filepath.Join(dir, "a")
	if err := os.WriteFile(a, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := create(a, true)
	if err != nil {
		t.Fatal(err)
	}
	f.Write([]byte("new"))
	Cleanup()
	if err := f.Commit(); err == nil {
		t.Error("committed after Cleanup")
	}
	want(t, a, "old")
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("files left: %v", got)
	}
}

// TestStop: of the outputs of a program that is to end, none gets its name.
func TestStop(t *testing.T) {
	defer func() { pending.abandoned = false }()
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	if err := os.WriteFile(a, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	var files []*File
	for _, path := range []string{b, a} {
		f, err := Create(path)
		if err != nil {
			t.Fatal(err)
		}
		f.Write([]byte("new"))
		files = append(files, f)
	}
	Stop()
	if err := CommitAll(files...); err == nil {
		t.Error("committed after Stop")
	}
	want(t, a, "old")
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("files left: %v", got)
	}
}
