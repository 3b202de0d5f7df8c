package oracle

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"distaff/io/convert"
	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/tcsfile"
	"distaff/io/tensor"
	"distaff/spmd"
	"distaff/spmd/comm"
)

// files says which operands a job reads from files, and whether it writes its result to a file.
type files struct {
	dir   string                   // the folder of the files; "" if the job uses no files
	in    map[string]string        // the file name extension of each operand that is read
	other map[string]tensor.Format // formats of .tcs files that differ from the job's formats
	out   string                   // the extension of the result's file; "" if it is not written
	name  string                   // the result's file without its extension
	write string                   // spmd.Job.Write
	trust bool                     // spmd.Job.TrustInput
}

// files draws the files of a case, as its variant determines.
func (e Jobs) files(p *Prepared) *files {
	f := &files{in: map[string]string{}, other: map[string]tensor.Format{}}
	if e.Dir == "" {
		return f
	}
	r := rand.New(rand.NewPCG(p.Case.Variant, 6))
	if r.IntN(2) == 0 {
		return f
	}
	f.dir, f.write, f.trust = e.Dir, []string{"", "parallel", "ordered"}[r.IntN(3)], r.IntN(2) == 0
	g := generator{rand: r}
	for _, t := range p.Case.Tensors {
		if !t.Input || t.Made || len(t.Dims) == 0 {
			continue
		}
		kind := inputKind(r, t)
		if kind == "" {
			continue
		}
		f.in[t.Name] = kind
		if kind == ".tcs" && r.IntN(2) == 0 && !t.hasRepeats() {
			f.other[t.Name] = g.format(len(t.Dims), "s", false)
		}
	}
	if len(p.Case.Tensors[0].Dims) > 0 {
		f.out = outputKind(r, len(p.Case.Tensors[0].Dims))
	}
	return f
}

// hasRepeats reports whether a coordinate occurs more than once.
func (t *Tensor) hasRepeats() bool {
	seen := map[string]bool{}
	for _, e := range t.Entries {
		key := coordKey(e.Coord)
		if seen[key] {
			return true
		}
		seen[key] = true
	}
	return false
}

// String describes the choices in the words of the command line, for the report of a failure.
func (f *files) String() string {
	if f.dir == "" {
		return ""
	}
	text := fmt.Sprintf(" (with the result to %q, --write=%s, --trust-input=%v", f.out, f.write,
		f.trust)
	for _, name := range slices.Sorted(maps.Keys(f.in)) {
		text += fmt.Sprintf(", %s from %s %v", name, f.in[name], f.other[name])
	}
	return text + ")"
}

// jobsWithFiles numbers jobs, so that their files have different names.
var jobsWithFiles atomic.Int64

// prepare writes the input files and sets the job's inputs and outputs. If c is not nil, this
// process is a rank of c: only rank 0 writes, and the others wait until it has written the files.
func (f *files) prepare(job *spmd.Job, p *Prepared, c comm.Comm) error {
	if f.dir == "" {
		return nil
	}
	f.name = filepath.Join(f.dir, fmt.Sprintf("case-%d", jobsWithFiles.Add(1)))
	job.Write, job.TrustInput = f.write, f.trust
	for _, t := range p.Case.Tensors {
		kind, ok := f.in[t.Name]
		if !ok {
			continue
		}
		file := f.name + "-" + t.Name + kind
		job.Inputs[t.Name] = spmd.File(file)
		job.Types[t.Name] = t.Type.String()
		if c != nil && c.Rank() > 0 {
			continue
		}
		if err := f.store(t, file, p.Case.hasWideIndices()); err != nil {
			return fmt.Errorf("storing %s: %w", file, err)
		}
	}
	if f.out != "" {
		job.Outputs = []spmd.Output{{Tensor: p.Case.Tensors[0].Name, File: f.name + f.out}}
	}
	if c != nil {
		return c.Barrier()
	}
	return nil
}

// check compares the file that the job wrote with want, the result in memory.
func (f *files) check(want *tcs.Tensor) error {
	switch f.out {
	case ".tcs":
		got, err := tcsfile.Open(f.name + f.out)
		if err != nil {
			return err
		}
		defer got.Close()
		if err := got.Validate(); err != nil {
			return err
		}
		if got.Format().String() != want.Format().String() || got.Header.Type != want.Header.Type {
			return fmt.Errorf("the result's file is of format %s and type %v, want %s and %v",
				got.Format().String(), got.Header.Type, want.Format().String(), want.Header.Type)
		}
		return same(f.out, output(got), output(want))
	case "":
		return nil
	}
	return f.checkOther(want)
}

func same(what string, got, want *Output) error {
	if a, b := fmt.Sprint(got.Entries), fmt.Sprint(want.Entries); a != b {
		return fmt.Errorf("the result's %s file has %s, want %s", what, a, b)
	}
	return nil
}

// checkOther compares a file that is not a .tcs file with want. It stores the file's entries in
// want's format. Zeros are not compared if want has trailing dense levels or the file is a NumPy
// file, because the file may omit zeros or have additional zeros.
func (f *files) checkOther(want *tcs.Tensor) (err error) {
	in, err := convert.Open(f.name+f.out,
		coo.Options{Order: len(want.Header.Dims), Dims: want.Header.Dims, Type: want.Header.Type})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	got, err := coo.Assemble(in,
		coo.Spec{Format: want.Format(), Dims: want.Header.Dims, Type: want.Header.Type,
			Name: f.name}, coo.Config{Threads: 1})
	if err != nil {
		return err
	}
	defer got.Close()
	a, b := output(got), output(want)
	// Adding to the 0 of a dense tensor turns -0 into 0.
	for _, o := range []*Output{a, b} {
		for k := range o.Entries {
			o.Entries[k].Value.C += 0
		}
	}
	if want.Format().TrailingDense() > 0 || strings.HasPrefix(f.out, ".np") {
		for _, o := range []*Output{a, b} {
			o.Entries = slices.DeleteFunc(o.Entries,
				func(e Entry) bool { return e.Value.IsZero() })
		}
	}
	return same(f.out, a, b)
}

// remove removes the job's files. If c is not nil, rank 0 does so when all ranks have called
// remove.
func (f *files) remove(c comm.Comm) error {
	if f.dir == "" {
		return nil
	}
	if c != nil {
		if err := c.Barrier(); err != nil || c.Rank() > 0 {
			return err
		}
	}
	names, err := filepath.Glob(f.name + "-*")
	for _, n := range append(names, f.name+f.out) {
		if e := os.Remove(n); e != nil && !errors.Is(e, os.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return err
}
