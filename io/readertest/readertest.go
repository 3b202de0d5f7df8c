// Package readertest has what the tests of all readers share: where the real
// inputs are, and a stream's entries as a sorted list.
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
	"distaff/io/tcs"
)

// Data is the path of a real input below the folder $DISTAFF_DATA or, without
// it, ../shared/data beside the repository. The test is skipped where there is none.
func Data(t testing.TB, name string) string {
	t.Helper()
	if dir := os.Getenv("DISTAFF_DATA"); dir != "" {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err != nil {
			t.Skipf("no real inputs: %v", err)
		}
		return path
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != "/"; dir = filepath.Dir(dir) {
		for _, d := range []string{"shared/data", "../shared/data"} {
			path := filepath.Join(dir, d, name)
			if _, err := os.Stat(path); err == nil {
				return path
			}
		}
	}
	t.Skipf("no real inputs: %s is not in ../shared/data, and DISTAFF_DATA is not set", name)
	return ""
}

// Entry is one entry of a stream.
type Entry struct {
	Coords []int64
	Val    complex128
	Int    int64 // the value of an integer type
}

func (e Entry) String() string { return fmt.Sprintf("%v:%v", e.Coords, e.Val) }

// Collect reads all entries that are left in s.
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
			return all, fmt.Errorf("BUG: batch of %d entries with %d coordinates, want some with %d", b.N, len(b.Coords), len(dims))
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

func value(t tcs.Type, vals []byte, k int) (complex128, int64) {
	switch t {
	case tcs.Float64:
		return complex(*at[float64](vals, k), 0), 0
	case tcs.Float32:
		return complex(float64(*at[float32](vals, k)), 0), 0
	case tcs.Int64:
		v := *at[int64](vals, k)
		return complex(float64(v), 0), v
	case tcs.Int32:
		v := *at[int32](vals, k)
		return complex(float64(v), 0), int64(v)
	case tcs.Complex128:
		return *at[complex128](vals, k), 0
	case tcs.Complex64:
		return complex128(*at[complex64](vals, k)), 0
	}
	panic("BUG: readertest: stream of no type")
}

func at[T any](vals []byte, k int) *T {
	var z T
	size := int(unsafe.Sizeof(z))
	return (*T)(unsafe.Pointer(&vals[k*size : (k+1)*size][0]))
}

// Sort orders entries by their coordinates, mode 0 first; repeated ones keep
// their order.
func Sort(es []Entry) {
	slices.SortStableFunc(es, func(a, b Entry) int { return slices.Compare(a.Coords, b.Coords) })
}

// List is a stream of given entries, for tests of writers.
type List struct {
	Sizes   []int64
	Of      tcs.Type
	Entries []Entry
	at      int
}

func (l *List) Dims() ([]int64, bool) { return l.Sizes, true }
func (l *List) Type() tcs.Type        { return l.Of }
func (l *List) Rewind() error         { l.at = 0; return nil }
func (l *List) Close() error          { return nil }

// Next yields up to 100 entries.
func (l *List) Next(b *coo.Batch) error {
	n := min(100, len(l.Entries)-l.at)
	if n == 0 {
		return io.EOF
	}
	b.Resize(len(l.Sizes), n, l.Of.Size())
	for k, e := range l.Entries[l.at : l.at+n] {
		for m, c := range e.Coords {
			b.Coords[m][k] = c
		}
		v := tcs.Value{Type: l.Of, C: e.Val}
		if l.Of.IsInt() {
			v = tcs.Value{Type: l.Of, I: e.Int}
		}
		l.Of.Store(unsafe.Pointer(&b.Vals[k*l.Of.Size()]), v)
	}
	l.at += n
	return nil
}

// Ordered brings entries into the order of modes, for a writer.
func Ordered(t testing.TB, s coo.Stream, modes []int) *coo.Ordered {
	t.Helper()
	o, err := coo.Sort(s, coo.Spec{Modes: modes}, coo.Config{Tmp: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.Close() })
	return o
}

// Random makes n distinct entries of whole or real values.
func Random(dims []int64, typ tcs.Type, n int, seed uint64) *List {
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
		case typ.IsInt():
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
