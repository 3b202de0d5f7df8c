package main

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"distaff/cmd/argv"
	"distaff/cmd/conv"
	"distaff/codegen/diag"
	"distaff/codegen/jobfile"
	"distaff/codegen/notation"
	"distaff/io/convert"
	"distaff/io/outfile"
	"distaff/io/tensor"
	"distaff/kernels/target"
	"distaff/spmd"
)

// statement returns the command's only argument, or the statement of --einsum.
func (x *invocation) statement() (string, error) {
	if x.flags.IsSet("einsum") {
		return x.einsum()
	}
	switch n := x.flags.Args().Len(); {
	case n == 0:
		return "", argv.Errorf("%s must have a statement, as in \"y(i) = A(i,j) * x(j)\"", x.name)
	case n > 1:
		return "", argv.Errorf("got %d arguments, want one statement; put it in quotes (%s)", n,
			strings.Join(quoted(x.flags.Args().Slice()), " "))
	}
	s := x.flags.Args().First()
	if len(x.flags.StringSlice("D")) > 0 {
		return "", argv.Errorf("-D=%s sets a param of a job file, but %q is a statement; "+
			"write the number in the statement",
			x.flags.StringSlice("D")[0], s)
	}
	if x.flags.Bool("broadcast") {
		broadcast, err := x.broadcast(s)
		if err == nil && broadcast != s {
			x.note("with modes of size 1 broadcast: %s", broadcast)
		}
		return broadcast, err
	}
	return s, nil
}

func quoted(args []string) []string {
	out := make([]string, len(args))
	for k, a := range args {
		out[k] = strconv.Quote(a)
	}
	return out
}

// job returns the job of a statement, from the flags that run, compile and plan have in common.
func (x *invocation) job(statement string) (*spmd.Job, error) {
	j := &spmd.Job{
		Statement: statement,
		Formats:   map[string]string{},
		Types:     map[string]string{},
		Sizes:     map[string][]int64{},
		Inputs:    map[string]spmd.Input{},
	}
	for _, f := range []func(*spmd.Job) error{x.fills, x.tensors, x.inputs, x.options, x.schedule} {
		if err := f(j); err != nil {
			return nil, err
		}
	}
	j.Argv = x.argv
	var mu sync.Mutex
	noted := map[string]bool{}
	j.Note = func(s string) { // each note is printed once
		mu.Lock()
		defer mu.Unlock()
		if !noted[s] {
			noted[s] = true
			x.note("%s", s)
		}
	}
	if x.flags.Bool("v") {
		j.Detail = j.Note
	}
	return j, nil
}

// named splits the value T:REST of a flag at the colon. want describes the value for errors.
func named(flag, value, want string) (name, rest string, err error) {
	name, rest, ok := strings.Cut(value, ":")
	if tensor, file, assigned := strings.Cut(value, "="); assigned && notation.IsName(tensor) {
		return "", "", argv.Errorf(
			"-%s=%s: got \"=\" after %s, want \":\", as in -%s=%s; did you mean -%s=%s:%s?",
			flag, value, tensor, flag, want, flag, tensor, file)
	}
	if !ok || name == "" {
		return "", "", argv.Errorf("-%s=%s: got no tensor, want -%s=%s", flag, value, flag, want)
	}
	return name, rest, nil
}

// fills parses --fill, and writes the fills into the statement.
func (x *invocation) fills(j *spmd.Job) error {
	fills := map[string]string{}
	for _, v := range x.flags.StringSlice("fill") {
		name, number, err := named("-fill", v, "T:NUMBER")
		if err != nil {
			return err
		}
		e, err := notation.ParseExprIn(number, notation.Span{Pos: 0, End: len(number)})
		if neg, ok := e.(*notation.Neg); ok {
			e = neg.X
		}
		if _, ok := e.(*notation.Number); err != nil || !ok {
			return argv.Errorf("--fill=%s: got %s, want a number", v, tensor.Printable(number))
		}
		s, err := notation.Parse(j.Statement)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(s.Accesses(),
			func(a *notation.Access) bool { return a.Name == name }) {
			return argv.Errorf("--fill=%s: got a fill of %s, want a tensor that the right side reads", v,
				tensor.Printable(name))
		}
		fills[name] = number
	}
	if len(fills) == 0 {
		return nil
	}
	text, err := notation.WithFills(j.Statement, fills)
	j.Statement = text
	return err
}

