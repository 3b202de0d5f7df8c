package jobs

import (
	"time"

	"distaff/codegen/jobfile"
	"distaff/io/convert"
	"distaff/io/outfile"
	"distaff/io/text"
	"distaff/spmd/input"
	"distaff/spmd/output"
	"distaff/spmd/program"
)

// outputs lists the files that are written at the end.
func (r *execution) outputs() (list []output.Output) {
	for _, t := range r.names.f.Tensors {
		if to, ok := r.o.Outputs[t.Name]; ok {
			list = append(list, output.Output{Tensor: t.Name, File: to})
		} else if t.To != "" {
			list = append(list, output.Output{Tensor: t.Name, File: r.names.path(t.To, t.ToAt)})
		}
	}
	return list
}

// Files lists the files that a job file reads and writes, including the job file itself, but
// without the C files of its schedules. given and outputs have the inputs and the output files of
// tensors that command-line flags name. stats is the file for the statistics, or "".
func Files(f *jobfile.File, given map[string]input.Input, outputs map[string]string,
	stats string) []outfile.Use {
	r := newNames(f, given)
	uses := []outfile.Use{{What: "the job", Path: f.Name}}
	for _, name := range f.Included() {
		uses = append(uses, outfile.Use{What: "an included file", Path: name})
	}
	var flags []output.Output
	for _, t := range f.Tensors {
		if in, ok := r.input(t); ok && in.File != "" {
			what := r.where(t) + ": from " + `"` + t.From + `"`
			if _, flag := given[t.Name]; flag {
				what = "-i=" + t.Name + ":" + in.File
			}
			uses = append(uses, convert.Reads(what, in.File))
		}
		if to, ok := outputs[t.Name]; ok {
			flags = append(flags, output.Output{Tensor: t.Name, File: to})
		} else if t.To != "" {
			uses = append(uses, convert.Writes(r.where(t)+": to "+`"`+t.To+`"`, r.path(t.To, t.ToAt)))
		}
	}
	return append(uses, output.Uses(flags, stats)...)
}

// writable returns an error if an output cannot be written. It makes the checks that are possible
// before anything runs. Every rank must call it.
func (r *execution) writable() error {
	list := r.outputs()
	var nothing struct{}
	return program.Shared(r.p, &nothing, func() error {
		for _, o := range list {
			t := r.names.f.Tensor(o.Tensor)
			err := output.Writable([]output.Output{o}, map[string]int{t.Name: t.Order})
			if err == nil && !text.Stdin(o.File) {
				err = outfile.Check(o.File)
			}
			if _, flag := r.o.Outputs[t.Name]; err != nil && !flag {
				err = r.names.ofFile(t.ToAt, err)
			}
			if err != nil {
				return err
			}
		}
		if r.o.Stats == "" {
			return nil
		}
		return outfile.Check(r.o.Stats)
	})
}

// write writes the statistics and, if results is set, the outputs. results is false if the job ends
// with a *NoOutputError. Every rank must call it.
func (r *execution) write(results bool) error {
	var list []output.Output
	if results {
		list = r.outputs()
	}
	r.storing = time.Now()
	switch {
	case r.o.Stats != "":
		return r.p.WriteWith(r.o.Stats, r.statistics, list...)
	case len(list) > 0:
		return r.p.Write(list...)
	}
	return nil
}
