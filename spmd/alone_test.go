package spmd_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"distaff/io/convert"
	"distaff/io/coo"
	"distaff/io/tcsfile"
	"distaff/io/tensor"
	"distaff/spmd"
)

// A .tcs file that is compressed, or comes through a pipe, is read by rank 0 only, and gives the
// same result for every number of ranks.
func TestTensorsThatRankZeroReadsAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := filepath.Join(dir, "a.tns")
	var b bytes.Buffer
	for i := range 60 {
		fmt.Fprintf(&b, "%d %d %d\n", 1+i*7%13, 1+i*5%11, i%4)
	}
	if err := os.WriteFile(text, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		made string
		fit  bool
		zstd bool // the file's arrays are compressed, too
	}{{made: "ss"}, {made: "ds", zstd: true}, {made: "dd"}, {made: "uq"}, {made: "sd", fit: true},
		{made: "dd", fit: true}} {
		plain, packed, pipe := filepath.Join(dir, "a.tcs"), filepath.Join(dir, "a.tcs.gz"),
			filepath.Join(dir, "pipe.tcs")
		if err := convert.File(text, plain,
			convert.Options{Format: tensor.FormatOf(c.made, nil), HasFormat: true, FitDense: c.fit,
				Read: coo.Options{Dims: []int64{14, 12}}}); err != nil {
			t.Fatal(err)
		}
		if c.zstd {
			x, err := tcsfile.Open(plain)
			if err != nil {
				t.Fatal(err)
			}
			if err := tcsfile.Write(filepath.Join(dir, "z.tcs"), x,
				tcsfile.WriteOptions{Compress: true}); err != nil {
				t.Fatal(err)
			}
			x.Close()
			plain = filepath.Join(dir, "z.tcs")
		}
		content, err := os.ReadFile(plain)
		if err != nil {
			t.Fatal(err)
		}
		b.Reset()
		z := gzip.NewWriter(&b)
		z.Write(content)
		z.Close()
		if err := os.WriteFile(packed, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, as := range []string{"", "ss", "ds:1,0", "dd", "sd"} {
			run := func(in string, ranks int, splits []string) string {
				out := filepath.Join(dir, "out.tns")
				job := spmd.Job{Statement: "C(i,j) = A(i,j)", Formats: map[string]string{"C": "ss"},
					Inputs:  map[string]spmd.Input{"A": {File: in}},
					Outputs: []spmd.Output{{Tensor: "C", File: out}}}
				if as != "" {
					job.Formats["A"] = as
				}
				if in == pipe {
					os.Remove(pipe)
					if err := unix.Mkfifo(pipe, 0o600); err != nil {
						t.Skip("no named pipes: ", err)
					}
					go os.WriteFile(pipe, content, 0o600)
				}
				job.Target, job.Threads, job.Ranks, job.Splits = spmd.Interpreter, 1, ranks, splits
				if _, err := job.Run(context.Background()); err != nil {
					t.Fatalf("%s as %s, %s, %d ranks: %v", c.made, as, filepath.Base(in), ranks, err)
				}
				got, err := os.ReadFile(out)
				if err != nil {
					t.Fatal(err)
				}
				return string(got)
			}
			want := run(plain, 1, nil)
			for ranks := 1; ranks <= 3; ranks++ {
				for _, in := range []string{packed, pipe} {
					for _, splits := range [][]string{nil, {"j:4"}} {
						if got := run(in, ranks, splits); got != want {
							t.Errorf("%s as %s, %s, %d ranks, %v: got\n%swant\n%s", c.made, as, filepath.Base(in), ranks,
								splits, got, want)
						}
					}
				}
			}
		}
	}
}
