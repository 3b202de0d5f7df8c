package convert

import (
	"bufio"
	"fmt"
	"io"
	"os"
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

// Reads is the use of a tensor's file that is read, which may be "-" with an ending.
func Reads(what, path string) outfile.Use { return use(what, path, false) }

// Writes is the use of a tensor's file that is written, which may be "-" with an ending.
func Writes(what, path string) outfile.Use { return use(what, path, true) }

func use(what, path string, writes bool) outfile.Use {
	if text.Stdin(path) {
		path = "-"
	}
	return outfile.Use{What: what, Path: path, Writes: writes, Tensor: true}
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
	if err := Writable(name, t.Order()); err != nil {
		return err
	}
	f, err := FormatOf(name)
	if err != nil {
		return err
	}
	if f.Name == "tcs" {
		return compressed(w, name, func(w io.Writer) error { return t.WriteTo(w, tcs.WriteOptions{Limit: opt.Limit}) })
	}
	_, modes := t.Format()
	return f.write(w, name, coo.FromTensor(t, coo.DropFill), coo.Spec{Name: name}, f.Options(t.Dense(), modes, opt.Threads), opt.config())
}

// Options are how a tensor is written whose levels, stored in the order of
// modes, are all dense or not.
func (f *Format) Options(dense bool, modes []int, threads int) coo.WriteOptions {
	return coo.WriteOptions{Dense: dense || f.Filled, ColumnMajor: len(modes) == 2 && modes[0] == 1, Threads: threads}
}

// Order is the order in which the format wants the entries of a tensor of that
// order.
func (f *Format) Order(order int, opt coo.WriteOptions) []int {
	if f.Modes == nil {
		return tcs.Identity(order)
	}
	return f.Modes(order, opt)
}

// WriteStream writes entries that come in the format's order to w, in the format
// of name's ending. A .tcs becomes a tensor in the spec's format; the entries
// come in its order.
func WriteStream(w io.Writer, name string, in coo.Stream, spec coo.Spec, wo coo.WriteOptions, opt WriteOptions) error {
	f, err := FormatOf(name)
	if err != nil {
		return err
	}
	if f.Name != "tcs" {
		spec.Kinds = ""
		return f.write(w, name, in, spec, wo, opt.config())
	}
	dir, err := outfile.MkdirTemp(opt.Tmp, "distaff-store-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "result.tcs")
	if err := coo.AssembleFile(path, in, spec, opt.config()); err != nil {
		return err
	}
	from, err := os.Open(path)
	if err != nil {
		return err
	}
	defer from.Close()
	return compressed(w, name, func(w io.Writer) error {
		_, err := io.Copy(w, from)
		return err
	})
}

// Compressed tells whether path's ending says that the file is compressed.
func Compressed(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".gz", ".zst":
		return true
	}
	return false
}

// Room refuses an output of nnz entries for which the disk has no room, as far as
// its format tells: one that lists every coordinate, or every row.
func (f *Format) Room(to *outfile.File, name string, typ tcs.Type, dims []int64, nnz int64, opt coo.WriteOptions) error {
	if f.Least == nil {
		return nil
	}
	what := "every row or column"
	if f.Filled {
		what = "every coordinate"
	}
	bytes := f.Least(typ, dims, nnz, opt)
	if free := to.Free(); free >= 0 && bytes > float64(free) {
		return &tcs.Error{Exit: 1, File: name, Msg: fmt.Sprintf("with %s listed it takes %s, and the disk has %s: .tcs and .tns store entries only",
			what, atLeast(bytes), tcs.Size(free))}
	}
	return nil
}

// write brings the stream into the format's order and writes it. Repeats are summed, but
// where spec.Kinds are levels that keep them.
func (f *Format) write(w io.Writer, name string, in coo.Stream, spec coo.Spec, wo coo.WriteOptions, cfg coo.Config) error {
	wo.Dense = wo.Dense || f.Filled
	dims, _ := in.Dims()
	spec.Modes = nil
	if f.Modes != nil {
		spec.Modes = f.Modes(len(dims), wo)
	}
	o, err := coo.Sort(in, spec, cfg)
	if err != nil {
		return err
	}
	defer o.Free()
	if file, ok := w.(*outfile.File); ok {
		dims, _ := o.Dims()
		if err := f.Room(file, name, o.Type(), dims, o.NNZ(), wo); err != nil {
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
		z = newGzipWriter(b)
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

// atLeast prints bytes, as a bound where 63 bits can't count them.
func atLeast(bytes float64) string {
	if bytes >= 1<<62 {
		return "more than " + tcs.Size(1<<62)
	}
	return tcs.Size(int64(bytes))
}
