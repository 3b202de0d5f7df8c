package input

import (
	"errors"
	"fmt"
	"io"

	"distaff/codegen/diag"
	"distaff/codegen/notation"
	"distaff/io/coo"
	"distaff/io/tensor"
	"distaff/kernels"
	"distaff/spmd/comm"
	"distaff/spmd/fault"
	"distaff/spmd/load"
)

// Missing selects the treatment of operands without an input.
type Missing uint8

const (
	Refused Missing = iota // not allowed; the caller has checked this before
	Dense                  // dense tensors, whose sizes must be known
	// Guessed means tensors in the given format, or dense without one, also for the old value of a
	// result of +=. Unknown sizes are kernels.UnknownSize.
	Guessed
)

// declare makes a source for each operand without an input. If Missing is Dense, it refuses
// operands that have a sparse format, because nothing tells how many entries they have.
func (r *Reader) declare() error {
	operands := r.p.Names[1:]
	if r.o.Missing == Guessed && r.p.Stmt.Accumulate {
		operands = r.p.Names
	}
	for _, name := range operands {
		if _, ok := r.o.Inputs[name]; ok {
			continue
		}
		f, given := r.p.Formats[name]
		if r.o.Missing == Dense && given && !f.AllDense() {
			return fault.Commandf(
				"%s is stored as %v, but its number of entries is not known; give either "+
					"-i=%s:FILE or -g=%s:uniform:NNZ", name, f, name, name)
		}
		typ := r.p.Types[name]
		if typ == tensor.None {
			typ = tensor.Float64
		}
		r.Sources[name] = &Source{name: name, order: r.p.Orders[name], typ: typ, Dense: true}
	}
	return nil
}

// Infer determines every size, type and format. Every rank must call it.
func (r *Reader) Infer() error {
	settle := r.inferSizes
	if r.o.Missing == Guessed {
		settle = r.guessSizes
	}
	if err := settle(); err != nil {
		return err
	}
	operands := r.operandTypes()
	if err := r.guessOldType(operands); err != nil {
		return err
	}
	computed, result, err := notation.InferTypes(r.p.Stmt, operands, r.p.Types[r.p.Result])
	if err != nil {
		return err
	}
	for name, s := range r.Sources {
		if s.In.made != nil && !s.In.made.Coordinates { // its ones have the type of the computation
			s.typ, operands[name] = computed, computed
		}
	}
	r.noteTypes(computed)
	r.ComputeType, r.Types = computed, operands
	r.Types[r.p.Result], r.ResultType = result, result
	if result.IsInt() { // partial sums may exceed the range of the result's type
		r.ResultType = computed
	}
	if err := r.Sources[r.p.Result].promote(result); err != nil {
		return err
	}
	r.pickFormats()
	if r.o.Missing != Refused {
		return nil
	}
	return r.bindGenerated()
}

// noteTypes warns that a division drops the remainder, because t, the type of the computation, is an
// integer type. The warning is left out if the user has chosen an
// integer type for the result. It is also left out for x/x, which has no remainder.
func (r *Reader) noteTypes(t tensor.Type) {
	if !r.Env.Root() {
		return
	}
	divides := false
	notation.Walk(r.p.Stmt.RHS, func(e notation.Expr) bool {
		b, ok := e.(*notation.Binary)
		divides = divides ||
			ok && b.Op == '/' && notation.ExprString(b.X) != notation.ExprString(b.Y)
		return !divides
	})
	if divides && t.IsInt() && !r.p.Types[r.p.Result].IsInt() {
		r.Env.Note(fmt.Sprintf(
			`%s is computed in %s, where "/" rounds toward 0, so that 1/2 is 0; for fractions `+
				`use -t=%s:float64`, r.p.Result, t, r.p.Result))
	}
}

// guessOldType sets the type of the result of a += statement if the result has neither an input nor
// a type. The result then gets the type that it would have if the statement were = instead of +=.
// operands are the types of the operands.
func (r *Reader) guessOldType(operands map[string]tensor.Type) error {
	name := r.p.Result
	s := r.Sources[name]
	if _, given := r.o.Inputs[name]; s == nil || given || r.p.Types[name] != tensor.None {
		return nil
	}
	delete(operands, name)
	_, result, err := notation.InferTypes(r.p.Stmt, operands, tensor.None)
	operands[name], s.typ = result, result
	return err
}

