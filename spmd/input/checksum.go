package input

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"

	"distaff/io/convert"
	"distaff/io/tcsfile"
	"distaff/io/text"
)

// Checksums records the checksums of the input files. It is called before an output replaces a
// file. A .tcs file contains its checksum. The checksum of any other file is the SHA-256 of its
// bytes. Standard input has no checksum. Another pipe has a checksum only if it contains a .tcs
// file.
func (r *Reader) Checksums() error {
	if !r.o.Checksums {
		return nil
	}
	for _, name := range r.p.Names {
		s := r.Sources[name]
		switch {
		case s == nil || s.In.File == "" || s.Scalar != nil || text.Stdin(s.In.File):
		case s.Tensor != nil:
			s.Checksum = tcsfile.Checksum(s.Tensor)
		default:
			sum, err := FileSum(s.In.File)
			if err != nil {
				return err
			}
			s.Checksum = sum
		}
	}
	return nil
}

// Checksum returns the checksum of an input file for the statistics of a job. It is computed in the
// same way as in Checksums. tmp is the folder for temporary files.
func Checksum(file, tmp string) (string, error) {
	if text.Stdin(file) || convert.Ext(file) != ".tcs" {
		return FileSum(file)
	}
	t, _, err := convert.OpenTensorFile(file, tmp)
	if err != nil {
		return "", err
	}
	defer t.Close()
	return tcsfile.Checksum(t), nil
}

// FileSum returns the SHA-256 of a file's bytes, in the form of the statistics. path may be
// FILE:NAME (see text.Split). FileSum returns "" for standard input, pipes and devices, which can be
// read only once.
func FileSum(path string) (string, error) {
	path, _ = text.Split(path)
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
