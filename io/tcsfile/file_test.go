package tcsfile

import (
	"bytes"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// csr is a 3 by 4 matrix with a row that is empty.
func csr(t testing.TB) *tcs.Tensor {
	t.Helper()
	a,
		err := tcs.New(&tcs.Shape{Header: tcs.Header{Dims: []int64{3, 4}, Type: tensor.Float64},
		Format: tensor.FormatOf("ds", []int{0, 1}), Counts: []int64{0, 4}}, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	copy(tcs.Slice[int32](a.Levels[1].Pos), []int32{0, 2, 2, 4})
	copy(tcs.Slice[int32](a.Levels[1].Crd), []int32{1, 3, 0, 2})
	copy(tcs.Values[float64](a), []float64{1, 2.5, 0, -4})
	return a
}

func file(t testing.TB, a *tcs.Tensor, o WriteOptions) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := WriteTo(&b, a, o); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// openBytes opens a file that is in memory.
func openBytes(t testing.TB, b []byte) (*tcs.Tensor, error) {
	t.Helper()
	h, err := readHeader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, headerErr("a.tcs", err)
	}
	m, err := tcs.Alloc(nil, int64(len(b)), "")
	if err != nil {
		t.Fatal(err)
	}
	copy(m.Slice(), b)
	return (&source{path: "a.tcs", header: *h, mapped: m}).tensor(), nil
}

// fix sets the header's checksum to the correct value.
func fix(b []byte) []byte {
	n := binary.LittleEndian.Uint32(b[12:])
	if int(n) > len(b) || n < fixedLen {
		return b
	}
	clear(b[124:128])
	binary.LittleEndian.PutUint32(b[124:], crc32.ChecksumIEEE(b[:n]))
	return b
}

func TestRefusesWhatIsWrong(t *testing.T) {
	good := file(t, csr(t), WriteOptions{})
	for n := range good {
		a, err := openBytes(t, good[:n])
		var e *tcs.Error
		if !errors.As(err, &e) || e.Exit != exitData {
			t.Fatalf("cut to %d bytes: got %v, %v", n, a, err)
		}
	}
	if _, err := openBytes(t, append(slices.Clone(good), 0)); err == nil {
		t.Error("a byte too many is not noticed")
	}
	header := int(binary.LittleEndian.Uint32(good[12:]))
	for i := range good {
		b := slices.Clone(good)
		b[i] ^= 0x40
		a, err := openBytes(t, b)
		if i >= header {
			if err == nil {
				if Verify(a) == nil {
					t.Errorf("byte %d changed, and Verify passes", i)
				}
				a.Close()
			}
			continue
		}
		if err == nil {
			t.Errorf("byte %d of the header changed, and the file opens", i)
		}
	}
	for _, c := range []struct {
		at   int
		to   byte
		want string
	}{
		{0, 'x', `a.tcs: not a .tcs file: got "xTCS\r\n\x1a\n" at the start`},
		{8, 2, "got version 2 of the format, want version 1"},
		{24, 3, "got a header of"},
		{28, 14, "got the unknown value type 14"},
		{29, 3, "alignment"},
		{30, 2, "got the unknown compression 2"},
		{40, 200, "a.tcs: the header says that there are 200 entries, but there are only 4 values"},
		{64, 1, "reserved byte 64"},
		{128 + 8, 1, "dense level 0 has offset 0 and size 3, but the box is [1,3)"},
		{128 + 16, 5, "a.tcs: got the box [0,5) for mode 0, want one in [0,3)"},
		{128 + 24, 1, "got block 1 of 1 in mode 0"},
		{256, 'x', `level kind "x"`},
		{256 + 4, 1, "got the mode order [1 1], want each of 0 to 1 once"},
		{256 + 64 + 24, 5, "has 4 elements, want 5"},
		{384, 2, "section 0 stores array 0 of level 2"},
		{384 + 5, 2, "each element of section 0 (pos of level 1) has 2 bytes"},
		{384 + 8, 1, "want a multiple of 64"},
		{384 + 64 + 24, 5, "has 5 elements, want 4"},
		{384 + 15, 0x70, "a section's offset is"},
	} {
		b := slices.Clone(good)
		b[c.at] = c.to
		if _, err := openBytes(t, fix(b)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("byte %d set to %d: got %v, want %q", c.at, c.to, err, c.want)
		}
	}
}

func TestValidate(t *testing.T) {
	type fault func(a *tcs.Tensor)
	set := func(f func(a *tcs.Tensor) tcs.Array, i, v int64) fault {
		return func(a *tcs.Tensor) { f(a).SetInt(i, v) }
	}
	pos := func(a *tcs.Tensor) tcs.Array { return a.Levels[1].Pos }
	crd := func(a *tcs.Tensor) tcs.Array { return a.Levels[1].Crd }
	for _, c := range []struct {
		f    fault
		want string
	}{
		{func(*tcs.Tensor) {}, ""},
		{set(pos, 0, 1), "positions of level 1 go from 1 to 4, want 0 to 4"},
		{set(pos, 3, 5), "positions of level 1 go from 0 to 5, want 0 to 4"},
		{set(pos, 1, 3), "position 2 of level 1 is 2, less than the 3 before it"},
		{set(crd, 1, 4), "coordinate 1 of level 1 is 4, want one in [0,4)"},
		{set(crd, 1, -1), "coordinate 1 of level 1 is -1"},
		{set(crd, 1, 1),
			"coordinate 1 of level 1 is 1 after 1: the coordinates of a segment must increase and differ"},
		{set(crd, 2, 3), "coordinate 3 of level 1 is 2 after 3"},
	} {
		a := csr(t)
		c.f(a)
		err := a.Validate()
		if c.want == "" && err != nil || c.want != "" &&
			(err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("got %v, want %q", err, c.want)
		}
		b, err := openBytes(t, file(t, a, WriteOptions{}))
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Validate(); (err != nil) != (c.want != "") {
			t.Errorf("from a file: got %v, want %q", err, c.want)
		}
	}
}

func TestCompressed(t *testing.T) {
	a,
		err := tcs.New(&tcs.Shape{Header: tcs.Header{Dims: []int64{700, 900}, Type: tensor.Float64},
		Format: tensor.FormatOf("dd", []int{0, 1})}, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	for i := range tcs.Values[float64](a) {
		tcs.Values[float64](a)[i] = float64(i % 77)
	}
	packed, plain := file(t, a, WriteOptions{Compress: true}), file(t, a, WriteOptions{})
	if len(packed) > len(plain)/5 {
		t.Errorf("%d bytes, plain %d", len(packed), len(plain))
	}
	b, err := openBytes(t, packed)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Load(tcs.NewLimit(1 << 20)); err == nil ||
		!strings.Contains(err.Error(), "are in use already, and the memory limit is 1 MiB (--memory-limit)") {
		t.Errorf("a limit is not held: %v", err)
	}
	c, err := openBytes(t, packed)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	if err := LoadInto(c, f); err != nil || !bytes.Equal(c.Vals.Bytes(), a.Vals.Bytes()) {
		t.Errorf("by way of a file: %v", err)
	}
	c.Close()
	if err := b.Validate(); err != nil {
		t.Fatal(err)
	}
	if err := Verify(b); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Vals.Bytes(), a.Vals.Bytes()) {
		t.Error("other values come back")
	}
	if !bytes.Equal(file(t, b, WriteOptions{}), plain) {
		t.Error("the file written again differs")
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 40 { // any damage of the data is reported
		bad := slices.Clone(packed)
		i := len(bad) - 1 - r.IntN(len(bad)-400)
		bad[i] ^= byte(1 + r.IntN(255))
		b, err := openBytes(t, bad)
		if err != nil {
			continue
		}
		if b.Load(nil) == nil && Verify(b) == nil && !bytes.Equal(b.Vals.Bytes(), a.Vals.Bytes()) {
			t.Fatalf("byte %d changed, and nobody notices", i)
		}
		b.Close()
	}
}

func TestShrink(t *testing.T) {
	a,
		err := tcs.New(&tcs.Shape{Header: tcs.Header{Dims: []int64{1 << 18}, Type: tensor.Float64},
		Format: tensor.FormatOf("d", []int{0})}, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "a.tcs")
	for _, use := range []struct {
		name string
		f    func(*tcs.Tensor) error
	}{
		{"Verify", Verify},
		{"Guarded", func(a *tcs.Tensor) error {
			return a.Guarded(func() error {
				for _, x := range tcs.Values[float64](a) {
					if x != 0 {
						return errors.New("not zero")
					}
				}
				return nil
			})
		}},
		{"Changed", (*tcs.Tensor).Changed},
	} {
		if err := Write(path, a, WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		b, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, 5000); err != nil {
			t.Fatal(err)
		}
		var e *tcs.Error
		if err := use.f(b); !errors.As(err, &e) || e.Exit != exitData ||
			!strings.Contains(err.Error(), "while it was") {
			t.Errorf("%s: got %v", use.name, err)
		}
		b.Close()
	}
}

func TestCombineCRC(t *testing.T) {
	b := make([]byte, 5000)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	for range 100 {
		n, k := r.IntN(len(b)), 0
		k = r.IntN(n + 1)
		got := CombineCRC(crc32.ChecksumIEEE(b[:k]), crc32.ChecksumIEEE(b[k:n]), int64(n-k))
		if want := crc32.ChecksumIEEE(b[:n]); got != want {
			t.Fatalf("%d and %d bytes: got %08x, want %08x", k, n-k, got, want)
		}
	}
}

func TestFileInPieces(t *testing.T) {
	a := csr(t)
	want := file(t, a, WriteOptions{})
	s, _ := a.Shape()
	f, err := NewFile(s)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, f.Size())
	var crcs []uint32
	for _, sec := range f.Sections() {
		b := a.Array(sec.Level, sec.Array).Bytes()
		copy(got[sec.Offset:], b)
		crcs = append(crcs, CombineCRC(crc32.ChecksumIEEE(b[:5]), crc32.ChecksumIEEE(b[5:]),
			int64(len(b)-5)))
	}
	copy(got, f.Header(crcs, a.Statistics()))
	if !bytes.Equal(got, want) {
		t.Error("a file laid out in pieces differs from one written at once")
	}
}

// TestNothingOfMuch walks a tensor of 2^40 rows and no columns.
func TestNothingOfMuch(t *testing.T) {
	a,
		err := tcs.New(&tcs.Shape{Header: tcs.Header{Dims: []int64{1 << 40, 0}, Type: tensor.Float64},
		Format: tensor.FormatOf("dd", []int{0, 1})}, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	a.Entries(func(c []int64, i int64) bool { t.Error("an entry"); return false })
	b, err := openBytes(t, file(t, a, WriteOptions{}))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Validate(); err != nil {
		t.Fatal(err)
	}
	if s, _ := Stats(b); s.EmptySlices != 1<<40 || s.Entries != 0 {
		t.Errorf("got %+v", s)
	}
}

// FuzzOpen opens whatever it is given, with the header's checksum set right so
// that what follows is reached. What opens and is valid must be walked and
// written without a fault.
func FuzzOpen(f *testing.F) {
	f.Add(file(f, csr(f), WriteOptions{}))
	f.Add(file(f, csr(f), WriteOptions{Compress: true}))
	f.Add(file(f, tcs.Scalar(tensor.Value{Type: tensor.Complex64, C: 2i}), WriteOptions{}))
	for _, kinds := range []string{"uq", "dp", "sss", "ucq"} {
		n := len(kinds)
		s := &tcs.Shape{Header: tcs.Header{Type: tensor.Int32},
			Format: tensor.FormatOf(kinds, tensor.Identity(n)),
			Counts: make([]int64, n)}
		for range n {
			s.Header.Dims = append(s.Header.Dims, 3)
		}
		for l := range s.Counts {
			s.Counts[l] = 1
		}
		a, err := tcs.New(s, nil, "")
		if err != nil {
			f.Fatal(err)
		}
		for l, lev := range a.Levels {
			if lev.Pos.Len > 0 {
				a.Levels[l].Pos.SetInt(lev.Pos.Len-1, 1)
			}
		}
		f.Add(file(f, a, WriteOptions{}))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < fixedLen || len(b) > 1<<16 {
			return
		}
		b = fix(slices.Clone(b))
		a, err := openBytes(t, b)
		if err != nil {
			return
		}
		defer a.Close()
		if a.Load(tcs.NewLimit(1<<24)) != nil || a.Validate() != nil {
			return
		}
		n := 0
		a.Entries(func(c []int64, i int64) bool {
			for m, x := range c {
				if r := a.Header.Range(m); x < r[0] || x >= r[1] {
					t.Fatalf("coordinate %d of mode %d is outside %v", x, m, r)
				}
			}
			a.Value(i)
			n++
			return n < 1<<16
		})
		var out bytes.Buffer
		if err := WriteTo(&out, a, WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := readHeader(bytes.NewReader(out.Bytes()), int64(out.Len())); err != nil {
			t.Fatalf("what was written does not open: %v", err)
		}
		if v, err := a.View(tcs.Block{Cut: true, Level: -1, Lo: a.Vals.Len / 3,
			Hi: a.Vals.Len / 2}); err != nil {
			t.Fatal(err)
		} else {
			if err := v.Validate(); err != nil {
				t.Fatal(err)
			}
			v.Close()
		}
	})
}

// TestGolden compares the format with a stored file: files of version 1 must always be
// readable, and writing must produce the same bytes.
func TestGolden(t *testing.T) {
	path := "testdata/csr.tcs"
	got := file(t, csr(t), WriteOptions{})
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs from what is written now", path)
	}
	a, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if s := fmt.Sprint(a.Format().String(), " ", a.Header.Dims,
		tcs.Values[float64](a)); s != "ds [3 4] [1 2.5 0 -4]" {
		t.Errorf("got %s", s)
	}
}
