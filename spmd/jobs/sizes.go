package jobs

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"distaff/codegen/jobfile"
	"distaff/codegen/notation"
	"distaff/codegen/place"
	"distaff/io/convert"
	"distaff/io/coo"
	"distaff/io/tcsfile"
	"distaff/io/tensor"
	"distaff/io/text"
	"distaff/spmd/fault"
	"distaff/spmd/input"
	"distaff/spmd/program"
)

// names resolves the names that a job file uses. It finds the input of each tensor and the value of
// each named size.
type names struct {
	f     *jobfile.File
	given map[string]input.Input // inputs that flags give; they replace the inputs in the file
	sizes map[string]int64       // sizes by name
	// by name of a size: what determined the size, for messages; may be nil
	from  map[string]string
	types map[string]tensor.Type // types from inputs, for tensors that are declared without one
	// grids holds the grids that the method products computes.
	grids map[*jobfile.Machine]*place.Machine
}

// newNames returns the names of job file f. Sizes whose values were given by flags
// (jobfile.File.Sizes) are known from the start. given holds the inputs that flags give, by tensor.
func newNames(f *jobfile.File, given map[string]input.Input) *names {
	r := &names{f: f, given: given, sizes: map[string]int64{},
		grids: map[*jobfile.Machine]*place.Machine{}}
	maps.Copy(r.sizes, f.Sizes)
	return r
}

// Notes returns a note for each input that a flag gives although its values are never used. given
// holds the inputs that flags give.
func Notes(f *jobfile.File, given map[string]input.Input) []string {
	return newNames(f, given).overwritten()
}

// overwritten returns a note for each input that a flag gives although its values are never used.
// This is so if a statement overwrites the tensor before any item reads it. Only the sizes and the
// type of such an input are used.
func (r *names) overwritten() (notes []string) {
	used := map[string]bool{} // tensors that an item above reads or writes
	read := func(c *jobfile.Cond) {
		for _, name := range c.Scalars() {
			used[name] = true
		}
	}
	overwrites := func(it jobfile.Item, name string) {
		notes = append(notes, fmt.Sprintf(
			"%s: the values of the input of %s are not used: this line computes %[2]s first",
			r.where(it), name))
	}
	var walk func(items []jobfile.Item)
	walk = func(items []jobfile.Item) {
		for _, it := range items {
			cond := jobfile.CondOf(it)
			_, repeats := it.(*jobfile.Repeat)
			if cond != nil && !repeats {
				read(cond)
			}
			switch it := it.(type) {
			case *jobfile.Statement:
				for _, a := range it.Stmt.Accesses() {
					used[a.Name] = true
				}
				name := it.Stmt.LHS.Name
				_, given := r.given[name]
				if given && !used[name] && !it.Stmt.KeepsOld() {
					overwrites(it, name)
				}
				used[name] = true
			case *jobfile.Linalg:
				for _, name := range it.In {
					used[name] = true
				}
				for _, name := range it.Out {
					if _, given := r.given[name]; given && !used[name] {
						overwrites(it, name)
					}
					used[name] = true
				}
			case *jobfile.Print:
				used[it.Name] = true
			case *jobfile.Place:
				used[it.Name] = true
			}
			for _, block := range jobfile.Blocks(it) {
				walk(block)
			}
			if cond != nil && repeats {
				read(cond)
			}
		}
	}
	walk(r.f.Items)
	return notes
}

// bind determines the value of each named size, and the types of inputs. Rank 0 reads them from the
// inputs. It is an error if the type of a statement's left side cannot hold the statement's
// values (jobfile.File.CheckTypes). Every rank must call it.
func (r *execution) bind() error {
	var found known
	err := program.Shared(r.p, &found, func() (err error) {
		if found, err = r.names.found(); err == nil {
			found.Temporaries, err = r.names.f.CheckTypes(found.Types)
		}
		return err
	})
	if err != nil {
		return err
	}
	r.found = found
	for _, s := range Notes(r.names.f, r.names.given) {
		r.note(s)
	}
	maps.Copy(r.names.sizes, found.Names)
	r.names.from = found.From
	r.names.types = found.Types
	return r.names.products(found, r.p.Ranks(), r.p.MemoryLimit())
}

