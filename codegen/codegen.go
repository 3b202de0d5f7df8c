// Package codegen compiles a statement of tensor index notation to a leaf. A leaf is a function
// that computes the statement for one block of its tensors. What the leaf looks like depends on the
// formats of the tensors.
//
// Compile runs a table of passes (passes.go):
//
//   - The statement is brought into the normal form, a sum of products (notation).
//   - One order is found for all loops. Operands whose storage order does not fit are converted
//     (operand).
//   - The statement becomes a nest of loops in concrete index notation (contract, nest, cin).
//   - A strategy chooses how the loops run and how the result is assembled (strategies.go).
//   - The nest is lowered to the IR of a leaf (leaf.go, lower, lattice, ir).
//
// A leaf serves tensors of any size: the range of each variable is an argument, and a dense level
// has a size and an offset. Sizes decide only the width of the leaf's integers, the choice of
// workspaces and of loops, and a few short trip counts, which are constants in the code.
//
// # Files
//
//	codegen.go      Request and Unit
//	compile.go      Compile
//	passes.go       the table of passes, and the loop that runs it
//	outcomes.go     the text of each pass's outcome, and its verifier
//	compilation.go  the facts that passes find
//	statement.go    the normal form, sizes, and the widths of the result's level arrays
//	front.go        the passes from the statement to the operands
//	loops.go        the passes from the operands to the loops of the leaf
//	strategies.go   the strategy: the default, or the one of a schedule
//	leaf.go         lowering, and the passes after it
//	inplace.go      leaves that overwrite the left tensor's old value
//	printed.go      the strategy as scheduling commands
//	gpudefault.go   the default schedule of a GPU, one of the forms of package gpu
package codegen

import (
	"cmp"
	"slices"
	"time"

	"distaff/codegen/choice"
	"distaff/codegen/cin"
	"distaff/codegen/foresee"
	"distaff/codegen/forms"
	"distaff/codegen/ir"
	"distaff/codegen/notation"
	"distaff/codegen/operand"
	"distaff/codegen/workload"
	"distaff/io/tensor"
)

// Request describes the statement to compile, its tensors, the machine, and the caller's wishes.
type Request struct {
	Statement Statement
	Tensors   Tensors
	Target    Target
	Ask       Ask
}

// Statement is the statement to compile.
type Statement struct {
	Stmt *notation.Stmt
	// Normal, if not nil, is compiled instead of Stmt's normal form. It may have only some of the
	// terms. Compile does not change it.
	Normal *notation.Normal
	// Names gives the user's name of a tensor that has another name in Normal.
	Names map[string]string
	// InOtherTerms lists the variables and tensors, by the user's names, that occur only in terms
	// of the statement that Normal lacks. A command that names one of them is for those terms and
	// is left out.
	InOtherTerms []string
	// ComputeType is the type that the statement computes in. If it is tensor.None, Compile derives
	// the type from the operands (notation.InferTypes).
	ComputeType tensor.Type
}

// Tensors describes the tensors of a statement and the ranges of its variables.
type Tensors struct {
	// All describes every tensor of the statement. The left tensor is described as the caller
	// wants the result.
	All map[string]Tensor
	// Old describes the left tensor's value before a +=. If it is nil, that value is zero.
	Old *Tensor
	// Sizes has the size of every variable of the statement. The key is the name in the normal form
	// or, if that is missing, the name in the source.
	Sizes map[string]int64
	// Exact lists variables whose whole range is passed in every call of the leaf. If the range is
	// short and its loops are dense, the trip count may be compiled into the leaf.
	Exact []string
	// Chunked, if not "", is an operand that calls get in chunks of its entries. The ranges of its
	// variables then contain the coordinates of the chunk. Other operands may store coordinates
	// outside of these ranges.
	Chunked string
	// InPlace names an operand that holds the left tensor's old value, and whose memory the result
	// may overwrite (see Result.InPlace). For +=, it is the left tensor itself. "" means that no
	// operand does.
	InPlace string
}