// tensors parses -f, -t and -d.
func (x *invocation) tensors(j *spmd.Job) error {
	for _, v := range x.flags.StringSlice("f") {
		name, f, err := named("f", v, "T:LEVELS[:ORDER]")
		if err != nil {
			return err
		}
		if old, ok := j.Formats[name]; ok && old != f {
			return argv.Errorf("got both -f=%s:%s and -f=%s, want one format for %s",
				name, old, v, name)
		}
		j.Formats[name] = f
	}
	for _, v := range x.flags.StringSlice("t") {
		name, t, err := named("t", v, "T:TYPE")
		if err != nil {
			return err
		}
		if old, ok := j.Types[name]; ok && old != t {
			return argv.Errorf("got both -t=%s:%s and -t=%s, want one type for %s",
				name, old, v, name)
		}
		j.Types[name] = t
	}
	for _, v := range x.flags.StringSlice("d") {
		name, list, err := named("d", v, "i:SIZE or T:SIZE,SIZE,...")
		if err != nil {
			return err
		}
		sizes, err := tensor.ParseSizes(list)
		if err != nil {
			return argv.Errorf("-d=%s: %v", v, err)
		}
		if old, ok := j.Sizes[name]; ok && !slices.Equal(old, sizes) {
			return argv.Errorf("got both -d=%s:%s and -d=%s, want one size for %s",
				name, joinSizes(old),
				v, name)
		}
		j.Sizes[name] = sizes
	}
	return nil
}

// joinSizes formats sizes in the syntax of tensor.ParseSizes.
func joinSizes(sizes []int64) string {
	words := make([]string, len(sizes))
	for k, n := range sizes {
		words[k] = strconv.FormatInt(n, 10)
	}
	return strings.Join(words, ",")
}

// inputs parses -i, -g, -o, --index-base and --duplicates.
func (x *invocation) inputs(j *spmd.Job) error {
	given := map[string]string{} // by tensor, the flag of its input
	add := func(flag, name string, in spmd.Input) error {
		if old, ok := given[name]; ok && old != flag {
			return argv.Errorf("got both %s and %s, want one input for %s", old, flag, name)
		}
		given[name], j.Inputs[name] = flag, in
		return nil
	}
	for _, v := range append(x.operands[:len(x.operands):len(x.operands)],
		x.flags.StringSlice("i")...) {
		name, file, err := named("i", v, "T:FILE")
		if err != nil {
			return err
		}
		if file == "" {
			return argv.Errorf("-i=%s: got no file, want -i=T:FILE", v)
		}
		if err := add("-i="+v, name, spmd.File(file)); err != nil {
			return err
		}
	}
	for _, v := range x.flags.StringSlice("g") {
		name, kind, err := named("g", v, "T:KIND")
		if err != nil {
			return err
		}
		if kind == "" {
			return argv.Errorf(
				"-g=%s: got no kind, want dense, uniform:NNZ, zipf:NNZ:SKEW or banded:WIDTH", v)
		}
		if err := add("-g="+v, name, spmd.Generated(kind)); err != nil {
			return err
		}
	}
	for _, v := range x.flags.StringSlice("o") {
		name, file, err := named("o", x.output(v), "T:FILE")
		if err != nil {
			return err
		}
		if file == "" {
			return argv.Errorf("-o=%s: got no file, want -o=T:FILE", v)
		}
		j.Outputs = append(j.Outputs, spmd.Output{Tensor: name, File: file})
	}
	return x.reading(j)
}

