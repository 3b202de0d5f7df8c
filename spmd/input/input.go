package input

import (
	"slices"

	"distaff/codegen/notation"
	"distaff/io/gen"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd/env"
	"distaff/spmd/store"
)

// Input is the source of a tensor. Exactly one of File, Generate, Scalar and Tensor must be set,
// except in an Input that Hold makes.
type Input struct {
	// File is read in the format of its extension. "-.tns" reads standard input as a .tns file. If
	// the tensor is a scalar, File may be a number.
	File string
	// ZeroBased says that coordinates of a file start at 0. It counts only for formats whose files
	// do not say it themselves, such as .tns.
	ZeroBased bool
	// Delimiter separates the columns of a .csv, .tsv, .el, .wel or .edges file: a comma, a
	// semicolon, a tab, a bar, or ' ' for white space. If it is 0, the first line decides.
	Delimiter byte
	// NoDuplicates makes repeated coordinates an error. Otherwise their values are summed.
	NoDuplicates bool
	// Generate is a kind of generated data, such as "uniform:1000".
	Generate string
	// Scalar is the value of a scalar: an int, int64, int32, float64, float32, complex128 or
	// complex64. If the tensor is given no type, it gets the type of this value; int becomes int64.
	Scalar any
	// Tensor is a tensor in memory. The caller keeps it: the job neither changes nor closes it. It
	// must be whole. Each job checks the properties that leaves depend on. Positions and
	// coordinates are checked only in the first job (and again if the tensor has other arrays), and
	// not if Options.TrustInput is set.
	Tensor *tcs.Tensor

	held *Held
	made *notation.Made
}

// Made reports whether the compiler made the tensor, because an index of the statement is not a
// variable. The tensor's values never change.
func (in Input) Made() bool { return in.made != nil }

// kind returns the kind of generated data of the input, or nil if the data is not generated. name
// is the tensor's name.
func (in Input) kind(name string) (*gen.Kind, error) {
	switch m := in.made; {
	case in.Generate != "":
		return ParseKind(name, in.Generate)
	case m == nil:
		return nil, nil
	case m.Coordinates:
		return gen.Coordinates(), nil
	case m.Rest: // bindGenerated sets it again, with sizes
		return gen.Rest(nil, 0, nil, nil), nil
	}
	return gen.Pick(in.made.Coef, in.made.Const), nil
}

// restKind returns the kind of the tensor of access a, which is a rest (notation.Made).
func restKind(a *notation.Access, sizes map[string]int64) *gen.Kind {
	mode, size := make([]int, len(a.Made.From)), make([]int64, len(a.Made.From))
	for k, v := range a.Made.From {
		mode[k], size[k] = slices.Index(a.Vars[:len(a.Vars)-1], v), sizes[v]
	}
	return gen.Rest(a.Made.Coef, a.Made.Const, mode, size)
}

// Held is a tensor of a program that is distributed over the program's ranks.
type Held struct {
	Blocks  *store.Blocks
	Entries int64 // number of stored entries at all ranks; an estimate in a plan
	AsIs    bool  // every block has the storage format of the tensor
	// Replica is this rank's copy of a tensor with one block, if every rank has a copy. The block's
	// owner has the block itself as its replica. Otherwise Replica is nil at every rank.
	Replica *tcs.Tensor
	// Apart says that each rank's leaf made its block or its replica in memory that no other rank
	// shares. It is the same at every rank.
	Apart bool
	// MayChange says that the program may change the values too. The tensor is then not kept
	// (env.Env.Keep).
	MayChange bool
	// Kind is the kind of data that the tensor was generated as, for plans. It is nil if it was not
	// generated or if this is unknown.
	Kind *gen.Kind
	// File is the tensor as a mapped file, if every rank has mapped it and its format is the format
	// of the blocks. Otherwise it is nil at every rank.
	File *tcs.Tensor
}

// Hold returns an Input for a tensor that is distributed over the ranks. The caller still owns the
// tensor.
func Hold(h *Held) Input { return Input{held: h} }

// Options select how inputs are read; see spmd.Options.
type Options struct {
	Inputs map[string]Input
	Sizes  map[string][]int64 // the given sizes
	// SizesFrom returns the source of a size, for messages, or "" if it is unknown. It may be nil.
	SizesFrom func(tensor string, mode int) string
	// an existing result, whose format the result must have; may be nil
	FixedPattern *tcs.Tensor
	Missing      Missing
	Seed         int64
	TrustInput   bool
	Checksums    bool
}

// Reader reads the operands of a statement and divides them into blocks. Each rank has its own
// Reader.
type Reader struct {
	Env *env.Env
	p   *Statement
	o   Options

	Sources     map[string]*Source
	Sizes       *notation.Sizes
	Types       map[string]tensor.Type // of every tensor
	ComputeType tensor.Type            // type of the computation
	// type of the result while it is computed and summed; wider than in Types if the result is an
	// integer type that must be narrowed
	ResultType tensor.Type
	Formats    map[string]tensor.Format

	closers []func() error
	ending  ending
}

// NewReader returns a reader that has not opened its inputs. The caller closes it.
func NewReader(e *env.Env, p *Statement, o Options) *Reader {
	return &Reader{Env: e, p: p, o: o, Sources: map[string]*Source{},
		Formats: map[string]tensor.Format{}}
}

// Close closes the inputs. It must be the job's last call, because it also stops the timer that
// ends the process if an input has changed and the job does not end. Blocks that are views of an
// input keep the input's memory.
func (r *Reader) Close() {
	for k := len(r.closers) - 1; k >= 0; k-- {
		r.closers[k]() // the files were only read, so that an error changes no result
	}
	r.ending.cancel()
}
