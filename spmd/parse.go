package spmd

import (
	"path/filepath"
	"slices"
	"strings"

	"distaff/codegen/diag"
	"distaff/codegen/dtype"
	"distaff/codegen/format"
	"distaff/codegen/notation"
	"distaff/io/convert"
	"distaff/io/tcs"
	"distaff/io/text"
)

// parsed is a job whose statement and flags were read and fit each other.
type parsed struct {
	stmt    *notation.Stmt
	norm    *notation.Normal
	result  string
	names   []string                 // every tensor, the result first
	orders  map[string]int           // modes of each
	formats map[string]format.Format // those that the job gives
	types   map[string]dtype.Type    // those that the job gives
	sizes   map[string][]int64       // of each tensor, those that the job gives; -1 for others
}

// parse reads the statement and all that names its tensors. complete says that
// every operand must have an input.
func (j *Job) parse(complete bool) (*parsed, error) {
	stmt, err := notation.Parse(j.Statement)
	if err != nil {
		return nil, err
	}
	if err := notation.Check(stmt); err != nil {
		return nil, err
	}
	p := &parsed{
		stmt: stmt, norm: notation.Normalize(stmt), result: stmt.LHS.Name,
		orders: map[string]int{}, formats: map[string]format.Format{}, types: map[string]dtype.Type{},
	}
	for _, t := range stmt.Tensors() {
		p.names = append(p.names, t.Name)
		p.orders[t.Name] = t.Order
	}
	for _, name := range sorted(j.Formats) {
		if err := p.has(name, "format", "-f="+name+":"+j.Formats[name]); err != nil {
			return nil, err
		}
		_, f, err := format.ParseFlag(name + ":" + j.Formats[name])
		if err != nil {
			return nil, err
		}
		if f.NumModes() != p.orders[name] {
			return nil, commandErrorf("-f=%s:%s: got %s, want %d: %s has %s in the statement", name, j.Formats[name],
				plural(int64(f.NumModes()), "level"), p.orders[name], name, plural(int64(p.orders[name]), "mode"))
		}
		p.formats[name] = f
	}
	for _, name := range sorted(j.Types) {
		if err := p.has(name, "type", "-t="+name+":"+j.Types[name]); err != nil {
			return nil, err
		}
		t, err := dtype.Parse(j.Types[name])
		if err != nil {
			return nil, commandErrorf("-t=%s:%s: %v", name, printable(j.Types[name]), err)
		}
		p.types[name] = t
	}
	for _, name := range sorted(j.Sizes) {
		for _, n := range j.Sizes[name] {
			if err := tcs.CheckSize(n); err != nil {
				return nil, commandErrorf("-d=%s: %v", printable(name), err)
			}
		}
	}
	if p.sizes, err = notation.UserSizes(p.norm, j.Sizes); err != nil {
		return nil, err
	}
	if err := p.inputs(j, complete); err != nil {
		return nil, err
	}
	return p, p.outputs(j)
}

// sorted lists a map's keys in order, so that messages do not vary.
func sorted[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func article(noun string) string {
	if strings.ContainsRune("aeiou", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}

// has refuses what is said of a tensor that the statement lacks.
func (p *parsed) has(name, what, flag string) error {
	if _, ok := p.orders[name]; ok {
		return nil
	}
	return &diag.Error{Code: diag.NoTensor, Msg: printable(flag) + ": got " + article(what) + " for " + printable(name) +
		", a tensor that the statement lacks; its tensors are " + strings.Join(p.names, ", ")}
}

// inputs checks that operands have one input each, where complete says that they
// must, and that nothing else has.
func (p *parsed) inputs(j *Job, complete bool) error {
	for _, name := range sorted(j.Inputs) {
		in := j.Inputs[name]
		flag, kinds := "-i="+name+":"+in.File, 0
		for _, given := range []bool{in.File != "", in.Generate != "", in.Scalar != nil, in.Tensor != nil} {
			if given {
				kinds++
			}
		}
		if in.Generate != "" {
			flag = "-g=" + name + ":" + in.Generate
		}
		if err := p.has(name, "input", flag); err != nil {
			return err
		}
		if kinds != 1 {
			return commandErrorf("the input of %s has %d of File, Generate, Scalar and Tensor; want one", name, kinds)
		}
		if in.Scalar != nil && p.orders[name] != 0 {
			return commandErrorf("the input of %s is a scalar; want a tensor of %s", name, plural(int64(p.orders[name]), "mode"))
		}
		if in.Tensor != nil && in.Tensor.Order() != p.orders[name] {
			return commandErrorf("the input of %s has %s; want %d", name, plural(int64(in.Tensor.Order()), "mode"), p.orders[name])
		}
		if name == p.result && !p.stmt.Accumulate {
			return commandErrorf("%s: got an input for the result %s, which = overwrites; %s += ... adds to it", printable(flag), name, p.stmt.LHS)
		}
	}
	stdin := ""
	for _, name := range sorted(j.Inputs) {
		if f := j.Inputs[name].File; f == "" || !text.Stdin(f) {
			continue
		}
		if stdin != "" {
			return commandErrorf("-i=%s:%s: %s is read from standard input already; want it for one tensor", name, j.Inputs[name].File, stdin)
		}
		stdin = name
	}
	var missing []string
	for _, name := range p.names[1:] {
		if _, ok := j.Inputs[name]; !ok {
			missing = append(missing, name)
		}
	}
	if complete && len(missing) > 0 {
		name := missing[0]
		if p.orders[name] == 0 {
			return commandErrorf("%s has no input; give it with -i=%s:VALUE or -i=%s:FILE", strings.Join(missing, ", "), name, name)
		}
		return commandErrorf("%s: no input; give each with -i=%s:FILE or -g=%s:KIND", strings.Join(missing, ", "), name, name)
	}
	return nil
}

// outputs checks where tensors are to be written: names, extensions, and that
// no two have one file.
func (p *parsed) outputs(j *Job) error {
	taken := map[string]string{}
	for _, o := range j.Outputs {
		flag := "-o=" + o.Tensor + ":" + o.File
		if err := p.has(o.Tensor, "output", flag); err != nil {
			return err
		}
		if err := convert.Writable(o.File, p.orders[o.Tensor]); err != nil {
			return err
		}
		key := "standard output"
		if !text.Stdin(o.File) {
			key = canonical(o.File)
		}
		if other, ok := taken[key]; ok {
			return commandErrorf("%s: got %s for two outputs (-o=%s)", printable(flag), printable(key), printable(other))
		}
		taken[key] = o.Tensor + ":" + o.File
	}
	return nil
}

// canonical names a file the same way however its path is spelled.
func canonical(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		return real
	}
	// The file is not there yet, but its folder may be.
	if dir, err := filepath.EvalSymlinks(filepath.Dir(abs)); err == nil {
		return filepath.Join(dir, filepath.Base(abs))
	}
	return abs
}