// guessSizes determines every size of a statement if some inputs may be unknown. It assumes the
// size kernels.UnknownSize for each mode of an operand whose sizes are not known exactly. If an
// index of the mode is not a variable, it assumes the smallest size for which such indices are in
// range.
func (r *Reader) guessSizes() (err error) {
	picked := map[string]bool{}
	for _, a := range r.p.Norm.Accesses() {
		if a.IsPick() && !a.Made.Outside {
			picked[a.Vars[len(a.Vars)-1]] = true
		}
	}
	infer := func(known map[string][]notation.Known) error {
		r.Sizes, err = notation.InferSizes(r.p.Norm, known, r.o.Sizes, r.p.SizesFrom)
		return err
	}
	known := map[string][]notation.Known{}
	for _, a := range append(r.p.Norm.Accesses(), r.p.Norm.LHS) {
		if a == r.p.Norm.LHS && infer(known) == nil {
			return nil // the sizes of the operands give all sizes
		}
		name := a.Name
		if s := r.Sources[name]; s != nil && s.dims != nil && s.exact {
			known[name] = s.known()
			continue
		}
		if a.Made != nil || known[name] != nil {
			continue
		}
		for _, v := range a.Vars {
			k := notation.Known{Size: kernels.UnknownSize, From: "the compiler's guess"}
			if picked[v] {
				k.Size = 0
			}
			known[name] = append(known[name], k)
		}
	}
	return infer(known)
}

// inferSizes determines every size. Some files, such as .tns files, have no sizes. If the size of
// some mode is unknown without them, these files are first read to find their largest coordinates.
// Every rank must call it.
func (r *Reader) inferSizes() error {
	sizes, err := r.sizesFrom(func(s *Source) bool { return s.exact })
	var e *diag.Error
	if err != nil && !(errors.As(err, &e) && e.Code == diag.SizeUnknown) {
		return err
	}
	if err != nil {
		// Some size is unknown; read the files without sizes.
		for _, name := range r.p.Names {
			if s := r.Sources[name]; s != nil && s.dims != nil && !s.exact {
				if err := r.scan(s); err != nil {
					return err
				}
			}
		}
		if sizes, err = r.sizesFrom(func(*Source) bool { return true }); err != nil {
			return err
		}
	}
	r.Sizes = sizes
	return r.settleStreams()
}

func (r *Reader) sizesFrom(use func(*Source) bool) (*notation.Sizes, error) {
	known := map[string][]notation.Known{}
	for name, s := range r.Sources {
		if s.dims == nil {
			continue
		}
		known[name] = s.known()
		for m := range known[name] {
			if !use(s) {
				known[name][m].Size = notation.Unread
			}
		}
	}
	return notation.InferSizes(r.p.Norm, known, r.o.Sizes, r.p.SizesFrom)
}

// scan finds the largest coordinates of a file without sizes. Every rank reads its part, or rank 0
// reads all. Every rank must call it.
func (r *Reader) scan(s *Source) (err error) {
	if s.part != nil {
		s.dims, err = load.Sizes(r.Env.Comm, s.part)
		return err
	}
	if s.stream != nil {
		if err := r.scanStream(s); err != nil {
			return err
		}
	}
	return r.Env.Comm.Uncounted().Bcast(comm.Of(s.dims), 0)
}

// scanStream reads a stream to its end to find its largest coordinates. For a plan it also counts
// the entries.
func (r *Reader) scanStream(s *Source) error {
	var b coo.Batch
	count, planned := coo.Distinct{}, r.o.Missing == Dense
	if k, ok := s.stream.(interface{ Keep() }); ok {
		k.Keep()
	}
	for {
		if err := r.Env.Ctx.Err(); err != nil {
			return err
		}
		err := s.stream.Next(&b)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if planned {
			count.Add(&b)
		}
	}
	if planned {
		s.counted, s.distinct = count.Count()
	}
	s.dims, s.exact = s.stream.Dims()
	return s.stream.Rewind()
}

// settleStreams sets the sizes of streams without sizes. A larger coordinate is then an error that
// names its line.
func (r *Reader) settleStreams() error {
	for _, name := range r.p.Names {
		s := r.Sources[name]
		if s == nil || s.exact {
			continue
		}
		if s.part != nil {
			s.part.SetDims(r.Sizes.Dims[name], r.Sizes.From[name])
		}
		if s.stream == nil {
			if s.dims != nil { // rank 0 has the stream
				s.dims, s.exact = r.Sizes.Dims[name], true
			}
			continue
		}
		sizable, ok := s.stream.(coo.Sizable)
		if !ok {
			panic("BUG: spmd: a stream that neither has sizes nor takes them")
		}
		sizable.SetDims(r.Sizes.Dims[name], r.Sizes.From[name])
		s.dims, s.exact = s.stream.Dims()
	}
	return nil
}
