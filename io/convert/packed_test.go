package convert

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"

	"distaff/io/coo"
	"distaff/io/readertest"
)

const rb = `title                                                                   KEY
             3             1             1             1
rua                        2             2             2             0
(3I5)           (2I5)           (2F5.1)
    1    2    3
    1    2
  1.5  2.5
`

// A compressed file of any format that was truncated or damaged is an error in the data, even
// if the damage is after the last entry.
func TestDamagedPacking(t *testing.T) {
	dir := t.TempDir()
	src := readertest.Write(t, "a.rb", rb)
	for _, name := range []string{"a.tns", "a.mtx", "a.npy", "a.npz", "a.tcs", "a.rb"} {
		plain := src
		if name != "a.rb" {
			plain = filepath.Join(dir, name)
			if err := File(src, plain, Options{}); err != nil {
				t.Fatal(err)
			}
		}
		content, err := os.ReadFile(plain)
		if err != nil {
			t.Fatal(err)
		}
		var gz bytes.Buffer
		z := gzip.NewWriter(&gz)
		z.Write(content)
		z.Close()
		enc, _ := zstd.NewWriter(nil, zstd.WithEncoderCRC(true))
		for ending, packed := range map[string][]byte{".gz": gz.Bytes(),
			".zst": enc.EncodeAll(content, nil)} {
			flipped := bytes.Clone(packed)
			flipped[len(flipped)-2] ^= 1
			for what, data := range map[string][]byte{"whole": packed,
				"cut": packed[:len(packed)-1], "half": packed[:len(packed)/2], "flipped": flipped,
				"none": nil} {
				path := filepath.Join(dir, name+ending)
				if err := os.WriteFile(path, data, 0o666); err != nil {
					t.Fatal(err)
				}
				err := File(path, filepath.Join(dir, "out.tcs"),
					Options{Read: coo.Options{Dims: []int64{2, 2}}})
				if what == "whole" {
					if err != nil {
						t.Errorf("%s%s: %v", name, ending, err)
					}
					continue
				}
				var coded interface{ ExitCode() int }
				if !errors.As(err, &coded) || coded.ExitCode() != 3 {
					t.Errorf("%s%s, %s: got %v, want an error with exit code 3", name, ending, what,
						err)
				}
			}
		}
	}
}
