package convert

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"distaff/io/coo"
	"distaff/io/readertest"
	"distaff/io/tensor"
)

// ordered opens a file as sorted entries.
func ordered(path string, dims []int64) (*coo.Ordered, error) {
	s, err := Open(path, coo.Options{Dims: dims, Order: len(dims)})
	if err != nil {
		return nil, err
	}
	o, err := coo.Sort(s, coo.Spec{Name: path}, coo.Config{})
	if err != nil {
		s.Close()
	}
	return o, err
}

// same compares two files as tensors.
func same(t *testing.T, a, b string) {
	t.Helper()
	x, err := ordered(a, nil)
	if err != nil {
		t.Errorf("%s: %v", a, err)
		return
	}
	defer x.Close()
	var dims []int64
	if strings.Contains(b, ".tns") { // it has no sizes
		dims, _ = x.Dims()
	}
	y, err := ordered(b, dims)
	if err != nil {
		t.Errorf("%s: %v", b, err)
		return
	}
	defer y.Close()
	d, err := coo.Diff(x, y, 0, 0, 3)
	if err != nil {
		t.Errorf("%s and %s: %v", a, b, err)
	} else if d.Differ > 0 {
		t.Errorf("%s and %s differ: %+v", a, b, d)
	}
}

// TestRealFiles converts every real file to .tcs in a random format and from
// there to every format that holds it, and compares.
func TestRealFiles(t *testing.T) {
	files := readertest.Files(t, "matrices", "tensors", "quirks")
	refused := map[string]bool{"mangled1.mtx": true, "mangled3.mtx": true, "mangled5.mtx": true,
		"mangled_format.mtx": true, "matrix_fp32.mtx": true}
	r := rand.New(rand.NewPCG(1, 1))
	dir := t.TempDir()
	all := os.Getenv("DISTAFF_ALL_DATA") != "" // large files, and every format of each: a minute
	done := 0
	for _, in := range files {
		st, err := os.Stat(in)
		if err != nil {
			t.Fatal(err)
		}
		if st.Size() > 40<<10 && !all {
			continue
		}
		s, err := Open(in, coo.Options{})
		if err == nil {
			_, err = coo.SurveyOf(s)
			s.Close()
		}
		if refused[filepath.Base(in)] {
			if e, ok := err.(interface{ ExitCode() int }); !ok || e.ExitCode() != 3 {
				t.Errorf("%s: got %v, want a refusal with exit 3", in, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		s, _ = Open(in, coo.Options{})
		dims, _ := s.Dims()
		s.Close()
		formats := []string{"ds", "ss", "uq", "uc", "du", "sd"}
		if len(dims) != 2 {
			formats = []string{strings.Repeat("s", len(dims)),
				"u" + strings.Repeat("c", len(dims)-2) + "q",
				"d" + strings.Repeat("s", len(dims)-1)}
		}
		if len(dims) == 2 && dims[0]*dims[1] > 1<<22 {
			formats = formats[:4]
		}
		first := filepath.Join(dir, "a.tcs")
		opt := Options{HasFormat: true,
			Format: tensor.FormatOf(formats[r.IntN(len(formats))], r.Perm(len(dims)))}
		if err := File(in, first, opt); err != nil {
			t.Errorf("%s as %s: %v", in, opt.Format.String(), err)
			continue
		}
		same(t, in, first)
		exts := []string{".tns", ".mtx", ".npy", ".npz", ".tns.gz"}
		if !all { // each output costs a flush to disk
			k := r.IntN(len(exts))
			exts = exts[k : k+1]
		}
		for _, ext := range exts {
			if Writable("x"+ext, len(dims)) != nil || ext == ".npy" && product(dims) > 1<<20 {
				continue
			}
			second := filepath.Join(dir, "b"+ext)
			if err := File(first, second, Options{}); err != nil {
				t.Errorf("%s by way of .tcs to %s: %v", in, ext, err)
				continue
			}
			same(t, in, second)
		}
		done++
	}
	t.Logf("%d files", done)
}

func product(dims []int64) int64 {
	n := int64(1)
	for _, d := range dims {
		n *= d
	}
	return n
}
