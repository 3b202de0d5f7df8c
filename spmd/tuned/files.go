package tuned

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"distaff/io/convert"
	"distaff/io/coo"
	"distaff/io/outfile"
	"distaff/io/tcs"
	"distaff/kernels/tune"
)

// fileRows is the number of rows of the test matrix, and fileEntries is the number of entries of
// each row. measureFiles measures how fast files with this matrix are read and written.
const fileRows, fileEntries = 20000, 8

// fileRounds is the number of times that each step is timed. The best time counts.
const fileRounds = 2

// measureFiles measures three rates, in bytes a second: reading a text file into a tensor, storing
// the tensor as a .tcs file, and loading that file with its checks. It uses a temporary folder in
// tmp.
func measureFiles(tmp string) (f tune.Files, err error) {
	dir, err := outfile.MkdirTemp(tmp, "distaff-files-")
	if err != nil {
		return f, err
	}
	defer os.RemoveAll(dir)
	text, stored := filepath.Join(dir, "matrix.tns"), filepath.Join(dir, "matrix.tcs")
	if err := os.WriteFile(text, matrixText(), 0o600); err != nil {
		return f, err
	}
	for range fileRounds {
		var t *tcs.Tensor
		for _, step := range []struct {
			path string
			rate *float64
			do   func() error
		}{
			{text, &f.Parse, func() (err error) { t, err = parsed(text, tmp); return err }},
			{stored, &f.Store, func() error {
				defer t.Close()
				return convert.WriteTensor(stored, t, convert.WriteOptions{Tmp: tmp})
			}},
			{stored, &f.Load, func() error { return loaded(stored, tmp) }},
		} {
			begun := time.Now()
			if err := step.do(); err != nil {
				return f, fmt.Errorf("measuring the machine (files): %w", err)
			}
			took := time.Since(begun).Seconds()
			info, err := os.Stat(step.path)
			if err != nil {
				return f, err
			}
			*step.rate = max(*step.rate, float64(info.Size())/took)
		}
	}
	return f, nil
}

// matrixText returns the test matrix (see fileRows) as the text of a .tns file. The values have
// seven digits.
func matrixText() []byte {
	var out []byte
	value := uint64(1)
	for i := range fileRows {
		for k := range fileEntries {
			value = value*6364136223846793005 + 1442695040888963407
			out = fmt.Appendf(out, "%d %d 0.%07d\n", i+1,
				k*fileRows/fileEntries+int(value>>40)%(fileRows/fileEntries)+1, value>>32%10000000)
		}
	}
	return out
}

// parsed reads a text file into a tensor.
func parsed(path, tmp string) (*tcs.Tensor, error) {
	s, err := convert.Open(path, coo.Options{Tmp: tmp})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return coo.Assemble(s, coo.Spec{Format: convert.Formatted(s), Name: path}, coo.Config{Tmp: tmp})
}

// loaded opens and checks a .tcs file, as a job does.
func loaded(path, tmp string) error {
	t, err := convert.OpenTensor(path, tmp)
	if err != nil {
		return err
	}
	defer t.Close()
	return convert.Ready(t, coo.Options{Tmp: tmp})
}
