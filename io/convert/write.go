package convert

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"

	"distaff/io/coo"
	"distaff/io/outfile"
	"distaff/io/tcs"
	"distaff/io/text"
)

// WriteOptions are what writing may use.
type WriteOptions struct {
	Threads int
	Limit   *tcs.Limit
	Tmp     string // folder of temporary files; "" for os.TempDir
}

func (o WriteOptions) config() coo.Config {
	return coo.Config{Limit: o.Limit, Tmp: o.Tmp, Threads: o.Threads}
}

// Create starts the output at path, which may be "-" with an ending.
func Create(path string) (*outfile.File, error) {
	if text.Stdin(path) {
		path = "-"
	}
	return outfile.Create(path)
}

// WriteTensor writes the tensor to path, in the format of its ending.
func WriteTensor(path string, t *tcs.Tensor, opt WriteOptions) error {
	if err := Writable(path, t.Order()); err != nil {
		return err
	}
	f, err := Create(path)
	if err != nil {
		return err
	}
	defer f.Abort()
	if err := WriteTo(f, path, t, opt); err != nil {
		return f.Errorf(err)
	}
	return f.Commit()
}

// WriteTo writes the tensor to w in the format of name's ending. The tensor must
// be loaded and valid. Entries of compressed levels are written even where they
// are zero, zeros for which only a dense level makes room are not.
func WriteTo(w io.Writer, name string, t *tcs.Tensor, opt WriteOptions) error {
	f, err := FormatOf(name)
	if err != nil {
		return err
	}
	if err := Writable(name, t.Order()); err != nil {
		return err
	}
	if f.Name == "tcs" {
		return compressed(w, name, func(w io.Writer) error { return t.WriteTo(w, tcs.WriteOptions{Limit: opt.Limit}) })
	}
	_, modes := t.Format()
	wo := coo.WriteOptions{Dense: t.Dense(), ColumnMajor: len(modes) == 2 && modes[0] == 1, Threads: opt.Threads}
	return f.write(w, name, coo.FromTensor(t, coo.DropFill), coo.Spec{Name: name}, wo, opt.config())
}

// write brings the stream into the format's order and writes it.
func (f *Format) write(w io.Writer, name string, in coo.Stream, spec coo.Spec, wo coo.WriteOptions, cfg coo.Config) error {
	wo.Dense = wo.Dense || f.Filled
	dims, _ := in.Dims()
	spec.Kinds, spec.Modes = "", nil
	if f.Modes != nil {
		spec.Modes = f.Modes(len(dims), wo)
	}
	o, err := coo.Sort(in, spec, cfg)
	if err != nil {
		return err
	}
	defer o.Free()
	if f.Filled {
		if err := room(w, name, o); err != nil {
			return err
		}
	}
	return compressed(w, name, func(w io.Writer) error { return f.Write(w, o, wo) })
}

// compressed runs write with a writer to w that compresses if name's ending
// says so.
func compressed(w io.Writer, name string, write func(io.Writer) error) error {
	b := bufio.NewWriterSize(w, 1<<20)
	var z io.WriteCloser
	switch strings.ToLower(filepath.Ext(name)) {
	case ".gz":
		z = gzip.NewWriter(b)
	case ".zst":
		e, err := zstd.NewWriter(b)
		if err != nil {
			panic("BUG: convert: zstd encoder: " + err.Error())
		}
		z = e
	default:
		if err := write(b); err != nil {
			return err
		}
		return b.Flush()
	}
	err := write(z)
	if e := z.Close(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	return b.Flush()
}

// room refuses an output that lists every coordinate where the disk has no room
// for that.
func room(w io.Writer, name string, o *coo.Ordered) error {
	dims, _ := o.Dims()
	bytes := float64(o.Type().Size())
	for _, n := range dims {
		bytes *= float64(n)
	}
	f, ok := w.(*outfile.File)
	if !ok {
		return nil
	}
	if free := f.Free(); free >= 0 && bytes > float64(free) {
		return &tcs.Error{Exit: 1, File: name, Msg: fmt.Sprintf("with every coordinate listed it takes %s, and the disk has %s: .tcs and .tns store entries only",
			atLeast(bytes), tcs.Size(free))}
	}
	return nil
}

// atLeast prints bytes, as a bound where 63 bits can't count them.
func atLeast(bytes float64) string {
	if bytes >= 1<<62 {
		return "more than " + tcs.Size(1<<62)
	}
	return tcs.Size(int64(bytes))
}