// found returns what the inputs of a file say about sizes and types.
func (r *names) found() (known, error) {
	sizes, err := r.inputSizes()
	if err != nil {
		return known{}, err
	}
	types, err := r.inputTypes()
	return known{Names: sizes.Names, From: sizes.From, Dims: sizes.Dims, Types: types}, err
}

// path returns the path of a file that the job file names at a place. Relative paths start at the
// folder of the job file, or of the included file with the place.
func (r *names) path(name string, at notation.Span) string {
	if text.Stdin(name) || filepath.IsAbs(name) {
		return name
	}
	file, _, _ := r.f.Place(at.Pos)
	return filepath.Join(filepath.Dir(file), name)
}

// input returns the input of a tensor, or false if it has none.
func (r *names) input(t *jobfile.Tensor) (input.Input, bool) {
	if in, ok := r.given[t.Name]; ok {
		return in, true
	}
	switch {
	case t.From != "":
		return input.Input{File: r.path(t.From, t.FromAt), ZeroBased: t.IndexBase == "0",
			NoDuplicates: t.Duplicates == "error"}, true
	case t.FromKind != "":
		return input.Input{Generate: t.FromKind}, true
	case t.FromNumber != "":
		return input.Input{File: t.FromNumber}, true
	}
	return input.Input{}, false
}

// ofInput adds a position to an error of a tensor's input: the place where the job file names the
// input's file. It returns err unchanged if the job file does not name it.
func (r *names) ofInput(t *jobfile.Tensor, err error) error {
	if _, given := r.given[t.Name]; given || t.From == "" {
		return err
	}
	return r.ofFile(t.FromAt, err)
}

// ofFile adds a position in the job file to an error.
func (r *names) ofFile(at notation.Span, err error) error {
	file, line, col := r.f.Place(at.Pos)
	return located{fmt.Errorf("%s:%d:%d: %w", tensor.Printable(file), line, col, err)}
}

// Inputs returns an error if a tensor's generated data has an unknown kind or wrong parameters, or
// if the job file gives index base 0 for a file whose format defines its own base.
func Inputs(f *jobfile.File, given map[string]input.Input) error {
	r := newNames(f, given)
	for _, t := range f.Tensors {
		in, ok := r.input(t)
		if ok && in.ZeroBased && t.BaseAt.End > 0 {
			if err := convert.Based(in.File); err != nil {
				return f.Errorf(t.BaseAt, jobfile.Declaration,
					"got index-base 0 for %q, want a .tns, .csv, .tsv or edge-list file: "+
						"every other format defines its own base",
					t.From)
			}
		}
		if !ok || in.Generate == "" {
			continue
		}
		_, err := input.ParseKind(t.Name, in.Generate)
		if _, given := r.given[t.Name]; err != nil && !given {
			msg := strings.TrimPrefix(err.Error(), fmt.Sprintf("-g=%s:", tensor.Printable(t.Name)))
			return r.f.Errorf(t.FromAt, jobfile.Declaration, "from %s", msg)
		} else if err != nil {
			return err
		}
	}
	return nil
}

func (r *names) lookup(name string) (int64, bool) {
	n, ok := r.sizes[name]
	return n, ok
}

// storage returns how a tensor is stored: its format, type and sizes. Each size is -1 if the tensor
// is not declared.
func (r *names) storage(t *jobfile.Tensor) (program.Storage, error) {
	how := program.Storage{Format: t.Format, Type: t.Type, Sizes: []int64{}}
	if typ := r.types[t.Name]; typ != tensor.None && t.Type == "" {
		how.Type = typ.String()
	}
	if !t.Declared {
		how.Sizes = slices.Repeat([]int64{-1}, t.Order)
	}
	for m, s := range t.Sizes {
		n, err := s.Eval(r.lookup)
		if err != nil {
			return how, err
		}
		how.Sizes, how.SizesFrom = append(how.Sizes, n), append(how.SizesFrom, r.sizeFrom(t, m))
	}
	return how, nil
}

// sizeFrom describes, for error messages, where the size of a mode of tensor t was determined: by a
// line of the file, a flag, an input or an earlier statement.
func (r *names) sizeFrom(t *jobfile.Tensor, mode int) string {
	if mode >= len(t.Sizes) {
		return "an earlier statement"
	}
	if name, ok := t.Sizes[mode].Name(); ok {
		return cmp.Or(r.from[name], r.where(t))
	}
	return cmp.Or(t.Sizes[mode].From(), r.where(t))
}

