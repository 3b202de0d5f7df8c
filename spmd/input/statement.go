package input

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"distaff/codegen/diag"
	"distaff/codegen/notation"
	"distaff/codegen/place"
	"distaff/io/tensor"
	"distaff/io/text"
	"distaff/spmd/fault"
)

// Statement is a parsed statement, with the given properties of its tensors. Given.Parse has
// checked that the properties agree with each other.
type Statement struct {
	Stmt    *notation.Stmt
	Norm    *notation.Normal
	Result  string
	Names   []string                 // all tensors, the result first
	Orders  map[string]int           // number of modes
	Formats map[string]tensor.Format // the given formats
	Types   map[string]tensor.Type   // the given types
	// for each tensor, the sizes that the user gave, or -1 for a mode without a given size
	Sizes map[string][]int64

	// Old is the name of the operand that represents the result's old value on the right side. Its
	// input is the result's input. It is "" if the right side does not read the old value.
	Old string
	// Inputs and UserSizes are the fields Inputs and Sizes of Given, extended by Old. If Old is set
	// and the statement is not +=, Inputs lacks the result.
	Inputs    map[string]Input
	UserSizes map[string][]int64
	// SizesFrom is the SizesFrom of Given.
	SizesFrom func(name string, mode int) string
	// Machine, Placements and Schedule are the fields of Given; Placements is extended by Old.
	Machine    *place.Machine
	Placements map[string]place.Placement
	Schedule   []string

	memoryOf func(tensor string) place.Memory
}

// Memory returns the kind of memory, of the host or of a device, that a tensor is placed in.
func (p *Statement) Memory(tensor string) place.Memory {
	if p.memoryOf == nil {
		return p.Placements[tensor].Memory()
	}
	if tensor == p.Old {
		tensor = p.Result
	}
	return p.memoryOf(tensor)
}

// Given is a statement, and what a job says about its tensors, by their names; see spmd.Job.
type Given struct {
	Statement string
	Formats   map[string]string
	Types     map[string]string
	Sizes     map[string][]int64 // of tensors and of index variables
	// SizesFrom returns, for messages, what determined an element of Sizes; see
	// notation.InferSizes. It may be nil.
	SizesFrom func(name string, mode int) string
	Inputs    map[string]Input
	Partial   bool // a size of -1 means that it is not given

	Machine    *place.Machine             // nil means a line of all ranks
	Placements map[string]place.Placement // by tensor
	Schedule   []string                   // scheduling commands
	// MemoryOf returns the kind of memory of a tensor, even if the tensor has no placement. It may
	// be nil.
	MemoryOf func(tensor string) place.Memory
}