// Target describes the machine that a leaf runs on.
type Target struct {
	// Kind is the machine that the leaf runs on.
	Kind Kind
	// Threads is 1 if the leaf runs on one thread only. Otherwise the number of threads is an
	// argument of the call.
	Threads int
	// LongRow is the number of entries from which on all threads share a single row of a parallel
	// loop. 0 means DefaultLongRow. It affects the rounding of floating-point sums.
	LongRow int64
	// ChunkWork is the number of stored entries that a chunk of a sparse result must have so that
	// it pays for a thread to start another chunk. 0 means DefaultChunkWork. It does not affect the
	// result.
	ChunkWork int64
	// MergeTime is the smallest estimated time, in nanoseconds, of a merge that a table or a search
	// may replace if that is faster. 0 means DefaultMergeTime. If MergeTime is 1, a table replaces
	// each merge that it can replace. It does not affect the result.
	MergeTime int64
	// FarBytes is the smallest size in bytes of a dense operand or result that does not stay in the
	// caches of a core. Rows that are picked from such an array are prefetched. 0 means
	// DefaultFarBytes.
	FarBytes int64
	// Forms lists the forms of code that were measured to be the fastest on the processor for which
	// the leaf is compiled. If it is nil, the defaults are used. Forms do not affect the result.
	Forms forms.Set
	// GemmWork is the smallest number of multiply-adds at which a product of dense operands is
	// computed as a product of matrices, by a BLAS if there is one. 0 means nest.DefaultGemmWork,
	// and then narrow matrices are excluded. It affects the rounding of sums.
	GemmWork int64
	// FlatFrom is the number of intermediates from which on package flat makes the leaf of a
	// statement of dense tensors. 0 means DefaultFlatFrom. It affects the rounding of sums.
	FlatFrom int
	// CapacityBytes limits the initial size of the arrays of a result whose length is unknown. It
	// applies only if the expected size exceeds it; the arrays grow beyond it when they need to. 0
	// means no limit.
	CapacityBytes int64
}

// Ask has the caller's wishes.
type Ask struct {
	// Name is the leaf's name, a C identifier. If it is "", the name is "leaf".
	Name string
	// Schedule, if not nil, has scheduling commands that replace the default schedule. The leaf is
	// then called on the whole range of every variable that is not in Parts. For a variable in
	// Parts, it is called on a part of the range, and the operands store nothing outside of that
	// part.
	Schedule []string
	Parts    []string
	// ConvertBySize lets the choice of operands to convert depend only on the sizes of their modes,
	// not on their numbers of entries. Whether a schedule is accepted then does not depend on what
	// the operands store.
	ConvertBySize bool
	// Network says how products of several tensors are contracted: "auto" or "" makes intermediates
	// if they pay, "direct" uses one nest of loops, "pairwise" contracts two tensors at a time, and
	// a tree such as "((A*B)*C)*D" gives the order.
	Network string
	// IntermediateOrder is the largest number of variables of an intermediate. 0 means no limit.
	IntermediateOrder int
	// Cuts lists the ranges that are divided among calls of the leaf, and Ranks is the number of
	// ranks that share the calls. Cuts is nil if one call computes everything.
	Cuts  []Cut
	Ranks int
	// AsStored forbids copies of dense operands in another order of their modes, except the copies
	// that a schedule asks for.
	AsStored bool
	// Accumulate asks for a leaf that adds to an existing result. The existing result must contain
	// all coordinates that the leaf would store. The request is met only if the result is dense or
	// can use an operand's level arrays (see Result.Accumulate).
	Accumulate bool
	// FixedPattern asks for the numeric phase alone: the leaf writes only values (see
	// Result.FixedPattern). The caller passes a result that already has its level arrays, for
	// example from an earlier result whose operands had the same patterns. The left tensor's entry
	// in Tensors has the widths of these arrays.
	FixedPattern bool
	// Extern reads a C function from a file, for schedules that substitute a function for loops.
	// Extern is nil if no file may be read.
	Extern func(file, name string) (*ir.Extern, error)
	// Verify runs the verifier of each pass after the pass. A failure is a bug, so Compile panics.
	Verify bool
	// Trace, if not nil, is called after each pass with its name and duration. text returns the
	// text of the pass's outcome; it may only be called before Trace returns.
	Trace func(pass string, took time.Duration, text func() string)
}

// Kind is the kind of hardware that leaves run on.
type Kind uint8

const (
	CPU  Kind = iota // threads and vector lanes
	CUDA             // an NVIDIA GPU
)

