package text

import (
	"bytes"
	"compress/bzip2"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// packing is a kind of compression.
type packing struct {
	name string // for messages
	ext  string // the extension of compressed files
	is   func(head []byte) bool
	// open returns a reader of the content of r. buffer is the size of the input buffer in bytes.
	// workers is the number of goroutines that decompress; 0 means as many as are useful.
	open func(s *Source, r io.Reader, buffer, workers int) (io.ReadCloser, error)
}

// magicSize is the number of bytes at the start of a file that decide the kind of compression.
const magicSize = 10

var packings = []*packing{
	{"gzip", ".gz", func(b []byte) bool { return bytes.HasPrefix(b, []byte{0x1f, 0x8b}) },
		func(s *Source, r io.Reader, buffer, workers int) (io.ReadCloser, error) {
			return newMembers(r, buffer)
		}},
	{"zstd", ".zst", isZstd,
		func(s *Source, r io.Reader, buffer, workers int) (io.ReadCloser, error) {
			opts := []zstd.DOption{zstd.WithDecoderMaxWindow(uint64(s.window())),
				zstd.WithDecoderLowmem(true)}
			if workers > 0 {
				opts = append(opts, zstd.WithDecoderConcurrency(workers))
			}
			z, err := zstd.NewReader(newFrames(r, buffer), opts...)
			if err != nil {
				return nil, err
			}
			return z.IOReadCloser(), nil
		}},
	{"bzip2", ".bz2", isBzip2,
		func(s *Source, r io.Reader, buffer, workers int) (io.ReadCloser, error) {
			return io.NopCloser(bzip2.NewReader(r)), nil
		}},
	{"xz", ".xz", func(b []byte) bool { return bytes.HasPrefix(b, []byte("\xfd7zXZ\x00")) },
		func(s *Source, r io.Reader, buffer, workers int) (io.ReadCloser, error) {
			z, err := xz.NewReader(newXZBlocks(r, buffer, s.window()))
			return io.NopCloser(z), err
		}},
}

func isZstd(b []byte) bool {
	return bytes.HasPrefix(b, []byte{0x28, 0xb5, 0x2f, 0xfd}) ||
		len(b) > 3 && b[0]&0xf0 == 0x50 && bytes.Equal(b[1:4], []byte{0x2a, 0x4d, 0x18})
}

// isBzip2 reports whether b is the start of a bzip2 file: BZh, a block size, and the magic number
// of a block or of the end. A text cannot start like this.
func isBzip2(b []byte) bool {
	return len(b) >= 10 && string(b[:3]) == "BZh" && b[3] >= '1' && b[3] <= '9' &&
		(string(b[4:10]) == "1AY&SY" || string(b[4:10]) == "\x17\x72\x45\x38\x50\x90")
}

// packingOf returns the kind of compression of a file that starts with head, or nil.
func packingOf(head []byte) *packing {
	for _, p := range packings {
		if p.is(head) {
			return p
		}
	}
	return nil
}

// PackedExt returns the extension at the end of path if it is the extension of a compressed file,
// and otherwise "".
func PackedExt(path string) string {
	for _, p := range packings {
		if n := len(path) - len(p.ext); n >= 0 && strings.EqualFold(path[n:], p.ext) {
			return path[n:]
		}
	}
	return ""
}

// packed reports whether the content differs from the bytes of the file.
func (s *Source) packed() bool { return s.pack != nil || s.tar != nil }
