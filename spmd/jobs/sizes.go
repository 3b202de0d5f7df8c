package jobs

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"strings"

	"distaff/codegen/jobfile"
	"distaff/codegen/notation"
	"distaff/codegen/place"
	"distaff/io/convert"
	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/io/text"
	"distaff/spmd/fault"
	"distaff/spmd/input"
	"distaff/spmd/program"
)

// names is what the names of a file stand for: where tensors come from, and sizes.
type names struct {
	f     *jobfile.File
	given map[string]input.Input // of tensors, in the place of what the file says
	dir   string                 // of the file, to which paths in it are relative
	sizes map[string]int64
	from  map[string]string      // what gave the sizes, for messages; nil for what is not known
	types map[string]tensor.Type // of tensors that are declared without one, by their inputs
	// grids are those of machines that are computed for products, where placements lie over them.
	grids map[*jobfile.Machine]*place.Machine
}

// newNames knows the sizes that are given.
func newNames(f *jobfile.File, given map[string]input.Input) *names {
	r := &names{f: f, given: given, dir: filepath.Dir(f.Name), sizes: map[string]int64{},
		grids: map[*jobfile.Machine]*place.Machine{}}
	maps.Copy(r.sizes, f.Sizes)
	return r
}

// TypeNotes returns what a user should know of the types that a file declares: a line for each
// tensor whose values are kept in another type.
func TypeNotes(f *jobfile.File) (notes []string) {
	for _, t := range f.Tensors {
		if s := tensor.TypeNote(t.Type); s != "" {
			notes = append(notes, t.Name+": "+s)
		}
	}
	return notes
}

// bind gives values to the names of sizes, and types to tensors: rank 0 reads what files say of
// theirs. What types do not hold is an error. Collective.
func (r *execution) bind() error {
	var found known
	err := program.Shared(r.p, &found, func() (err error) {
		if found, err = r.names.found(); err == nil {
			_, err = r.names.f.CheckTypes(found.Types)
		}
		return err
	})
	if err != nil {
		return err
	}
	r.found = found
	for _, s := range TypeNotes(r.names.f) {
		r.note(s)
	}
	maps.Copy(r.names.sizes, found.Names)
	r.names.from = found.From
	r.names.types = found.Types
	return r.names.products(found, r.p.Ranks(), r.p.MemoryLimit())
}

// found is what the inputs of a file tell.
func (r *names) found() (known, error) {
	sizes, err := r.filed()
	if err != nil {
		return known{}, err
	}
	types, err := r.typed()
	return known{sizes.Names, sizes.From, sizes.Dims, types}, err
}

// path is a file that the job file names, which is relative to it.
func (r *names) path(name string) string {
	if text.Stdin(name) || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(r.dir, name)
}

// input is where a tensor comes from; false for nowhere.
func (r *names) input(t *jobfile.Tensor) (input.Input, bool) {
	if in, ok := r.given[t.Name]; ok {
		return in, true
	}
	switch {
	case t.From != "":
		return input.Input{File: r.path(t.From), ZeroBased: t.IndexBase == "0",
			NoDuplicates: t.Duplicates == "error"}, true
	case t.FromKind != "":
		return input.Input{Generate: t.FromKind}, true
	case t.FromNumber != "":
		return input.Input{File: t.FromNumber}, true
	}
	return input.Input{}, false
}

// ofInput gives an error of a tensor's input the place of the file's name, if the job file has it.
func (r *names) ofInput(t *jobfile.Tensor, err error) error {
	if _, given := r.given[t.Name]; given || t.From == "" {
		return err
	}
	return r.ofFile(t.FromAt, err)
}

// ofFile gives an error of a file its place in the job file, which names it there.
func (r *names) ofFile(at notation.Span, err error) error {
	line, col := r.f.Position(at.Pos)
	return located{fmt.Errorf("%s:%d:%d: %w", tensor.Printable(r.f.Name), line, col, err)}
}

// Inputs refuses kinds of generated data that there are not, wrong parameters, and an index base of
// files that have one of their own.
func Inputs(f *jobfile.File, given map[string]input.Input) error {
	r := newNames(f, given)
	for _, t := range f.Tensors {
		in, ok := r.input(t)
		if ok && in.ZeroBased && t.BaseAt.End > 0 {
			if err := convert.Based(in.File); err != nil {
				return f.Errorf(t.BaseAt, jobfile.Declaration,
					"got index-base 0 for %q, want it for .tns files alone: other formats say themselves what they count from", t.From)
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

// storage is how a declared tensor is stored.
func (r *names) storage(t *jobfile.Tensor) (program.Storage, error) {
	how := program.Storage{Format: t.Format, Type: t.Type, Sizes: []int64{}}
	if typ := r.types[t.Name]; typ != tensor.None && t.Type == "" {
		how.Type = typ.String()
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

// sizeFrom returns what gives the size of a tensor's mode, for messages.
func (r *names) sizeFrom(t *jobfile.Tensor, mode int) string {
	if mode >= len(t.Sizes) {
		return "an earlier statement"
	}
	if name, ok := t.Sizes[mode].Name(); ok {
		return cmp.Or(r.from[name], r.where(t))
	}
	return cmp.Or(t.Sizes[mode].From(), r.where(t))
}

// where is the line of an item.
func (r *names) where(it jobfile.Item) string {
	return fmt.Sprintf("%s:%d", tensor.Printable(r.f.Name), r.line(it))
}

func (r *names) line(it jobfile.Item) int {
	line, _ := r.f.Position(it.Span().Pos)
	return line
}

// filed are the sizes of the names and tensors of a file, by what is given and by the tensors'
// inputs. What is wrong of the sizes of the whole file is an error.
func (r *names) filed() (*jobfile.Sizes, error) {
	known := map[string][]notation.Known{}
	exactly := map[string]bool{}
	for _, t := range r.f.Tensors {
		in, ok := r.input(t)
		if !ok || !t.Declared || t.Order == 0 {
			continue
		}
		dims, exact, err := sizesOf(in, t.Order, r.open(t))
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
				return nil, fault.Commandf("%s: nothing gives the size %s: %s has no entries; want -d=%s:SIZE",
					r.where(t), name, tensor.Printable(in.File), name)
			case text.Stdin(in.File):
				return nil, fault.Commandf(
					"%s: nothing gives the size %s: standard input is read once, and its sizes are those of a file before it is read; want -d=%s:SIZE", r.where(t), name, name)
			}
		}
	}
	return sizes, nil
}

// open tells whether a tensor's declaration has a name whose size is not given.
func (r *names) open(t *jobfile.Tensor) bool {
	for _, s := range t.Sizes {
		if name, ok := s.Name(); ok {
			if _, known := r.sizes[name]; !known {
				return true
			}
		}
	}
	return false
}

// sizesOf are the sizes that an input tells, nil for none; exact says that they are no largest
// coordinates. For those a file is read, if read says so.
func sizesOf(in input.Input, order int, read bool) (dims []int64, exact bool, err error) {
	if in.Tensor != nil {
		return in.Tensor.Header.Dims, true, nil
	}
	if in.File == "" || text.Stdin(in.File) {
		return nil, true, nil
	}
	if convert.Ext(in.File) == ".tcs" {
		t, err := tcs.Open(in.File)
		if err != nil {
			return nil, false, err
		}
		defer t.Close()
		return t.Header.Dims, true, nil
	}
	s, err := convert.Open(in.File, coo.Options{Order: order, ZeroBased: in.ZeroBased})
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
