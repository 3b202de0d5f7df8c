package main

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"distaff/io/tcs"
	"distaff/io/tcsfile"
	"distaff/io/tensor"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// mutations returns the number n of files that TestMutations tests, DISTAFF_MUTATIONS or 100, and
// the number of the first file, DISTAFF_MUTATIONS_FIRST.
func mutations(t *testing.T) (first, n int) {
	n = 100
	for name, to := range map[string]*int{"DISTAFF_MUTATIONS": &n,
		"DISTAFF_MUTATIONS_FIRST": &first} {
		if v := os.Getenv(name); v != "" {
			k, err := strconv.Atoi(v)
			if err != nil {
				t.Fatalf("%s=%s: %v", name, v, err)
			}
			*to = k
		}
	}
	return first, n
}

// seedFile is a valid file, whose copies are changed.
type seedFile struct {
	name  string
	data  []byte
	order int
}

// seeds returns small valid files of every format.
func seeds(t *testing.T) []seedFile {
	t.Helper()
	var list []seedFile
	add := func(name string, data []byte, order int) {
		list = append(list, seedFile{name, data, order})
	}
	for kinds, f := range validTCS {
		b, _ := f.bytes()
		add(kinds+".tcs", b, len(f.dims))
	}
	a, err := tcs.New(&tcs.Shape{Header: tcs.Header{Dims: []int64{40, 9}, Type: tensor.Float32},
		Format: tensor.FormatOf("dp", []int{0, 1})}, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(40) {
		a.Levels[1].Crd.SetInt(i, i%10-1)
		if i%10 > 0 {
			a.SetValue(i, tensor.Value{Type: tensor.Float32, C: complex(float64(i), 0)})
		}
	}
	var packed bytes.Buffer
	if err := tcsfile.WriteTo(&packed, a, tcsfile.WriteOptions{Compress: true}); err != nil {
		t.Fatal(err)
	}
	add("packed.tcs", packed.Bytes(), 2)
	for name, text := range map[string]string{
		"frostt.tns": "# three modes\n1 2 3 0.5\n2 2 1 -1\n\n4 1 1 2e3\n1 2 3 4\n",
		"vector.tns": "1 1\n5 2\n3 3\n",
		"parti.tns":  "2\n3 4\n1 2 1.5\n3 4 2\n",
		"general.mtx": "%%MatrixMarket matrix coordinate real general\n% a comment\n3 4 3\n1 1 " +
			"2\n3 4 -1.5\n2 2 1e-3\n",
		"integer.mtx": "%%MatrixMarket matrix coordinate integer general\n3 4 2\n1 1 2\n3 4 -7\n",
		"pattern.mtx": "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n1 1\n3 1\n",
		"hermitian.mtx": "%%MatrixMarket matrix coordinate complex hermitian\n3 3 2\n1 1 2 0\n3 " +
			"1 1 -1\n",
		"skew.mtx":  "%%MatrixMarket matrix array real skew-symmetric\n3 3\n1\n2\n3\n",
		"array.mtx": "%%MatrixMarket matrix array real general\n2 2\n1\n0\n3\n4\n",
		"tensor.ttx": "%%MatrixMarket tensor coordinate real general\n3 4 2 2\n1 1 1 2\n3 4 2 " +
			"-1.5\n",
		"matrix.rua": "a title                                                                 " +
			"key\n             3             1             1             1\n" +
			"RUA                        3             2             3             0\n(8I10)      " +
			"    (8I10)          (4E20.12)\n" +
			"         1         3         4\n         1         3         2\n  " +
			"1.000000000000E+00  2.500000000000E+00 -4.000000000000E+00\n",
	} {
		order := 2
		switch name {
		case "vector.tns":
			order = 1
		case "frostt.tns", "tensor.ttx":
			order = 3
		}
		add(name, []byte(text), order)
	}
	arrays := filepath.Join("..", "..", "io", "npy", "testdata")
	for name, order := range map[string]int{"f8.npy": 2, "i4.npy": 2, "fortran.npy": 2,
		"order1.npy": 1, "version2.npy": 2, "c16.npy": 2, "empty.npy": 2,
		"csr.npz": 2, "csc.npz": 2, "coo.npz": 2, "bsr.npz": 2, "dia.npz": 2, "csr_deflated.npz": 2,
		"coo3.npz": 3, "coo3_stored.npz": 3, "coo_fortran.npz": 3, "sparse3.npz": 3,
		"coo1.npz": 1} {
		b, err := os.ReadFile(filepath.Join(arrays, name))
		if err != nil {
			t.Fatal(err)
		}
		add(name, b, order)
	}
	neighbours := filepath.Join("..", "..", "testdata", "neighbours")
	for name, order := range map[string]int{"A.petsc": 2, "A.csv": 2, "A.mtx.bz2": 2, "A.mtx.xz": 2,
		"single.tgz": 2, "A.mat": 2} {
		b, err := os.ReadFile(filepath.Join(neighbours, name))
		if err != nil {
			t.Fatal(err)
		}
		add(name, b, order)
	}
	slices.SortFunc(list, func(a, b seedFile) int { return strings.Compare(a.name, b.name) })
	for _, s := range slices.Clone(list) {
		switch s.name {
		case "ds.tcs", "frostt.tns", "general.mtx", "f8.npy", "csr.npz", "matrix.rua":
			for ext, pack := range map[string]func([]byte) []byte{".gz": gzipped,
				".zst": zstandard} {
				add(s.name+ext, pack(s.data), s.order)
			}
		}
	}
	slices.SortFunc(list, func(a, b seedFile) int { return strings.Compare(a.name, b.name) })
	return list
}

func gzipped(b []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	z.Write(b)
	z.Close()
	return out.Bytes()
}

func zstandard(b []byte) []byte {
	z, err := zstd.NewWriter(nil)
	if err != nil {
		panic(err)
	}
	return z.EncodeAll(b, nil)
}

// interesting contains numbers near limits.
var interesting = []string{"0", "1", "-1", "2", "3", "4", "5", "255", "65536", "2147483647",
	"2147483648", "4294967296", "1099511627776", "2305843009213693952", "2305843009213693953",
	"4611686018427387904", "9223372036854775807", "9223372036854775808", "99999999999999999999",
	"1e400", "-0", "0.5", "nan", "inf", "1_0", "x", "", "+1", "1D3", "1.5-3"}

// mutate changes b in one to four ways.
func mutate(r *rand.Rand, name string, b []byte) []byte {
	b = slices.Clone(b)
	for range 1 + r.IntN(4)*r.IntN(2) {
		if len(b) == 0 {
			return b
		}
		at := r.IntN(len(b))
		n := min(1+r.IntN(1<<r.IntN(7)), len(b)-at)
		switch r.IntN(9) {
		case 0:
			b[at] ^= 1 << r.IntN(8)
		case 1:
			b[at] = []byte{0, 1, 0x7f, 0x80, 0xff, ' ', '\n', byte(r.IntN(256))}[r.IntN(8)]
		case 2:
			b = slices.Delete(b, at, at+n)
		case 3:
			b = slices.Insert(b, at, slices.Clone(b[at:at+n])...)
		case 4:
			b = b[:at]
		case 5:
			b = append(b, b[at:at+n]...)
		case 6: // a number of a binary file
			if at = at &^ 7; at+8 <= len(b) {
				v, err := strconv.ParseUint(interesting[r.IntN(19)], 10, 64)
				if err == nil && r.IntN(2) == 0 {
					binary.LittleEndian.PutUint64(b[at:], v)
				} else {
					binary.LittleEndian.PutUint32(b[at:], uint32(r.IntN(6)-1))
				}
			}
		default: // a word of a text file
			words := strings.FieldsFunc(string(b), func(c rune) bool {
				return strings.ContainsRune(" \n(),", c)
			})
			if len(words) > 0 {
				w := words[r.IntN(len(words))]
				b = []byte(strings.Replace(string(b), w, interesting[r.IntN(len(interesting))], 1))
			}
		}
	}
	return b
}

// variant returns changed file number k and its seed. The checksums of most files are correct.
func variant(list []seedFile, k int) (seedFile, []byte) {
	r := rand.New(rand.NewPCG(uint64(k), 13))
	s := list[r.IntN(len(list))]
	repair := r.IntN(4) > 0
	switch {
	case strings.HasSuffix(s.name, ".npz") && repair:
		return s, rezip(r, s.data)
	// change only the arrays of a well-formed file
	case strings.HasSuffix(s.name, ".tcs") && repair && r.IntN(2) == 0:
		b := slices.Clone(s.data)
		return s, fixAll(arraysOnly(r, b))
	case strings.HasSuffix(s.name, ".gz") && repair:
		return s, gzipped(mutate(r, s.name, unpacked(s)))
	case strings.HasSuffix(s.name, ".zst") && repair:
		return s, zstandard(mutate(r, s.name, unpacked(s)))
	}
	b := mutate(r, s.name, s.data)
	if strings.HasSuffix(s.name, ".tcs") && repair {
		b = fixAll(b)
	}
	return s, b
}

func unpacked(s seedFile) []byte {
	var r io.Reader
	var err error
	if strings.HasSuffix(s.name, ".gz") {
		r, err = gzip.NewReader(bytes.NewReader(s.data))
	} else {
		r, err = zstd.NewReader(bytes.NewReader(s.data))
	}
	if err != nil {
		panic(err)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		panic(err)
	}
	return b
}

// arraysOnly changes elements of the arrays of a .tcs file.
func arraysOnly(r *rand.Rand, b []byte) []byte {
	head := int(binary.LittleEndian.Uint32(b[12:]))
	for range 1 + r.IntN(2) {
		at := head + 4*r.IntN(max((len(b)-head)/4, 1))
		if at+4 <= len(b) {
			binary.LittleEndian.PutUint32(b[at:], uint32(r.IntN(7)-1))
		}
	}
	return b
}

// fixAll corrects every checksum of a .tcs file that its tables let it find.
func fixAll(b []byte) []byte {
	if len(b) < 128 {
		return b
	}
	le := binary.LittleEndian
	order, sections := uint64(le.Uint32(b[24:])), uint64(le.Uint32(b[36:]))
	if order > 64 || sections > 129 || 128+128*order+64*sections > uint64(len(b)) {
		return b
	}
	for s := range sections {
		at := 128 + 128*order + 64*s
		place, n := le.Uint64(b[at+8:]), le.Uint64(b[at+16:])
		if b[30] == 0 && place <= uint64(len(b)) && n <= uint64(len(b))-place {
			le.PutUint32(b[at+32:], crc32.ChecksumIEEE(b[place:place+n]))
		}
	}
	return fixHeader(b)
}

// rezip changes one member of a ZIP archive, and returns the new archive.
func rezip(r *rand.Rand, b []byte) []byte {
	in, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		panic(err)
	}
	pick := r.IntN(len(in.File))
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for k, f := range in.File {
		m, err := f.Open()
		if err != nil {
			panic(err)
		}
		data, err := io.ReadAll(m)
		if err != nil {
			panic(err)
		}
		if k == pick {
			data = mutate(r, f.Name, data)
		}
		w, err := z.CreateHeader(&zip.FileHeader{Name: f.Name, Method: f.Method})
		if err != nil {
			panic(err)
		}
		w.Write(data)
	}
	z.Close()
	return out.Bytes()
}

