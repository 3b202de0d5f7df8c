package jobs

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"distaff/codegen/diag"
	"distaff/codegen/jobfile"
	"distaff/codegen/notation"
	"distaff/codegen/place"
	"distaff/codegen/schedule"
	"distaff/io/convert"
	"distaff/io/coo"
	"distaff/io/tcsfile"
	"distaff/io/tensor"
	"distaff/io/text"
	"distaff/spmd/input"
)

// Statement is a statement of a file with the facts about its tensors that are known when it runs.
// Given describes these tensors as for a job that consists of this statement alone.
type Statement struct {
	Statement *jobfile.Statement
	Given     input.Given
	Runs      int64 // the largest number of runs
}

// Statements returns the statements of a file that was bound and checked, in the order of the file.
// It reads inputs for their sizes and types, and runs nothing. given holds the inputs that flags
// give tensors.
func Statements(f *jobfile.File, given map[string]input.Input, ranks int) ([]Statement, error) {
	r := newNames(f, given)
	if err := Inputs(f, given); err != nil {
		return nil, err
	}
	found, err := r.found()
	if err != nil {
		return nil, err
	}
	maps.Copy(r.sizes, found.Names)
	return r.statements(found, ranks)
}

// statements returns the result of Statements. found is what the inputs say about sizes and types.
func (r *names) statements(found known, ranks int) ([]Statement, error) {
	f := r.f
	dims := map[string][]int64{}
	for _, t := range f.Tensors {
		if !t.Declared {
			continue
		}
		how, err := r.storage(t)
		if err != nil {
			return nil, err
		}
		if len(how.Sizes) > 0 {
			dims[t.Name] = how.Sizes
		}
	}
	types, err := f.CheckTypes(found.Types)
	if err != nil {
		return nil, err
	}
	var out []Statement
	written := map[string]bool{}
	runs := timesOf(f.Items)
	for it := range jobfile.All(f.Items) {
		if t, ok := it.(*jobfile.Linalg); ok {
			if err := linalgGiven(t, dims, written); err != nil {
				return out, err
			}
		}
		s, ok := it.(*jobfile.Statement)
		if !ok {
			continue
		}
		g, err := r.givenOf(s, types, dims, written)
		if err != nil {
			return out, err
		}
		how, err := r.how(s, ranks)
		if err != nil {
			return out, err
		}
		g.Machine, g.Placements, g.Schedule = how.Machine, how.Placements, how.Schedule
		out = append(out, Statement{s, g, runs[s]})
	}
	return out, nil
}

// words matches names and numbers. In a text such as "M.x", it matches ".x" together with the
// point. This shows that x is not a name.
var words = regexp.MustCompile(`[0-9][0-9A-Za-z_.]*|\.?[A-Za-z_][0-9A-Za-z_]*`)

// numbered maps names to numbers such as $1. The numbers follow the order of the names' first use.
type numbered map[string]string

// rename returns text with numbers instead of names. isName reports whether a word that has no
// number yet is a name.
func (n numbered) rename(text string, isName func(string) bool) string {
	return words.ReplaceAllStringFunc(text, func(name string) string {
		if strings.ContainsRune(".0123456789", rune(name[0])) || n[name] == "" && !isName(name) {
			return name
		}
		if n[name] == "" {
			n[name] = fmt.Sprintf("$%d", len(n)+1)
		}
		return n[name]
	})
}

// command returns the text of a command with numbers instead of names. It keeps the words of the
// scheduling language.
func (n numbered) command(c *schedule.Command) string {
	args := make([]string, len(c.Args))
	all := func(string) bool { return true }
	for k, isWord := range c.Words() {
		switch a := c.Args[k]; {
		case isWord || strings.HasPrefix(a.Text, `"`):
			args[k] = a.Text
		case a.List != nil:
			for _, x := range a.List {
				args[k] += n.rename(x.Text, all) + ";"
			}
		default:
			args[k] = n.rename(a.Text, all)
		}
	}
	return c.Name + "(" + strings.Join(args, ",") + ")"
}

// renamed returns a key for the leaves that a run of the statement is expected to call. The key
// contains numbers instead of names. If two statements have the same key, they read the same inputs
// and run equally often. Their texts, tensors, commands, placements and machines then differ at
// most in names. renamed returns "" if the statement or its schedule cannot be parsed.
func (s Statement) renamed() string {
	g := s.Given
	stmt, err := notation.Parse(g.Statement)
	if err != nil {
		return ""
	}
	commands, err := schedule.Parse(g.Schedule)
	if err != nil {
		return ""
	}
	used := map[string]bool{}
	for _, a := range append(stmt.Accesses(), stmt.LHS) {
		used[a.Name] = true
		for _, v := range a.Vars {
			used[v] = true
		}
	}
	isUsed := func(name string) bool { return used[name] }
	names := numbered{}
	parts := []string{names.rename(g.Statement, isUsed), fmt.Sprint(s.Runs), s.Statement.On}
	if g.Machine != nil {
		names[g.Machine.Name] = "$machine"
		parts = append(parts, g.Machine.String())
	}
	for _, a := range stmt.Tensors() {
		number := names[a.Name]
		parts = append(parts, fmt.Sprintf("%s:%q %q %d %+v", number, g.Formats[a.Name],
			g.Types[a.Name], g.Sizes[a.Name], g.Inputs[a.Name]))
		for _, l := range g.Placements[a.Name] {
			l.Modes = slices.Clone(l.Modes)
			for k := range l.Modes {
				l.Modes[k] = strconv.Itoa(k)
			}
			l.Machine = cmp.Or(names[l.Machine], l.Machine)
			parts = append(parts, place.Placement{l}.String())
		}
	}
	for _, c := range commands {
		parts = append(parts, names.command(c))
	}
	own := *s.Statement // without the commands, which are in the statement's Given
	own.Schedule = nil
	return strings.Join(append(parts, names.rename(scheduleText(&own), isUsed)), "\n")
}

