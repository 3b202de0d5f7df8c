package text

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestExt(t *testing.T) {
	for path, want := range map[string]string{"a.tns": ".tns", "a.TNS.gz": ".tns", "-.mtx.zst": ".mtx", "/x.y/a": "", "a.gz": "", "-": ".tns", "b.RUA": ".rua"} {
		if got := Ext(path); got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}

func TestStdinNames(t *testing.T) {
	for path, want := range map[string]bool{"-": true, "-.tns": true, "-.tns.gz": true, "-a.tns": false, "-./a.tns": false, "a": false} {
		if Stdin(path) != want {
			t.Errorf("%s: got %v", path, !want)
		}
	}
}

// Several readers of a pipe each see all of it, past what is kept in memory.
func TestSpool(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	text := strings.Repeat("0123456789", spoolMemory/10+12345)
	go func() {
		io.WriteString(w, text)
		w.Close()
	}()
	sp := newSpool(r, t.TempDir())
	a, b := &spoolReader{s: sp}, &spoolReader{s: sp}
	half := make([]byte, spoolMemory/2+3)
	if _, err := io.ReadFull(a, half); err != nil {
		t.Fatal(err)
	}
	whole, err := io.ReadAll(b)
	if err != nil || string(whole) != text {
		t.Fatalf("got %d bytes, %v; want %d", len(whole), err, len(text))
	}
	rest, err := io.ReadAll(a)
	if err != nil || string(half)+string(rest) != text {
		t.Fatalf("got %d bytes, %v; want %d", len(half)+len(rest), err, len(text))
	}
	at := make([]byte, 20)
	if _, err := sp.ReadAt(at, spoolMemory-10); err != nil || string(at) != text[spoolMemory-10:spoolMemory+10] {
		t.Errorf("got %q, %v", at, err)
	}
	sp.close()
	if _, err := b.Read(at); err == nil {
		t.Error("a closed spool was read")
	}
}

func TestShrunkFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.tns")
	if err := os.WriteFile(path, []byte(strings.Repeat("1 1\n", 1000)), 0o666); err != nil {
		t.Fatal(err)
	}
	s, err := OpenSource(path, "")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := os.Truncate(path, 400); err != nil {
		t.Fatal(err)
	}
	r, err := s.Reader()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if b, err := io.ReadAll(r); err == nil || !strings.Contains(err.Error(), "became shorter") {
		t.Errorf("got %d bytes and %v, want an error", len(b), err)
	}
}

func TestHead(t *testing.T) {
	long := strings.Repeat("x", 200000)
	h := NewHead(strings.NewReader("\xef\xbb\xbfa b\r\n\n"+long+"\nlast"), "f")
	var lines []string
	for {
		line, err := h.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(line))
	}
	if len(lines) != 4 || lines[0] != "a b\r" || lines[1] != "" || lines[2] != long || lines[3] != "last" || h.Line != 4 || h.Off != int64(3+5+1+200001+4) {
		t.Errorf("got %d lines, line %d, offset %d", len(lines), h.Line, h.Off)
	}
	if _, err := NewHead(strings.NewReader(strings.Repeat("x", maxLine+100000)), "f").Next(); err == nil || !strings.Contains(err.Error(), "want lines of text") {
		t.Errorf("got %v", err)
	}
}
