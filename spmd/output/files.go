// Package output delivers results: to files, which all appear complete or not at all (Files), and
// as whole tensors to rank 0 (Result.Gather). Package store writes the files.
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

// Output is a file to write. Its extension decides the format; "-.mtx" writes a .mtx file to
// standard output.
type Output struct{ Tensor, File string }

// Check returns an error if the statement has no tensor of an output's name, or the output's file
// cannot hold this tensor.
func Check(list []Output, p *input.Statement) error {
	for _, o := range list {
		if err := p.Has(o.Tensor, "output", o.flag()); err != nil {
			return err
		}
	}
	return Writable(list, p.Orders)
}

// Writable returns an error if a file's extension names a format that cannot hold the tensor's
// number of modes. orders maps names of tensors to numbers of modes.
func Writable(list []Output, orders map[string]int) error {
	for _, o := range list {
		if err := convert.Writable(o.File, orders[o.Tensor]); err != nil {
			return err
		}
	}
	return nil
}

func (o Output) flag() string { return "-o=" + o.Tensor + ":" + o.File }

// Uses lists the files that a job will write: the files of the outputs in list, and the file for
// statistics. stats is the name of this file, or "" if no statistics are written.
func Uses(list []Output, stats string) (uses []outfile.Use) {
	for _, o := range list {
		uses = append(uses, convert.Writes(o.flag(), o.File))
	}
	if stats != "" {
		uses = append(uses, outfile.Use{What: "--stats=" + stats, Path: stats, Writes: true})
	}
	return uses
}

// Files are output files at one rank. Rank 0 creates the files of the outputs (Create), and commits
// them together with the statistics. A Job creates them before its inputs are loaded, so that a
// missing folder is reported at once.
type Files struct {
	env   *env.Env
	list  []Output
	stats string          // the file for statistics; "" if there is none
	files []*outfile.File // the files of list; nil at ranks other than 0
}

// Create creates every output file at rank 0, and checks that the statistics can be written. The
// caller must finally call Abort, even after Commit. Abort removes only the files that were not
// committed.
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

// Abort removes the files that were not committed.
func (f *Files) Abort() {
	for _, file := range f.files {
		file.Abort()
	}
}

// Writes reports whether the tensor is written to a file.
func (f *Files) Writes(tensor string) bool {
	return slices.ContainsFunc(f.list, func(o Output) bool { return o.Tensor == tensor })
}

// Store writes the contents of every output file. It calls the function result with the name of
// each file's tensor. If this function returns the distributed blocks of the tensor, all ranks take
// part in writing the file. If it returns nil, rank 0 writes the whole tensor, which it gets from
// the function operand. writeMode is the value of --write. Every rank must call Store.
func (f *Files) Store(result func(name string) *Result, writeMode string,
	operand func(name string) (*tcs.Tensor, error)) error {
	for n, o := range f.list {
		if err := f.env.Ctx.Err(); err != nil {
			return err
		}
		var file *outfile.File
		if f.env.Root() {
			file = f.files[n]
		}
		if r := result(o.Tensor); r != nil {
			mode, err := store.ParseMode(writeMode)
			if err != nil {
				return fault.Commandf("--write: %v", err)
			}
			if err := store.Write(f.env.Comm, r.Blocks, file, o.File, mode,
				f.env.Config()); err != nil {
				return blame(file, err)
			}
		} else if file != nil {
			t, err := operand(o.Tensor)
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

// blame adds the file's name to err if this rank has the file.
func blame(file *outfile.File, err error) error {
	if file == nil {
		return err
	}
	return file.Errorf(err)
}

// Discard removes the outputs, so that only the statistics will be written.
func (f *Files) Discard() {
	f.Abort()
	f.list, f.files = nil, nil
}

// Flush writes every output to disk.
func (f *Files) Flush() error { return outfile.FlushAll(f.files...) }

// Commit writes the statistics, and then renames all files of the job to their final names. After
// an error every file is as it was before the job.
func (f *Files) Commit(stats []byte) error {
	files := slices.Clone(f.files)
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
