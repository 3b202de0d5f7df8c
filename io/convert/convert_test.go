package convert

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"distaff/io/coo"
	"distaff/io/mtx"
	"distaff/io/readertest"
	"distaff/io/tcsfile"
	"distaff/io/tensor"
)

func TestToTCS(t *testing.T) {
	in := readertest.Write(t, "a.tns", "# sizes are larger\n2 3 1.5\n1 1 2\n2 3 0.5\n")
	out := filepath.Join(t.TempDir(), "a.tcs")
	for _, c := range []struct {
		kinds  string
		format string
	}{{"", "ds"}, {"uq", "uq"}, {"ss", "ss"}, {"dd", "dd"}} {
		opt := Options{Format: tensor.FormatOf(c.kinds, nil), HasFormat: c.kinds != "",
			Read: coo.Options{Dims: []int64{4, 5}}}
		if err := File(in, out, opt); err != nil {
			t.Fatal(err)
		}
		a, err := tcsfile.Open(out)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Validate(); err != nil {
			t.Fatal(err)
		}
		if a.Format().String() != c.format || a.Header.Dims[0] != 4 || a.Header.Dims[1] != 5 {
			t.Errorf("got %s of %v, want %s of [4 5]", a.Format().String(), a.Header.Dims, c.format)
		}
		sum, n := 0.0, 0
		a.Entries(func(x []int64, i int64) bool {
			v := a.Value(i).Float()
			if v != 0 {
				n++
			}
			sum += v * float64(10*x[0]+x[1])
			return true
		})
		if n != 2 || sum != 2*12 {
			t.Errorf("%s: %d entries, weighted sum %v", c.kinds, n, sum)
		}
		a.Close()
	}
}

func TestPackedTCS(t *testing.T) {
	in := readertest.Write(t, "a.tns", "1 1 2\n2 3 0.5\n")
	dir := t.TempDir()
	out, again := filepath.Join(dir, "a.tcs.zst"), filepath.Join(dir, "b.tcs")
	if err := File(in, out, Options{}); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(out); !bytes.HasPrefix(b, []byte{0x28, 0xb5, 0x2f, 0xfd}) {
		t.Error("not zstd")
	}
	if err := File(out, again, Options{}); err != nil {
		t.Fatal(err)
	}
	z, _ := os.ReadFile(out)
	d, _ := zstd.NewReader(nil)
	plain, err := d.DecodeAll(z, nil)
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(again); !bytes.Equal(b, plain) {
		t.Error("the file differs after it was packed, read and written")
	}
}

func TestRefused(t *testing.T) {
	in := readertest.Write(t, "a.tns", "1 1 1 2\n2 3 1 0.5\n")
	dir := t.TempDir()
	for _, c := range []struct {
		in, out string
		opt     Options
		exit    int
		want    string
	}{
		{in, dir + "/b.xyz", Options{}, 2,
			`got a file that ends in ".xyz", want one of .tcs`},
		{in, dir + "/b", Options{}, 2, "got a name without an ending that tells its format, want one of"},
		{in, dir + "/b.mtx", Options{}, 2, "file can have at most 2 modes, but the tensor has 3; want .tns or .tcs, which have no limit"},
		{readertest.Write(t, "huge.tns", "1000000000 1000000000 1\n"), dir + "/b.npy", Options{}, 1,
			"with every coordinate listed it takes more than 4 EiB"},
		{in, dir + "/b.rua", Options{}, 2, "files cannot be written; want one of"},
		{in, dir + "/b.tcs", Options{Format: tensor.FormatOf("ds", nil), HasFormat: true}, 2,
			`format "ds" has 2 levels, but the tensor has 3 modes`},
		{dir + "/none.tns", dir + "/b.tcs", Options{}, 1, "no such file"},
		{dir + "/none.tcs", dir + "/b.tcs", Options{}, 1, "no such file"},
		{in, dir + "/none/b.tcs", Options{}, 1, "no such file"},
		{in, dir + "/b.tcs", Options{Read: coo.Options{Type: tensor.Int64}}, 3, "a.tns:2"},
	} {
		err := File(c.in, c.out, c.opt)
		var e interface{ ExitCode() int }
		if !errors.As(err, &e) || e.ExitCode() != c.exit && c.exit != 3 ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s to %s: got %v, want exit %d and %q", c.in, c.out, err, c.exit, c.want)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestWriters holds a writer of its own against the order that it asks for.
func TestWriters(t *testing.T) {
	var got []string
	f := &Format{Name: "test", Exts: []string{".test"}, MaxOrder: 2, Modes: mtx.Modes,
		Write: func(w io.Writer, in *coo.Ordered, opt coo.WriteOptions) error {
			var b coo.Batch
			for {
				if err := in.Next(&b); err == io.EOF {
					return nil
				} else if err != nil {
					return err
				}
				for i := range b.N {
					got = append(got,
						string(rune('a'+b.Coords[0][i]))+string(rune('a'+b.Coords[1][i])))
				}
			}
		}}
	formats = append(formats, f)
	defer func() { formats = formats[:len(formats)-1] }()
	out := filepath.Join(t.TempDir(), "b.test")
	in := readertest.Write(t, "a.tns", "2 1 5\n1 2 3\n1 1 2\n")
	for _, c := range []struct{ kinds, want string }{{"ds", "aa ab ba"}, {"dd", "aa ba ab"}} {
		got = nil
		if err := File(in, out, Options{Format: tensor.FormatOf(c.kinds, nil), HasFormat: true}); err !=
			nil {
			t.Fatal(err)
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: got %q, want %q", c.kinds, s, c.want)
		}
	}
}
