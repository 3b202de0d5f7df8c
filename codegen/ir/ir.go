// Package ir is the imperative, target-neutral representation of a leaf. codegen/emit/c prints C
// from it, codegen/emit/cuda prints CUDA, and codegen/interp runs it.
//
// Expressions are pure and immutable. A Var is a scalar local variable and an Array is a handle on
// memory. Both are compared by pointer; their names are unique within a function. Memory is typed:
// an Array has one element type. Coordinates and positions are computed as Int64. Pos and crd
// arrays may hold 32-bit integers, which are widened when they are loaded.
//
// Every engine computes the same values: integers wrap; a float32 or complex64 operation rounds to
// its type; Min and Max of floats are (y < x ? y : x) and (x < y ? y : x); complex products and
// quotients are computed by MulComplex and DivComplex. Only generated C may fuse a multiplication
// with an addition, and reorder the sums of Reduce.
//
// The constructors (Plus, Less, At, Seq, ...) fold constants. Verify checks the rules of a
// well-formed Func, Simplify shortens it, and Print and Parse write and read its text form.
//
// # Files
//
//	ir.go           the nodes
//	types.go        value types
//	build.go        constructors
//	fold.go         constant folding
//	complex.go      complex products and quotients, and casts to integers
//	simplify.go     simplification that keeps the meaning of a function
//	gemm.go         products of dense matrices
//	spmm.go         products of a sparse matrix and a dense matrix
//	union.go        sums of sparse segments
//	call.go         calls of the user's C functions
//	carry.go        loops over consecutive segments that share their position
//	inplace.go      reads of an argument from the result's memory
//	polynomial.go   index expressions in a normal form, to compare them
//	foresee.go      the steps of a call, and its failure, before it runs
//	walk.go         walks over statements and expressions
//	print.go        the text form, which parse.go reads back
//	lex.go          its tokens
//	parse.go        the parser of statements
//	parsegpu.go     the parser of GPU statements
//	parseexpr.go    the parser of expressions
//	verify.go       the rules of statements
//	verifyexpr.go   the rules of expressions
//	verifyloop.go   the rules of loops, and of variables and arrays declared in them
//	verifytable.go  the rules of tables, sorts and bitmaps
//	verifygpu.go    the rules of GPU loops and statements
package ir

import "distaff/io/tensor"

// Type is the type of an expression or of an array's elements.
type Type uint8

const (
	Invalid tensor.Type = iota
	Bool
	Int32
	Int64
	Float32
	Float64
	Complex64
	Complex128
)

// Op is a unary or binary operator.
type Op uint8

const (
	Add Op = iota
	Sub
	Mul
	Div // integer division truncates; the lowering must guard against zero divisors
	Rem
	Min
	Max
	And // Bool, short-circuit
	Or  // Bool, short-circuit
	Eq
	Ne
	Lt
	Le
	Neg // unary
	Not // unary
)

// Expr is a pure expression.
type Expr interface{ Type() tensor.Type }

type (
	Var struct {
		Name string
		Typ  tensor.Type
	}
	Lit struct {
		Typ tensor.Type
		I   int64      // Bool (0, 1) and integers
		C   complex128 // floats and complex; floats in the real part
		// At is where the statement has the number from which the literal was made, in bytes from 1.
		// It is 0 for the compiler's own literals. Texts of the IR do not show it.
		At int
	}
	Binary struct {
		Op   Op
		X, Y Expr
	}
	Unary struct {
		Op Op
		X  Expr
	}
	// Load reads A[Index]. Its type is A.Elem. If Widen is set, A is a pos or crd array of either
	// width and the value is an Int64.
	Load struct {
		A     *Array
		Index Expr
		Widen bool
	}
	// Cast converts X to Typ. Integers wrap and floats round. A float is truncated to an integer
	// and saturates (see Truncate). A complex number becomes a float by dropping the imaginary
	// part. A number becomes a Bool: true if it differs from zero.
	Cast struct {
		Typ tensor.Type
		X   Expr
	}
	// Select is X if Cond holds, and otherwise Y. Only the chosen operand is evaluated.
	Select struct{ Cond, X, Y Expr }
	// Search is a binary search over A, which must ascend. Its value is the first p in [Lo, Hi)
	// with A[p] >= Key (A[p] > Key if Upper), or Hi if there is none. Its type is Int64.
	Search struct {
		A           *Array
		Lo, Hi, Key Expr
		Upper       bool
	}
)