func (k Kind) String() string { return [...]string{"cpu", "cuda"}[k] }

// DefaultLongRow is the default of Target.LongRow, in entries. The time to compute a row of this
// length is several times the time to start a parallel region.
const DefaultLongRow = 1 << 16

// MapAhead is the number of additional elements that the caller appends to a map because the leaf
// reads ahead (see Arg.Map).
const MapAhead = choice.MapAhead

// DefaultChunkWork is the default of Target.ChunkWork, in stored entries. The result of a chunk
// with this many entries fits into the cache of one core.
const DefaultChunkWork = 1 << 13

// DefaultMergeTime is the default of Target.MergeTime, in nanoseconds.
const DefaultMergeTime = 20_000

// DefaultFlatFrom is the default of Target.FlatFrom. A leaf with more intermediates would take longer
// to compile than to run.
const DefaultFlatFrom = 24

// DefaultFarBytes is the default of Target.FarBytes, in bytes. A core's own caches hold about this
// much.
const DefaultFarBytes = 1 << 20

// Tensor is the information that the compiler has about a tensor.
type Tensor = operand.Tensor

// Cut says that a range is divided into N parts. If Vars has one variable, the range is the range
// of this variable. If Vars has several variables, outermost first, the range consists of the
// stored positions of the levels over these variables.
type Cut struct {
	Vars []string
	N    int64
}

// Unit is a compiled statement.
type Unit struct {
	Request Request // the request, which shares maps with the caller
	Func    *ir.Func
	Args    []Arg // the leaf's arguments; Args[0] is the result
	// Vars lists the variables whose ranges the leaf takes, in the order of its arguments. The
	// operands of a call store nothing outside of the ranges.
	Vars   []string
	Result Result
	// Notes has a line for each conversion, and for each scheduling command that is carried out in
	// another way than the command says.
	Notes []string
	Order []string // all variables in the order of the loops
	CIN   cin.Stmt
	// Network returns a text that says how the products of the statement's terms are contracted.
	Network func() string
	// Workspaces returns the largest number of bytes that a call needs for workspaces and for the
	// partial results of chunks, on the given number of threads. It assumes that no operand has
	// more entries, and no variable a larger range, than the request says.
	Workspaces func(threads int) int64
	// Begun returns the memory in bytes that the arrays of a growing result occupy before the first
	// entry is stored. entries is the number of entries of all sparse operands of the call. kept is
	// the memory of the arrays that become the result. pieces is the memory of the chunks' pieces
	// and of the tables that join them. If within is true, the result has no more entries than the
	// operands, and pieces covers all pieces until the call ends.
	Begun func(entries int64, threads int, within bool) (kept, pieces int64)
	// Compute is the type that the leaf computes in.
	Compute tensor.Type
	// CuBLAS says that the schedule asks for cuBLAS by name, so that nothing else may compute the
	// leaf's products of dense matrices.
	CuBLAS bool
	// Lattices is the text of the merge lattices of the leaf's loops (lower.Lowered).
	Lattices string
	// Times has the duration of each pass, in the order of the passes.
	Times []PassTime
	// ShortLived says that all calls of the leaf together are expected to take less time than an
	// optimizing compilation of its code. Compile leaves it false; the caller may set it.
	ShortLived bool

	// Workload counts the operations of a call, and describes how it accesses memory.
	Workload workload.Leaf
}

// Foresee estimates the number of steps that the loops of a call take on the given number of
// threads. It also finds a failure that depends only on bounds and threads (see foresee.Call).
// bounds[k] is the range of variable Vars[k]. counts[n] lists the number of positions of each level
// of argument n, or is nil if these numbers are not known. counts is nil if no numbers are known.
func (u *Unit) Foresee(bounds [][2]int64, counts [][]int64, threads int) foresee.Outcome {
	g := foresee.Given{Bounds: bounds, Threads: int64(threads), Args: make([][]foresee.Level, len(u.Args))}
	for n, a := range u.Args {
		if n == 0 || a.Map {
			continue
		}
		dims, positions := u.Request.Tensors.All[a.Tensor].Dims, 1.0
		if a.Old {
			dims = u.Request.Tensors.Old.Dims
		}
		for l, m := range a.Format.Order {
			switch {
			case counts != nil && counts[n] != nil:
				positions = float64(max(counts[n][l], 1))
			case a.Format.Levels[l] == tensor.Dense:
				positions *= float64(max(dims[m], 1))
			}
			g.Args[n] = append(g.Args[n], foresee.Level{Positions: positions, Size: dims[m]})
		}
	}
	return foresee.Call(u.Func, g)
}

