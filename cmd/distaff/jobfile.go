package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"distaff/cmd/argv"
	"distaff/cmd/front"
	"distaff/codegen/diag"
	"distaff/codegen/jobfile"
	"distaff/codegen/notation"
	"distaff/io/outfile"
	"distaff/io/tensor"
	textio "distaff/io/text"
	"distaff/spmd"
)

// isJobFile reports whether the command's argument is a job file.
func (x *invocation) isJobFile() bool {
	s := x.flags.Args().First()
	return x.flags.Args().Len() == 1 && strings.HasSuffix(s, ".dst") && !strings.Contains(s, "=")
}

// inFile lists the flags that are not allowed with a job file. It maps the name of each flag to
// what users write in the job file instead.
var inFile = map[string]string{
	"fill":               "a dense tensor, which has a value at every coordinate",
	"s":                  "scheduling commands, indented under their statement",
	"split":              "a line split, indented under its statement",
	"order":              "a line order, indented under its statement",
	"extend":             "a line extend, indented under its statement",
	"map":                "a line map, indented under its statement",
	"p":                  "place, in a tensor's line or a line of its own",
	"network":            "a line network, indented under its statement",
	"intermediate-order": "a line intermediate-order, indented under its statement",
	"einsum":             "a statement",
	"broadcast":          "a variable of its own for a mode of size 1",
}

// fileJob reads the job file and the flags of the command.
func (x *invocation) fileJob() (*spmd.FileJob, error) {
	for _, flag := range slices.Sorted(maps.Keys(inFile)) {
		if x.flags.IsSet(flag) {
			return nil, argv.Errorf(
				"%s is only for a single statement; in a job file, use %s", argv.Dashed(flag),
				inFile[flag])
		}
	}
	name := x.flags.Args().First()
	text, err := os.ReadFile(name)
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		err = errors.New(diag.Sprintf("%s: %v", name, path.Err))
	}
	if err != nil {
		return nil, err
	}
	f, err := jobfile.ParseFiles(name, string(text), func(name string) (string, error) {
		text, err := os.ReadFile(name)
		if path := (*fs.PathError)(nil); errors.As(err, &path) {
			err = errors.New(diag.Sprintf("%s: %v", name, path.Err))
		}
		return string(text), err
	})
	if err != nil {
		return nil, err
	}
	params := map[string]string{}
	for _, v := range x.flags.StringSlice("D") {
		p, value, ok := strings.Cut(v, "=")
		if !ok || p == "" {
			return nil, argv.Errorf("-D=%s: want -D NAME=NUMBER", v)
		}
		if old, ok := params[p]; ok && old != value {
			return nil, argv.Errorf(
				"got both -D=%s=%s and -D=%s, want one value for %s", p, old, v, p)
		}
		params[p] = value
	}
	if err := f.Bind(params); err != nil {
		return nil, err
	}
	x.file = f
	j, err := x.job("")
	if err != nil {
		return nil, err
	}
	if x.flags.IsSet("m") {
		if err := f.SetMachine(j.Machine); err != nil {
			return nil, err
		}
		j.Machine = ""
	}
	out := &spmd.FileJob{File: f, Inputs: j.Inputs, Outputs: map[string]string{},
		Options: j.Options}
	if err := override(f, j); err != nil {
		return nil, err
	}
	if err := f.Check(); err != nil {
		return nil, err
	}
	if f.Idle() && len(j.Outputs) == 0 {
		return nil, argv.Errorf(
			"%s: the job file must have at least one statement, print or output",
			tensor.Printable(name))
	}
	for _, o := range j.Outputs {
		if f.Tensor(o.Tensor) == nil {
			return nil, noTensor(f, "-o="+o.Tensor+":"+o.File, o.Tensor)
		}
		if why := f.MayLackValues(o.Tensor); why != "" {
			return nil, argv.Errorf("-o=%s:%s: %[1]s %[3]s", o.Tensor, o.File, why)
		}
		if old, ok := out.Outputs[o.Tensor]; ok && old != o.File {
			return nil, argv.Errorf(
				"got both -o=%s:%s and -o=%[1]s:%[3]s, want one file for %[1]s",
				o.Tensor, old, o.File)
		}
		out.Outputs[o.Tensor] = o.File
	}
	return out, nil
}

