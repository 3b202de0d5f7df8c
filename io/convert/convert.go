package convert

import (
	"path/filepath"
	"strings"
	"time"

	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/text"
)

// Options are what a conversion is told.
type Options struct {
	Read       coo.Options // of the input
	Kinds      string      // level kinds of the output, where given (HasFormat)
	Modes      []int       // mode order; nil: 0, 1, ...
	HasFormat  bool
	FitDense   bool // dense levels cover the smallest to the largest coordinate only
	Duplicates coo.Duplicates
	Write      WriteOptions

	// Progress, if not nil, is told now and then how many bytes of the input
	// have been read, and how many there are (0: unknown); a second pass begins
	// at 0 again. It is called by one goroutine, and not after File returned.
	Progress func(done, total int64)
}

// defaultKinds are the levels of a file that is not .tcs: dense for a dense
// file, else s, ds, sss, ... by its order.
func defaultKinds(order int, dense bool) string {
	switch {
	case dense:
		return strings.Repeat("d", order)
	case order == 2:
		return "ds"
	}
	return strings.Repeat("s", order)
}

// Formatted is the format that the stream's tensor has or gets if nothing is
// said.
func Formatted(in coo.Stream) (kinds string, modes []int) {
	if t, ok := in.(coo.Tensored); ok {
		return t.Tensor().Format()
	}
	dims, _ := in.Dims()
	d, ok := in.(coo.Densed)
	return defaultKinds(len(dims), ok && d.Dense()), tcs.Identity(len(dims))
}

// File converts the file in to the file out, in the memory that opt.Write.Limit
// leaves. out appears whole or not at all.
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
		return errorf(out, "--fit-dense is for .tcs files: dense levels of others cover every coordinate")
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
	spec := coo.Spec{Kinds: kinds, Modes: modes, Duplicates: opt.Duplicates, FitDense: opt.FitDense, Type: opt.Read.Type, Name: in,
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
	wo := coo.WriteOptions{Dense: dense, ColumnMajor: len(modes) == 2 && modes[0] == 1, Threads: opt.Write.Threads}
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

// watch reports the stream's progress until stop is called.
func (o *Options) watch(s coo.Stream) (stop func()) {
	if o.Progress == nil {
		return func() {}
	}
	return coo.Watch(s, 100*time.Millisecond, o.Progress)
}
