package text

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

func TestExt(t *testing.T) {
	for path, want := range map[string]string{"a.tns": ".tns", "a.TNS.gz": ".tns",
		"-.mtx.zst": ".mtx", "/x.y/a": "", "a.gz": "", "-": ".tns", "b.RUA": ".rua"} {
		if got := Ext(path); got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}

func TestStdinNames(t *testing.T) {
	for path, want := range map[string]bool{"-": true, "-.tns": true, "-.tns.gz": true,
		"-a.tns": false, "-./a.tns": false, "a": false} {
		if Stdin(path) != want {
			t.Errorf("%s: got %v", path, !want)
		}
	}
}

// Several readers of a pipe each read all of it, even if it exceeds the part that is kept in
// memory.
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
	if _, err := sp.ReadAt(at, spoolMemory-10); err != nil ||
		string(at) != text[spoolMemory-10:spoolMemory+10] {
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

// compressed reads the bytes of a file with that name to its end.
func compressed(t *testing.T, name string, content []byte, limit int64) (string, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o666); err != nil {
		t.Fatal(err)
	}
	s, err := OpenSource(path, "")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.limit = limit
	r, err := s.Reader()
	if err != nil {
		return "", err
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	return string(b), err
}

// Zero bytes after the members of a gzip file, and after the frames of a zstd file, are ignored.
// Any other bytes are an error.
func TestPadding(t *testing.T) {
	var one bytes.Buffer
	z := gzip.NewWriter(&one)
	io.WriteString(z, "1 2 3\n")
	z.Close()
	testPadding(t, "gzip", one.String(), "1 2 3\n")
	for _, content := range []string{
		"1 2 3\n",
		strings.Repeat("\x00", 9),    // a frame that ends in a zero
		strings.Repeat("1", 3000000), // several blocks
		strings.Repeat("1 2 3\n", 100000),
	} {
		for _, sum := range []bool{true, false} {
			for _, known := range []bool{true, false} { // whether the header has the size
				one.Reset()
				z, _ := zstd.NewWriter(&one, zstd.WithEncoderCRC(sum), zstd.WithEncoderConcurrency(1))
				if known {
					one.Write(z.EncodeAll([]byte(content), nil))
				} else {
					io.WriteString(z, content)
					z.Flush()
					z.Close()
				}
				testPadding(t, "zstd", one.String(), content)
				skipped := "\x50\x2a\x4d\x18\x03\x00\x00\x00abc"
				testPadding(t, "zstd", skipped+one.String()+skipped, content)
			}
		}
	}
}

// testPadding reads a member, or some frames, of that content with zeros and other bytes after it.
func testPadding(t *testing.T, what, member, content string) {
	zeros := strings.Repeat("\x00", 700)
	after := what + ": got %s after the compressed data, want the end of the file"
	for _, c := range []struct{ in, want, err string }{
		{member, content, ""},
		{member + zeros, content, ""},
		{member + "\x00", content, ""},
		{member + member, content + content, ""},
		{member + zeros + member + zeros, content + content, ""},
		{member + "garbage", "", fmt.Sprintf(after, `"ga"`)},
		{member + zeros + "g", "", fmt.Sprintf(after, `"g"`)},
		{member + member[:len(member)/2], "", "the compressed data end too early"},
		{member[:len(member)/2], "", "the compressed data end too early"},
	} {
		got, err := compressed(t, "a", []byte(c.in), 0)
		if c.err == "" && (err != nil || got != c.want) || c.err != "" &&
			(err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s of %d bytes: got %q, %v; want %q, %s", what, len(c.in), clip(got), err,
				clip(c.want), c.err)
		}
	}
}

// clip returns the start of a long string.
func clip(s string) string { return s[:min(len(s), 50)] }

// A zstd frame may have a window of half of the memory limit, and always the default one.
func TestLongWindow(t *testing.T) {
	// one block of 3 bytes as they are, after a header without a size
	frame := func(window byte) []byte {
		return append([]byte{0x28, 0xb5, 0x2f, 0xfd, 0, window, 3<<3 | 1, 0, 0}, "1 2"...)
	}
	const mib = 1 << 20
	for _, c := range []struct {
		exponent byte // the window is 2^(10+exponent)
		limit    int64
		err      string
		code     int
	}{
		{17, 1 * mib, "", 0},
		{18, 512 * mib, "", 0},
		{18, 511 * mib,
			"is larger than 255.5 MiB, half of the memory that reading it may use " +
				"(--memory-limit)", ExitMemory},
		{19, 512 * mib, "is larger than 256 MiB", ExitMemory},
		{22, 1 << 40, "is larger than 2 GiB", ExitData},
	} {
		got, err := compressed(t, "a.zst", frame(c.exponent<<3), c.limit)
		if c.err == "" && (err != nil || got != "1 2") {
			t.Errorf("2^%d of %d: got %q, %v", 10+c.exponent, c.limit, got, err)
		}
		var e *Error
		if c.err != "" && (!errors.As(err, &e) || !strings.Contains(e.Msg, c.err) ||
			e.Exit != c.code) {
			t.Errorf("2^%d of %d: got %v, want %s", 10+c.exponent, c.limit, err, c.err)
		}
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
	if len(lines) != 4 || lines[0] != "a b\r" || lines[1] != "" || lines[2] != long ||
		lines[3] != "last" || h.Line != 4 || h.Off != int64(3+5+1+200001+4) {
		t.Errorf("got %d lines, line %d, offset %d", len(lines), h.Line, h.Off)
	}
	endless := strings.NewReader(strings.Repeat("x", maxLine+100000))
	if _, err := NewHead(endless, "f").Next(); err == nil ||
		!strings.Contains(err.Error(), "want lines of text") {
		t.Errorf("got %v", err)
	}
}