// where returns the position of an item as FILE:LINE.
func (r *names) where(it jobfile.Item) string {
	file, line, _ := r.f.Place(it.Span().Pos)
	return fmt.Sprintf("%s:%d", tensor.Printable(file), line)
}

// fileLine returns the line of an item. file is the included file with the line, or "".
func (r *names) fileLine(it jobfile.Item) (file string, line int) {
	file, line, _ = r.f.Place(it.Span().Pos)
	if file == r.f.Name {
		file = ""
	}
	return file, line
}

func (r *names) line(it jobfile.Item) int {
	_, line, _ := r.f.Place(it.Span().Pos)
	return line
}

// inputSizes returns the sizes of the file's names and tensors, from flags and from the tensors'
// inputs. Contradictory sizes are errors. A name without a size is an error if its tensor's input
// has no entries or is standard input.
func (r *names) inputSizes() (*jobfile.Sizes, error) {
	known := map[string][]notation.Known{}
	exactly := map[string]bool{}
	for _, t := range r.f.Tensors {
		in, ok := r.input(t)
		if !ok || !t.Declared || t.Order == 0 {
			continue
		}
		dims, exact, err := SizesOf(in, t.Order, r.hasOpenSize(t))
		if err != nil {
			return nil, r.ofInput(t, err)
		}
		for m, n := range dims {
			known[t.Name] = append(known[t.Name], notation.Known{Size: n, Exact: exact, From: in.File})
			if name, ok := t.Sizes[m].Name(); ok && exact {
				exactly[name] = true
			}
		}
	}
	sizes, err := r.f.CheckSizes(known)
	if err != nil {
		return nil, err
	}
	for _, t := range r.f.Tensors {
		in, _ := r.input(t)
		for _, s := range t.Sizes {
			name, ok := s.Name()
			n, has := sizes.Names[name]
			switch _, given := r.f.Sizes[name]; {
			case !ok || given || exactly[name] || n > 0:
			case has:
				return nil, fault.Commandf(
					"%s: the size %s is not known, because %s has no entries; want -d=%s:SIZE",
					r.where(t), name, tensor.Printable(in.File), name)
			case text.Stdin(in.File):
				return nil, fault.Commandf(
					"%s: the size %s is not known, because standard input can be read only "+
						"once; want -d=%s:SIZE", r.where(t), name, name)
			}
		}
	}
	return sizes, nil
}

// hasOpenSize reports whether a tensor's declaration uses a name whose size is not known yet.
func (r *names) hasOpenSize(t *jobfile.Tensor) bool {
	for _, s := range t.Sizes {
		if name, ok := s.Name(); ok {
			if _, known := r.sizes[name]; !known {
				return true
			}
		}
	}
	return false
}

// SizesOf returns the sizes of an input, or nil if they are unknown. exact is false if the sizes
// are only the largest coordinates. Finding those requires reading the whole file, which SizesOf
// does only if read is set.
func SizesOf(in input.Input, order int, read bool) (dims []int64, exact bool, err error) {
	if in.Tensor != nil {
		return in.Tensor.Header.Dims, true, nil
	}
	if in.File == "" || text.Stdin(in.File) {
		return nil, true, nil
	}
	if convert.Ext(in.File) == ".tcs" {
		t, err := tcsfile.Open(in.File)
		if err != nil {
			return nil, false, err
		}
		defer t.Close()
		return t.Header.Dims, true, nil
	}
	s, err := convert.Open(in.File, coo.Options{Order: order, ZeroBased: in.ZeroBased,
		Delimiter: in.Delimiter})
	if err != nil {
		return nil, false, err
	}
	defer s.Close()
	if dims, exact = s.Dims(); exact || !read {
		if !exact {
			dims = nil
		}
		return dims, exact, nil
	}
	var b coo.Batch
	for {
		if err := s.Next(&b); err == io.EOF {
			break
		} else if err != nil {
			return nil, false, err
		}
	}
	dims, _ = s.Dims()
	return dims, false, nil
}
