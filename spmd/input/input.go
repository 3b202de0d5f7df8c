package input

import (
	"distaff/codegen/dtype"
	"distaff/codegen/format"
	"distaff/codegen/notation"
	"distaff/io/gen"
	"distaff/io/tcs"
	"distaff/spmd/env"
	"distaff/spmd/store"
)

// Input is where a tensor comes from: exactly one of File, Generate, Scalar and
// Tensor.
type Input struct {
	// File is read by its extension. "-.tns" reads standard input as a .tns
	// file. Where the tensor is a scalar, a number may stand here.
	File string
	// ZeroBased says that a .tns file's first coordinate is 0.
	ZeroBased bool
	// NoDuplicates refuses repeated coordinates, which are summed otherwise.
	NoDuplicates bool
	// Generate is a kind of generated data: "uniform:1000".
	Generate string
	// Scalar is the value of a scalar: an int, int64, int32, float64, float32,
	// complex128 or complex64, whose type becomes the tensor's.
	Scalar any
	// Tensor is a tensor in memory, which stays the caller's: the job reads it
	// and neither changes nor closes it. It must be whole. What a leaf relies on is checked
	// in every job; its positions and coordinates in the first alone (and where the tensor has other
	// arrays since), and not with Options.TrustInput.
	Tensor *tcs.Tensor

	held *Held
}

// Held is a tensor that a program holds, over its ranks.
type Held struct {
	Blocks  *store.Blocks
	Entries int64 // stored, at all ranks
	AsIs    bool  // every block has the tensor's own storage
	// Replica is, of a tensor of one block that every rank has, this rank's: at the block's
	// owner the block. It is nil at every rank where the owner alone has it.
	Replica *tcs.Tensor
	// Apart says that each rank's leaf made its block or its replica, in memory that no other rank has
	// a part of. The same at every rank.
	Apart bool
	// Loose says that others than statements may change its values: it is not kept (env.Env.Keep).
	Loose bool
	// Kind is what it was generated as, for plans; nil where it was not, or that is not known.
	Kind *gen.Kind
	// File is the tensor itself where every rank has it as a mapped file, stored as the blocks; nil at
	// every rank where not.
	File *tcs.Tensor
}

// Hold is an Input of a tensor that the ranks hold. It stays the caller's.
func Hold(h *Held) Input { return Input{held: h} }

// Options are how inputs are read; see spmd.Options.
type Options struct {
	Inputs map[string]Input
	Sizes  map[string][]int64 // those that are given
	// SizesFrom returns what gives a size, for messages, or "" if that is not known. It may be nil.
	SizesFrom func(tensor string, mode int) string
	// a result that is there already, whose format then is the result's; nil for none
	FixedPattern *tcs.Tensor
	Missing      Missing
	Seed         int64
	TrustInput   bool
	Checksums    bool
}

// Reader takes the operands of a statement to blocks, at one rank.
type Reader struct {
	Env *env.Env
	p   *Statement
	o   Options

	Sources     map[string]*Source
	Sizes       *notation.Sizes
	Types       map[string]dtype.Type // of every tensor
	ComputeType dtype.Type            // that the statement computes in
	// that the result is computed and summed in: wider than in Types where integers are to be narrowed
	ResultType dtype.Type
	Formats    map[string]format.Format

	closers []func() error
	ending  ending
}

// NewReader is a reader that has opened nothing. The caller closes it.
func NewReader(e *env.Env, p *Statement, o Options) *Reader {
	return &Reader{Env: e, p: p, o: o, Sources: map[string]*Source{},
		Formats: map[string]format.Format{}}
}

// Close closes the inputs, as the last of what the job closes: until then the process of a job
// whose inputs have changed is ended where the job does not end. Blocks that show their memory hold
// it.
func (r *Reader) Close() {
	for k := len(r.closers) - 1; k >= 0; k-- {
		r.closers[k]() // what was read only; an error here changes no result
	}
	r.ending.over()
}
