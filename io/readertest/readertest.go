// Package readertest has helpers for the tests of all readers: it finds files of real data,
// checks what readers return, and converts streams to sorted lists of entries.
package readertest

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"unsafe"

	"distaff/io/coo"
	"distaff/io/tensor"
)

// Data returns the path of a file of real data. It skips the test if the file does not exist.
func Data(t testing.TB, name string) string {
	t.Helper()
	path, ok := find(t, name)
	if !ok {
		t.Skipf("no real inputs: %s", missing(name))
	}
	return path
}

// known searches for the named files of real data, and returns the paths of the existing files, by
// name. If some files do not exist, it runs one subtest, which is skipped with a message that names
// the first of them and counts the others.
func known(t *testing.T, names []string) map[string]string {
	t.Helper()
	paths := map[string]string{}
	var none []string
	for _, name := range names {
		if path, ok := find(t, name); ok {
			paths[name] = path
		} else {
			none = append(none, name)
		}
	}
	if len(none) > 0 {
		t.Run("elsewhere", func(t *testing.T) { t.Skipf("no real inputs: %s", missing(none...)) })
	}
	return paths
}

func missing(names ...string) string {
	what := names[0] + " is"
	if len(names) > 1 {
		what = fmt.Sprintf("%s and %d more files are", names[0], len(names)-1)
	}
	return what + " not in testdata/real, ../shared/data or $DISTAFF_DATA"
}

// find looks for a file of real data in the folders of Roots.
func find(t testing.TB, name string) (path string, ok bool) {
	t.Helper()
	for _, dir := range Roots(t) {
		path = filepath.Join(dir, name)
		if _, err := os.Stat(path); err == nil {
			return path, true
		}
	}
	return "", false
}

// Roots returns the folders of real data: testdata/real in the repository, and a larger folder with
// the same layout, $DISTAFF_DATA, if it has the subfolder "matrices". The default of $DISTAFF_DATA
// is ../shared/data, next to the repository.
func Roots(t testing.TB) []string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == "/" {
			t.Fatal("no folder above has a go.mod")
		}
	}
	other := os.Getenv("DISTAFF_DATA")
	if other == "" {
		other = filepath.Join(filepath.Dir(dir), "shared", "data")
	}
	roots := []string{filepath.Join(dir, "testdata", "real")}
	if _, err := os.Stat(filepath.Join(other, "matrices")); err == nil {
		roots = append(roots, other)
	}
	return roots
}

// Files returns the files of real data in the given folders of all Roots. If two Roots have a file
// of the same name in the same folder, it returns the first.
func Files(t testing.TB, folders ...string) []string {
	t.Helper()
	seen := map[string]bool{}
	var files []string
	for _, root := range Roots(t) {
		for _, folder := range folders {
			paths, err := filepath.Glob(filepath.Join(root, folder, "*"))
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range paths {
				if name := filepath.Join(folder, filepath.Base(path)); !seen[name] {
					seen[name] = true
					files = append(files, path)
				}
			}
		}
	}
	return files
}

// Entry is an entry of a stream.
type Entry struct {
	Coords []int64
	Val    complex128
	Int    int64 // the value, if the type is an integer type
}

func (e Entry) String() string { return fmt.Sprintf("%v:%v", e.Coords, e.Val) }

// Collect reads the remaining entries of s.
func Collect(s coo.Stream) ([]Entry, error) {
	var all []Entry
	var b coo.Batch
	dims, _ := s.Dims()
	for {
		err := s.Next(&b)
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		if b.N == 0 || len(b.Coords) != len(dims) {
			return all, fmt.Errorf("BUG: got a batch of %d entries with %d coordinates each, want "+
				"at least one entry with %d", b.N, len(b.Coords), len(dims))
		}
		for k := range b.N {
			e := Entry{Coords: make([]int64, len(b.Coords))}
			for m := range b.Coords {
				e.Coords[m] = b.Coords[m][k]
			}
			e.Val, e.Int = value(s.Type(), b.Vals, k)
			all = append(all, e)
		}
	}
}

func value(t tensor.Type, vals []byte, k int) (complex128, int64) {
	v := t.Load(unsafe.Pointer(&vals[k*int(t.Size())]))
	return v.Complex(), v.I
}

// Sort sorts entries by coordinates, mode 0 first. Entries with equal coordinates keep their
// order.
func Sort(es []Entry) {
	slices.SortStableFunc(es, func(a, b Entry) int { return slices.Compare(a.Coords, b.Coords) })
}

// List is a stream of given entries, for tests of writers.
type List struct {
	Sizes   []int64
	Of      tensor.Type
	Entries []Entry
	at      int
}

func (l *List) Dims() ([]int64, bool) { return l.Sizes, true }
func (l *List) Type() tensor.Type     { return l.Of }
func (l *List) Rewind() error         { l.at = 0; return nil }
func (l *List) Close() error          { return nil }

// Next returns up to 100 entries.
func (l *List) Next(b *coo.Batch) error {
	n := min(100, len(l.Entries)-l.at)
	if n == 0 {
		return io.EOF
	}
	b.Resize(len(l.Sizes), n, int(l.Of.Size()))
	for k, e := range l.Entries[l.at : l.at+n] {
		for m, c := range e.Coords {
			b.Coords[m][k] = c
		}
		v := tensor.Value{Type: l.Of, C: e.Val}
		if l.Of.HoldsInts() {
			v = tensor.Value{Type: l.Of, I: e.Int}
		}
		l.Of.Store(unsafe.Pointer(&b.Vals[k*int(l.Of.Size())]), v)
	}
	l.at += n
	return nil
}

// Ordered sorts entries in a mode order, for a writer.
func Ordered(t testing.TB, s coo.Stream, modes []int) *coo.Ordered {
	t.Helper()
	o, err := coo.Sort(s, coo.Spec{Format: tensor.Format{Order: modes}}, coo.Config{Tmp: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.Close() })
	return o
}

// Random returns n distinct random entries. Values of a real type have float32 precision.
func Random(dims []int64, typ tensor.Type, n int, seed uint64) *List {
	r := rand.New(rand.NewPCG(seed, 1))
	l := &List{Sizes: dims, Of: typ}
	seen := map[string]bool{}
	for len(l.Entries) < n {
		e := Entry{Coords: make([]int64, len(dims))}
		for m, d := range dims {
			e.Coords[m] = r.Int64N(d)
		}
		if key := fmt.Sprint(e.Coords); seen[key] {
			continue
		} else {
			seen[key] = true
		}
		e.Int = r.Int64N(2001) - 1000
		switch {
		case typ.HoldsInts():
			if !(tensor.Value{Type: tensor.Int64, I: e.Int}).FitsInt(typ) {
				e.Int &= 1
			}
			if typ == tensor.Bool {
				e.Int &= 1 // zeros too
			}
			e.Val = complex(float64(e.Int), 0)
		case typ.IsComplex():
			e.Val = complex(float64(float32(r.NormFloat64())), float64(float32(r.NormFloat64())))
		default:
			e.Val = complex(float64(float32(r.NormFloat64()*1e3)), 0)
		}
		l.Entries = append(l.Entries, e)
	}
	return l
}