// Parse parses the statement and checks the formats, types, sizes, placements and inputs of its
// tensors. If complete is true, every operand must have an input.
func (j *Given) Parse(complete bool) (*Statement, error) {
	stmt, err := notation.Parse(j.Statement)
	if err != nil {
		return nil, err
	}
	if err := notation.Check(stmt); err != nil {
		return nil, err
	}
	_, hasOld := j.Inputs[stmt.LHS.Name]
	stmt = notation.ExpandFor(stmt, hasOld)
	j = j.withMade(stmt)
	old := notation.NameOld(stmt)
	if old != "" {
		j = j.withOld(old, stmt)
	}
	p := &Statement{
		Old: old, Inputs: j.Inputs, UserSizes: j.Sizes, SizesFrom: j.SizesFrom,
		Stmt: stmt, Norm: notation.Normalize(stmt),
		Result: stmt.LHS.Name,
		Orders: map[string]int{}, Formats: map[string]tensor.Format{}, Types: map[string]tensor.Type{},
		Machine: j.Machine, Placements: j.Placements, Schedule: j.Schedule, memoryOf: j.MemoryOf,
	}
	for _, t := range stmt.Tensors() {
		p.Names = append(p.Names, t.Name)
		p.Orders[t.Name] = t.Order
	}
	for name, in := range j.Inputs {
		if in.made != nil {
			p.Formats[name] = madeFormat(in.made, p.Orders[name])
		}
	}
	for _, name := range sorted(j.Formats) {
		if err := p.Has(name, "format", "-f="+name+":"+j.Formats[name]); err != nil {
			return nil, err
		}
		_, f, err := notation.ParseFormatFlag(name + ":" + j.Formats[name])
		if err != nil {
			return nil, err
		}
		if f.NumModes() != p.Orders[name] {
			return nil, fault.Commandf("-f=%s:%s: got %s, want %d: %s has %s in the statement", name,
				j.Formats[name],
				tensor.Count(int64(f.NumModes()), "level"), p.Orders[name], name,
				tensor.Count(int64(p.Orders[name]), "mode"))
		}
		p.Formats[name] = f
	}
	for _, name := range sorted(j.Sizes) {
		for _, n := range j.Sizes[name] {
			if n == -1 && j.Partial {
				continue
			}
			if err := tensor.CheckSize(n); err != nil {
				return nil, fault.Commandf("-d=%s: %v", tensor.Printable(name), err)
			}
		}
	}
	for _, name := range sorted(j.Types) {
		if err := p.Has(name, "type", "-t="+name+":"+j.Types[name]); err != nil {
			return nil, err
		}
		t, err := notation.ParseType(j.Types[name])
		if err != nil {
			return nil, fault.Commandf("-t=%s:%s: %v", name, tensor.Printable(j.Types[name]), err)
		}
		p.Types[name] = t
	}
	if err := p.placements(); err != nil {
		return nil, err
	}
	if p.Sizes, err = notation.UserSizes(p.Norm, j.Sizes, j.SizesFrom); err != nil {
		return nil, err
	}
	return p, p.inputs(j, complete)
}

// SizeFrom returns a phrase for messages about the size of a tensor's mode. The phrase consists of
// the mode and, in parentheses, source, which names the place of the size. If source is already a
// result of SizeFrom for another mode, SizeFrom returns source unchanged.
func SizeFrom(tensor string, mode int, source string) string {
	if strings.HasPrefix(source, "mode ") {
		return source
	}
	return fmt.Sprintf("mode %d of %s (%s)", mode, tensor, source)
}

// withMade returns j with an input for each tensor that notation.Expand made.
func (j *Given) withMade(stmt *notation.Stmt) *Given {
	g := j
	for _, a := range stmt.Accesses() {
		if a.Made == nil {
			continue
		}
		if g == j {
			c := *j
			g, c.Inputs = &c, maps.Clone(j.Inputs)
			if c.Inputs == nil {
				c.Inputs = map[string]Input{}
			}
		}
		g.Inputs[a.Name] = Input{made: a.Made}
	}
	return g
}

// madeFormat returns the format of a tensor that notation.Expand made: if its values are ones, the
// last mode is compressed.
func madeFormat(m *notation.Made, order int) tensor.Format {
	f := tensor.DenseOf(order)
	if !m.Coordinates {
		f.Levels[order-1] = tensor.Compressed
	}
	return f
}

// withOld copies what is given for the result to the operand old, which represents the result's old
// value.
func (j *Given) withOld(old string, stmt *notation.Stmt) *Given {
	result := stmt.LHS.Name
	g := *j
	g.Formats, g.Types = copyValue(j.Formats, result, old), copyValue(j.Types, result, old)
	g.Sizes, g.Inputs = copyValue(j.Sizes, result, old), copyValue(j.Inputs, result, old)
	g.Placements = copyValue(j.Placements, result, old)
	if !stmt.Accumulate {
		delete(g.Inputs, result)
	}
	return &g
}

// placements checks that placements name tensors of the statement and have the right number of
// modes.
func (p *Statement) placements() error {
	for _, name := range sorted(p.Placements) {
		flag := "-p=" + name + p.Placements[name].String()
		if err := p.Has(name, "placement", flag); err != nil {
			return err
		}
		for _, l := range p.Placements[name] {
			if n := len(l.Modes); n != p.Orders[name] {
				return fault.Commandf("%s: got %s, want %d: %s has %s in the statement", flag,
					tensor.Count(int64(n), "mode"), p.Orders[name], name,
					tensor.Count(int64(p.Orders[name]), "mode"))
			}
		}
	}
	return nil
}