// TestMutations changes files at random. Every command must give the same verdict on a file, end
// with a documented exit code, and remove its temporary files. If the strict reader of these tests
// is sure, the verdict must be the same as its own.
func TestMutations(t *testing.T) {
	if !haveCompiler() {
		t.Skip("no C compiler: statements cannot be compiled")
	}
	t.Setenv("DISTAFF_CACHE", t.TempDir())
	t.Setenv("DISTAFF_CFLAGS", "-O0")
	tmp := t.TempDir()
	t.Setenv("DISTAFF_TMP", tmp)
	list := seeds(t)
	verdicts := map[string]int{}
	for _, s := range list {
		if v := judge(t, s.name, s, s.data, tmp); v != "valid" {
			t.Errorf("the seed %s is %s", s.name, v)
		}
	}
	first, n := mutations(t)
	for k := first; k < first+n; k++ {
		s, b := variant(list, k)
		verdicts[judge(t, fmt.Sprintf("file %d (%s)", k, s.name), s, b, tmp)]++
	}
	t.Logf("%d files: %v", n, verdicts)
}

// judge runs every command on the file, and returns their common verdict: valid, invalid, or
// refused for another reason (the number of modes, or the memory or disk space that it needs).
func judge(t *testing.T, name string, s seedFile, b []byte, tmp string) string {
	t.Helper()
	dir := t.TempDir()
	file := "t" + s.name[strings.IndexByte(s.name, '.'):]
	path, out := filepath.Join(dir, file), filepath.Join(dir, "out.tns")
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
	order := s.order
	if code, text, _ := inProcess("info", path, "--json"); code == 0 {
		var told struct{ Sizes []int64 }
		if err := json.Unmarshal([]byte(text), &told); err != nil {
			t.Errorf("%s: info --json: %v", name, err)
		}
		if n := len(told.Sizes); n <= 6 {
			order = n
		}
	}
	said := map[int]string{}
	for k, args := range readings(path, out, order) {
		if k != 1 { // show has no memory limit
			args = append(args, map[bool]string{true: "--tmp=" + tmp,
				false: "--memory-limit=64M"}[k == 0])
		}
		begun := time.Now()
		code, _, words := inProcess(args...)
		if took := time.Since(begun); took > time.Minute {
			t.Errorf("%s: %s takes %v", name, strings.Join(args, " "), took)
		}
		switch {
		case !slices.Contains([]int{0, 1, 2, 3, 5}, code):
			t.Errorf("%s: %s ends with code %d: %s", name, args[0], code, words)
		case strings.Contains(words, "BUG") || strings.Contains(words, "panic") ||
			strings.Contains(words, "goroutine"):
			t.Errorf("%s: %s panics: %s", name, args[0], words)
		case code != 0 && words == "":
			t.Errorf("%s: %s ends with code %d without a word", name, args[0], code)
		}
		said[code] = strings.Join(args, " ") + ": " + words
		if code == 0 {
			os.Remove(out)
		}
	}
	verdict := "refused"
	switch {
	case said[0] != "" && said[3] != "":
		t.Errorf("%s: commands differ:\n%s\n%s", name, said[0], said[3])
	case said[0] != "":
		verdict = "valid"
	case said[3] != "":
		verdict = "invalid"
	}
	if wrong, sure := strictly(file, b); sure && verdict != "refused" &&
		(wrong == "") != (verdict == "valid") {
		t.Errorf("%s: the strict reader says %q, and the commands that it is %s: %s%s", name, wrong,
			verdict, said[0], said[3])
	}
	for _, d := range []string{dir, tmp} {
		entries, err := os.ReadDir(d)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Name() != file {
				t.Errorf("%s: left behind: %s", name, e.Name())
				os.RemoveAll(filepath.Join(d, e.Name()))
			}
		}
	}
	if t.Failed() {
		keep, err := os.MkdirTemp("", "distaff-mutation-")
		if err == nil {
			os.WriteFile(filepath.Join(keep, file), b, 0o666)
			t.Fatalf("%s: the file is kept as %s/%s", name, keep, file)
		}
	}
	os.Remove(path)
	return verdict
}