// override changes the declarations of tensors in the job file f to what the flags say. j has the
// values of the flags.
func override(f *jobfile.File, j *spmd.Job) error {
	declared := func(flag, name string) (*jobfile.Tensor, error) {
		t := f.Tensor(name)
		if t == nil {
			return nil, noTensor(f, flag, name)
		}
		return t, nil
	}
	for _, name := range sortedKeys(j.Inputs) {
		in := j.Inputs[name]
		flag, from := "-i="+name+":"+in.File, in.File
		if in.Generate != "" {
			flag, from = "-g="+name+":"+in.Generate, in.Generate
		}
		t, err := declared(flag, name)
		if err != nil {
			return err
		}
		t.From, t.FromKind, t.FromNumber, t.IndexBase, t.Duplicates, t.BaseAt = "", "", "", "", "",
			notation.Span{}
		if in.ZeroBased {
			t.IndexBase = "0"
		}
		if in.NoDuplicates {
			t.Duplicates = "error"
		}
		if in.Generate != "" {
			t.FromKind = from
		} else {
			t.From = from
		}
	}
	f.Formats = map[string]string{}
	for _, name := range sortedKeys(j.Formats) {
		v := j.Formats[name]
		flag := "-f=" + name + ":" + v
		t, order := f.Tensor(name), 0
		if t != nil {
			order = t.Order
		} else if n, ok := f.Assigned(name); ok {
			order = n
		} else {
			return noTensor(f, flag, name)
		}
		_, levels, err := notation.ParseFormatFlag(name + ":" + v)
		if err != nil {
			return err
		}
		if n := levels.NumModes(); n != order {
			return argv.Errorf("%s: got %s, want %d, because tensor %s has %s", flag,
				tensor.Count(int64(n), "level"),
				order, name, tensor.Count(int64(order), "mode"))
		}
		if t != nil {
			t.Format = v
		} else {
			f.Formats[name] = v
		}
	}
	for _, name := range sortedKeys(j.Types) {
		v := j.Types[name]
		flag := "-t=" + name + ":" + v
		t, err := declared(flag, name)
		if err != nil {
			return err
		}
		if _, err := notation.ParseType(v); err != nil {
			return argv.Errorf("%s: %v", flag, err)
		}
		t.Type = v
	}
	return overrideSizes(f, j.Sizes)
}

// overrideSizes replaces sizes in the job file by the sizes that -d gives. If -d names a size, the
// size gets the value. If -d names a tensor, the tensor's modes get the values, even if the file
// declares other sizes.
func overrideSizes(f *jobfile.File, given map[string][]int64) error {
	f.Sizes, f.SizesFrom = map[string]int64{}, map[string]string{}
	from := f.SizesFrom // the flag that gave each name its size
	give := func(flag, name string, n int64) error {
		old, ok := f.Sizes[name]
		if ok && old != n && from[name] == flag {
			return argv.Errorf(
				"%s: got sizes %d and %d for %s, want one size: it is declared for both modes",
				flag, old, n, name)
		}
		if ok && old != n {
			return argv.Errorf("got both %s and %s, want one size for %s", from[name], flag, name)
		}
		f.Sizes[name], from[name] = n, flag
		return nil
	}
	for _, name := range sortedKeys(given) {
		sizes := given[name]
		flag := "-d=" + name + ":" + joinSizes(sizes)
		t := f.Tensor(name)
		switch {
		case t == nil && len(sizes) != 1:
			return noTensor(f, flag, name)
		case t == nil && f.Param(name) != nil:
			return argv.Errorf("%s: %s is a param of the job file; use -D %[2]s=%d", flag, name,
				sizes[0])
		case t == nil:
			if err := give(flag, name, sizes[0]); err != nil {
				return err
			}
			continue
		case len(sizes) != t.Order:
			return argv.Errorf("%s: got %s, want %d, because tensor %s has %s", flag,
				tensor.Count(int64(len(sizes)), "size"), t.Order, name,
				tensor.Count(int64(t.Order), "mode"))
		}
		for m, s := range t.Sizes {
			size, ok := s.Name()
			if !ok {
				t.Sizes[m].Set(sizes[m], flag)
				continue
			}
			if err := give(flag, size, sizes[m]); err != nil {
				return err
			}
		}
	}
	return nil
}

// noTensor returns the error for a flag that names a tensor which the job file does not have.
func noTensor(f *jobfile.File, flag, name string) error {
	var names []string
	verb := "declares"
	for _, t := range f.Tensors {
		names = append(names, t.Name)
		if !t.Declared {
			verb = "has"
		}
	}
	has := "none"
	if len(names) > 0 {
		has = strings.Join(names, ", ")
	}
	return argv.Errorf("%s: the job file %s no tensor %s; its tensors are: %s", flag, verb, name, has)
}

// runningAfter is the time after which a terminal shows the running statement of a job file. With
// --progress=always, the time is 0.
const runningAfter = 2 * time.Second

// runFile runs a job file.
func runFile(x *invocation) error {
	j, err := x.fileJob()
	if err != nil {
		return err
	}
	j.StatsFile = x.flags.String("stats")
	if err := x.apart(j.Files()); err != nil {
		return err
	}
	mode, err := x.choice("progress", "auto", "always", "never")
	if err != nil {
		return err
	}
	bar := front.NewProgress(x.stderr, mode, x.flags.Bool("q"))
	if bar != nil {
		j.Progress, j.Working = bar.Show, bar.Work
		j.Running, j.RunningAfter = bar.Running, runningAfter
		if mode == "always" {
			j.RunningAfter = 0
		}
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
	report, err := j.Run(x.flags.Context)
	bar.Clear()
	if report == nil {
		return err
	}
	for _, line := range report.Lines {
		j.Say(line)
	}
	for _, s := range report.Statements {
		if x.flags.Bool("v") && s.Runs > 0 {
			x.note("%s:%d: %s: %s in %.3g ms; the first took %.3g ms",
				cmp.Or(s.File, x.flags.Args().First()), s.Line, s.Statement, tensor.Count(s.Runs, "run"), 1e3*s.Seconds, 1e3*s.First)
		}
	}
	return errors.Join(err, werr)
}
