package readertest_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"distaff/io/coo"
	"distaff/io/hb"
	"distaff/io/mtx"
	"distaff/io/npy"
	"distaff/io/readertest"
	"distaff/io/tensor"
	"distaff/io/tns"
)

// matrix is a sparse matrix of n entries, in the order of rows.
func matrix(n int) *readertest.List {
	l := &readertest.List{Sizes: []int64{100000, 50000}, Of: tensor.Float64}
	for k := range n {
		l.Entries = append(l.Entries, readertest.Entry{Coords: []int64{int64(k / 10),
			int64(k%10*5000 + k%4999)}, Val: complex(float64(k)/7, 0)})
	}
	return l
}

func dense(n int64) *readertest.List {
	l := &readertest.List{Sizes: []int64{n, 32}, Of: tensor.Float64}
	for k := range n * 32 {
		l.Entries = append(l.Entries, readertest.Entry{Coords: []int64{k / 32, k % 32},
			Val: complex(float64(k)/7, 0)})
	}
	return l
}

func BenchmarkWrite(b *testing.B) {
	m, d := matrix(200000), dense(10000)
	for _, c := range []struct {
		name  string
		in    *readertest.List
		write func(io.Writer, *coo.Ordered, coo.WriteOptions) error
	}{{"tns", m, tns.Write}, {"mtx", m, mtx.Write}, {"npz", m, npy.WriteNpz},
		{"npy", d, npy.Write}} {
		b.Run(c.name, func(b *testing.B) {
			c.in.Rewind()
			o := readertest.Ordered(b, c.in, nil)
			var out bytes.Buffer
			for b.Loop() {
				o.Rewind()
				out.Reset()
				if err := c.write(&out, o, coo.WriteOptions{}); err != nil {
					b.Fatal(err)
				}
			}
			b.SetBytes(int64(out.Len()))
		})
	}
}

func BenchmarkRead(b *testing.B) {
	m, d := matrix(200000), dense(10000)
	dir := b.TempDir()
	for _, c := range []struct {
		name  string
		in    *readertest.List
		write func(io.Writer, *coo.Ordered, coo.WriteOptions) error
		open  func(string, coo.Options) (coo.Stream, error)
	}{{"tns", m, tns.Write, tns.Open}, {"mtx", m, mtx.Write, mtx.Open},
		{"npz", m, npy.WriteNpz, npy.OpenNpz}, {"npy", d, npy.Write, npy.Open}} {
		b.Run(c.name, func(b *testing.B) {
			c.in.Rewind()
			var out bytes.Buffer
			if err := c.write(&out, readertest.Ordered(b, c.in, nil),
				coo.WriteOptions{}); err != nil {
				b.Fatal(err)
			}
			path := filepath.Join(dir, c.name)
			if err := os.WriteFile(path, out.Bytes(), 0o666); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(out.Len()))
			readAll(b, path, len(c.in.Entries), c.open)
		})
	}
	b.Run("hb", func(b *testing.B) {
		path := readertest.Data(b, "matrices/dwg961a.rb")
		st, err := os.Stat(path)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(st.Size())
		readAll(b, path, 3405, hb.Open)
	})
}

func readAll(b *testing.B, path string, want int,
	open func(string, coo.Options) (coo.Stream, error)) {
	for b.Loop() {
		s, err := open(path, coo.Options{})
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		var batch coo.Batch
		for {
			err := s.Next(&batch)
			if err == io.EOF {
				break
			}
			if err != nil {
				b.Fatal(err)
			}
			n += batch.N
		}
		if n < want-1 {
			b.Fatalf("got %d entries, want %d", n, want)
		}
		s.Close()
	}
}
