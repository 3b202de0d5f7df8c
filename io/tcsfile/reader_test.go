package tcsfile

import (
	"bytes"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
)

// counting counts what is read.
type counting struct {
	r io.Reader
	n int64
}

func (c *counting) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}

// Of a stream that is no .tcs no more than a header is read, and of one that is,
// no more than it says; what does not fit a disk is refused before.
func TestOpenReader(t *testing.T) {
	good := file(t, csr(t), WriteOptions{})
	zeros := make([]byte, 1<<20)
	huge := slices.Clone(good)
	binary.LittleEndian.PutUint64(huge[16:], 1<<61)
	a,
		err := tcs.New(&tcs.Shape{Header: tcs.Header{Dims: []int64{1 << 16}, Type: tensor.Float64},
		Format: tensor.FormatOf("d", []int{0})}, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	long := file(t, a, WriteOptions{})
	for _, c := range []struct {
		name string
		b    []byte
		most int64
		want string
	}{
		{"good", good, int64(len(good)), ""},
		{"long", long, int64(len(long)), ""},
		{"zeros", zeros, fixedLen, "not a .tcs file"},
		{"a length that is not so", fix(huge), int64(len(good)), "after the last section"},
		{"more than it says", append(slices.Clone(good), zeros...), int64(len(good)) + 1,
			"more than"},
		{"less than it says", long[:len(long)-1], int64(len(long)), "truncated: "},
		{"cut in its header", good[:200], 200, "truncated in its header"},
		{"nothing", nil, 0, "not a .tcs file"},
	} {
		f, err := os.CreateTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		r := &counting{r: bytes.NewReader(c.b)}
		x, err := OpenReader("a.tcs.zst", r, f)
		if c.want == "" && err == nil {
			err = Verify(x)
		}
		if c.want == "" && err != nil || c.want != "" &&
			(err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
		if r.n > c.most {
			t.Errorf("%s: %d bytes were read, want at most %d", c.name, r.n, c.most)
		}
		if x != nil {
			x.Close()
		}
	}
}

// A header that announces a file of 2^55 bytes is refused, because the disk does not have
// enough room.
func TestOpenReaderWithoutRoom(t *testing.T) {
	h := fileHeader{shape: tcs.Shape{Header: tcs.Header{Dims: []int64{1 << 52}, Type: tensor.Float64},
		Format: tensor.FormatOf("d", []int{0})}, length: headerLen(1, 1)}
	h.stats.Levels = []tcs.LevelStats{{Positions: 1 << 52}}
	h.sections = []fileSection{{section: tcs.Section{Level: -1, Array: tcs.ValsArray, Width: 8,
		Len: 1 << 52, Offset: alignUp(h.length)}, stored: 1 << 55}}
	h.total = alignUp(h.length) + 1<<55
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	var e *tcs.Error
	if _, err = OpenReader("a.tcs.zst", bytes.NewReader(h.encode()), f); !errors.As(err, &e) ||
		e.Exit != exitRun || !strings.Contains(err.Error(), "its contents take 32 PiB") {
		t.Errorf("got %v", err)
	}
}