// reading parses --index-base and --duplicates. They apply to the inputs of flags and to the
// inputs of the job file.
func (x *invocation) reading(j *spmd.Job) error {
	files := map[string]string{} // by tensor
	for name, in := range j.Inputs {
		files[name] = in.File
	}
	tensors := map[string]*jobfile.Tensor{} // tensors with inputs from the job file
	if x.file != nil {
		for _, t := range x.file.Tensors {
			if _, ok := files[t.Name]; !ok {
				files[t.Name], tensors[t.Name] = t.From, t
			}
		}
	}
	base, err := x.perTensor(files, "index-base", "0", "1")
	if err == nil {
		err = x.checkBase(files)
	}
	if err != nil {
		return err
	}
	duplicates, err := x.perTensor(files, "duplicates", "sum", "error")
	if err != nil {
		return err
	}
	delimiters, err := x.delimiters(j)
	if err != nil {
		return err
	}
	for name, in := range j.Inputs {
		in.Delimiter = conv.Delimiters[delimiters.valueFor(name, "")]
		in.ZeroBased = base.valueFor(name, "") == "0"
		in.NoDuplicates = duplicates.valueFor(name, "") == "error"
		j.Inputs[name] = in
	}
	for name, t := range tensors {
		if t.From != "" {
			t.IndexBase, t.Duplicates = base.valueFor(name, t.IndexBase),
				duplicates.valueFor(name, t.Duplicates)
		}
	}
	return nil
}

// delimiters parses --delimiter. It applies to the inputs of flags only. Job files have no word for
// it.
func (x *invocation) delimiters(j *spmd.Job) (perTensor, error) {
	files := map[string]string{}
	for name, in := range j.Inputs {
		if f, err := convert.FormatOf(in.File); err == nil && f.Delimited {
			files[name] = in.File
		}
	}
	if v := x.flags.StringSlice("delimiter"); len(v) > 0 && len(files) == 0 {
		return perTensor{}, argv.Errorf("--delimiter=%s: want an input that is a .csv, .tsv, .el, "+
			".wel or .edges file", v[0])
	}
	return x.perTensor(files, "delimiter", conv.DelimiterNames...)
}

// checkBase returns an error if --index-base=0 is given for an input whose format fixes the base. If
// the flag does not name an input, one other file among the inputs is enough. inputs contains the
// file of each tensor, or "" if its input is not a file.
func (x *invocation) checkBase(inputs map[string]string) error {
	for _, v := range x.flags.StringSlice("index-base") {
		var files []string
		switch name, value, ok := strings.Cut(v, ":"); {
		case ok && value == "0":
			files = []string{inputs[name]}
		case v == "0":
			for _, t := range slices.Sorted(maps.Keys(inputs)) {
				if f := inputs[t]; f != "" {
					files = append(files, f)
				}
			}
			if files == nil {
				return argv.Errorf(
					"--index-base=0 is only for files without a header, but no input is a file")
			}
		}
		if err := convert.Based(files...); err != nil {
			return err
		}
	}
	return nil
}

// perTensor contains the values that were given by a flag of the form [T:]VALUE.
type perTensor struct {
	own map[string]string
	all string // the value without T; "" if it is not set
}

// valueFor returns the value of the flag for the tensor called name, or "" for the default.
// jobValue is the value in the job file, or "". A value that the command line gives for this tensor
// counts first. The value in the job file counts next, and a value that the command line gives for
// all tensors counts last.
func (p perTensor) valueFor(name, jobValue string) string {
	return cmp.Or(p.own[name], jobValue, p.all)
}

// perTensor parses a flag of the form [T:]VALUE. VALUE must be choice1 or choice2. Without T, the
// value applies to each input that has no value of its own. files maps the name of each input to
// its file.
func (x *invocation) perTensor(files map[string]string, flag string, words ...string) (perTensor,
	error) {
	p := perTensor{own: map[string]string{}}
	for _, v := range x.flags.StringSlice(flag) {
		name, value, ok := strings.Cut(v, ":")
		if !ok {
			name, value = "", v
		}
		if !slices.Contains(words, value) {
			last := len(words) - 1
			return p, argv.Errorf("--%s=%s: got %q, want either %s or %s", flag, v, value,
				strings.Join(words[:last], ", "), words[last])
		}
		switch {
		case !ok && p.all != "" && p.all != value:
			return p, argv.Errorf("--%s is given twice, as %s and %s; want it once",
				flag, p.all, value)
		case !ok:
			p.all = value
		case p.own[name] != "" && p.own[name] != value:
			return p, argv.Errorf(
				"--%s is given twice for %s, as %s and %s; want it once", flag, name, p.own[name],
				value)
		case files[name] == "":
			return p, argv.Errorf(
				"--%s=%s: %s has no input file, so the flag has no effect; give -i=%s:FILE",
				flag, v, name, name)
		default:
			p.own[name] = value
		}
	}
	return p, nil
}

