package outfile

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestUndo: where one of several outputs cannot get its name, all files are as they were.
func TestUndo(t *testing.T) {
	for _, old := range []bool{true, false} {
		for _, named := range []bool{true, false} {
			dir := t.TempDir()
			var files []*File
			for _, name := range []string{"a", "b", "c"} {
				path := filepath.Join(dir, name)
				if old {
					if err := os.WriteFile(path, []byte("old "+name), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				f, err := create(path, named)
				if err != nil {
					t.Fatal(err)
				}
				f.Write([]byte("new"))
				files = append(files, f)
			}
			// A folder takes b's place, which no file replaces.
			in := filepath.Join(dir, "b", "in")
			os.Remove(filepath.Join(dir, "b"))
			if err := os.MkdirAll(in, 0o700); err != nil {
				t.Fatal(err)
			}
			err := CommitAll(files...)
			if err == nil || !strings.Contains(err.Error(), "b: can't write the file: ") ||
				strings.Contains(err.Error(), "failed as well") {
				t.Errorf("got %v", err)
			}
			if _, err := os.Stat(in); err != nil {
				t.Error(err)
			}
			if !old {
				if got := names(t, dir); len(got) != 1 {
					t.Errorf("files left: %v", got)
				}
				continue
			}
			want(t, filepath.Join(dir, "a"), "old a")
			want(t, filepath.Join(dir, "c"), "old c")
			if got := names(t, dir); len(got) != 3 {
				t.Errorf("files left: %v", got)
			}
		}
	}
}

// TestDescriptor: an output to a descriptor that is open goes where that stands, and
// truncates nothing.
func TestDescriptor(t *testing.T) {
	dir := t.TempDir()
	log, err := os.OpenFile(filepath.Join(dir, "log"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	io.WriteString(log, "before ")
	link := filepath.Join(dir, "link")
	fd := "/dev/fd/" + strconv.Itoa(int(log.Fd()))
	if err := os.Symlink(fd, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{fd, "/proc/self/fd/" + strconv.Itoa(int(log.Fd())), link} {
		if err := Check(path); err != nil {
			t.Fatal(err)
		}
		f, err := Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if !f.Streams() {
			t.Errorf("%s does not stream", path)
		}
		f.Write([]byte("x "))
		if err := f.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	io.WriteString(log, "after")
	want(t, filepath.Join(dir, "log"), "before x x x after")
	read, err := os.Open(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	for path, says := range map[string]string{"/dev/fd/" +
		strconv.Itoa(int(read.Fd())): "the file descriptor must be open for writing",
		"/dev/fd/987": "bad file descriptor"} {
		if _, err := Create(path); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v", path, err)
		}
	}
	if !Stdout("/dev/stdout") || !Stdout("/dev/fd/1") || !Stdout("-") || Stdout("/dev/stderr") ||
		Stdout("x") || Stdout("") {
		t.Error("Stdout")
	}
}