// Array is a handle on a block of memory of one element type.
type Array struct {
	Name  string
	Elem  tensor.Type
	Const bool // nothing stores to the array, so that threads may share it
}

// Table holds arrays of one element type under an index. The iterations of a Parallel loop put the
// arrays that they make there, and a later loop gathers them.
type Table struct {
	Name string
	Elem tensor.Type
}

// Stmt is an imperative statement.
type Stmt interface{ stmt() }

// ForKind says how the iterations of a loop run.
type ForKind uint8

const (
	Serial   ForKind = iota
	Parallel         // on OpenMP threads; iterations write disjoint memory or use Atomic stores
	Vector           // in vector lanes (omp simd)
	Unrolled         // unrolled fully, or by Factor

	// Blocks, Warps and Lanes are loops on a GPU; package simt turns them into a Launch. Blocks is
	// not inside another GPU loop, Warps is inside Blocks, and Lanes is inside Blocks or Warps.
	// Their iterations write disjoint memory or use Atomic stores. Reduce lists the scalars that
	// they sum.
	Blocks // an iteration is run by a block of threads
	Warps  // iteration number n, from 0, is run by warp n mod Width of the block
	// Iteration n (from 0) is run by thread n mod Width: a thread of the warp if the loop is inside
	// Warps, where Width is 32, and otherwise a thread of the block.
	Lanes
)

// OnGPU reports whether k is Blocks, Warps or Lanes.
func (k ForKind) OnGPU() bool { return k >= Blocks && k <= Lanes }

// WarpSize is the number of threads of a GPU warp.
const WarpSize = 32

// MaxThreads is the largest number of threads of a GPU block.
const MaxThreads = 1024

// MaxShared is the most bytes that the Shared arrays of a GPU block may occupy together.
const MaxShared = 48 << 10

