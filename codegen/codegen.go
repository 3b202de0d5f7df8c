// Package codegen is the compiler: from a statement of tensor index notation
// and the formats of its tensors to the leaf that computes it.
//
// Compile runs a table of passes (passes.go): the normal form (notation), one
// order of all loops and the conversions that it forces (order.go, convert.go), the
// nest in concrete index notation (network.go, terms.go, nest.go, cin), what is decided of
// its loops and its result, and the leaf (lower, lattice, ir).
//
// A leaf does not depend on sizes but for the width of its integers and the
// choice of workspaces: every variable's range is an argument, and dense
// levels have a size and an offset.
//
// # Files
//
//	codegen.go     Request and Unit; Compile
//	passes.go      the table of passes, and what runs it
//	outcomes.go    what passes make: its text, and its verifiers
//	terms.go       products on their way down the order of variables
//	order.go       the one order of all variables
//	network.go     contractions: sums that are taken out of a term, and computed by themselves
//	nest.go        the default nest of loops, with workspaces
//	products.go    terms that are products of dense matrices
//	gemms.go       contractions that are products of dense matrices
//	manyterms.go   sums of more operands than one loop merges
//	scheduled.go   the perfect nest that a schedule starts from
//	convert.go     operands that another format serves better
//	layouts.go     dense operands that are read from copies
//	share.go       results that have an operand's level arrays
//	width.go       widths of positions and coordinates
//	strategies.go  the strategy: the default, or a schedule's
//	printed.go     the strategy as scheduling commands
//	gpudefault.go  the default schedule of a GPU: one of the forms of gpuforms.go and gpurows.go
//	leaf.go        lowering, and what comes before and after it
//	inplace.go     leaves that write over the left tensor's old value
//	operations.go  how many operations a leaf does, and how many steps its loops take
//	moves.go       how a leaf goes through memory, for predictions of its time
//	positiontiles.go  what tiles of an operand's positions take besides
//	segments.go    how long the segments of a level are
package codegen

import (
	"slices"
	"time"

	"distaff/codegen/cin"
	"distaff/codegen/diag"
	"distaff/codegen/ir"
	"distaff/codegen/lower"
	"distaff/codegen/notation"
	"distaff/codegen/schedule"
	"distaff/codegen/strategy"
	"distaff/io/tensor"
)

