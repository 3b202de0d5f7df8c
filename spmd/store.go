package spmd

import (
	"distaff/io/convert"
	"distaff/io/outfile"
)

// outputs are the files of a job, from before its load, so that a folder that
// is not there is found out at once, to their common commit.
type outputs struct {
	job   []Output
	files []*outfile.File
}

// createOutputs starts every output of the job, and looks whether its statistics
// can be written.
func (r *run) createOutputs() (*outputs, error) {
	o := &outputs{job: r.job.Outputs}
	if path := r.job.StatsFile; path != "" {
		if err := outfile.Check(path); err != nil {
			return nil, err
		}
	}
	for _, out := range r.job.Outputs {
		f, err := convert.Create(out.File)
		if err != nil {
			o.abort()
			return nil, err
		}
		o.files = append(o.files, f)
	}
	return o, nil
}

func (o *outputs) abort() {
	for _, f := range o.files {
		f.Abort()
	}
}

// store writes every output and brings it to disk. commit names them.
func (o *outputs) store(r *run) error {
	for k, out := range o.job {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		t := r.tensors[out.Tensor]
		opt := convert.WriteOptions{Threads: r.threads, Limit: r.limit, Tmp: r.job.Tmp}
		if err := convert.WriteTo(o.files[k], out.File, t, opt); err != nil {
			return o.files[k].Errorf(err)
		}
	}
	// A result may share level arrays with a mapped file, which the writers read.
	if err := r.unchanged(); err != nil {
		return err
	}
	return outfile.FlushAll(o.files...)
}

// commit writes the statistics and then gives all files of the job their names: the
// outputs' too, if results says so. After an error every file is as it was before the job.
func (o *outputs) commit(r *run, results bool) error {
	var files []*outfile.File
	if results {
		files = append(files, o.files...)
	}
	if path := r.job.StatsFile; path != "" {
		f, err := outfile.Create(path)
		if err != nil {
			return err
		}
		defer f.Abort()
		if _, err := f.Write(r.report.Stats.JSON()); err != nil {
			return err
		}
		files = append(files, f)
	}
	return outfile.CommitAll(files...)
}
