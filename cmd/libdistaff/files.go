package libdistaff

/*
#include <stdlib.h>
#include "bridge.h"
*/
import "C"

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"distaff/codegen/jobfile"
	"distaff/codegen/notation"
	"distaff/io/convert"
	"distaff/io/coo"
	"distaff/io/memory"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd"
	"distaff/spmd/fault"
)

// Command runs a command line of distaff and returns its exit code. Package cmd/distaff sets it.
var Command func(args []string, stdout, stderr io.Writer) int

// with runs f and stores its error in e.
func with(e *C.distaff_error, f func() error) C.int32_t {
	if err := protect(f); err != nil {
		return fail(e, err)
	}
	return C.DISTAFF_OK
}

// config returns the memory and threads of conversions.
func (x *environment) config() coo.Config {
	limit := convert.DefaultLimit()
	if n := x.options.MemoryLimit; n > 0 {
		limit = tcs.NewLimit(n)
	}
	return coo.Config{Limit: limit, Tmp: x.options.Tmp, Threads: max(x.options.Threads, 1)}
}

//export goRead
func goRead(env *C.distaff_env, path, format, typ *C.char, result *C.distaff_tensor,
	e *C.distaff_error) C.int32_t {
	x, file := environmentOf(env), text(path)
	return with(e, func() error {
		cfg := x.config()
		o := coo.Options{Tmp: cfg.Tmp, Limit: cfg.Limit.Max(), Note: x.options.Note}
		if name := text(typ); name != "" {
			t, err := notation.ParseType(name)
			if err != nil {
				return err
			}
			o.Type = t
		}
		s, err := convert.Open(file, o)
		if err != nil {
			return err
		}
		defer s.Close()
		f := convert.Formatted(s)
		if text(format) != "" {
			if _, f, err = notation.ParseFormatFlag("T:" + text(format)); err != nil {
				return err
			}
		}
		t, err := coo.Assemble(s, coo.Spec{Format: f, Type: o.Type, Name: file}, cfg)
		if err == nil {
			give(result, t)
		}
		return err
	})
}

//export goWrite
func goWrite(env *C.distaff_env, path *C.char, t *C.distaff_tensor,
	e *C.distaff_error) C.int32_t {
	x := environmentOf(env)
	return with(e, func() error {
		in, err := tensorOf("the tensor", t)
		if err != nil {
			return err
		}
		return convert.WriteTensor(text(path), in, convert.WriteOptions{Limit: x.config().Limit})
	})
}

// tensorOf returns a tensor over the caller's memory after a check.
func tensorOf(name string, c *C.distaff_tensor) (*tcs.Tensor, error) {
	l, err := layoutOf(name, c)
	if err != nil {
		return nil, err
	}
	t := l.new()
	l.fill(t, c)
	return t, memory.Check(t, name, c.trusted != 0)
}

//export goConvert
func goConvert(env *C.distaff_env, c *C.distaff_tensor, format *C.char, result *C.distaff_tensor,
	e *C.distaff_error) C.int32_t {
	x := environmentOf(env)
	return with(e, func() error {
		_, f, err := notation.ParseFormatFlag("T:" + text(format))
		if err != nil {
			return err
		}
		l, err := layoutOf("the tensor", c)
		if err != nil {
			return err
		}
		t := l.new()
		l.fill(t, c)
		if isList(l.format) {
			err = checkList(t)
		} else {
			err = memory.Check(t, l.name, c.trusted != 0)
		}
		if err != nil {
			return err
		}
		t.Trust()
		if f.NumModes() != len(l.dims) {
			return fault.Commandf("got the format %s for a tensor with %d modes", f, len(l.dims))
		}
		out, err := coo.Repack(t, f, coo.KeepAll, x.config())
		if err == nil {
			give(result, out)
		}
		return err
	})
}

// isList reports whether a format is a list of entries, which may be unsorted in conversions.
func isList(f tensor.Format) bool {
	for l, k := range f.Levels {
		if l == 0 && k != tensor.CompressedNonunique || l > 0 && !k.IsSingle() ||
			k == tensor.SingletonPadded {
			return false
		}
	}
	return len(f.Levels) > 0
}