// Request is what to compile.
type Request struct {
	Stmt *notation.Stmt
	// Normal is what to compile instead of Stmt's normal form, such as a part
	// of its terms; nil for the whole. Compile does not change it.
	Normal *notation.Normal
	// Tensors has every tensor of the statement, the left one as it is wanted.
	Tensors map[string]Tensor
	// Old is the left tensor's value before a +=; nil where there is none: it
	// is zero then.
	Old *Tensor
	// Sizes has the size of every variable of the statement's normal form, by
	// its name there or, where it lacks that, in the source.
	Sizes map[string]int64
	// ComputeType is the type that the statement computes in; Invalid for the
	// promotion of the operands' (notation.InferTypes).
	ComputeType tensor.Type
	// Exact lists variables that the leaf is always called with the whole range
	// of. Where such a range is short and its loops are dense, it is compiled in.
	Exact []string
	Name  string // of the leaf: a C identifier; "" for "leaf"
	// Target is the machine that the leaf is for.
	Target Target
	// Threads is 1 for a leaf that is to run on one thread alone. Any other
	// leaf takes the number of threads as it is called.
	Threads int
	// LongRow is the number of entries past which one row of a parallel loop is
	// itself run on all threads; 0 for DefaultLongRow. It shows in the bits of a
	// sum of floats.
	LongRow int64
	// ChunkWork is the number of stored entries from which on it pays a thread to
	// take up another chunk of a sparse result; 0 for DefaultChunkWork. It shows in
	// no bit of the result.
	ChunkWork int64
	// FarBytes is the size of dense operands and results that do not stay in the caches of a
	// core, so that rows picked from them are prefetched; 0 for DefaultFarBytes.
	FarBytes int64
	// Forms are those of code that were measured to be fastest on the processor that the leaf is for;
	// nil for the defaults. They show in no bit of a result.
	Forms strategy.Forms
	// GemmWork is the number of multiply-adds from which on a product of dense operands is one of
	// matrices, by a BLAS if there is one; 0 for DefaultGemmWork, of shapes that are not narrow. It
	// shows in the bits of sums.
	GemmWork int64
	// CapacityBytes is the most that the arrays of a result of unknown length begin
	// with, where it is far below what they are expected to take: they grow from there. 0
	// is no bound.
	CapacityBytes int64
	// Schedule, if not nil, has scheduling commands, which take the place of
	// the default schedule. The leaf is then called on the whole range of every
	// variable but those of Parts, on which it is called with operands that
	// store no more than the range.
	Schedule []string
	Parts    []string
	// Elsewhere has the variables and tensors, as the user named them, that only terms of the
	// statement have which Normal lacks: a command that names one of them is for these terms.
	Elsewhere []string
	// ConvertBySize says that the operands that are converted to fit the order of the loops are chosen
	// by the sizes of their modes, and not by the entries that they store: a schedule is then taken,
	// or refused, whatever they store.
	ConvertBySize bool
	// Chunked, if not "", is an operand of whose entries a call has a chunk, over the range of each of
	// its variables that holds the chunk's coordinates. Others may store coordinates outside of these
	// ranges.
	Chunked string
	// Network says how products of several tensors are contracted: "auto" or "" where it pays,
	// "direct" in one nest of loops, "pairwise" two at a time, or a tree such as "((A*B)*C)*D".
	Network string
	// IntermediateOrder is the most variables that an intermediate of these has; 0 for any number.
	IntermediateOrder int
	// Cuts are the ranges that are cut over all calls of the leaf, which so many ranks share; none
	// where one call does all.
	Cuts  []Cut
	Ranks int
	// AsStored says that no dense operand is read from a copy in another order of its modes, but for
	// those that a schedule names.
	AsStored bool
	// Names has the names that the user gave tensors, where Normal has others.
	Names map[string]string
	// Accumulate asks for a leaf that adds to a result which is there already, and
	// holds, among other coordinates, those that it would store. It is made
	// where the result is dense or would have an operand's level arrays (see Result.Accumulate).
	Accumulate bool
	// FixedPattern asks for the numeric phase alone: the leaf is called with a result that
	// has its level arrays already, such as those of an earlier result over operands
	// with the same patterns, and writes its values (see Result.FixedPattern). The left one
	// of Tensors has the widths of these arrays.
	FixedPattern bool
	// InPlace is the operand, or the left tensor for what += adds to, that is the left tensor's
	// old value, and whose memory the result may take: see Result.InPlace. "" for none.
	InPlace string
	// Extern is the C function called name that file defines, for schedules that substitute one; nil
	// where there are none.
	Extern func(file, name string) (*ir.Extern, error)
	// Verify runs the verifier of each pass behind it. One that fails is a bug: a panic.
	Verify bool
	// Trace, if not nil, is told of each pass behind it. text prints what it made, and is
	// called before Trace returns, if at all.
	Trace func(pass string, took time.Duration, text func() string)
}

// Target is a machine that leaves run on.
type Target uint8

const (
	CPU  Target = iota // threads and vector lanes
	CUDA               // a GPU of NVIDIA's
)

func (t Target) String() string { return [...]string{"cpu", "cuda"}[t] }

// DefaultLongRow is the LongRow of a request that has none: the work of several
// starts of a parallel region.
const DefaultLongRow = 1 << 16

// MapAhead is the number of elements that a map has behind those that count (Arg.Map).
const MapAhead = strategy.MapAhead

// DefaultChunkWork is the ChunkWork of a request that has none: chunks whose
// results lie in a core's own cache.
const DefaultChunkWork = 1 << 13

// DefaultFarBytes is the FarBytes of a request that has none: what a core's own caches hold.
const DefaultFarBytes = 1 << 20

// Tensor is what the compiler knows of a tensor.
type Tensor struct {
	Format             tensor.Format
	Type               tensor.Type
	Dims               []int64
	PosWidth, CrdWidth []uint8 // bytes of a pos or crd element, a level; 0 where there are none
	NNZ                int64   // stored values; -1 unknown
	Counts             []int64 // positions a level; nil unknown
}

// Cut is a range that is cut into N parts: that of a variable, or of the positions of levels over
// several, outermost first.
type Cut struct {
	Vars []string
	N    int64
}

