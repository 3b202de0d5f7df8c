package input

import (
	"errors"
	"fmt"
	"io"

	"distaff/codegen/diag"
	"distaff/codegen/dtype"
	"distaff/codegen/notation"
	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/kernels"
	"distaff/spmd/bridge"
	"distaff/spmd/comm"
	"distaff/spmd/fault"
	"distaff/spmd/load"
)

// Missing is what becomes of operands without an input.
type Missing uint8

const (
	Refused Missing = iota // the job must not come here
	Dense                  // they are dense tensors, whose sizes must be known
	// so, what += adds to is one of them, and sizes that are not known are kernels.UnknownSize
	Guessed
)

// declare makes the sources of operands without an input.
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
				"%s is stored as %v, and no input tells how many entries it has: give -i=%s:FILE or -g=%s:uniform:NNZ", name, f, name, name)
		}
		typ := bridge.TCS(r.p.Types[name])
		if typ == tcs.Invalid {
			typ = tcs.Float64
		}
		r.Sources[name] = &Source{name: name, order: r.p.Orders[name], typ: typ, Dense: true}
	}
	return nil
}

// Infer settles every size, type and format. Collective.
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
	r.noteTypes(computed)
	r.ComputeType, r.Types = computed, operands
	r.Types[r.p.Result], r.ResultType = result, result
	if result.IsInt() { // partial sums may pass what the result can hold
		r.ResultType = computed
	}
	if err := r.Sources[r.p.Result].promote(bridge.TCS(result)); err != nil {
		return err
	}
	r.pickFormats()
	if r.o.Missing != Refused {
		return nil
	}
	return r.bindGenerated()
}

// noteTypes tells the user of types whose values are kept in other types. If the statement computes
// in t, an integer type, it also tells of quotients that may drop a remainder, unless the user has
// given the result an integer type. x/x drops none.
func (r *Reader) noteTypes(t dtype.Type) {
	if !r.Env.Root() {
		return
	}
	for _, s := range r.p.typeNotes {
		r.Env.Note(s)
	}
	divides := false
	notation.Walk(r.p.Stmt.RHS, func(e notation.Expr) bool {
		b, ok := e.(*notation.Binary)
		divides = divides ||
			ok && b.Op == '/' && notation.ExprString(b.X) != notation.ExprString(b.Y)
		return !divides
	})
	if divides && t.IsInt() && !r.p.Types[r.p.Result].IsInt() {
		r.Env.Note(fmt.Sprintf(`%s is computed in %s, where "/" drops the remainder: 1/2 is 0; `+
			`-t=%s:float64 divides as floats do`, r.p.Result, t, r.p.Result))
	}
}

// guessOldType gives what += adds to, where it has neither an input nor a type, the type
// that the result has without it.
func (r *Reader) guessOldType(operands map[string]dtype.Type) error {
	name := r.p.Result
	s := r.Sources[name]
	if _, given := r.o.Inputs[name]; s == nil || given || r.p.Types[name] != dtype.None {
		return nil
	}
	delete(operands, name)
	_, result, err := notation.InferTypes(r.p.Stmt, operands, dtype.None)
	operands[name], s.typ = result, bridge.TCS(result)
	return err
}

// guessSizes takes a guess as a lower bound, which counts only where nothing is exact.
func (r *Reader) guessSizes() (err error) {
	known := map[string][]notation.Known{}
	for _, name := range r.p.Names {
		if s := r.Sources[name]; s != nil && s.dims != nil && s.exact {
			known[name] = s.known()
			continue
		}
		for range r.p.Orders[name] {
			known[name] = append(known[name],
				notation.Known{Size: kernels.UnknownSize, From: "the compiler's guess"})
		}
	}
	r.Sizes, err = notation.InferSizes(r.p.Norm, known, r.o.Sizes)
	return err
}

// inferSizes settles every size. A .tns file has none: where nothing else
// decides a mode's size, the file is read for its largest coordinates first. Collective.
func (r *Reader) inferSizes() error {
	sizes, err := r.sizesFrom(func(s *Source) bool { return s.exact })
	var e *diag.Error
	if err != nil && !(errors.As(err, &e) && e.Code == diag.SizeUnknown) {
		return err
	}
	if err != nil {
		// Something is left open; the files without sizes must tell.
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
		if s.dims != nil && use(s) {
			known[name] = s.known()
		}
	}
	return notation.InferSizes(r.p.Norm, known, r.o.Sizes)
}

// scan finds the largest coordinates of a file without sizes: every rank in its
// part, or rank 0 alone. Collective.
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

// scanStream reads a stream to its end for its largest coordinates, and for a plan counts its
// entries.
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

// settleStreams tells streams without sizes those that were found, so that a
// coordinate past them is refused with its line.
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
			if s.dims != nil { // of a stream that rank 0 has
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
