package convert

import (
	"path/filepath"
	"strings"
	"time"

	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/io/text"
)

// Options are the options of a conversion.
type Options struct {
	Read       coo.Options   // options for the input
	Format     tensor.Format // of the output, if HasFormat; a nil Order is 0, 1, ...
	HasFormat  bool
	FitDense   bool // dense levels cover only the smallest to the largest coordinate
	Duplicates coo.Duplicates
	Write      WriteOptions

	// Progress, if not nil, is called from time to time with the number of bytes of the input
	// that were read, and the total (0: unknown). A second pass starts at 0 again. One
	// goroutine calls it, and not after File has returned.
	Progress func(done, total int64)
}

// Formatted returns the format of the stream's tensor, or the default format if it has none.
func Formatted(in coo.Stream) tensor.Format {
	if t, ok := in.(coo.TensorStream); ok {
		return t.Tensor().Format()
	}
	dims, _ := in.Dims()
	if d, ok := in.(coo.DenseReporter); ok && d.Dense() {
		return tensor.DenseOf(len(dims))
	}
	return tensor.SparseOf(len(dims))
}

// File converts the file at path src and writes the result to path dst. The format of each file
// follows from its extension. opt.Write.Limit limits the memory for sorting and writing. If
// opt.Read.Limit is 0, reading has the same limit. dst appears only when it is complete, or not at
// all, unless it is a pipe, a device or standard output.
func File(src, dst string, opt Options) error {
	if opt.Write.Limit == nil {
		opt.Write.Limit = DefaultLimit()
	}
	if opt.Read.Limit == 0 {
		opt.Read.Limit = opt.Write.Limit.Max()
	}
	if err := canWrite(dst); err != nil {
		return err
	}
	target, err := FormatOf(dst)
	if err != nil {
		return err
	}
	if opt.FitDense && target.Name != "tcs" {
		return errorf(dst,
			"--fit-dense is only for .tcs files: dense levels of other files cover every "+
				"coordinate")
	}
	s, err := Open(src, opt.Read)
	if err != nil {
		return err
	}
	defer s.Close()
	dims, _ := s.Dims()
	if err := Writable(dst, len(dims)); err != nil {
		return err
	}
	format := Formatted(s)
	if opt.HasFormat {
		format = opt.Format.Ordered()
		if err := tcs.CheckFormat(format, len(dims)); err != nil {
			return err
		}
	}
	if t, ok := s.(*tensorFile); ok && target.Name == "tcs" {
		t.keepFor(format, opt.FitDense)
	}
	spec := coo.Spec{Format: format, Duplicates: opt.Duplicates, FitDense: opt.FitDense,
		Type: opt.Read.Type, Name: src, ZeroBased: opt.Read.ZeroBased && Based(src) == nil,
		Locate: func(at []int64) (int, int) { return text.Locate(s, at) }}
	defer opt.watch(s)()
	if target.Name == "tcs" && strings.EqualFold(filepath.Ext(dst), ".tcs") && !text.Stdin(dst) {
		return coo.AssembleFile(dst, s, spec, opt.Write.config())
	}
	f, err := Create(dst)
	if err != nil {
		return err
	}
	defer f.Abort()
	if target.Name == "tcs" {
		t, err := coo.Assemble(s, spec, opt.Write.config())
		if err != nil {
			return err
		}
		defer t.Close()
		if err := WriteTo(f, dst, t, opt.Write); err != nil {
			return f.Errorf(err)
		}
		return f.Commit()
	}
	wo := coo.WriteOptions{Dense: len(format.Levels) > 0 && format.AllDense(),
		ColumnMajor: len(format.Order) == 2 && format.Order[0] == 1,
		Threads:     opt.Write.Threads}
	var from coo.Stream = s
	if opt.HasFormat {
		from = asStored(s, format)
	}
	if !opt.HasFormat || !format.Repeats() || !target.Repeats {
		spec.Format.Levels = nil
	}
	if err := target.write(f, dst, from, spec, wo, opt.Write.config()); err != nil {
		return f.Errorf(err)
	}
	return f.Commit()
}

// watch calls o.Progress with the progress of s, about 10 times a second, until stop is called.
func (o *Options) watch(s coo.Stream) (stop func()) {
	if o.Progress == nil {
		return func() {}
	}
	return coo.Watch(s, 100*time.Millisecond, o.Progress)
}