// Unit is a compiled statement.
type Unit struct {
	Request Request // what was compiled, which shares the caller's maps
	Func    *ir.Func
	Args    []Arg // the leaf's arguments; Args[0] is the result
	// the variables whose ranges the leaf takes, in order; its operands store nothing outside them
	Vars   []string
	Result Result
	// one line for each conversion, and for what a schedule says and gets in another way
	Notes []string
	Order []string // the loop order of all variables
	CIN   cin.Stmt
	// Network says how the products of its terms are contracted, as text.
	Network func() string
	// Workspaces is the most bytes that the workspaces of a call take on so many threads, with the
	// partial results of chunks, where no operand has more entries, and no variable a larger range,
	// than the request says.
	Workspaces func(threads int) int64
	// Begun is what the arrays of a result that grows take before the first entry is there, where the
	// sparse operands of a call have so many together: those that become the result's, and beside them
	// pieces of chunks with what joins them. within says that the result has no more entries than the
	// operands: beside is then what pieces take to the end.
	Begun func(entries int64, threads int, within bool) (kept, beside int64)
	// Compute is the type that the leaf computes in.
	Compute tensor.Type
	// Lattices are those that the leaf's loops step through, as text (lower.Lowered).
	Lattices string
	// Times are the passes that made it, in their order.
	Times []PassTime
	// Hasty, which Compile leaves false, says that all calls of the leaf together are expected to take
	// less time than it takes to compile it for speed.
	Hasty bool

	matrices map[cin.Stmt]bool // of CIN, the outermost loops of products of matrices
	kept     map[cin.Stmt]bool // of CIN, statements that sum a row of the result in registers
	spaces   map[string]strategy.Space
	windowed map[string]bool // the variables whose loops are merged in windows
	gathered map[string]bool // those whose loops gather in lanes
	joined   bool            // see Operations
}

// PassTime is how long a pass took, with all of its runs.
type PassTime struct {
	Pass string
	Took time.Duration
}

// Arg is an argument of the leaf.
type Arg struct {
	Tensor string
	// in concrete index notation: the tensor's, with a ' for each further format of it
	Name   string
	Format tensor.Format // as the leaf reads it; where Convert is set, not as requested
	// Convert: the caller converts the tensor to Format for this argument,
	// with all that is stored: the zeros of dense levels are entries too.
	Convert bool
	// Old: the left tensor's old value, of a +=.
	Old bool
	// Map: no tensor of the statement, but a compressed level whose crd array
	// has, for each position of argument Result.Shares at the result's last
	// compressed level, the result's position q of the same coordinates, or
	// -1-q where no values are there yet and the leaf is to set them. MapAhead
	// elements more are read, of any positions that the result has, 0 among them.
	Map bool
	// PosWidth and CrdWidth are those that the leaf reads, a level.
	PosWidth, CrdWidth []uint8
}

// Result is what the leaf makes of the left tensor. Dense results are memory
// of the caller's, uninitialised, which the leaf writes in full; others are
// published by the leaf, and belong to the caller from then on.
type Result struct {
	Format tensor.Format // levels d and s only
	// Repack: the caller converts the leaf's result to the requested format,
	// which has other level kinds.
	Repack bool
	// Shares is the argument whose level arrays are the result's own as well,
	// down to the result's last compressed level, so that the leaf writes
	// values alone; -1 for none. The caller then allocates Vals: as many
	// values as that level of the argument has positions, times the sizes of
	// the dense levels below it.
	Shares int
	// Accumulate: the leaf adds its values to those that the result has: of a dense one at
	// their places; of any other at the positions that the last argument (Arg.Map) tells, and
	// reads and writes nothing else of it. The widths are those of Shares all the same.
	Accumulate bool
	// FixedPattern: the leaf takes the level arrays, whose owner they stay with, as well
	// as memory for the values from the caller. It writes every value: 0 at
	// coordinates that the statement gives none for. At a coordinate that the arrays
	// lack it fails with ir.FailPattern; nothing is stored elsewhere, and the other
	// values are undefined. The arrays themselves are trusted as operands' are.
	FixedPattern bool
	// InPlace is the argument whose values the leaf reads from the result's memory, which holds
	// them as it begins: the argument itself may be the result. 0 for none.
	InPlace            int
	PosWidth, CrdWidth []uint8
}

