package spmd

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"

	"distaff/io/text"
)

// checksums notes what the input files held, before any output replaces them.
// A .tcs file's is what its own checksums say, another one's the SHA-256 of its
// bytes; standard input and pipes have none.
func (r *run) checksums() error {
	if !r.job.Checksums {
		return nil
	}
	for _, name := range r.p.names {
		s := r.sources[name]
		switch {
		case s == nil || s.in.File == "" || s.scalar != nil || text.Stdin(s.in.File):
		case s.tensor != nil:
			s.checksum = s.tensor.Checksum()
		default:
			sum, err := FileSum(s.in.File)
			if err != nil {
				return err
			}
			s.checksum = sum
		}
	}
	return nil
}

// FileSum is the SHA-256 of a plain file's bytes, as statistics give it; ""
// for standard input, pipes and devices, which are read once.
func FileSum(path string) (string, error) {
	if info, err := os.Stat(path); text.Stdin(path) || err == nil && !info.Mode().IsRegular() {
		return "", nil
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}