type (
	Block   struct{ List []Stmt }
	Comment struct{ Text string }
	// Declare introduces V with the value Init. The scope of V is the rest of the enclosing block.
	Declare struct {
		V    *Var
		Init Expr
	}
	// Assign sets V to X, or adds X to V if Accumulate is set.
	Assign struct {
		V          *Var
		Accumulate bool
		X          Expr
	}
	// Store sets A[Index] to X, or adds X to it if Accumulate is set. The addition is atomic if
	// Atomic is set. An Int64 may be stored to an Int32 array; the lowering guarantees that it
	// fits.
	Store struct {
		A          *Array
		Index      Expr
		Accumulate bool
		Atomic     bool
		X          Expr
	}
	// For runs Body with V from Lo while V < Hi, in steps of Step, a positive constant. Lo and Hi
	// are evaluated once. A Parallel loop inside a Parallel loop runs serially.
	For struct {
		V      *Var
		Lo, Hi Expr
		Step   int64
		Kind   ForKind
		// Factor is the unroll factor of an Unrolled loop; 0 unrolls it fully.
		Factor int64
		// Dynamic and Chunk are the OpenMP schedule of a Parallel loop: dynamic or static, and the
		// iterations per chunk. If Chunk is 0, OpenMP chooses.
		Dynamic bool
		Chunk   int64
		// Reduce lists scalars that are summed over the iterations of a Vector or GPU loop, or of a
		// Parallel loop if the schedule says ParallelReduction.
		Reduce []*Var
		// Nontemporal is advice for a Vector loop without Reduce. The loop stores every value once
		// and the data is too large to stay in a cache until it is read, so that the stores should
		// bypass the caches.
		Nontemporal bool
		// Width is the number of warps or threads among which a Warps or Lanes loop is divided.
		Width int64
		Body  *Block
	}
	While struct {
		Cond Expr
		Body *Block
	}
	If struct {
		Cond Expr
		Then *Block
		Else *Block // nil if there is none
	}
	// Ordered occurs once in the body of a Parallel loop, not inside another statement. The
	// iterations run it one at a time, in their order. If an iteration fails, later iterations do
	// not run their Ordered.
	Ordered struct{ Body *Block }
	// Alloc makes A a new array of Len elements, set to zero if Zero is set. The leaf owns it until
	// Free, Keep or Publish. If memory runs out, the leaf returns FailMemory.
	Alloc struct {
		A    *Array
		Len  Expr
		Zero bool
	}
	// Local makes A an array of Len elements for the rest of the enclosing block. Len is small
	// enough for registers or the stack. The elements are zero, or undefined until they are stored
	// if Undefined is set. The leaf cannot grow, free or publish A.
	Local struct {
		A         *Array
		Len       int64
		Undefined bool
	}
	// Prefetch is advice that A[Index] will soon be read, or Len elements from Index on if Len
	// exceeds 1. They are brought into the first-level cache, or into the second-level cache if Far
	// is set. Index need not be in bounds.
	Prefetch struct {
		A     *Array
		Index Expr
		Len   int64
		Far   bool
	}
	// Grow makes A, which Alloc made, hold at least Need elements. Cap is A's capacity in elements:
	// if Need exceeds Cap, then A is reallocated and Cap becomes max(Need, 2*Cap). Old elements are
	// kept and new elements are undefined.
	Grow struct {
		A    *Array
		Cap  *Var
		Need Expr
	}
	Free struct{ A *Array }
	// Fill sets every element of A[Lo:Hi] to X.
	Fill struct {
		A      *Array
		Lo, Hi Expr
		X      Expr
	}
	// Copy copies the N elements Src[SrcLo : SrcLo+N] to Dst, from DstLo on.
	Copy struct {
		Dst   *Array
		DstLo Expr
		Src   *Array
		SrcLo Expr
		N     Expr
		// Stream is advice: Dst is too large to stay in a cache until it is read.
		Stream bool
	}
	// Sort sorts the integers A[Lo:Hi] in ascending order.
	Sort struct {
		A      *Array
		Lo, Hi Expr
	}
	// SortBy reorders the Int64 indices in Perm[Lo:Hi] so that the tuples (Keys[0][p], Keys[1][p],
	// ...) of Int64 keys ascend lexicographically. The sort is stable: indices with equal tuples
	// keep their order.
	SortBy struct {
		Perm   *Array
		Keys   []*Array
		Lo, Hi Expr
	}
	// Mark sets bit At of the bitmap Bits, an Int64 array whose words hold their bits from the
	// lowest to the highest. If no other bit of the word was set, Mark appends the number of the
	// word to Words (Int32) at N and increments N. Words has room for one entry more than Bits has
	// words.
	Mark struct {
		Bits, Words *Array
		N           *Var
		At          Expr
	}
	// Collect lists the bits that Marks have set, and clears the bitmap. It writes Base plus the
	// number of each set bit to List (Int32), from 0 on and ascending. Before, Words[0:N] are the
	// words of Bits that are not zero; after, N is the number of bits listed. Len is the number of
	// words of Bits. Flags (Bool) is scratch memory: it has Len elements, rounded up to a multiple
	// of 64, all false before and after. List has room for one more element than bits.
	Collect struct {
		Bits, Words, Flags, List *Array
		N                        *Var
		Len, Base                Expr
	}
	// AllocTable makes T a new table of Len empty entries.
	AllocTable struct {
		T   *Table
		Len Expr
	}
	// Keep moves A, which Alloc made, into T[Index], which must be empty. An iteration of a
	// Parallel loop hands over the array that it made in this way. A must not be used afterwards.
	Keep struct {
		T     *Table
		Index Expr
		A     *Array
	}
	// Take moves the array T[Index] into A. The leaf then owns A as if Alloc had made it. A is
	// visible in the rest of the enclosing block.
	Take struct {
		A     *Array
		T     *Table
		Index Expr
	}
	// FreeTable frees T and the arrays that are still in the table.
	FreeTable struct{ T *Table }
	// Publish hands A, with Len elements, over to the caller as the array Slot of the result. The
	// caller owns it from then on.
	Publish struct {
		Slot Slot
		A    *Array
		Len  Expr
	}
	// Fail ends the leaf with an error. The message shows the coordinates Coord. In a Launch, Fail
	// ends only its thread; when all threads have ended, the leaf returns one of their errors.
	Fail struct {
		Code  FailCode
		Coord []Expr
	}
	// Launch runs a kernel on a GPU: Grid blocks of Threads threads each, a multiple of WarpSize.
	// Every thread runs Body with its own Block and Thread (Int64), its numbers from 0. Statements
	// after the Launch see the values that all threads stored. Body may read all variables and
	// arrays of the leaf, and store to arrays; it does not assign to variables declared outside.
	// Body contains no Launch, no loops except Serial and Unrolled, and no statements about whole
	// arrays except Local and Shared.
	Launch struct {
		Name          string // the kernel's name, unique in the leaf
		Grid          Expr
		Threads       int64
		Block, Thread *Var
		Body          *Block
	}
	// Shared makes A an array of Len elements that the threads of a block share, for the rest of
	// the enclosing block. Elements are undefined until they are stored. It is only used in a
	// Launch.
	Shared struct {
		A   *Array
		Len int64
	}
	// Barrier waits until all threads of the block reach it, or all threads of the warp if Warp is
	// set. Each then sees the values that the others stored before. Every thread that has not ended
	// must reach the same barriers. It is only used in a Launch.
	Barrier struct{ Warp bool }
	// Shuffle exchanges values within a warp: it sets V to the X of the thread whose number in the
	// warp is this thread's number XOR Mask. All threads of the warp must reach it. It is only used
	// in a Launch.
	Shuffle struct {
		V    *Var
		X    Expr
		Mask int64
	}
	// Scan replaces the integers A[Lo:Hi] by their prefix sums: A[k] becomes A[Lo] + ... + A[k]. It
	// is not inside a loop.
	Scan struct {
		A      *Array
		Lo, Hi Expr
	}
)

