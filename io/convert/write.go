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
	"distaff/io/tcsfile"
	"distaff/io/tensor"
	"distaff/io/text"
)

// WriteOptions limits what writing a file may use: threads, memory, and the folder for temporary
// files.
type WriteOptions struct {
	Threads int
	Limit   *tcs.Limit
	Tmp     string // folder of temporary files; "" for os.TempDir
}

func (o WriteOptions) config() coo.Config {
	return coo.Config{Limit: o.Limit, Tmp: o.Tmp, Threads: o.Threads}
}

// Create starts the output to path, which may be "-" with an extension.
func Create(path string) (*outfile.File, error) {
	if text.Stdin(path) {
		path = "-"
	}
	return outfile.Create(path)
}

// Reads returns the description of an input file, for outfile.Apart. purpose says in messages what
// the file is used for. path may be "-" for standard input, also with an extension.
func Reads(purpose, path string) outfile.Use { return use(purpose, path, false) }

// Writes returns the description of an output file, for outfile.Apart. purpose says in messages
// what the file is used for. path may be "-" for standard output, also with an extension.
func Writes(purpose, path string) outfile.Use { return use(purpose, path, true) }

func use(what, path string, writes bool) outfile.Use {
	file, name := text.Split(path)
	if text.Stdin(file) {
		file = "-"
	}
	// An output must not replace a file that has other tensors too.
	return outfile.Use{What: what, Path: file, Writes: writes, Tensor: name == ""}
}

// WriteTensor writes the tensor to path, in the format of its extension.
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

// WriteTo writes the tensor to w in the format of name's extension. The tensor must be loaded and
// valid. Zeros that are entries of compressed levels are written. Zeros that only fill a dense
// level are written only if the file lists every coordinate, or is a .tcs file.
func WriteTo(w io.Writer, name string, t *tcs.Tensor, opt WriteOptions) error {
	if err := Writable(name, t.Order()); err != nil {
		return err
	}
	f, err := FormatOf(name)
	if err != nil {
		return err
	}
	if f.Name == "tcs" {
		return compressed(w, name, func(w io.Writer) error {
			return tcsfile.WriteTo(w, t, tcsfile.WriteOptions{Limit: opt.Limit})
		})
	}
	return f.write(w, name, coo.FromTensor(t, coo.DropFill), coo.Spec{Name: name},
		f.Options(t.Dense(), t.Format().Order, opt.Threads), opt.config())
}

// Options returns the options for writing a tensor in the format. dense is true if all levels of
// the tensor are dense; modes is its mode order.
func (f *Format) Options(dense bool, modes []int, threads int) coo.WriteOptions {
	return coo.WriteOptions{Dense: dense || f.Filled, ColumnMajor: len(modes) == 2 && modes[0] == 1,
		Threads: threads}
}

// Order returns the mode order in which a file of format f lists the entries of a tensor with n
// modes.
func (f *Format) Order(n int, opt coo.WriteOptions) []int {
	if f.Modes == nil {
		return tensor.Identity(n)
	}
	return f.Modes(n, opt)
}

// WriteStream writes entries to w in the format of name's extension, after sorting them as that
// format needs. For .tcs, it first assembles them to a tensor of spec's format in a temporary file.
func WriteStream(w io.Writer, name string, in coo.Stream, spec coo.Spec, wo coo.WriteOptions,
	opt WriteOptions) error {
	f, err := FormatOf(name)
	if err != nil {
		return err
	}
	if f.Name != "tcs" {
		spec.Format.Levels = nil
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

// Compressed reports whether path has the extension of a compressed file or a tar archive.
func Compressed(path string) bool {
	file, _ := text.Split(path)
	return text.PackedExt(file) != "" || text.IsTar(file)
}

// Room returns an error if the disk does not have enough room for an output of nnz entries. It
// checks only formats that have the function Least; for others it returns nil.
func (f *Format) Room(to *outfile.File, name string, typ tensor.Type, dims []int64, nnz int64,
	opt coo.WriteOptions) error {
	if f.Least == nil {
		return nil
	}
	what := "every row or column"
	if f.Filled {
		what = "every coordinate"
	}
	bytes := f.Least(typ, dims, nnz, opt)
	if free := to.Free(); free >= 0 && bytes > float64(free) {
		return &tcs.Error{Exit: 1, File: name,
			Msg: fmt.Sprintf(
				"with %s listed it takes %s, but the disk has only %s%s",
				what, atLeast(bytes), tensor.Bytes(free), suggestTCS(typ, dims, nnz, float64(free)))}
	}
	return nil
}

// suggestTCS returns the end of an error message, which advises to write a .tcs file instead
// because such a file stores only entries. It returns "" if a .tcs file with nnz entries may need
// more than room bytes. It also returns "" if nnz is 0, which can mean that the number is unknown.
func suggestTCS(typ tensor.Type, dims []int64, nnz int64, room float64) string {
	// a position and a coordinate a level
	bytes := float64(nnz) * float64(16*len(dims)+int(typ.Size()))
	if nnz == 0 || bytes > room {
		return ""
	}
	return ": a .tcs file with compressed levels stores only entries and takes at most " +
		tensor.Bytes(
			int64(bytes))
}

// write sorts the stream as the format needs and writes it to w. It adds entries with equal
// coordinates, unless spec.Format has levels for repeated coordinates or spec refuses duplicates.
func (f *Format) write(w io.Writer, name string, in coo.Stream, spec coo.Spec, wo coo.WriteOptions,
	cfg coo.Config) error {
	wo.Dense = wo.Dense || f.Filled
	dims, _ := in.Dims()
	spec.Format.Order = nil
	if f.Modes != nil {
		spec.Format.Order = f.Modes(len(dims), wo)
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

// compressed calls write with a writer whose output goes to w. If name has the extension of a
// compressed file (.gz or .zst), the output is compressed on the way.
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

// atLeast formats a number of bytes. A number of 2^62 or more is formatted as "more than" 2^62
// bytes.
func atLeast(bytes float64) string {
	if bytes >= 1<<62 {
		return "more than " + tensor.Bytes(1<<62)
	}
	return tensor.Bytes(int64(bytes))
}