// PassTime is the total time of all runs of a pass. A pass runs several times if a later pass makes
// the compiler start again from an earlier one.
type PassTime struct {
	Pass string
	Took time.Duration
}

// Arg is an argument of the leaf.
type Arg struct {
	Tensor string
	// Name is the operand's name in concrete index notation: the tensor's name, with a ' appended
	// for each further format that the leaf reads the tensor in.
	Name   string
	Format tensor.Format // the format that the leaf reads; see Convert
	// Convert says that the caller must convert the tensor to Format. Every stored value is
	// converted: the zeros of dense levels become entries too.
	Convert bool
	// Old says that the argument is the left tensor's value before a +=.
	Old bool
	// Map says that the argument is not a tensor of the statement but one compressed level, which
	// maps positions of the argument Result.Shares to positions of the result.
	//
	// Its crd array has an element for each position of that argument at the result's last
	// compressed level. The element is q, the result's position of the same coordinates, or -1-q if
	// the result has no value there yet and the leaf must set it. The array has MapAhead further
	// elements, because the leaf reads ahead. Each of these must be a valid position of the result,
	// such as 0.
	Map bool
	// PosWidth and CrdWidth are, by level, the widths in bytes of the pos and crd arrays that the
	// leaf reads.
	PosWidth, CrdWidth []uint8
}

// Result describes the result of a leaf. Who allocates its memory depends on the kind of the
// result:
//
//   - The caller allocates the memory of a dense result.
//   - The caller allocates the values of a result that has the level arrays of an argument (see
//     Shares) or of the caller (see FixedPattern).
//   - The leaf allocates the arrays of any other result. They belong to the caller after the call.
//
// The caller need not initialize the memory that it allocates, because the leaf writes every value.
// There are two exceptions: the leaf adds to the values (Accumulate), or reads them (InPlace).
type Result struct {
	// Format has only dense and compressed levels (d and s).
	Format tensor.Format
	// Repack says that the caller must convert the leaf's result to the requested format, which has
	// other kinds of levels.
	Repack bool
	// Shares is the number of the argument whose level arrays the result uses, down to the result's
	// last compressed level, or -1 if there is none. The leaf then writes only values. The caller
	// allocates memory for the values. Their number is the number of positions that the argument
	// has at that level, times the sizes of the dense levels below it.
	Shares int
	// Accumulate says that the leaf adds its values to the values of an existing result. In a dense
	// result, coordinates determine the places. In any other result the last argument (Arg.Map)
	// gives the positions, and the leaf accesses only the values of the result. The widths are
	// nevertheless the widths of argument Shares.
	Accumulate bool
	// FixedPattern says that the caller passes the level arrays, which it still owns after the
	// call, and memory for the values. The leaf writes every value, and writes 0 where the
	// statement has no value. If the statement has a value at a coordinate that the arrays lack,
	// the leaf fails with ir.FailPattern. It then writes nothing outside the result, and the
	// result's values are undefined. The leaf does not check the arrays themselves, as it does not
	// check operands.
	FixedPattern bool
	// InPlace is the number of the argument whose values the leaf reads from the result's memory.
	// This memory contains the argument's values when the call begins, so the argument may be the
	// result itself. 0 means that no argument does.
	InPlace            int
	PosWidth, CrdWidth []uint8
}

// resultName returns the user's name of a request's result.
func (r *Request) resultName() string {
	lhs := r.Statement.Stmt.LHS.Name
	return cmp.Or(r.Statement.Names[lhs], lhs)
}

// readers returns the number of ranks that copy the same values of an operand. vars lists the
// operand's variables. Two ranks copy the same values if they compute the same ranges of these
// variables, even if they compute different ranges of other variables.
func (a *Ask) readers(vars []string) float64 {
	n := 1.0
	for _, cut := range a.Cuts {
		if !slices.Contains(vars, cut.Vars[0]) {
			n *= float64(cut.N)
		}
	}
	return min(n, float64(max(a.Ranks, 1)))
}
