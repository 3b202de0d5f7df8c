package tcsfile

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"distaff/io/pythontest"
	"distaff/io/tcs"
	"distaff/io/tensor"
)

// TestPythonReader runs the reader that docs/tcs.md prints.
func TestPythonReader(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../docs/tcs.md")
	if err != nil {
		t.Fatal(err)
	}
	_, code, ok := strings.Cut(string(doc), "```python\n")
	code, _, ok2 := strings.Cut(code, "```")
	if !ok || !ok2 {
		t.Fatal("docs/tcs.md has no reader")
	}
	python := pythontest.Find(t, "import struct, sys, zlib")
	dir := t.TempDir()
	script := filepath.Join(dir, "read.py")
	if err := os.WriteFile(script, []byte(code), 0o666); err != nil {
		t.Fatal(err)
	}
	padded, err := tcs.New(&tcs.Shape{Header: tcs.Header{Dims: []int64{5, 3, 2},
		Box: [][2]int64{{2, 5}, {0, 3}, {0, 2}}, Type: tensor.Complex64},
		Format: tensor.FormatOf("dpd", []int{0, 1, 2})}, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	copy(tcs.Slice[int32](padded.Levels[1].Crd), []int32{2, -1, 0})
	copy(tcs.Values[complex64](padded), []complex64{1, 2i, 0, 0, 3 + 1i, 4})
	coo,
		err := tcs.New(&tcs.Shape{Header: tcs.Header{Dims: []int64{4, 4}, Type: tensor.Int32},
		Format: tensor.FormatOf("uc", []int{1, 0}), Counts: []int64{3, 0}}, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	copy(tcs.Slice[int32](coo.Levels[0].Pos), []int32{0, 3})
	copy(tcs.Slice[int32](coo.Levels[0].Crd), []int32{1, 1, 3})
	copy(tcs.Slice[int32](coo.Levels[1].Crd), []int32{2, 2, 0})
	copy(tcs.Values[int32](coo), []int32{5, 6, 7})
	for _, a := range []*tcs.Tensor{csr(t), padded, coo,
		tcs.Scalar(tensor.Value{Type: tensor.Float32, C: 2.5})} {
		if err := a.Validate(); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "a.tcs")
		if err := Write(path, a, WriteOptions{Wide: a == padded}); err != nil {
			t.Fatal(err)
		}
		got, err := exec.Command(python, script, path).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, got)
		}
		var want bytes.Buffer
		a.Entries(func(c []int64, i int64) bool {
			for _, x := range c {
				fmt.Fprint(&want, x, " ")
			}
			v := a.Value(i)
			switch {
			case a.Header.Type.IsComplex():
				fmt.Fprintf(&want, "(%g%+gj)\n", real(v.C), imag(v.C))
			case a.Header.Type.IsInt():
				fmt.Fprintf(&want, "%d\n", v.I)
			default:
				fmt.Fprintf(&want, "%.1f\n", v.Float())
			}
			return true
		})
		norm := strings.NewReplacer("2j\n", "(0+2j)\n").Replace(string(got))
		if norm != want.String() && string(got) != want.String() {
			t.Errorf("%s: python reads\n%swant\n%s", a.Format().String(), got, &want)
		}
	}
}
