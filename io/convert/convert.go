package convert

import (
	"path/filepath"
	"strings"
	"time"

	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/text"
)

// Options are the options of a conversion.
type Options struct {
	Read       coo.Options // options for the input
	Kinds      string      // level kinds of the output, if HasFormat
	Modes      []int       // mode order of the output, if HasFormat; nil: 0, 1, ...
	HasFormat  bool
	FitDense   bool // dense levels cover only the smallest to the largest coordinate
	Duplicates coo.Duplicates
	Write      WriteOptions

	// Progress, if not nil, is called from time to time with the number of bytes of the input
	// that were read, and the total (0: unknown). A second pass starts at 0 again. One
	// goroutine calls it, and not after File has returned.
	Progress func(done, total int64)
}

// defaultKinds returns the level kinds of a tensor whose file is not .tcs: all dense for a
// dense file, otherwise s, ds, sss, ... according to its order.
func defaultKinds(order int, dense bool) string {
	switch {
	case dense:
		return strings.Repeat("d", order)
	case order == 2:
		return "ds"
	}
	return strings.Repeat("s", order)
}

// Formatted returns the format of the stream's tensor, or the default format if it has none.
func Formatted(in coo.Stream) (kinds string, modes []int) {
	if t, ok := in.(coo.Tensored); ok {
		return t.Tensor().Format()
	}
	dims, _ := in.Dims()
	d, ok := in.(coo.Densed)
	return defaultKinds(len(dims), ok && d.Dense()), tcs.Identity(len(dims))
}

// File converts the file in to the file out, within the memory of opt.Write.Limit. out appears
// complete or not at all.
func File(in, out string, opt Options) error {
	if opt.Write.Limit == nil {
		opt.Write.Limit = DefaultLimit()
	}
	if opt.Read.Limit == 0 {
		opt.Read.Limit = opt.Write.Limit.Max()
	}
	if err := canWrite(out); err != nil {
		return err
	}
	target, err := FormatOf(out)
	if err != nil {
		return err
	}
	if opt.FitDense && target.Name != "tcs" {
		return errorf(out,
			"--fit-dense is for .tcs files: dense levels of others cover every coordinate")
	}
	s, err := Open(in, opt.Read)
	if err != nil {
		return err
	}
	defer s.Close()
	dims, _ := s.Dims()
	if err := Writable(out, len(dims)); err != nil {
		return err
	}
	kinds, modes := Formatted(s)
	if opt.HasFormat {
		kinds, modes = opt.Kinds, opt.Modes
		if modes == nil {
			modes = tcs.Identity(len(kinds))
		}
		if err := tcs.CheckFormat(kinds, modes, len(dims)); err != nil {
			return err
		}
	}
	if t, ok := s.(*tensorFile); ok && target.Name == "tcs" {
		t.keepFor(kinds, modes, opt.FitDense)
	}
	spec := coo.Spec{Kinds: kinds, Modes: modes, Duplicates: opt.Duplicates, FitDense: opt.FitDense,
		Type: opt.Read.Type, Name: in,
		Locate: func(at []int64) (int, int) { return text.Locate(s, at) }}
	defer opt.watch(s)()
	if target.Name == "tcs" && strings.EqualFold(filepath.Ext(out), ".tcs") && !text.Stdin(out) {
		return coo.AssembleFile(out, s, spec, opt.Write.config())
	}
	f, err := Create(out)
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
		if err := WriteTo(f, out, t, opt.Write); err != nil {
			return f.Errorf(err)
		}
		return f.Commit()
	}
	dense := len(kinds) > 0 && strings.Trim(kinds, "d") == ""
	wo := coo.WriteOptions{Dense: dense, ColumnMajor: len(modes) == 2 && modes[0] == 1,
		Threads: opt.Write.Threads}
	var from coo.Stream = s
	if opt.HasFormat {
		from = asStored(s, kinds)
	}
	spec.Kinds = ""
	if opt.HasFormat && tcs.KeepsRepeats(kinds) && target.Repeats {
		spec.Kinds = kinds
	}
	if err := target.write(f, out, from, spec, wo, opt.Write.config()); err != nil {
		return f.Errorf(err)
	}
	return f.Commit()
}

// watch calls o.Progress with the stream's progress until stop is called.
func (o *Options) watch(s coo.Stream) (stop func()) {
	if o.Progress == nil {
		return func() {}
	}
	return coo.Watch(s, 100*time.Millisecond, o.Progress)
}