// copyValue returns a copy of a map with the value of key first at key second, if first has a
// value.
func copyValue[V any](m map[string]V, first, second string) map[string]V {
	out := maps.Clone(m)
	if v, ok := m[first]; ok {
		out[second] = v
	}
	return out
}

// sorted returns a map's keys in order, so that messages are deterministic.
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

// Has returns an error if the statement has no tensor called name. The error contains flag and
// what: flag is the flag that names the tensor, and what is the property that the flag gives to the
// tensor, such as "format".
func (p *Statement) Has(name, what, flag string) error {
	if _, ok := p.Orders[name]; ok {
		return nil
	}
	return &diag.Error{Code: diag.NoTensor,
		Msg: tensor.Printable(flag) + ": got " + article(what) + " for " + tensor.Printable(name) +
			", want a tensor of the statement: " + strings.Join(p.Names, ", ")}
}

// inputs checks that each input has exactly one kind of data, and that it belongs to an operand or
// to the result of +=. If complete is true, every operand must have an input.
func (p *Statement) inputs(j *Given, complete bool) error {
	for _, name := range sorted(j.Inputs) {
		in := j.Inputs[name]
		flag, kinds := "-i="+name+":"+in.File, 0
		for _, given := range []bool{in.File != "", in.Generate != "", in.Scalar != nil, in.Tensor != nil,
			in.held != nil, in.made != nil} {
			if given {
				kinds++
			}
		}
		if in.Generate != "" {
			flag = "-g=" + name + ":" + in.Generate
		}
		if err := p.Has(name, "input", flag); err != nil {
			return err
		}
		if kinds == 0 {
			return fault.Commandf(
				"%s has no input: set one of File, Generate, Scalar and Tensor (a nil Tensor "+
					"does not count)", name)
		}
		if kinds != 1 {
			return fault.Commandf(
				"%s has %d of File, Generate, Scalar and Tensor as its input, want only one",
				name, kinds)
		}
		if in.Scalar != nil && p.Orders[name] != 0 {
			return fault.Commandf("the input of %s is a scalar, want a tensor of %s", name,
				tensor.Count(int64(p.Orders[name]), "mode"))
		}
		if in.Tensor != nil && in.Tensor.Order() != p.Orders[name] {
			return fault.Commandf("the input of %s has %s, want %d", name,
				tensor.Count(int64(in.Tensor.Order()), "mode"), p.Orders[name])
		}
		if name == p.Result && !p.Stmt.Accumulate {
			return fault.Commandf(
				"%s: got an input for the result %s, which = overwrites; write %s += ... to "+
					"add to it, or read %[2]s on the right side",
				tensor.Printable(flag), name, p.Stmt.LHS)
		}
	}
	stdin := ""
	for _, name := range sorted(j.Inputs) {
		if f := j.Inputs[name].File; f == "" || !text.Stdin(f) {
			continue
		}
		if stdin != "" {
			return fault.Commandf(
				"-i=%s:%s: standard input is already read for %s; it can be read for only one tensor",
				name, j.Inputs[name].File, stdin)
		}
		stdin = name
	}
	var missing []string
	for _, name := range p.Names[1:] {
		if _, ok := j.Inputs[name]; !ok {
			missing = append(missing, name)
		}
	}
	if complete && len(missing) > 0 {
		name := missing[0]
		if name == p.Old {
			return fault.Commandf(
				"the right side reads the old value of %s, which has no input; give it with "+
					"-i=%[1]s:FILE",
				p.Result)
		}
		if p.Orders[name] == 0 {
			return fault.Commandf("%s has no input; give it with -i=%s:VALUE or -i=%s:FILE",
				strings.Join(missing, ", "), name, name)
		}
		return fault.Commandf("%s: no input; give each with -i=%s:FILE or -g=%s:KIND",
			strings.Join(missing, ", "), name, name)
	}
	return nil
}
