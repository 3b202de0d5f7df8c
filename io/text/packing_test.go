package text

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ulikunitz/xz"
)

// save writes a file into a new folder and returns its path.
func save(t *testing.T, name string, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// content returns what the Source of path reads, and checks that it reads the same twice.
func content(path string) (string, error) {
	s, err := OpenSource(path, "")
	if err != nil {
		return "", err
	}
	defer s.Close()
	s.Keep()
	var all []string
	for range 2 {
		r, err := s.Reader()
		if err != nil {
			return "", err
		}
		b, err := io.ReadAll(r)
		r.Close()
		if err != nil {
			return "", err
		}
		all = append(all, string(b))
	}
	if all[0] != all[1] {
		return "", errors.New("a second reader reads something else")
	}
	return all[0], nil
}

func TestBzip2(t *testing.T) {
	b, err := hex.DecodeString("425a68393141592653597d33264f0000045800001040017a002000310c081a6836a10159234d9e2ee48a70a120fa664c9e")
	if err != nil {
		t.Fatal(err)
	}
	const want = "1 1 2\n2 3 0.5\n"
	if got, err := content(save(t, "a.tns.bz2", b)); got != want || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := content(save(t, "a.tns", append(b, b...))); got != want+want || err != nil {
		t.Errorf("two streams: got %q, %v", got, err)
	}
	for n := len("BZh91AY&SY"); n < len(b); n++ {
		if got, err := content(save(t, "a.tns.bz2", b[:n])); err == nil {
			t.Errorf("%d of %d bytes: got %q, want an error", n, len(b), got)
		}
	}
}

// packXZ returns text as an xz file with blocks of the given number of bytes.
func packXZ(t *testing.T, text string, block int64, sum byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := xz.WriterConfig{DictCap: 1 << 16, BlockSize: block, CheckSum: sum}.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(w, text)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// withDictionary returns the xz file with another dictionary size in the header of the block at
// offset at.
func withDictionary(file []byte, at int, bits byte) []byte {
	b := bytes.Clone(file)
	n := 4 * (int(b[at]) + 1)
	head := b[at : at+n]
	k := bytes.Index(head, []byte{0x21, 1})
	head[k+2] = bits
	binary.LittleEndian.PutUint32(head[n-4:], crc32.ChecksumIEEE(head[:n-4]))
	return b
}

func TestXZ(t *testing.T) {
	var text strings.Builder
	for k := range 3000 {
		text.WriteString(strings.Repeat(string(rune('a'+k%7)), k%11) + "\n")
	}
	want := text.String()
	for _, sum := range []byte{xz.CRC32, xz.CRC64, xz.SHA256} {
		for _, block := range []int64{1 << 40, 5000, 77} {
			one := packXZ(t, want, block, sum)
			padded := append(bytes.Clone(one), 0, 0, 0, 0)
			for name, b := range map[string][]byte{"one": one, "two": append(padded, one...)} {
				got, err := content(save(t, "a.xz", b))
				if err != nil || strings.ReplaceAll(got, want, "") != "" || got == "" {
					t.Errorf("%s, check %d, blocks of %d: %d bytes, %v", name, sum, block, len(got),
						err)
				}
			}
		}
	}
	// Any block may need too large a dictionary, not only the first.
	one := packXZ(t, want, 5000, xz.CRC32)
	second := bytes.Index(one[20:], one[12:20]) + 20 // two headers start with equal bytes
	for _, at := range []int{12, second} {
		_, err := content(save(t, "a.xz", withDictionary(one, at, 40)))
		if err == nil || !strings.Contains(err.Error(), "window") {
			t.Errorf("a dictionary of 4 GiB at %d: got %v", at, err)
		}
	}
	if got, err := content(save(t, "a.xz", withDictionary(one, 12, 20))); err != nil || got != want {
		t.Errorf("a dictionary of 4 MiB: got %d bytes, %v", len(got), err)
	}
}

// Bytes of an xz file that are changed or missing give an error or the same text.
func TestDamagedXZ(t *testing.T) {
	want := strings.Repeat("1 2 3\n", 50)
	b := packXZ(t, want, 100, xz.CRC32)
	for k := range b {
		if got, err := content(save(t, "a.xz", b[:k])); err == nil && k >= 6 {
			t.Errorf("%d of %d bytes: got %d bytes, want an error", k, len(b), len(got))
		}
		for _, bit := range []byte{1, 0x10, 0x80} {
			damaged := bytes.Clone(b)
			damaged[k] ^= bit
			if got, err := content(save(t, "a.xz", damaged)); k >= 6 && err == nil && got != want {
				t.Errorf("byte %d changed by %#x: got %d bytes, want an error", k, bit, len(got))
			}
		}
	}
}

// archive returns a tar archive of files with the given names. The content of a file is its name.
func archive(t *testing.T, names ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	w.WriteHeader(&tar.Header{Name: "B/", Typeflag: tar.TypeDir, Mode: 0o777})
	for _, n := range names {
		w.WriteHeader(&tar.Header{Name: n, Typeflag: tar.TypeReg, Size: int64(len(n)), Mode: 0o666})
		io.WriteString(w, n)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestTar(t *testing.T) {
	for _, c := range []struct{ file, member, names, want string }{
		{"B.tar", "", "B/B_b.mtx B/B.mtx", "B/B.mtx"},
		{"B.tar.xz", "", "B/B.mtx", "B/B.mtx"},
		{"B.tgz", "", "B/README B/C.mtx", "B/C.mtx"}, // the only .mtx file
		{"B.tar", ":B_b.mtx", "B/B.mtx B/B_b.mtx", "B/B_b.mtx"},
		{"B.tar", ":B/x.tns", "B/B.mtx B/x.tns", "B/x.tns"},
		{"B.tar", "", "B/C.mtx B/D.mtx", "B.tar: the file has no B.mtx; want FILE:NAME with one of " +
			"the names B/C.mtx, B/D.mtx"},
		{"B.tar", ":z.tns", "B/C.mtx", "the file has no z.tns; want FILE:NAME with one of the " +
			"names B/C.mtx"},
		{"B.tar", "", "", "the file contains no tensor"},
	} {
		b := archive(t, strings.Fields(c.names)...)
		if strings.HasSuffix(c.file, ".xz") {
			b = packXZ(t, string(b), 1000, xz.CRC32)
		}
		got, err := content(save(t, c.file, b) + c.member)
		if err != nil {
			got = err.Error()
		}
		if got != c.want && (err == nil || !strings.Contains(got, c.want)) {
			t.Errorf("%s%s of %s: got %q, want %q", c.file, c.member, c.names, got, c.want)
		}
	}
	whole := archive(t, "B/B.mtx")
	for n := 0; n < 1024; n += 31 {
		if got, err := content(save(t, "B.tar", whole[:n])); err == nil && got != "B/B.mtx" {
			t.Errorf("%d bytes of an archive: got %q", n, got)
		}
	}
}

func TestSplit(t *testing.T) {
	for path, want := range map[string][3]string{
		"a.npz:x":          {"a.npz", "x", ".npz"},
		"d/a.H5:/g/x:y":    {"d/a.H5", "/g/x:y", ".h5"},
		"a.mat.gz:S.A":     {"a.mat.gz", "S.A", ".mat"},
		"a:b.tns":          {"a:b.tns", "", ".tns"},
		"a.tns:x":          {"a.tns:x", "", ".tns:x"},
		"a.tar.gz":         {"a.tar.gz", "", ".mtx"},
		"a.tgz:b/c.tns.gz": {"a.tgz", "b/c.tns.gz", ".tns"},
		"a.tar:b":          {"a.tar", "b", ""},
		"-.npz:x":          {"-.npz", "x", ".npz"},
	} {
		file, name := Split(path)
		if got := [3]string{file, name, Ext(path)}; got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}