// checkList checks a list of entries except for their order.
func checkList(t *tcs.Tensor) error {
	for l := range t.Levels {
		lev := &t.Levels[l]
		if lev.Crd.Len != t.Vals.Len || lev.Crd.Width != 4 && lev.Crd.Width != 8 {
			return fault.Dataf("mode %d has %d coordinates for %d entries", lev.Mode, lev.Crd.Len,
				t.Vals.Len)
		}
		for q := range lev.Crd.Len {
			if c := lev.Crd.Int(q); c < 0 || c >= lev.Size {
				return fault.Dataf("entry %d has coordinate %d in mode %d, want 0 or more and less than %d",
					q, c, lev.Mode, lev.Size)
			}
		}
	}
	if pos := t.Levels[0].Pos; pos.Len != 2 || pos.Int(0) != 0 || pos.Int(1) != t.Vals.Len {
		return fault.Dataf("the positions of level 0 must be 0 and %d", t.Vals.Len)
	}
	return nil
}

//export goJob
func goJob(env *C.distaff_env, name, src *C.char, nparams C.int32_t, params **C.char, n C.int32_t,
	names **C.char, tensors *C.distaff_tensor, given C.distaff_given, say C.distaff_say,
	user unsafe.Pointer, e *C.distaff_error) C.int32_t {
	x := environmentOf(env)
	return with(e, func() error {
		f, err := jobfile.Parse(text(name), text(src))
		if err != nil {
			return err
		}
		values := map[string]string{}
		for _, p := range unsafe.Slice(params, nparams) {
			k, v, _ := strings.Cut(text(p), "=")
			values[k] = v
		}
		if err := f.Bind(values); err != nil {
			return err
		}
		j := &spmd.FileJob{File: f, Inputs: map[string]spmd.Input{}, Options: x.options}
		for k, c := range unsafe.Slice(names, n) {
			if err := replaceInput(f, j, text(c), &unsafe.Slice(tensors, n)[k]); err != nil {
				return err
			}
		}
		if err := f.Check(); err != nil {
			return err
		}
		return x.runJob(j, given, say, user)
	})
}

// replaceInput makes a tensor in memory the input of a tensor of the job file.
func replaceInput(f *jobfile.File, j *spmd.FileJob, name string, c *C.distaff_tensor) error {
	t := f.Tensor(name)
	if t == nil {
		return fault.Commandf("the job has no tensor %s", tensor.Printable(name))
	}
	in, err := tensorOf(name, c)
	if err != nil {
		return err
	}
	// j.Inputs replaces the file; the name tells the check that the tensor has an input
	t.From, t.FromKind, t.FromNumber, t.IndexBase, t.Duplicates = "memory", "", "", "", ""
	j.Inputs[name] = spmd.InMemory(in)
	return nil
}

// runJob runs a job on another thread, so that the caller can interrupt it. The caller's functions
// are called on the caller's thread after the run.
func (x *environment) runJob(j *spmd.FileJob, given C.distaff_given, say C.distaff_say,
	user unsafe.Pointer) error {
	var lines, names []string
	var results []*tcs.Tensor
	var running atomic.Pointer[string]
	j.Say = func(line string) { lines = append(lines, line) }
	j.Running = func(what string) { running.Store(&what) }
	j.RunningAfter = time.Second
	j.Ended = func(p *spmd.Program) error {
		for _, name := range p.Names() {
			if _, ok := j.Inputs[name]; ok && !assigned(j.File, name) {
				continue // the caller has it
			}
			t, err := p.Tensor(name)
			if err != nil {
				return err
			}
			if t != nil {
				names, results = append(names, name), append(results, t)
			}
		}
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	err := x.long(func() error { _, err := j.Run(ctx); return err }, cancel, func() {},
		func() string {
			if s := running.Load(); s != nil {
				return *s
			}
			return ""
		})
	var stop *interrupted
	if errors.As(err, &stop) { // the job may still run
		return err
	}
	for _, line := range lines {
		c := C.CString(line)
		C.call_say(say, user, c)
		C.free(unsafe.Pointer(c))
	}
	for k, t := range results {
		var c C.distaff_tensor
		give(&c, t)
		s := C.CString(names[k])
		C.call_given(given, user, s, &c)
		C.free(unsafe.Pointer(s))
	}
	return err
}

// assigned reports whether a statement of the job assigns the tensor.
func assigned(f *jobfile.File, name string) bool {
	_, ok := f.Assigned(name)
	return ok
}

//export goCommand
func goCommand(n C.int32_t, args **C.char, inherit C.int32_t, out, err **C.char) C.int32_t {
	var words []string
	for _, a := range unsafe.Slice(args, n) {
		words = append(words, text(a))
	}
	if Command == nil {
		return 1
	}
	if inherit != 0 {
		return C.int32_t(Command(words, os.Stdout, os.Stderr))
	}
	var stdout, stderr bytes.Buffer
	code := C.int32_t(Command(words, &stdout, &stderr))
	*out, *err = C.CString(stdout.String()), C.CString(stderr.String())
	return code
}
