// Package output brings results to where they are wanted: to files, which appear together
// and whole or not at all (Files), by package store; and whole to rank 0 (Result.Gather).
package output

import (
	"slices"

	"distaff/io/convert"
	"distaff/io/outfile"
	"distaff/io/tcs"
	"distaff/spmd/env"
	"distaff/spmd/fault"
	"distaff/spmd/input"
	"distaff/spmd/store"
)

// Output is a file to be written, by its extension. "-.mtx" writes standard
// output as a .mtx file.
type Output struct{ Tensor, File string }

// Check checks where tensors of a statement are to be written: names and extensions.
func Check(list []Output, p *input.Statement) error {
	for _, o := range list {
		if err := p.Has(o.Tensor, "output", o.flag()); err != nil {
			return err
		}
	}
	return Writable(list, p.Orders)
}

// Writable checks that files can hold tensors of so many modes, by their extensions.
func Writable(list []Output, orders map[string]int) error {
	for _, o := range list {
		if err := convert.Writable(o.File, orders[o.Tensor]); err != nil {
			return err
		}
	}
	return nil
}

func (o Output) flag() string { return "-o=" + o.Tensor + ":" + o.File }

// Uses are the files that outputs and statistics are written to; stats is "" for no statistics.
func Uses(list []Output, stats string) (uses []outfile.Use) {
	for _, o := range list {
		uses = append(uses, convert.Writes(o.flag(), o.File))
	}
	if stats != "" {
		uses = append(uses, outfile.Use{What: "--stats=" + stats, Path: stats, Writes: true})
	}
	return uses
}

// Files are the files of a job at one rank: rank 0 has them, from before the job's inputs are
// loaded, so that a folder that is not there is found out at once, to their common commit.
type Files struct {
	env   *env.Env
	list  []Output
	stats string          // where statistics go; "" for nowhere
	files []*outfile.File // of list; none at ranks other than 0
}

// Create starts every output, at rank 0, and looks whether the statistics can be written.
// The caller aborts the files in the end.
func Create(e *env.Env, list []Output, stats string) (*Files, error) {
	f := &Files{env: e, list: list, stats: stats}
	if !e.Root() {
		return f, nil
	}
	if stats != "" {
		if err := outfile.Check(stats); err != nil {
			return nil, err
		}
	}
	for _, out := range list {
		file, err := convert.Create(out.File)
		if err != nil {
			f.Abort()
			return nil, err
		}
		f.files = append(f.files, file)
	}
	return f, nil
}

// Abort removes what has no name yet.
func (f *Files) Abort() {
	for _, file := range f.files {
		file.Abort()
	}
}

// Writes tells whether the tensor is written to some file.
func (f *Files) Writes(tensor string) bool {
	return slices.ContainsFunc(f.list, func(o Output) bool { return o.Tensor == tensor })
}

// Store writes every output: the result by all ranks, in the mode that write names, and
// operands by rank 0, to which whole gives them. Collective.
func (f *Files) Store(result *Result, write string,
	whole func(name string) (*tcs.Tensor, error)) error {
	for n, o := range f.list {
		if err := f.env.Ctx.Err(); err != nil {
			return err
		}
		var file *outfile.File
		if f.env.Root() {
			file = f.files[n]
		}
		if o.Tensor == result.Name {
			mode, err := store.ParseMode(write)
			if err != nil {
				return fault.Commandf("--write: %v", err)
			}
			if err := store.Write(f.env.Comm, result.Blocks, file, o.File, mode,
				f.env.Config()); err != nil {
				return blame(file, err)
			}
		} else if file != nil {
			t, err := whole(o.Tensor)
			if err != nil {
				return err
			}
			opt := convert.WriteOptions{Threads: f.env.Threads, Limit: f.env.Limit, Tmp: f.env.Tmp}
			if err := convert.WriteTo(file, o.File, t, opt); err != nil {
				return blame(file, err)
			}
		}
	}
	return nil
}

// blame names the file of an error where this rank has it.
func blame(file *outfile.File, err error) error {
	if file == nil {
		return err
	}
	return file.Errorf(err)
}

// Flush brings every output to disk.
func (f *Files) Flush() error { return outfile.FlushAll(f.files...) }

// Commit writes the statistics and then gives all files of the job their names: the
// outputs' too, if results says so. After an error every file is as it was before the job.
func (f *Files) Commit(results bool, stats []byte) error {
	var files []*outfile.File
	if results {
		files = append(files, f.files...)
	}
	if f.stats != "" && f.env.Root() {
		file, err := outfile.Create(f.stats)
		if err != nil {
			return err
		}
		defer file.Abort()
		if _, err := file.Write(stats); err != nil {
			return err
		}
		files = append(files, file)
	}
	return outfile.CommitAll(files...)
}
