package tcsfile

import (
	"bytes"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"encoding/binary"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// repack compresses the values of a compressed file, its last section, in frames
// by another encoder, and sets the header right.
func repack(t *testing.T, b []byte, frame func(chunk []byte) []byte) []byte {
	t.Helper()
	a, err := openBytes(t, b)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Load(nil); err != nil {
		t.Fatal(err)
	}
	h := &of(a).header
	sec := &h.sections[len(h.sections)-1]
	vals := a.Vals.Bytes()
	var table, frames []byte
	for from := int64(0); from < int64(len(vals)); from += h.chunk {
		f := frame(vals[from:min(from+h.chunk, int64(len(vals)))])
		table = binary.LittleEndian.AppendUint64(table, uint64(len(f)))
		frames = append(frames, f...)
	}
	out := append(append(bytes.Clone(b[:sec.section.Offset]), table...), frames...)
	sec.stored = int64(len(table) + len(frames))
	sec.crc = crc32.ChecksumIEEE(vals)
	h.total = int64(len(out))
	copy(out, h.encode())
	return out
}

// Frames whose window is larger than their chunk, as streams that do not know
// their length declare it, are read up to the limit of docs/tcs.md, and no
// frame may have more bytes than its chunk.
func TestFramesOfOtherEncoders(t *testing.T) {
	a,
		err := tcs.New(&tcs.Shape{Header: tcs.Header{Dims: []int64{5000}, Type: tensor.Float64},
		Format: tensor.FormatOf("d", []int{0})}, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	for i := range tcs.Values[float64](a) {
		tcs.Values[float64](a)[i] = float64(i % 77)
	}
	packed := file(t, a, WriteOptions{Compress: true})
	stream := func(window int, more []byte) func([]byte) []byte {
		return func(chunk []byte) []byte {
			var b bytes.Buffer
			z, err := zstd.NewWriter(&b, zstd.WithWindowSize(window))
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range [][]byte{chunk[:len(chunk)/2], chunk[len(chunk)/2:], more} {
				if _, err := z.Write(part); err != nil {
					t.Fatal(err)
				}
				if err := z.Flush(); err != nil { // so that the length is not declared
					t.Fatal(err)
				}
			}
			if err := z.Close(); err != nil {
				t.Fatal(err)
			}
			return b.Bytes()
		}
	}
	for _, c := range []struct {
		name  string
		frame func([]byte) []byte
		want  string
	}{
		{"a window of 1 KiB", stream(1<<10, nil), ""},
		{"a window of 8 MiB", stream(8<<20, nil), ""},
		{"a window of 128 MiB", stream(128<<20, nil), ""},
		{"a window of 256 MiB", stream(256<<20, nil),
			"section 0 is corrupt: chunk 0: its zstd window is larger than " +
				"128 MiB; compress it with a smaller window"},
		{"a byte too many", stream(8<<20, []byte{0}),
			"section 0 is corrupt: chunk 0: it has more than the expected 40000 bytes when decompressed"},
		{"a byte too few", func(b []byte) []byte { return stream(8<<20, nil)(b[1:]) },
			"chunk 0: it has 39999 bytes, want 40000"},
		{"no frame", func([]byte) []byte { return nil }, "chunk 0: it has 0 bytes, want 40000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := repack(t, packed, c.frame)
			for _, lazily := range []bool{false, true} {
				x, err := openBytes(t, b)
				if err != nil {
					t.Fatal(err)
				}
				if lazily {
					if err := LoadLazily(x, nil); err != nil {
						t.Fatal(err)
					}
				}
				err = Verify(x)
				if c.want == "" && (err != nil || !bytes.Equal(x.Vals.Bytes(), a.Vals.Bytes())) ||
					c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
					t.Errorf("lazily %v: got %v, want %q", lazily, err, c.want)
				}
				x.Close()
			}
		})
	}
}