// count returns the value of a flag. The value must be an integer, and must not be less than
// minimum. count returns 0 if the flag is not set.
func (x *invocation) count(flag string, minimum int64) (int64, error) {
	v := x.flags.String(flag)
	if v == "" {
		if x.flags.IsSet(flag) {
			return 0, argv.Errorf("--%s must have a number", flag)
		}
		return 0, nil
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < minimum {
		return 0, argv.Errorf("--%s=%s: got %q, want a whole number of at least %d",
			flag, v, v, minimum)
	}
	return n, nil
}

// choice returns the value of a flag that must be one of words, or "" if the flag is not set.
func (x *invocation) choice(flag string, words ...string) (string, error) {
	return argv.Choice(x.flags, flag, words...)
}

// options parses the flags for running the job.
func (x *invocation) options(j *spmd.Job) error {
	var err error
	get := func(flag string, least int64, set func(int64)) {
		if err == nil {
			var n int64
			if n, err = x.count(flag, least); err == nil {
				set(n)
			}
		}
	}
	word := func(flag string, dst *string, words ...string) {
		if err == nil {
			*dst, err = x.choice(flag, words...)
		}
	}
	get("ranks", 1, func(n int64) { j.Ranks = int(n) })
	get("threads", 1, func(n int64) { j.Threads = int(n) })
	get("repeat", 1, func(n int64) { j.Repeat = int(n) })
	get("warmup", 0, func(n int64) { j.Warmup = int(n) })
	get("intermediate-order", 1, func(n int64) { j.IntermediateOrder = int(n) })
	get("seed", -1<<63, func(n int64) { j.Seed = n })
	word("target", &j.Target, target.Names()...)
	word("cpu", &j.CPU, "native", "x86-64-v2", "x86-64-v3", "x86-64-v4")
	word("write", &j.Write, "auto", "parallel", "ordered")
	progress := "" // used by run
	word("progress", &progress, "auto", "always", "never")
	if err != nil {
		return err
	}
	j.Tune = x.flags.String("tune")
	j.Check, j.TrustInput, j.AllowUserCode = x.flags.Bool("check"), x.flags.Bool("trust-input"),
		x.flags.Bool("allow-user-code")
	j.Verify = x.flags.Bool("verify")
	if j.Tmp, err = conv.Tmp(x.flags); err != nil {
		return err
	}
	j.MemoryLimit, err = x.memoryLimit()
	return err
}

// memoryLimit returns the value in bytes of --memory-limit, or of DISTAFF_MEMORY_LIMIT, or 0.
func (x *invocation) memoryLimit() (int64, error) {
	from, v := "--memory-limit", x.flags.String("memory-limit")
	if !x.flags.IsSet("memory-limit") {
		from, v = "DISTAFF_MEMORY_LIMIT", os.Getenv("DISTAFF_MEMORY_LIMIT")
		if v == "" {
			return 0, nil
		}
	}
	n, err := spmd.ParseSize(v)
	if err != nil {
		return 0, argv.Errorf("%s: %v", from, err)
	}
	return n, nil
}

// scheduleTexts returns the values of -s. It replaces a value @FILE by the file's contents.
func (x *invocation) scheduleTexts(values []string) ([]string, error) {
	var out []string
	for _, v := range values {
		if file, ok := strings.CutPrefix(v, "@"); ok {
			text, err := os.ReadFile(file)
			if path := (*fs.PathError)(nil); errors.As(err, &path) {
				err = errors.New(diag.Sprintf("-s=@%s: %v", file, path.Err))
			}
			if err != nil {
				return nil, err
			}
			x.reads = append(x.reads, outfile.Use{What: "-s=" + v, Path: file})
			v = string(text)
		}
		out = append(out, v)
	}
	return out, nil
}

// schedule sets in j what the flags say about schedules, the machine, placements and block
// schedules.
func (x *invocation) schedule(j *spmd.Job) error {
	var err error
	if j.Schedule, err = x.scheduleTexts(x.flags.StringSlice("s")); err != nil {
		return err
	}
	j.Machine = x.flags.String("m")
	j.Placements = x.flags.StringSlice("p")
	j.Splits = x.flags.StringSlice("split")
	j.BlockOrder = x.flags.String("order")
	j.Extend = x.flags.StringSlice("extend")
	j.Map = x.flags.String("map")
	j.Network = x.flags.String("network")
	return nil
}