// Compile compiles a statement that notation.Check accepts, and in which the left tensor's
// old value, where it is read, has a name of its own (notation.NameOld). Errors are the
// user's mistakes.
func Compile(r Request) (*Unit, error) {
	if r.FixedPattern && r.Schedule != nil {
		return nil, &diag.Error{Msg: "a schedule is given: values alone are computed by the default one"}
	}
	if r.FixedPattern && r.Target == CUDA {
		return nil, &diag.Error{
			Msg: "values alone are asked for, in the order of a pattern that is there: a GPU computes the pattern too"}
	}
	if r.Target == CUDA && r.Schedule == nil {
		g, err := chooseGPU(r)
		if err != nil {
			return nil, err
		}
		return g.made.unit, nil
	}
	c := &compilation{request: r, unit: &Unit{Request: r, Compute: r.ComputeType}}
	if err := c.run(); err != nil {
		return nil, err
	}
	return c.unit, nil
}

// compilation is a Compile in progress.
type compilation struct {
	request Request
	normal  *notation.Normal
	unit    *Unit
	planned Result // the result, with level arrays of its own
	uses    []*use
	byKey   map[string]*use
	ops     []lower.Operand
	stats   []strategy.Tensor // their entries and counts
	args    []Arg             // those that ops are
	nest    *nest
	// contractions are those of each term; nil where it has none.
	contractions []*contracted
	layoutLines  []ScheduleLine // the layouts that were chosen
	plain        cin.Stmt       // what the nest became, without a schedule
	share        *cin.Access    // whose level arrays the result has too; nil for none
	own          bool           // the result must have level arrays of its own
	loopsAlone   bool           // no loops are products of matrices by default
	// commands are those of a schedule.
	commands []*schedule.Command
	orders   []schedule.Order // what they say of the strategy
	strategy *strategy.Value
	lowered  *lower.Lowered
}

// normalize brings the statement into the normal form, unless the request has it.
func (c *compilation) normalize() error {
	if c.request.Normal != nil {
		normal := *c.request.Normal
		c.normal = &normal
	} else {
		c.normal = notation.Normalize(c.request.Stmt)
	}
	c.unit.Vars = c.normal.Vars
	return nil
}

// size is the size of a variable.
func (c *compilation) size(v string) int64 {
	if n, ok := c.request.Sizes[v]; ok {
		return n
	}
	if s, ok := c.normal.Source[v]; ok {
		if n, ok := c.request.Sizes[s]; ok {
			return n
		}
	}
	panic("BUG: codegen: no size for variable " + v)
}

func (c *compilation) tensor(name string) Tensor {
	t, ok := c.request.Tensors[name]
	if !ok {
		panic("BUG: codegen: no tensor " + name)
	}
	return t
}

// types finds the type to compute in.
func (c *compilation) types() error {
	if c.request.ComputeType != tensor.None {
		return nil
	}
	operands := map[string]tensor.Type{}
	for name, t := range c.request.Tensors {
		if name != c.request.Stmt.LHS.Name {
			operands[name] = t.Type
		}
	}
	if c.request.Old != nil {
		operands[c.request.Stmt.LHS.Name] = c.request.Old.Type
	}
	var err error
	c.unit.Compute, _, err = notation.InferTypes(c.request.Stmt, operands,
		c.tensor(c.request.Stmt.LHS.Name).Type)
	return err
}

// result plans the leaf's result: requested levels that are neither dense nor
// compressed are made as compressed ones.
func (c *compilation) result() error {
	t := c.tensor(c.request.Stmt.LHS.Name)
	r := Result{Shares: -1, Format: tensor.Format{Levels: slices.Clone(t.Format.Levels),
		Order: slices.Clone(t.Format.Order)}}
	for l, k := range r.Format.Levels {
		if k != tensor.Dense && k != tensor.Compressed {
			r.Format.Levels[l], r.Repack = tensor.Compressed, true
		}
	}
	r.PosWidth, r.CrdWidth = c.widths(r.Format)
	c.planned, c.unit.Result = r, r
	return nil
}