// timesOf returns, for each statement in items, how many times it runs if no repeat ends early, and
// every condition of an if selects the statement.
// math.MaxInt64 means this many or more.
func timesOf(items []jobfile.Item) map[*jobfile.Statement]int64 {
	times := map[*jobfile.Statement]int64{}
	var count func(items []jobfile.Item, n int64)
	count = func(items []jobfile.Item, n int64) {
		for _, it := range items {
			inside := n
			switch it := it.(type) {
			case *jobfile.Statement:
				times[it] = n
			case *jobfile.Repeat:
				inside = tensor.Times(n, it.N)
			}
			for _, block := range jobfile.Blocks(it) {
				count(block, inside)
			}
		}
	}
	count(items, 1)
	return times
}

// givenOf returns what is known about the tensors of statement s before it runs. types and dims
// hold the types and sizes of the file's tensors. written contains the names of tensors that
// earlier statements have computed; the inputs of these tensors are not read any more. At the end,
// givenOf records the result of s: it adds the result's sizes to dims if they are known, and the
// result's name to written.
func (r *names) givenOf(s *jobfile.Statement, types map[string]tensor.Type, dims map[string][]int64,
	written map[string]bool) (input.Given, error) {
	g := input.Given{Statement: s.Text, Formats: map[string]string{}, Types: map[string]string{},
		Sizes: map[string][]int64{}, Inputs: map[string]input.Input{}}
	stmt, err := notation.Parse(s.Text)
	if err != nil {
		return g, s.Locate(err)
	}
	old := notation.NameOld(stmt)
	result := stmt.LHS.Name
	sizes := map[string][]int64{}
	g.SizesFrom = func(name string, mode int) string {
		if name == old {
			name = result
		}
		return input.SizeFrom(name, mode, r.sizeFrom(r.f.Tensor(name), mode))
	}
	for _, a := range stmt.Tensors() {
		name := a.Name
		if name == old {
			name = result
		}
		t := r.f.Tensor(name)
		if t == nil {
			continue
		}
		if t.Format != "" {
			g.Formats[name] = t.Format
		}
		if typ := types[name]; typ != tensor.None {
			g.Types[name] = typ.String()
		}
		if d := dims[name]; d != nil {
			g.Sizes[name], sizes[a.Name] = d, d
		}
		in, ok := r.input(t)
		if ok && !written[name] && (a.Name != result || stmt.KeepsOld() || old != "") {
			g.Inputs[name] = in
		}
	}
	if n, err := notation.InferSizes(notation.Normalize(stmt), nil, sizes, g.SizesFrom); err == nil {
		dims[result] = n.Dims[result]
	} else if e := (*diag.Error)(nil); !errors.As(err, &e) || e.Code != diag.SizeUnknown {
		return g, s.Locate(err)
	}
	written[result] = true
	return g, nil
}

// inputTypes returns, by tensor, the types of the inputs whose types are known before they are
// loaded.
func (r *names) inputTypes() (map[string]tensor.Type, error) {
	types := map[string]tensor.Type{}
	for _, t := range r.f.Tensors {
		in, ok := r.input(t)
		switch {
		case !ok || text.Stdin(in.File):
		case in.Tensor != nil:
			types[t.Name] = in.Tensor.Header.Type
		case in.Generate != "":
			types[t.Name] = tensor.Float64
		case t.Order == 0 && jobfile.IsNumber(in.File):
			types[t.Name] = jobfile.NumberType(in.File)
		case in.File != "":
			typ, err := typeOf(in, t.Order)
			if err != nil {
				return nil, r.ofInput(t, err)
			}
			types[t.Name] = typ
		}
	}
	return types, nil
}

// typeOf returns the element type of the values in the file of an input. order is the number of
// modes of the tensor.
func typeOf(in input.Input, order int) (tensor.Type, error) {
	if convert.Ext(in.File) == ".tcs" {
		t, err := tcsfile.Open(in.File)
		if err != nil {
			return tensor.None, err
		}
		defer t.Close()
		return t.Header.Type, nil
	}
	s, err := convert.Open(in.File, coo.Options{Order: order, ZeroBased: in.ZeroBased,
		Delimiter: in.Delimiter})
	if err != nil {
		return tensor.None, err
	}
	defer s.Close()
	return s.Type(), nil
}