func (*Block) stmt()      {}
func (*Comment) stmt()    {}
func (*Declare) stmt()    {}
func (*Assign) stmt()     {}
func (*Store) stmt()      {}
func (*For) stmt()        {}
func (*While) stmt()      {}
func (*If) stmt()         {}
func (*Ordered) stmt()    {}
func (*Alloc) stmt()      {}
func (*Prefetch) stmt()   {}
func (*Local) stmt()      {}
func (*Grow) stmt()       {}
func (*Free) stmt()       {}
func (*Fill) stmt()       {}
func (*Copy) stmt()       {}
func (*Sort) stmt()       {}
func (*SortBy) stmt()     {}
func (*Mark) stmt()       {}
func (*Collect) stmt()    {}
func (*AllocTable) stmt() {}
func (*Keep) stmt()       {}
func (*Take) stmt()       {}
func (*FreeTable) stmt()  {}
func (*Publish) stmt()    {}
func (*Fail) stmt()       {}
func (*Launch) stmt()     {}
func (*Shared) stmt()     {}
func (*Barrier) stmt()    {}
func (*Shuffle) stmt()    {}
func (*Scan) stmt()       {}
func (*Gemm) stmt()       {}
func (*Call) stmt()       {}

// FailCode is the return value of a leaf.
type FailCode int

const (
	OK          FailCode = 0
	FailMemory  FailCode = 1
	FailDivide  FailCode = 2 // integer division by zero
	FailBound   FailCode = 3 // a bound() of the schedule does not hold
	FailSpace   FailCode = 4 // the number of points of fused variables overflows; Coord: their sizes
	FailPattern FailCode = 5 // the result's level arrays have another sparsity pattern
)

// Field names a field of a tensor argument.
type Field uint8

const (
	Pos  Field = iota // array
	Crd               // array
	Vals              // array; Level is ignored
	// Vals as an array, shifted so that the rows of level 0 start at coordinate 0. Level is the
	// last level. All levels are dense.
	Rows
	Size   // Int64, of a dense level
	Offset // Int64, of a dense level
	NNZ    // Int64, length of vals
	// Int64: the position after the last element of crd, relative to the whole tensor. If crd holds
	// the whole tensor's coordinates, End is its length.
	End
)

// Slot names a field of a tensor argument. Arg is the index of the argument, Level the level.
type Slot struct {
	Arg, Level int
	Field      Field
}

// Param binds a slot of an argument to a local name: A if it is an array, V if it is a scalar.
type Param struct {
	Slot Slot
	A    *Array
	V    *Var
}

// Func is one leaf. Its C signature is
//
//	int NAME(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env)
//
// Bounds[k] are the variables that receive bounds[k][0] and bounds[k][1]; Threads receives
// env->threads. A variable that is not used may be nil.
type Func struct {
	Name    string
	Params  []Param
	Bounds  [][2]*Var
	Threads *Var
	Body    *Block
}