// collect finds the uses of tensors, and adds the term that += reads.
func (c *compilation) collect() error {
	lhs := c.normal.LHS
	if c.normal.Accumulate && c.request.Old != nil {
		c.normal.Terms = append(
			[]*notation.Term{
				{Factors: []notation.Factor{
					&notation.Access{Name: lhs.Name, Vars: lhs.Vars, At: lhs.At, VarAt: lhs.VarAt}}}},
			c.normal.Terms...)
	}
	c.byKey = map[string]*use{}
	for _, a := range c.normal.Accesses() {
		key := useKey(a)
		if c.byKey[key] != nil {
			continue
		}
		u := &use{tensor: a.Name, vars: a.Vars, old: a.Name == lhs.Name}
		if u.old {
			u.given = *c.request.Old
		} else {
			u.given = c.tensor(a.Name)
		}
		c.byKey[key] = u
		c.uses = append(c.uses, u)
	}
	return nil
}

// order finds the loop order, and the conversions that it forces.
func (c *compilation) order() error {
	u := c.unit
	u.Order, u.Notes = fit(c.normal, u.Result.Format, c.uses, c.size, c.conversionCost)
	return nil
}

// operands makes the leaf's arguments: the result, and each tensor once for
// each format that it is read in.
func (c *compilation) operands() error {
	u := c.unit
	lhs := c.request.Stmt.LHS.Name
	c.ops = []lower.Operand{
		{Name: lhs, Format: u.Result.Format, Type: c.tensor(lhs).Type, PosWidth: u.Result.PosWidth,
			CrdWidth: u.Result.CrdWidth}}
	c.stats = []strategy.Tensor{{}}
	u.Args = []Arg{{Tensor: lhs, Format: u.Result.Format}}
	names := map[string]bool{lhs: true}
	for _, s := range c.uses {
		k := slices.IndexFunc(u.Args[1:], func(a Arg) bool {
			return a.Tensor == s.tensor && a.Old == s.old && a.Format.Equal(s.format)
		})
		if k >= 0 {
			s.name = c.ops[k+1].Name
			continue
		}
		s.name = s.tensor
		for names[s.name] {
			s.name += "'"
		}
		names[s.name] = true
		op := lower.Operand{Name: s.name, Arg: len(u.Args), Format: s.format, Type: s.given.Type,
			PosWidth: s.given.PosWidth, CrdWidth: s.given.CrdWidth,
			Rows: s.format.AllDense() && c.request.Target == CPU && s.tensor != c.request.InPlace}
		stats := strategy.Tensor{NNZ: s.given.NNZ}
		if s.convert {
			op.PosWidth, op.CrdWidth = convertedWidths(s)
		} else {
			stats.Counts = s.given.Counts
		}
		c.stats = append(c.stats, stats)
		c.ops = append(c.ops, op)
		u.Args = append(u.Args, Arg{Tensor: s.tensor, Name: s.name, Format: s.format, Convert: s.convert,
			Old: s.old, PosWidth: op.PosWidth, CrdWidth: op.CrdWidth})
	}
	c.args = u.Args
	return nil
}

// terms makes products of the normal form's terms.
func (c *compilation) terms() error {
	c.nest = &nest{
		order:   c.unit.Order,
		name:    func(a *notation.Access) string { return c.byKey[useKey(a)].name },
		result:  c.unit.Result.Format,
		taken:   c.taken(),
		formats: map[string]tensor.Format{},
		counts:  map[string][]int64{},
		sizes:   c.size,
		exact:   c.unit.Compute.IsInt(),
		rounds:  c.roundsSums(),
		plain:   c.request.Schedule != nil && !schedule.Temporaries(c.request.Schedule),
	}
	for _, op := range c.ops[1:] {
		c.nest.formats[op.Name] = op.Format
	}
	for _, s := range c.uses {
		if !s.convert {
			c.nest.counts[s.name] = s.given.Counts
		}
	}
	c.nest.target = c.nest.newTarget(c.normal.LHS)
	c.nest.makeTerms(c.normal.Terms)
	return nil
}

// taken are the names that no temporary may have.
func (c *compilation) taken() map[string]bool {
	taken := map[string]bool{}
	for name := range c.request.Tensors {
		taken[name] = true
	}
	for _, v := range c.normal.Vars {
		taken[v] = true
	}
	return taken
}

// contract takes sums out of the terms, as the contractions say.
func (c *compilation) contract() error {
	c.nest.contract(c.contractions, c.normal.Vars)
	c.unit.Network = c.networkText
	return nil
}

// loops makes the concrete index notation.
func (c *compilation) loops() error {
	c.findProducts()
	c.plain = c.nest.statement()
	c.unit.CIN = c.plain
	return nil
}
