package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"distaff/cmd/argv"
	"distaff/cmd/front"
	"distaff/codegen/diag"
	"distaff/codegen/jobfile"
	"distaff/io/outfile"
	"distaff/io/tcs"
	textio "distaff/io/text"
	"distaff/spmd"
)

// isJobFile tells whether the command's argument is a job file.
func (x *invocation) isJobFile() bool {
	s := x.Args().First()
	return x.Args().Len() == 1 && strings.HasSuffix(s, ".dst") && !strings.Contains(s, "=")
}

// inFile are flags whose values stand in a job file.
var inFile = map[string]string{
	"s": "scheduling commands, indented under their statement", "split": "a line split, indented under its statement", "order": "a line order, indented under its statement",
	"extend": "a line extend, indented under its statement", "map": "a line map, indented under its statement", "p": "place, in a tensor's line or a line of its own", "m": "a line machine",
	"warmup": "nothing: --repeat runs the whole file again",
}

// dash is a flag as it is written.
func dash(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// fileJob reads the job file and the flags that stand beside it.
func (x *invocation) fileJob() (*spmd.FileJob, error) {
	for _, flag := range slices.Sorted(maps.Keys(inFile)) {
		if x.IsSet(flag) {
			return nil, argv.Errorf("%s is for one statement; a job file has %s", dash(flag), inFile[flag])
		}
	}
	name := x.Args().First()
	text, err := os.ReadFile(name)
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		err = errors.New(diag.Sprintf("%s: %v", name, path.Err))
	}
	if err != nil {
		return nil, err
	}
	f, err := jobfile.Parse(name, string(text))
	if err != nil {
		return nil, err
	}
	params := map[string]string{}
	for _, v := range x.StringSlice("D") {
		p, value, ok := strings.Cut(v, "=")
		if !ok || p == "" {
			return nil, argv.Errorf("-D=%s: want -D NAME=NUMBER", v)
		}
		if old, ok := params[p]; ok && old != value {
			return nil, argv.Errorf("got -D=%s=%s and -D=%s: want one value for %s", p, old, v, p)
		}
		params[p] = value
	}
	if err := f.Bind(params); err != nil {
		return nil, err
	}
	j, err := x.job("")
	if err != nil {
		return nil, err
	}
	out := &spmd.FileJob{File: f, Inputs: j.Inputs, Outputs: map[string]string{}, Options: j.Options}
	if err := override(f, j); err != nil {
		return nil, err
	}
	if err := f.Check(); err != nil {
		return nil, err
	}
	for _, o := range j.Outputs {
		if f.Tensor(o.Tensor) == nil {
			return nil, noTensor(f, "-o="+o.Tensor+":"+o.File, o.Tensor)
		}
		if old, ok := out.Outputs[o.Tensor]; ok && old != o.File {
			return nil, argv.Errorf("got -o=%s:%s and -o=%[1]s:%s: want one file for %[1]s", o.Tensor, old, o.File)
		}
		out.Outputs[o.Tensor] = o.File
	}
	return out, nil
}

// override puts what flags say of tensors into their declarations.
func override(f *jobfile.File, j *spmd.Job) error {
	declared := func(flag, name string) (*jobfile.Tensor, error) {
		t := f.Tensor(name)
		if t == nil {
			return nil, noTensor(f, flag, name)
		}
		return t, nil
	}
	for name, in := range j.Inputs {
		flag, from := "-i="+name+":"+in.File, in.File
		if in.Generate != "" {
			flag, from = "-g="+name+":"+in.Generate, in.Generate
		}
		t, err := declared(flag, name)
		if err != nil {
			return err
		}
		t.From, t.FromKind, t.FromNumber = "", "", ""
		if in.Generate != "" {
			t.FromKind = from
		} else {
			t.From = from
		}
	}
	for name, v := range j.Formats {
		t, err := declared("-f="+name+":"+v, name)
		if err != nil {
			return err
		}
		t.Format = v
	}
	for name, v := range j.Types {
		t, err := declared("-t="+name+":"+v, name)
		if err != nil {
			return err
		}
		t.Type = v
	}
	for name, sizes := range j.Sizes {
		flag := "-d=" + name + ":" + joinSizes(sizes)
		t := f.Tensor(name)
		if t == nil {
			if len(sizes) != 1 {
				return noTensor(f, flag, name)
			}
			give(f, name, sizes[0])
			continue
		}
		if len(sizes) != t.Order {
			return argv.Errorf("%s: got %s, want %d: %s has %s", flag, tcs.Count(int64(len(sizes)), "size"), t.Order, name, tcs.Count(int64(t.Order), "mode"))
		}
		for m, s := range t.Sizes {
			if size, ok := s.Name(); ok {
				give(f, size, sizes[m])
			}
		}
	}
	return nil
}

// give gives a name of the file a size.
func give(f *jobfile.File, name string, n int64) {
	if f.Sizes == nil {
		f.Sizes = map[string]int64{}
	}
	f.Sizes[name] = n
}

// noTensor is the error of a flag about a tensor that the file lacks.
func noTensor(f *jobfile.File, flag, name string) error {
	var names []string
	for _, t := range f.Tensors {
		names = append(names, t.Name)
	}
	has := "none"
	if len(names) > 0 {
		has = strings.Join(names, ", ")
	}
	return argv.Errorf("%s: the job file has no tensor %s; it has %s", flag, name, has)
}

// runFile runs a job file.
func runFile(x *invocation) error {
	j, err := x.fileJob()
	if err != nil {
		return err
	}
	j.StatsFile = x.String("stats")
	mode, err := x.choice("progress", "auto", "always", "never")
	if err != nil {
		return err
	}
	bar := front.NewProgress(x.stderr, mode, x.Bool("q"))
	if bar != nil {
		j.Progress = bar.Show
	}
	w := x.stdout
	files := []string{j.StatsFile}
	for _, t := range j.File.Tensors {
		files = append(files, t.To)
	}
	for _, f := range j.Outputs {
		files = append(files, f)
	}
	for _, f := range files {
		if f != "" && (outfile.Stdout(f) || textio.Stdin(f)) {
			w = x.stderr
		}
	}
	var mu sync.Mutex
	var werr error
	j.Say = func(line string) {
		mu.Lock()
		defer mu.Unlock()
		bar.Clear()
		if _, err := fmt.Fprintln(w, line); err != nil && werr == nil {
			werr = err
		}
	}
	report, err := j.Run(x.Context.Context)
	bar.Clear()
	if report == nil {
		return err
	}
	for _, line := range report.Lines {
		j.Say(line)
	}
	for _, s := range report.Statements {
		if x.Bool("v") && s.Runs > 0 {
			x.note("%s:%d: %s: %s, %.3g ms, of which %.3g ms the first", x.Args().First(), s.Line, s.Statement, tcs.Count(s.Runs, "run"), 1e3*s.Seconds, 1e3*s.First)
		}
	}
	return errors.Join(err, werr)
}
